//! Compression middleware: sends HTML gzip-compressed to clients that accept it.
//!
//! Compressing pages that contain the CSRF token together with texts of others is safe from BREACH: the
//! session cookie is `SameSite=Strict`, so cross-site requests are never authenticated, and an attacker
//! cannot measure the length of compressed responses.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use http_body_util::BodyExt as _;
use polis_serve::http::body::{accepts_gzip, compress_gzip};

/// Compresses HTML responses; streams and everything else pass through unchanged.
pub(crate) async fn compress_html(request: Request, next: Next) -> Response {
    let use_gzip = accepts_gzip(request.headers());
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
    let Ok(collected) = body.collect().await else {
        return Response::from_parts(head, axum::body::Body::empty());
    };
    let bytes = collected.to_bytes();
    let compressed = if use_gzip {
        compress_gzip(&bytes).await
    } else {
        None
    };
    if compressed.is_some() {
        head.headers.remove(CONTENT_LENGTH);
        head.headers
            .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Response::from_parts(head, compressed.unwrap_or(bytes).into())
}
