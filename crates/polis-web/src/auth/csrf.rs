//! CSRF protection: a change must carry the CSRF token of one of our own pages, so that a page of another
//! site cannot make a signed-in browser send it.
//!
//! The token is derived from the session token and not stored. htmx sends it in a header, plain forms in a
//! field. Requests that the browser reports as cross-site (`Sec-Fetch-Site`) are refused in any case.

use axum::extract::Request;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::{BodyExt as _, Limited};
use polis_core::Refusal;
use sha2::Sha256;

use crate::refusal_tables::PageRefusal;

/// Request header in which htmx sends the CSRF token.
const CSRF_HEADER: HeaderName = HeaderName::from_static("x-polis-csrf");
/// Request header in which a browser reports the origin relationship of a request.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Maximum size of a form: a board with every character percent-encoded (`%E4%BD%A0`).
const MAX_FORM_BYTES: usize = 12 << 20;

/// Returns the request, with its body read, if its CSRF token is valid, that is, if one of our own pages sent
/// it. Fails with `OriginForbidden` otherwise, and with `RequestTooLarge` if the body is too large.
pub(crate) async fn verify_csrf(request: Request, token: &str) -> Result<Request, Refusal> {
    let (parts, body) = request.into_parts();
    let fetch_site = parts.headers.get(SEC_FETCH_SITE);
    if fetch_site.is_some_and(|site| site == "cross-site") {
        return Err(csrf_refusal());
    }
    let collected = Limited::new(body, MAX_FORM_BYTES).collect().await;
    let collected = collected.map_err(|_| Refusal::from(PageRefusal::FormTooLarge))?;
    let bytes: Bytes = collected.to_bytes();
    let sent = parts.headers.get(CSRF_HEADER).and_then(|v| v.to_str().ok());
    let right = match sent {
        Some(sent) => constant_time_eq(sent, token),
        None => read_form_field(&bytes, "csrf").is_some_and(|sent| constant_time_eq(sent, token)),
    };
    if !right {
        return Err(csrf_refusal());
    }
    Ok(Request::from_parts(parts, bytes.into()))
}

/// Fails with `OriginForbidden` if the browser reports that a page of another site sent a sign-in request: no
/// other site can sign a visitor in (login CSRF), not even with a valid link.
pub(crate) fn check_same_site(headers: &HeaderMap) -> Result<(), Refusal> {
    let site = headers.get(SEC_FETCH_SITE).map(HeaderValue::as_bytes);
    if matches!(site, None | Some(b"same-origin" | b"none")) {
        return Ok(());
    }
    Err(PageRefusal::SignInFromOtherSite.into())
}

/// Returns the refusal of a request without a valid CSRF token.
fn csrf_refusal() -> Refusal {
    Refusal::from(PageRefusal::CsrfTokenInvalid)
}

/// Returns a form field whose value needs no decoding.
fn read_form_field<'a>(form: &'a [u8], name: &str) -> Option<&'a str> {
    let text = std::str::from_utf8(form).ok()?;
    let mut pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Compares two strings in constant time.
fn constant_time_eq(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |d, (a, b)| d | (a ^ b)) == 0
}

/// Derives the CSRF token from the session token.
pub(crate) fn csrf_token(token: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(token.as_bytes()) else {
        return String::new();
    };
    mac.update(b"polis page");
    let digest = mac.finalize().into_bytes();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csrf_token_differs_between_sessions() {
        assert_eq!(csrf_token("a"), csrf_token("a"));
        assert_ne!(csrf_token("a"), csrf_token("b"));
        assert!(
            !constant_time_eq("", "a")
                && !constant_time_eq("ab", "aa")
                && constant_time_eq("ab", "ab")
        );
    }

    #[test]
    fn form_field_is_matched_by_whole_name() {
        assert_eq!(read_form_field(b"a=1&csrf=abc&b=2", "csrf"), Some("abc"));
        assert_eq!(read_form_field(b"xcsrf=abc", "csrf"), None);
        assert_eq!(read_form_field(b"", "csrf"), None);
    }
}
