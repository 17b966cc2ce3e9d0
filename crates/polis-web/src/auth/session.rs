//! Sessions: authenticates a browser's session cookie and creates the [`RequestContext`].
//!
//! The cookie is a token of the registry like any other (listed, revocable, hashed). It is valid for pages
//! only and never for the API, so a cross-site page cannot use it there. `route_table` decides which routes
//! need a session. Login and logout are in `login`.

use std::sync::Arc;

use axum::response::{IntoResponse as _, Redirect, Response};
use http::header::HOST;
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use polis_core::RefusalCode;
use polis_ops::{OpError, op};
use polis_serve::CallerIdentity;
use polis_serve::caller_identity::CallerRegistryEntry;

use crate::auth::csrf::csrf_token;
use crate::request::preferences::Preferences;
use crate::request::request_context::{RequestContext, is_htmx_request, read_cookie};
use crate::state::WebState;

/// Returns the context of a request with a valid session; `None` if it has none. Fails if the store does.
pub(crate) async fn authenticate_session(
    state: &WebState,
    request: &Parts,
    preferences: Preferences,
) -> Result<Option<RequestContext>, OpError> {
    let headers = &request.headers;
    let Some(token) = read_cookie(headers, &cookie_name(headers)) else {
        return Ok(None);
    };
    let admitted = match op::authenticate_token(&state.app, token).await {
        // An API token is not a session, although it can start one.
        Ok(admitted) if !admitted.is_session => return Ok(None),
        Ok(admitted) => admitted,
        Err(error) if error.code() == RefusalCode::UNAUTHORIZED => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_fragment = is_htmx_request(headers);
    let operation_request = state.app.request(&admitted.agent);
    Ok(Some(RequestContext {
        request: Arc::new(operation_request.with_registry_entry(admitted.entry)),
        identity: CallerIdentity {
            agent: admitted.agent.clone(),
            scopes: admitted.scopes,
            token: Some(admitted.token_id),
            registry_entry: CallerRegistryEntry::NotLoaded,
            session: None,
        },
        me: admitted.agent,
        return_url: request_return_url(request),
        preferences,
        csrf: csrf_token(token),
        path: request.uri.path().to_owned(),
        is_fragment,
        log_position: current_log_position(state, is_fragment, &request.method).await,
    }))
}

/// Returns the name of the session cookie. Cookies do not distinguish ports, and a machine may run several
/// servers, so the name contains the port.
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

/// Returns the position in the event log before a whole page is rendered. Without it, live updates start when
/// the page's event stream is opened, which is the fallback if the store does not respond at this moment.
async fn current_log_position(state: &WebState, part: bool, method: &Method) -> Option<u64> {
    match *method {
        Method::GET if !part => state.hub.last_sequence().await.ok(),
        _ => None,
    }
}

/// Returns the URL to return to after submitting a form of the navigation bar.
fn request_return_url(request: &Parts) -> String {
    let uri = &request.uri;
    let target = uri
        .path_and_query()
        .map_or(uri.path(), PathAndQuery::as_str);
    match request.method {
        Method::GET | Method::HEAD => target.to_owned(),
        _ => "/".to_owned(),
    }
}

/// Returns a redirect to the login page: an HTTP redirect for pages, a header for htmx, 401 for other
/// requests.
pub(crate) fn redirect_to_login(part: bool, method: &Method) -> Response {
    if part {
        let mut answer = StatusCode::UNAUTHORIZED.into_response();
        let name = HeaderName::from_static("hx-redirect");
        let location = HeaderValue::from_static("/signin");
        answer.headers_mut().insert(name, location);
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
    fn cookie_name_contains_port() {
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
}
