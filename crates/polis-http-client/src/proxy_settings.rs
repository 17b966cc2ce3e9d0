//! Proxy settings, as the environment variables `HTTPS_PROXY`, `NO_PROXY` and so on name them.

use std::fmt;

use hyper_util::client::proxy::matcher::Matcher;

/// The proxies to use, as named in the environment (`HTTPS_PROXY` and so on).
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxySettings {
    /// Proxy for all URLs (`ALL_PROXY`).
    pub all: String,
    /// Proxy for `http://` URLs (`HTTP_PROXY`).
    pub http: String,
    /// Proxy for `https://` URLs (`HTTPS_PROXY`).
    pub https: String,
    /// Hosts for which no proxy is used, separated by commas (`NO_PROXY`).
    pub no_proxy: String,
}

/// Leaves out the addresses, which may contain passwords.
impl fmt::Debug for ProxySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxySettings")
    }
}

impl ProxySettings {
    /// Returns the rules that select the proxy of a URL.
    pub(crate) fn to_matcher(&self) -> Matcher {
        Matcher::builder()
            .all(self.all.clone())
            .http(self.http.clone())
            .https(self.https.clone())
            .no(self.no_proxy.clone())
            .build()
    }
}
