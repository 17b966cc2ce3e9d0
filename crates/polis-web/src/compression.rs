//! Pages and parts of pages are sent compressed to those who take that.
//!
//! A page has the session's word in it beside texts of others. Measuring it by the length of compressed
//! answers needs a browser that sends the session for foreign pages; its cookie is never sent for them.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use http_body_util::BodyExt as _;
use polis_serve::http::body::{gzip, takes_gzip};

/// Compresses what is HTML; streams and everything else go through as they are.
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
    // Pages are made whole in memory, so this neither waits nor fails.
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
