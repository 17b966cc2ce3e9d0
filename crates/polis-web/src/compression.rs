//! Compression middleware: sends HTML gzip-compressed to clients that accept it.
//!
//! Compressing pages that contain the CSRF token together with texts of others is safe from BREACH: measuring the
//! length of compressed responses needs a browser that sends the session cookie with cross-site requests, and this
//! cookie never is.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use http_body_util::BodyExt as _;
use polis_serve::http::body::{gzip, takes_gzip};

/// Compresses HTML responses; streams and everything else pass through unchanged.
pub(crate) async fn pack(request: Request, next: Next) -> Response {
    let takes = takes_gzip(request.headers());
    let answer = next.run(request).await;
    let html = answer
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if !html {
        return answer;
    }
    let (mut head, body) = answer.into_parts();
    head.headers
        .append(VARY, HeaderValue::from_static("Accept-Encoding, Cookie"));
    // Pages are rendered completely in memory, so this neither waits nor fails.
    let Ok(whole) = body.collect().await else {
        return Response::from_parts(head, axum::body::Body::empty());
    };
    let whole = whole.to_bytes();
    let packed = if takes { gzip(&whole).await } else { None };
    if packed.is_some() {
        head.headers.remove(CONTENT_LENGTH);
        head.headers
            .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Response::from_parts(head, packed.unwrap_or(whole).into())
}
