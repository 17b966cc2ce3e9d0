//! HTTP bodies: reads request bodies with a size limit and a timeout, checks their content type, and
//! compresses response bodies with gzip.

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
use polis_core::{Code, Refusal};

/// Minimum size for compression in bytes. Smaller responses fit in one or two packets either way.
const WORTH_IT: usize = 2_048;
/// From this size on, compression runs on a blocking thread instead of the async runtime.
const HEAVY: usize = 64 * 1_024;

/// Reads a body completely. Fails with `RequestTooLarge` if it exceeds `most` bytes and with `RequestTimeout`
/// if it takes longer than `within`.
pub(crate) async fn read(body: Body, most: usize, within: Duration) -> Result<Bytes, Refusal> {
    if body.size_hint().lower() > u64::try_from(most).unwrap_or(u64::MAX) {
        return Err(too_large(most));
    }
    match tokio::time::timeout(within, gather(body, most)).await {
        Ok(read) => read,
        Err(_) => Err(Refusal::new(
            Code::RequestTimeout,
            "The request's body did not arrive in time.",
            "send it without pauses",
        )),
    }
}

async fn gather(mut body: Body, most: usize) -> Result<Bytes, Refusal> {
    let mut first = Bytes::new();
    let mut more: Option<BytesMut> = None;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| cut_off())?.into_data() else {
            continue;
        };
        let have = more.as_ref().map_or(first.len(), BytesMut::len);
        if have + data.len() > most {
            return Err(too_large(most));
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

fn cut_off() -> Refusal {
    Refusal::new(
        Code::InvalidInput,
        "The request's body is cut off, or not framed as HTTP wants it.",
        "send it whole",
    )
}

fn too_large(most: usize) -> Refusal {
    Refusal::new(
        Code::RequestTooLarge,
        format!("The request's body is larger than {most} bytes."),
        "send less at a time; the person who runs polis may set [serve] max_body",
    )
}

/// Returns whether a request has a body.
pub(crate) fn is_there(body: &Body) -> bool {
    !body.is_end_stream()
}

/// Fails with `UnsupportedMediaType` if a body is not uncompressed JSON in UTF-8.
pub(crate) fn check_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let plain = headers.get_all(CONTENT_ENCODING).iter().next().is_none();
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let json = match (types.next(), types.next()) {
        (Some(one), None) => is_json(one),
        _ => false,
    };
    if json && plain {
        return Ok(());
    }
    Err(Refusal::new(
        Code::UnsupportedMediaType,
        "The request's body is not sent as plain JSON.",
        "send it with `Content-Type: application/json`, and not compressed",
    ))
}

fn is_json(value: &HeaderValue) -> bool {
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
pub fn takes_gzip(headers: &HeaderMap) -> bool {
    let mut named = None;
    let mut any = None;
    for value in headers.get_all(ACCEPT_ENCODING) {
        let Ok(text) = value.to_str() else { continue };
        for part in text.split(',') {
            let mut parts = part.split(';').map(str::trim);
            let coding = parts.next().unwrap_or_default();
            let weight = parts.find_map(|p| p.strip_prefix("q=").or_else(|| p.strip_prefix("Q=")));
            let wanted = weight.is_none_or(|q| q.parse::<f32>().is_ok_and(|q| q > 0.0));
            if coding.eq_ignore_ascii_case("gzip") {
                named = Some(wanted);
            } else if coding == "*" {
                any = Some(wanted);
            }
        }
    }
    named.or(any).unwrap_or(false)
}

/// Returns the bytes compressed with gzip; `None` if they are too small or compression saves nothing.
pub async fn gzip(bytes: &Bytes) -> Option<Bytes> {
    if bytes.len() < WORTH_IT {
        return None;
    }
    let packed = if bytes.len() < HEAVY {
        pack(bytes)
    } else {
        let bytes = bytes.clone();
        tokio::task::spawn_blocking(move || pack(&bytes))
            .await
            .ok()?
    };
    packed.filter(|packed| packed.len() < bytes.len())
}

fn pack(bytes: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: http::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn only_plain_json_is_json() {
        for good in [
            "application/json",
            "Application/JSON; charset=UTF-8",
            "application/json;charset=\"utf-8\"",
        ] {
            assert!(check_json(&headers(CONTENT_TYPE, good)).is_ok(), "{good}");
        }
        for bad in [
            "",
            "text/plain",
            "application/jsonx",
            "application/json; charset=latin-1",
            "application/x-www-form-urlencoded",
        ] {
            assert!(check_json(&headers(CONTENT_TYPE, bad)).is_err(), "{bad}");
        }
        let mut packed = headers(CONTENT_TYPE, "application/json");
        packed.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        assert!(check_json(&packed).is_err());
        let mut twice = headers(CONTENT_TYPE, "application/json");
        twice.append(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        assert!(check_json(&twice).is_err());
        assert!(check_json(&HeaderMap::new()).is_err());
    }

    #[test]
    fn gzip_is_for_those_who_take_it() {
        for (value, takes) in [
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
                takes_gzip(&headers(ACCEPT_ENCODING, value)),
                takes,
                "{value}"
            );
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[tokio::test]
    async fn a_body_is_read_up_to_its_limit() {
        let whole = |text: &str| Body::from(text.to_owned());
        let time = Duration::from_secs(5);
        assert_eq!(read(whole("12345"), 5, time).await.unwrap(), "12345");
        let refused = read(whole("123456"), 5, time).await.unwrap_err();
        assert_eq!(refused.code, Code::RequestTooLarge);
        // A body that never ends runs into the timeout.
        let never = Body::new(Never);
        let refused = read(never, 5, Duration::from_millis(10)).await.unwrap_err();
        assert_eq!(refused.code, Code::RequestTimeout);
    }

    struct Never;

    impl http_body::Body for Never {
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
