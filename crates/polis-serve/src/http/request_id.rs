//! Names of requests, to find them again in the log: the caller's own if it is a sane one, or a new one.

use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

/// Where a request's name is.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest name that is taken over.
const LONGEST: usize = 64;

/// Makes names.
#[derive(Debug)]
pub(crate) struct RequestIds {
    /// Differs from server to server.
    server: String,
    count: AtomicU64,
}

impl RequestIds {
    /// Names that begin with a part of this randomness.
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

    /// The name of a request.
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

/// Nothing in it that could be taken for something else in a log or a page.
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
