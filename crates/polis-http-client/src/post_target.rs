//! Target of POST requests: a URL that was checked once, and the headers of every request to it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE, PROXY_AUTHORIZATION, USER_AGENT};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use percent_encoding::percent_decode_str;
use rustls::pki_types::ServerName;

/// Value of the `User-Agent` header.
const USER_AGENT_VALUE: &str = concat!("polis/", env!("CARGO_PKG_VERSION"));

/// Why a URL cannot be used. The text completes a sentence such as "The URL …", and does not show the URL, which may
/// contain a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrlError {
    /// It is not a URL.
    #[error("is not a valid URL")]
    NotAUrl,
    /// The scheme is neither `http` nor `https`.
    #[error("does not begin with http:// or https://")]
    UnsupportedScheme,
    /// The host name or the port is missing or invalid.
    #[error("contains no valid host name")]
    InvalidHost,
    /// The host name cannot be in a certificate.
    #[error("contains a host name that is invalid for TLS")]
    InvalidTlsName,
    /// The proxy for this URL is of another kind, such as SOCKS.
    #[error("needs a proxy that is not an HTTP proxy")]
    UnsupportedProxy,
}

/// URL and headers of POST requests to one endpoint. [`HttpClient::prepare`](crate::HttpClient::prepare) creates it.
#[derive(Clone)]
pub struct PostTarget {
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
}

/// Leaves out the URL and the headers, which are often secrets.
impl std::fmt::Debug for PostTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PostTarget")
    }
}

impl PostTarget {
    /// Parses a URL, and completes the headers. A user name and password in the URL become an `Authorization` header,
    /// unless the headers have one.
    pub(crate) fn new(
        url: &str,
        mut headers: HeaderMap,
        proxies: &Matcher,
    ) -> Result<Self, InvalidUrlError> {
        let (uri, user_info) = parse_url(url)?;
        let proxy = proxies.intercept(&uri);
        if proxy
            .as_ref()
            .is_some_and(|proxy| proxy.uri().scheme() != Some(&Scheme::HTTP))
        {
            return Err(InvalidUrlError::UnsupportedProxy);
        }
        let defaults = [
            (
                CONTENT_TYPE,
                Some(HeaderValue::from_static("application/json")),
            ),
            (USER_AGENT, Some(HeaderValue::from_static(USER_AGENT_VALUE))),
            (AUTHORIZATION, user_info.as_deref().and_then(basic_auth)),
            // A tunnel gets the password of the proxy in its CONNECT request instead.
            (
                PROXY_AUTHORIZATION,
                proxy
                    .filter(|_| uri.scheme() == Some(&Scheme::HTTP))
                    .and_then(|proxy| proxy.basic_auth().cloned()),
            ),
        ];
        for (name, value) in defaults {
            if let Some(value) = value {
                headers.entry(name).or_insert(value);
            }
        }
        Ok(Self { uri, headers })
    }
}

/// Parses a URL and takes the user name and password out of it.
fn parse_url(url: &str) -> Result<(Uri, Option<String>), InvalidUrlError> {
    let uri: Uri = url.parse().map_err(|_| InvalidUrlError::NotAUrl)?;
    let mut parts = uri.into_parts();
    let (Some(scheme), Some(authority)) = (&parts.scheme, &parts.authority) else {
        return Err(InvalidUrlError::NotAUrl);
    };
    if *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS {
        return Err(InvalidUrlError::UnsupportedScheme);
    }
    let (user_info, host_port) = match authority.as_str().rsplit_once('@') {
        Some((user_info, host_port)) => (Some(user_info.to_owned()), host_port),
        None => (None, authority.as_str()),
    };
    let authority = Authority::try_from(host_port).map_err(|_| InvalidUrlError::InvalidHost)?;
    let host = authority.host().trim_matches(['[', ']']);
    // An invalid port must not fall back to the default port.
    let after_host = host_port.strip_prefix(authority.host());
    if host.is_empty() || authority.port().is_none() && !matches!(after_host, Some("" | ":")) {
        return Err(InvalidUrlError::InvalidHost);
    }
    if *scheme == Scheme::HTTPS && ServerName::try_from(host).is_err() {
        return Err(InvalidUrlError::InvalidTlsName);
    }
    parts.authority = Some(authority);
    let uri = Uri::from_parts(parts).map_err(|_| InvalidUrlError::NotAUrl)?;
    Ok((uri, user_info))
}

/// Returns the `Authorization` header for the user name and password of a URL.
fn basic_auth(user_info: &str) -> Option<HeaderValue> {
    let (name, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    let mut credentials: Vec<u8> = percent_decode_str(name).collect();
    credentials.push(b':');
    credentials.extend(percent_decode_str(password));
    let mut value =
        HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(credentials))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProxySettings;

    fn new_target(url: &str, proxy: &str) -> Result<PostTarget, InvalidUrlError> {
        let proxies = ProxySettings {
            all: proxy.to_owned(),
            ..ProxySettings::default()
        };
        PostTarget::new(url, HeaderMap::new(), &proxies.to_matcher())
    }

    #[test]
    fn valid_url_is_kept_without_user_and_password() {
        for (url, uri) in [
            ("https://example.org", "https://example.org/"),
            ("http://h:81/a/b?c=d", "http://h:81/a/b?c=d"),
            ("http://h:/a", "http://h:/a"),
            ("http://[::1]:9/x", "http://[::1]:9/x"),
            ("https://[::1]", "https://[::1]/"),
            ("https://me:secret@h:8443/x", "https://h:8443/x"),
        ] {
            assert_eq!(new_target(url, "").unwrap().uri, uri, "{url}");
        }
    }

    #[test]
    fn invalid_url_is_refused() {
        for (url, error) in [
            ("", InvalidUrlError::NotAUrl),
            ("nonsense", InvalidUrlError::NotAUrl),
            ("/x", InvalidUrlError::NotAUrl),
            ("http://", InvalidUrlError::NotAUrl),
            ("http:///x", InvalidUrlError::NotAUrl),
            ("ftp://h/", InvalidUrlError::UnsupportedScheme),
            ("http://h:99999/", InvalidUrlError::InvalidHost),
            ("https://a_*b/", InvalidUrlError::InvalidTlsName),
        ] {
            assert_eq!(new_target(url, "").unwrap_err(), error, "{url}");
        }
        assert_eq!(
            new_target("http://h/", "socks5://p:1080").unwrap_err(),
            InvalidUrlError::UnsupportedProxy
        );
    }

    #[test]
    fn url_credentials_become_basic_auth() {
        let target = new_target("https://me:s%40me@h/x", "").unwrap();
        // Base64 of `me:s@me`.
        assert_eq!(target.headers[AUTHORIZATION], "Basic bWU6c0BtZQ==");
        assert!(target.headers[AUTHORIZATION].is_sensitive());
        let target = new_target("https://h/x", "").unwrap();
        assert!(!target.headers.contains_key(AUTHORIZATION));
        let key = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::from_static("Bearer k"))]);
        let matcher = ProxySettings::default().to_matcher();
        let target = PostTarget::new("http://me:x@h/", key, &matcher).unwrap();
        assert_eq!(target.headers[AUTHORIZATION], "Bearer k");
    }

    #[test]
    fn proxy_password_is_only_in_requests_to_the_proxy() {
        let target = new_target("http://h/", "http://me:pass@p:8080").unwrap();
        assert_eq!(target.headers[PROXY_AUTHORIZATION], "Basic bWU6cGFzcw==");
        let tunnelled = new_target("https://h/", "http://me:pass@p:8080").unwrap();
        assert!(!tunnelled.headers.contains_key(PROXY_AUTHORIZATION));
    }
}
