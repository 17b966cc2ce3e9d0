//! Session middleware and CSRF protection: authenticates a browser's session cookie, and checks that changes come from
//! our own pages.
//!
//! The cookie is a token of the registry like any other (listed, revocable, hashed). It is valid for pages only and
//! never for the API, so a cross-site page cannot use it there. A change also needs the CSRF token of our own pages,
//! which is derived from the session token and not stored. Login and logout are in `door`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Redirect, Response};
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::header::HOST;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use polis_core::{Code, Refusal};
use polis_ops::op;
use polis_serve::Identity;
use polis_serve::identity::Entry;
use sha2::Sha256;

use crate::error_page::Refused;
use crate::request_context::{Taste, Visit, cookie, is_part};
use crate::state::House;
use crate::{error_page, scope};

/// Request header in which htmx sends the CSRF token.
const CSRF: HeaderName = HeaderName::from_static("x-polis-csrf");
/// Request header in which a browser reports the origin relationship of a request.
pub(crate) const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Maximum size of a form: a board with every character percent-encoded (`%E4%BD%A0`).
const MAX_FORM: usize = 12 << 20;

/// Middleware that lets requests with a valid session through and redirects all others to the login page.
pub(crate) async fn guard(
    State(house): State<Arc<House>>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let taste = Taste::of(headers, house.usual());
    let part = is_part(headers);
    let path = request.uri().path().to_owned();
    let Some(token) = cookie(headers, &cookie_name(headers)).map(str::to_owned) else {
        return to_the_door(part, request.method());
    };
    let admitted = match op::admit(&house.polis, &token).await {
        // An API token is not a session, although it can start one.
        Ok(admitted) if !admitted.session => return to_the_door(part, request.method()),
        Ok(admitted) => admitted,
        Err(error) if error.code() == Code::Unauthorized => {
            return to_the_door(part, request.method());
        }
        Err(error) => return error_page::document(taste, &error),
    };
    let visit = Visit {
        polis: house.polis.knowing(admitted.agent.clone(), admitted.entry),
        identity: Identity {
            agent: admitted.agent.clone(),
            scopes: admitted.scopes,
            token: Some(admitted.token),
            entry: Entry::Unknown,
        },
        me: admitted.agent,
        back: back(&request),
        taste,
        csrf: word_of(&token),
        path,
        part,
        place: place(&house, part, request.method()).await,
    };
    if let Err(refusal) = scope::check(&visit, request.method()) {
        return Refused::of(&visit, refusal.into()).into_response();
    }
    let mut request = match request.method() {
        &Method::GET | &Method::HEAD => request,
        _ => match ours(request, &visit.csrf).await {
            Ok(request) => request,
            Err(refusal) => return Refused::of(&visit, refusal.into()).into_response(),
        },
    };
    request.extensions_mut().insert(visit);
    next.run(request).await
}

/// Returns the name of the session cookie. Cookies do not distinguish ports, and a machine may run several servers, so
/// the name contains the port.
pub(crate) fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let port = host.and_then(|host| host.rsplit_once(':'));
    match port.map(|(_, port)| port) {
        Some(port) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("polis-session-{port}")
        }
        _ => "polis-session".to_owned(),
    }
}

/// Returns the log position before a whole page is rendered. Without it, live updates start when the page's event
/// stream is opened, which is the fallback if the store does not respond at this moment.
async fn place(house: &House, part: bool, method: &Method) -> Option<u64> {
    match *method {
        Method::GET if !part => house.hub.now().await.ok(),
        _ => None,
    }
}

/// Returns the URL to return to after submitting a form of the navigation bar.
fn back(request: &Request) -> String {
    let uri = request.uri();
    let whole = uri
        .path_and_query()
        .map_or(uri.path(), PathAndQuery::as_str);
    match *request.method() {
        Method::GET | Method::HEAD => whole.to_owned(),
        _ => "/".to_owned(),
    }
}

/// Returns the request if its CSRF token is valid, that is, if one of our own pages sent it.
async fn ours(request: Request, word: &str) -> Result<Request, Refusal> {
    let (parts, body) = request.into_parts();
    let elsewhere = parts.headers.get(FETCH_SITE);
    if elsewhere.is_some_and(|site| site == "cross-site") {
        return Err(not_ours());
    }
    let whole = Limited::new(body, MAX_FORM).collect().await;
    let whole = whole.map_err(|_| {
        Refusal::new(
            Code::RequestTooLarge,
            "The form is larger than 12 MiB, or did not arrive whole.",
            "send less at once",
        )
    })?;
    let whole: Bytes = whole.to_bytes();
    let sent = parts.headers.get(CSRF).and_then(|v| v.to_str().ok());
    let right = match sent {
        Some(sent) => same(sent, word),
        None => field(&whole, "csrf").is_some_and(|sent| same(sent, word)),
    };
    if !right {
        return Err(not_ours());
    }
    Ok(Request::from_parts(parts, whole.into()))
}

fn not_ours() -> Refusal {
    Refusal::new(
        Code::OriginForbidden,
        "This did not come from a page of this session.",
        "load the page again and repeat it there",
    )
}

/// Returns a form field whose value needs no decoding.
fn field<'a>(form: &'a [u8], name: &str) -> Option<&'a str> {
    let text = std::str::from_utf8(form).ok()?;
    let mut pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Compares two strings in constant time.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |d, (a, b)| d | (a ^ b)) == 0
}

/// Derives the CSRF token from the session token.
fn word_of(token: &str) -> String {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(token.as_bytes()) else {
        return String::new();
    };
    mac.update(b"polis page");
    let digest = mac.finalize().into_bytes();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn to_the_door(part: bool, method: &Method) -> Response {
    if part {
        let mut answer = StatusCode::UNAUTHORIZED.into_response();
        let name = HeaderName::from_static("hx-redirect");
        let to = HeaderValue::from_static("/signin");
        answer.headers_mut().insert(name, to);
        return answer;
    }
    match *method {
        Method::GET | Method::HEAD => Redirect::to("/signin").into_response(),
        _ => StatusCode::UNAUTHORIZED.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_has_its_own_cookie() {
        for (host, name) in [
            ("127.0.0.1:7707", "polis-session-7707"),
            ("[::1]:80", "polis-session-80"),
            ("[::1]", "polis-session"),
            ("localhost", "polis-session"),
            ("a:b;c", "polis-session"),
        ] {
            let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_str(host).unwrap())]);
            assert_eq!(cookie_name(&headers), name, "{host}");
        }
    }

    #[test]
    fn a_word_belongs_to_one_session() {
        assert_eq!(word_of("a"), word_of("a"));
        assert_ne!(word_of("a"), word_of("b"));
        assert!(!same("", "a") && !same("ab", "aa") && same("ab", "ab"));
    }

    #[test]
    fn a_field_of_a_form_is_found() {
        assert_eq!(field(b"a=1&csrf=abc&b=2", "csrf"), Some("abc"));
        assert_eq!(field(b"xcsrf=abc", "csrf"), None);
        assert_eq!(field(b"", "csrf"), None);
    }
}
