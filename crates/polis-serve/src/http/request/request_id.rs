//! Request ids for log correlation: a valid `X-Request-Id` of the client is kept, otherwise one is generated
//! (by `tower-http`, see `http_app`).

use http::{HeaderMap, HeaderName};

/// Header of the request id.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Maximum length of a client's request id.
const MAX_REQUEST_ID_LEN: usize = 64;

/// Removes a client's request id that is repeated, or not safe to print in a log or a page.
pub(crate) fn remove_invalid_request_id(headers: &mut HeaderMap) {
    let mut values = headers.get_all(&X_REQUEST_ID).iter();
    let is_valid = match (values.next(), values.next()) {
        (Some(id), None) => is_valid_request_id(id.as_bytes()),
        _ => false,
    };
    if !is_valid {
        headers.remove(&X_REQUEST_ID);
    }
}

fn is_valid_request_id(id: &[u8]) -> bool {
    let is_allowed = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=MAX_REQUEST_ID_LEN).contains(&id.len()) && id.iter().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn invalid_client_request_id_is_removed() {
        let is_kept = |id: &str| {
            let id = HeaderValue::from_str(id).unwrap();
            let mut headers = HeaderMap::from_iter([(X_REQUEST_ID, id.clone())]);
            remove_invalid_request_id(&mut headers);
            headers.get(X_REQUEST_ID) == Some(&id)
        };
        assert!(is_kept("a-B_3.x"));
        assert!(is_kept(&"x".repeat(64)));
        for bad in ["x y", "<script>", "", &"x".repeat(65)] {
            assert!(!is_kept(bad), "{bad}");
        }
        let mut twice = HeaderMap::new();
        twice.append(X_REQUEST_ID, HeaderValue::from_static("a"));
        twice.append(X_REQUEST_ID, HeaderValue::from_static("b"));
        remove_invalid_request_id(&mut twice);
        assert!(twice.is_empty());
    }
}
