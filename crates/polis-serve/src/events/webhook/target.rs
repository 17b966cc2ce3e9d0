//! Parses a webhook's URL into the connection target and headers of its deliveries.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use percent_encoding::percent_decode_str;

/// Components of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// Whether the connection uses TLS.
    pub(super) tls: bool,
    /// Host name or IP address to connect to.
    pub(super) host: String,
    /// The port.
    pub(super) port: u16,
    /// Value of the `Host` header.
    pub(super) authority: HeaderValue,
    /// Path and query of the request.
    pub(super) path: Uri,
    /// `Authorization` header from the user name and password in the URL, if present.
    pub(super) authorization: Option<HeaderValue>,
}

impl Target {
    /// Parses a URL. Returns `None` if it cannot be delivered to.
    pub(super) fn parse(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let tls = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let (user, place) = match uri.authority()?.as_str().rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, uri.authority()?.as_str()),
        };
        let host = uri.host()?.trim_start_matches('[').trim_end_matches(']');
        // An invalid port must not fall back to the default port.
        let port = match uri.port() {
            Some(port) => port.as_u16(),
            None if place.ends_with(']') || !place.contains(':') || place.ends_with(':') => {
                if tls {
                    443
                } else {
                    80
                }
            }
            None => return None,
        };
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Some(Self {
            tls,
            host: host.to_owned(),
            port,
            authority: HeaderValue::from_str(place).ok()?,
            path: path.parse().ok()?,
            authorization: user.and_then(basic),
        })
    }
}

fn basic(user: &str) -> Option<HeaderValue> {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    let mut plain: Vec<u8> = percent_decode_str(name).collect();
    plain.push(b':');
    plain.extend(percent_decode_str(password));
    let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(plain))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let parts = |url| {
            let target = Target::parse(url)?;
            let authority = target.authority.to_str().unwrap().to_owned();
            let path = target.path.to_string();
            Some((target.tls, target.host, target.port, authority, path))
        };
        let of = |tls, host: &str, port, authority: &str, path: &str| {
            Some((
                tls,
                host.to_owned(),
                port,
                authority.to_owned(),
                path.to_owned(),
            ))
        };
        assert_eq!(
            parts("https://example.org"),
            of(true, "example.org", 443, "example.org", "/")
        );
        assert_eq!(
            parts("http://h:81/a/b?c=d"),
            of(false, "h", 81, "h:81", "/a/b?c=d")
        );
        assert_eq!(
            parts("http://[::1]:9/x"),
            of(false, "::1", 9, "[::1]:9", "/x")
        );
        assert_eq!(parts("http://[::1]"), of(false, "::1", 80, "[::1]", "/"));
        for bad in [
            "",
            "ftp://h/",
            "http://",
            "http:///x",
            "/x",
            "http://h:99999/",
        ] {
            assert_eq!(parts(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_password_is_sent_as_such() {
        let target = Target::parse("https://me:s%40me@h/x").unwrap();
        assert_eq!(target.authority, "h");
        // Base64 of `me:s@me`.
        assert_eq!(target.authorization.unwrap(), "Basic bWU6c0BtZQ==");
        assert!(
            Target::parse("https://h/x")
                .unwrap()
                .authorization
                .is_none()
        );
    }
}
