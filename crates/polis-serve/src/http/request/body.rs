//! HTTP bodies: reads request bodies with a size limit and a timeout, checks their content type, and
//! compresses responses (gzip).
//!
//! `tower-http` could compress too, but would do it on the async runtime, where a large board delays all other
//! requests, and would answer 406 after an operation was carried out if the client refuses uncompressed bodies.

use std::io::Write as _;
use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use polis_core::Refusal;
use polis_core::number::saturating_cast;

use crate::refusal_tables::HttpRefusal;

/// Minimum size for compression in bytes. Smaller responses fit in one or two packets either way.
const MIN_GZIP_BYTES: usize = 2_048;
/// From this size on, compression runs on a blocking thread instead of the async runtime.
const GZIP_BLOCKING_THRESHOLD_BYTES: usize = 64 * 1_024;

/// Reads a body completely. Fails with `RequestTooLarge` if it exceeds `most` bytes and with `RequestTimeout`
/// if it takes longer than `within`.
pub(crate) async fn read_body(
    body: Body,
    limit: usize,
    timeout: Duration,
) -> Result<Bytes, Refusal> {
    if body.size_hint().lower() > saturating_cast::<u64>(limit) {
        return Err(body_too_large(limit));
    }
    match tokio::time::timeout(timeout, collect_frames(body, limit)).await {
        Ok(read) => read,
        Err(_) => Err(Refusal::from(HttpRefusal::BodyTimeout)),
    }
}

async fn collect_frames(mut body: Body, limit: usize) -> Result<Bytes, Refusal> {
    let mut first = Bytes::new();
    let mut more: Option<BytesMut> = None;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| incomplete_body())?.into_data() else {
            continue;
        };
        let received = more.as_ref().map_or(first.len(), BytesMut::len);
        if received + data.len() > limit {
            return Err(body_too_large(limit));
        }
        // Most bodies arrive in one chunk and need not be copied.
        if first.is_empty() && more.is_none() {
            first = data;
        } else {
            let all = more.get_or_insert_with(|| BytesMut::from(first.as_ref()));
            all.extend_from_slice(&data);
        }
    }
    Ok(more.map_or(first, BytesMut::freeze))
}

fn incomplete_body() -> Refusal {
    Refusal::from(HttpRefusal::BodyMalformed)
}

fn body_too_large(limit: usize) -> Refusal {
    Refusal::from(HttpRefusal::BodyTooLarge { limit })
}

/// Returns whether a request has a body.
pub(crate) fn has_body(body: &Body) -> bool {
    !body.is_end_stream()
}

/// Fails with `UnsupportedMediaType` if a body is not uncompressed JSON in UTF-8.
pub(crate) fn check_json_content_type(headers: &HeaderMap) -> Result<(), Refusal> {
    let unencoded = headers.get_all(CONTENT_ENCODING).iter().next().is_none();
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let json = match (types.next(), types.next()) {
        (Some(one), None) => is_json_content_type(one),
        _ => false,
    };
    if json && unencoded {
        return Ok(());
    }
    Err(Refusal::from(HttpRefusal::BodyNotJson))
}

fn is_json_content_type(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else {
        return false;
    };
    let mut parts = text.split(';').map(str::trim);
    let json = parts
        .next()
        .is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    let utf8 = |part: &str| match part.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    };
    json && parts.all(utf8)
}

/// Returns whether the client accepts gzip (`Accept-Encoding`).
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    let mut explicit = None;
    let mut any = None;
    for value in headers.get_all(ACCEPT_ENCODING) {
        let Ok(text) = value.to_str() else { continue };
        for part in text.split(',') {
            let mut parts = part.split(';').map(str::trim);
            let coding = parts.next().unwrap_or_default();
            let weight = parts.find_map(|p| p.strip_prefix("q=").or_else(|| p.strip_prefix("Q=")));
            let accepted = weight.is_none_or(|q| q.parse::<f32>().is_ok_and(|q| q > 0.0));
            if coding.eq_ignore_ascii_case("gzip") {
                explicit = Some(accepted);
            } else if coding == "*" {
                any = Some(accepted);
            }
        }
    }
    explicit.or(any).unwrap_or(false)
}

/// Returns the bytes compressed with gzip; `None` if they are too small or compression saves nothing.
pub async fn compress_gzip(bytes: &Bytes) -> Option<Bytes> {
    if bytes.len() < MIN_GZIP_BYTES {
        return None;
    }
    let compressed = if bytes.len() < GZIP_BLOCKING_THRESHOLD_BYTES {
        compress_gzip_blocking(bytes)
    } else {
        let bytes = bytes.clone();
        tokio::task::spawn_blocking(move || compress_gzip_blocking(&bytes))
            .await
            .ok()?
    };
    compressed.filter(|compressed| compressed.len() < bytes.len())
}

fn compress_gzip_blocking(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal_tables::HttpCode;
    use polis_core::RefusalCode;

    fn header_map(name: http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn body_that_is_not_plain_json_is_refused() {
        for good in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
        ] {
            assert!(
                check_json_content_type(&header_map(CONTENT_TYPE, good)).is_ok(),
                "{good}"
            );
        }
        for bad in [
            "",
            "text/plain",
            "application/jsonx",
            "application/json; charset=latin-1",
            "application/x-www-form-urlencoded",
        ] {
            assert!(
                check_json_content_type(&header_map(CONTENT_TYPE, bad)).is_err(),
                "{bad}"
            );
        }
        let mut gzip_headers = header_map(CONTENT_TYPE, "application/json");
        gzip_headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(check_json_content_type(&gzip_headers).is_err());
        let mut twice = header_map(CONTENT_TYPE, "application/json");
        twice.append(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        assert!(check_json_content_type(&twice).is_err());
        assert!(check_json_content_type(&HeaderMap::new()).is_err());
    }

    #[test]
    fn gzip_follows_accept_encoding() {
        for (value, accepts) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("*", true),
            ("*;q=0", false),
            ("gzip;q=0, *", false),
            ("identity", false),
            ("gzip;q=nonsense", false),
            ("", false),
        ] {
            assert_eq!(
                accepts_gzip(&header_map(ACCEPT_ENCODING, value)),
                accepts,
                "{value}"
            );
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[tokio::test]
    async fn body_over_size_limit_or_timeout_is_refused() {
        let whole = |text: &str| Body::from(text.to_owned());
        let time = Duration::from_secs(5);
        assert_eq!(read_body(whole("12345"), 5, time).await.unwrap(), "12345");
        let refused = read_body(whole("123456"), 5, time).await.unwrap_err();
        assert_eq!(refused.code, RefusalCode::REQUEST_TOO_LARGE);
        // A body that never ends runs into the timeout.
        let pending = Body::new(PendingBody);
        let refused = read_body(pending, 5, Duration::from_millis(10))
            .await
            .unwrap_err();
        assert_eq!(refused.code, HttpCode::REQUEST_TIMEOUT);
    }

    struct PendingBody;

    impl http_body::Body for PendingBody {
        type Data = Bytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
            std::task::Poll::Pending
        }
    }
}
