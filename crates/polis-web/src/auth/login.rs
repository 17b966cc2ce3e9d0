//! Login and logout: how a browser session is started and ended.
//!
//! A sign-in link from the terminal leads to a page that submits the link's key itself. Merely fetching the
//! link, as link previews do, does not consume the key. Pasting a token works as well. Failed attempts are
//! counted (login throttle).

use std::sync::Arc;

use axum::extract::{Extension, Form, Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue};
use maud::{Markup, html};
use polis_core::RefusalCode;
use polis_core::token::{BROWSER_SESSION_LIFETIME_MS, unauthorized_refusal};
use polis_i18n::msg;
use polis_ops::OpError;
use polis_ops::op::{self, LoginCredential};
use polis_serve::http::{ConnectionPeer, problem};
use serde::Deserialize;

use crate::auth::session::cookie_name;
use crate::error_page::{PageError, render_error_notice};
use crate::layout;
use crate::request::preferences::Preferences;
use crate::request::request_context::RequestContext;
use crate::route_table::{RouteAccess, WebRoute};
use crate::state::WebState;

pub(crate) fn login_routes() -> Vec<WebRoute> {
    vec![
        WebRoute::get("/signin", RouteAccess::Anonymous, show_login),
        WebRoute::post_sign_in("/signin", submit_login),
        WebRoute::post("/signout", RouteAccess::AnySession, log_out),
    ]
}

#[derive(Debug, Default, Deserialize)]
struct LoginLinkQuery {
    key: Option<String>,
}

/// Returns the login page; for a sign-in link, a form that submits itself.
async fn show_login(preferences: Preferences, Query(link): Query<LoginLinkQuery>) -> Response {
    let lang = preferences.lang;
    let body = match link.key {
        Some(key) => html! {
            p { (msg::login_one_moment(lang)) }
            form method="post" action="/signin" data-auto {
                input type="hidden" name="key" value=(key);
                button.main { (msg::login_sign_in(lang)) }
            }
        },
        None => render_login_options(preferences),
    };
    layout::signed_out_page(preferences, msg::login_sign_in(lang), &body)
}

/// Renders the ways to sign in, for a visitor without a session.
fn render_login_options(preferences: Preferences) -> Markup {
    let lang = preferences.lang;
    html! {
        div.card {
            h2 { (msg::login_with_link(lang)) }
            p {
                (msg::login_with_link_explanation(lang))
            }
            pre { code { "polis open" } }
        }
        div.card {
            h2 { (msg::login_with_token(lang)) }
            form method="post" action="/signin" {
                label for="token" { (msg::login_token_field(lang)) }
                div.row {
                    input.grow #token name="token" type="password" autocomplete="off" spellcheck="false" required;
                    button { (msg::login_sign_in(lang)) }
                }
            }
            p.muted.small {
                (msg::login_token_permissions(lang))
            }
        }
    }
}

#[derive(Debug, Default, Deserialize)]
struct LoginForm {
    key: Option<String>,
    token: Option<String>,
}

/// Signs in with a key or a token, and sets the session cookie. On failure, shows the login page with the
/// error.
async fn submit_login(
    State(state): State<Arc<WebState>>,
    preferences: Preferences,
    headers: HeaderMap,
    peer: Option<Extension<ConnectionPeer>>,
    Form(form): Form<LoginForm>,
) -> Response {
    let peer = peer.map(|Extension(peer)| peer);
    match start_session(&state, &headers, peer.as_ref(), &form).await {
        Ok(cookie) => {
            let mut answer = Redirect::to("/").into_response();
            answer.headers_mut().insert(SET_COOKIE, cookie);
            answer
        }
        Err(error) => refused_login_page(preferences, &error),
    }
}

/// Returns the login page with the error of a refused attempt.
pub(crate) fn refused_login_page(preferences: Preferences, error: &OpError) -> Response {
    let body = html! { (render_error_notice(preferences, error, false)) (render_login_options(preferences)) };
    let title = msg::login_sign_in(preferences.lang);
    let mut answer = layout::signed_out_page(preferences, title, &body);
    *answer.status_mut() = problem::status_for_code(error.code());
    answer
}

/// Starts a session and returns its cookie. Fails with `Unauthorized` for an invalid key or token, and with
/// `RateLimited` after too many of those.
async fn start_session(
    state: &WebState,
    headers: &HeaderMap,
    peer: Option<&ConnectionPeer>,
    form: &LoginForm,
) -> Result<HeaderValue, OpError> {
    let credential = match (&form.key, &form.token) {
        (Some(key), _) => LoginCredential::Key(key.trim()),
        (None, Some(token)) => LoginCredential::Token(token.trim()),
        (None, None) => return Err(unauthorized_refusal().into()),
    };
    // A valid key or token is accepted regardless of failed attempts from the same address. For invalid ones,
    // the number of detailed responses is limited.
    let session = match op::sign_in(&state.app, credential).await {
        Ok(session) => session,
        Err(error) => {
            if error.code() == RefusalCode::UNAUTHORIZED {
                state.login_throttle.check_attempt(peer)?;
                state.login_throttle.record_failure(peer);
            }
            return Err(error);
        }
    };
    let secure = peer.is_some_and(|peer| peer.is_tls);
    let text = format_session_cookie(
        headers,
        &session.token,
        BROWSER_SESSION_LIFETIME_MS / 1_000,
        secure,
    );
    Ok(HeaderValue::from_str(&text).map_err(|_| unauthorized_refusal())?)
}

fn format_session_cookie(headers: &HeaderMap, value: &str, seconds: i64, secure: bool) -> String {
    let name = cookie_name(headers);
    let secure = if secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

/// Ends the session and invalidates its token.
async fn log_out(
    context: RequestContext,
    headers: HeaderMap,
    peer: Option<Extension<ConnectionPeer>>,
) -> Result<Response, PageError> {
    if let Some(id) = &context.identity.token {
        let left = op::sign_out(&context.request, id).await;
        left.map_err(|error| PageError::new(&context, error))?;
    }
    let mut answer = Redirect::to("/signin").into_response();
    let secure = peer.is_some_and(|Extension(peer)| peer.is_tls);
    if let Ok(cookie) = HeaderValue::from_str(&format_session_cookie(&headers, "", 0, secure)) {
        answer.headers_mut().insert(SET_COOKIE, cookie);
    }
    Ok(answer)
}
