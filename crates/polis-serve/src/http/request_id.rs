//! Request ids for log correlation: a valid `X-Request-Id` of the client is kept, otherwise one is generated.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

/// Header of the request id.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Maximum length of a client's request id.
const LONGEST: usize = 64;

/// Generator of request ids.
#[derive(Debug)]
pub(crate) struct RequestIds {
    /// Random prefix that differs between servers.
    server: String,
    count: AtomicU64,
}

impl RequestIds {
    /// Creates a generator whose ids start with a part of this random text.
    pub(crate) fn new(random: &str) -> Self {
        Self {
            server: random
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .take(8)
                .collect(),
            count: AtomicU64::new(1),
        }
    }

    /// Returns the id of a request.
    pub(crate) fn of(&self, headers: &HeaderMap) -> HeaderValue {
        let mut given = headers.get_all(&X_REQUEST_ID).iter();
        if let (Some(name), None) = (given.next(), given.next())
            && is_sane(name.as_bytes())
        {
            return name.clone();
        }
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{count:x}", self.server);
        HeaderValue::try_from(name).unwrap_or(HeaderValue::from_static("-"))
    }
}

/// Returns whether an id is safe to print in a log or a page.
fn is_sane(name: &[u8]) -> bool {
    let sound = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=LONGEST).contains(&name.len()) && name.iter().all(sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sane_name_is_kept_and_any_other_replaced() {
        let ids = RequestIds::new("0123456789ab");
        let of = |name: &'static str| {
            let headers = HeaderMap::from_iter([(X_REQUEST_ID, HeaderValue::from_static(name))]);
            ids.of(&headers).to_str().unwrap().to_owned()
        };
        assert_eq!(of("a-B_3.x"), "a-B_3.x");
        assert_eq!(of("x y"), "01234567-1");
        assert_eq!(of("<script>"), "01234567-2");
        assert_eq!(of(""), "01234567-3");
        assert_eq!(ids.of(&HeaderMap::new()), "01234567-4");
        let long: &'static str = Box::leak("x".repeat(65).into_boxed_str());
        assert_eq!(of(long), "01234567-5");
    }
}
