//! Allow-list of Host and Origin headers: protects against DNS rebinding and cross-site requests (CORS).
//!
//! A foreign web page can make a browser send requests to a server on this machine: through a DNS name that
//! it points here (Host is then that name), or directly across origins (Origin is then that page's). Without
//! configuration, only `localhost`, loopback addresses and the address the client connected to are allowed as
//! Host, and only the server's own origin as Origin. Pure functions on header values; `admission` refuses the
//! request.

use std::net::IpAddr;

/// Allowed host names and origins, in addition to the listener's own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostAllowList {
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// Classification of an Origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OriginClass {
    /// The server's own origin.
    Same,
    /// Listed in the configuration.
    Listed,
    /// Neither: requests with it are refused.
    Foreign,
}

impl HostAllowList {
    /// Creates the allow-list from hosts such as `polis.example.org` or `polis.example.org:8443` and origins
    /// such as `https://example.org`.
    pub fn new(hosts: &[String], origins: &[String]) -> Self {
        let lower = |names: &[String]| names.iter().map(|n| n.to_ascii_lowercase()).collect();
        Self {
            hosts: lower(hosts),
            origins: lower(origins),
        }
    }

    /// Returns whether a Host header names this server. `local` is the address the client connected to.
    pub fn allows_host(&self, host: &str, local: Option<IpAddr>) -> bool {
        let Some((name, _)) = split_host_port(host) else {
            return false;
        };
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse::<IpAddr>() {
            // DNS rebinding does not work with IP literals: a Host that is our address was really requested
            // by address.
            let is_same = |local: IpAddr| local.to_canonical() == address.to_canonical();
            if address.to_canonical().is_loopback() || local.is_some_and(is_same) {
                return true;
            }
        }
        self.hosts
            .iter()
            .any(|ours| ours.eq_ignore_ascii_case(name) || ours.eq_ignore_ascii_case(host))
    }

    /// Classifies an Origin for a request to this host over this scheme.
    pub fn classify_origin(&self, origin: &str, scheme: &str, host: &str) -> OriginClass {
        let is_own = origin.split_once("://").is_some_and(|(s, rest)| {
            s.eq_ignore_ascii_case(scheme) && is_same_host(scheme, rest, host)
        });
        if is_own {
            return OriginClass::Same;
        }
        if self
            .origins
            .iter()
            .any(|ours| ours.eq_ignore_ascii_case(origin))
        {
            return OriginClass::Listed;
        }
        OriginClass::Foreign
    }

    /// Returns whether origins are configured, in addition to the server's own.
    pub fn has_origins(&self) -> bool {
        !self.origins.is_empty()
    }
}

/// Returns whether a text is valid as a configured host.
pub fn is_valid_host(text: &str) -> bool {
    split_host_port(text).is_some()
}

/// Returns whether a text is valid as a configured origin.
pub fn is_valid_origin(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, rest)| {
        matches!(scheme, "http" | "https") && split_host_port(rest).is_some()
    })
}

/// Splits a host into name (IPv6 with brackets) and port. Returns `None` if it is malformed.
fn split_host_port(host: &str) -> Option<(&str, Option<u16>)> {
    let at = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, rest) = host.split_at_checked(at)?;
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let address = |c: char| c.is_ascii_hexdigit() || matches!(c, ':' | '.');
    let is_valid = match name.strip_prefix('[').and_then(|n| n.strip_suffix(']')) {
        Some(inner) => !inner.is_empty() && inner.chars().all(address),
        None => !name.is_empty() && name.chars().all(is_allowed),
    };
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => None,
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some(digits.parse().ok()?),
        _ => return None,
    };
    is_valid.then_some((name, port))
}

fn is_same_host(scheme: &str, one: &str, other: &str) -> bool {
    let default_port = if scheme == "https" { 443 } else { 80 };
    match (split_host_port(one), split_host_port(other)) {
        (Some((a, x)), Some((b, y))) => {
            a.eq_ignore_ascii_case(b) && x.unwrap_or(default_port) == y.unwrap_or(default_port)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allow_list() -> HostAllowList {
        HostAllowList::new(
            &["Polis.example.org".to_owned(), "other.test:8443".to_owned()],
            &["https://board.example.org".to_owned()],
        )
    }

    #[test]
    fn host_outside_allow_list_is_refused() {
        let local: IpAddr = "192.0.2.7".parse().unwrap();
        let table = [
            ("localhost", true),
            ("LOCALHOST:7707", true),
            ("127.0.0.1:7707", true),
            ("127.9.9.9", true),
            ("[::1]:7707", true),
            ("[::ffff:127.0.0.1]", true),
            ("192.0.2.7:80", true),
            ("192.0.2.8:80", false),
            ("polis.example.org:1234", true),
            ("other.test:8443", true),
            ("other.test", false),
            ("other.test:1", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("evil.example@127.0.0.1", false),
            ("localhost:", false),
            ("localhost:99999", false),
            ("localhost:7707x", false),
            ("localhost/", false),
            ("[::1", false),
            ("[]", false),
            ("::1", false),
            ("", false),
            ("0.0.0.0", false),
            ("2130706433", false),
            ("127.1", false),
        ];
        for (host, ours) in table {
            assert_eq!(allow_list().allows_host(host, Some(local)), ours, "{host}");
        }
        assert!(!allow_list().allows_host("192.0.2.7", None));
    }

    #[test]
    fn origin_is_classified_as_same_listed_or_foreign() {
        let table = [
            ("http://127.0.0.1:7707", OriginClass::Same),
            ("https://127.0.0.1:7707", OriginClass::Foreign),
            ("http://127.0.0.1", OriginClass::Foreign),
            ("http://localhost:7707", OriginClass::Foreign),
            ("https://board.example.org", OriginClass::Listed),
            ("https://board.example.org:1", OriginClass::Foreign),
            ("http://board.example.org", OriginClass::Foreign),
            (
                "https://board.example.org.evil.example",
                OriginClass::Foreign,
            ),
            ("null", OriginClass::Foreign),
            ("", OriginClass::Foreign),
        ];
        for (origin, is) in table {
            assert_eq!(
                allow_list().classify_origin(origin, "http", "127.0.0.1:7707"),
                is,
                "{origin}"
            );
        }
        assert_eq!(
            HostAllowList::default().classify_origin("https://a.test", "https", "a.test:443"),
            OriginClass::Same
        );
    }
}
