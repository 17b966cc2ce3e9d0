//! Login and logout: how a browser session is started and ended.
//!
//! A sign-in link from the terminal leads to a page that submits the link's key itself. Merely fetching the link, as
//! link previews do, does not consume the key. Pasting a token works as well. Failed attempts are counted (login
//! throttle).

use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, Form, Query, State};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use http::header::SET_COOKIE;
use http::{HeaderMap, HeaderValue};
use maud::{Markup, html};
use polis_core::token::{SESSION_LIFE_MS, unauthorized};
use polis_core::{Code, Refusal};
use polis_ops::OpError;
use polis_ops::op::{self, Shown};
use polis_serve::http::{Peer, problem};
use serde::Deserialize;

use crate::error_page::{Refused, notice};
use crate::layout;
use crate::request_context::{Taste, Visit};
use crate::session::{FETCH_SITE, cookie_name};
use crate::state::House;

/// Routes that need no session.
pub(crate) fn outside() -> Router<Arc<House>> {
    Router::new().route("/signin", get(ask).post(enter))
}

/// Routes that need a session.
pub(crate) fn inside() -> Router<Arc<House>> {
    Router::new().route("/signout", post(leave))
}

#[derive(Debug, Default, Deserialize)]
struct Link {
    key: Option<String>,
}

async fn ask(taste: Taste, Query(link): Query<Link>) -> Response {
    let lang = taste.lang;
    let body = match link.key {
        Some(key) => html! {
            p { (lang.say("One moment …", "请稍候……")) }
            form method="post" action="/signin" data-auto {
                input type="hidden" name="key" value=(key);
                button.main { (lang.say("Sign in", "登录")) }
            }
        },
        None => ways_in(taste),
    };
    layout::outside(taste, lang.say("Sign in", "登录"), &body)
}

/// Renders the ways to sign in, for a visitor without a session.
fn ways_in(taste: Taste) -> Markup {
    let lang = taste.lang;
    html! {
        div.card {
            h2 { (lang.say("With a link", "使用链接")) }
            p {
                (lang.say("Run this where polis serves; it opens this page, signed in:", "在运行 polis 的机器上执行，它会打开已登录的页面："))
            }
            pre { code { "polis open" } }
        }
        div.card {
            h2 { (lang.say("With a token", "使用令牌")) }
            form method="post" action="/signin" {
                label for="token" { (lang.say("Token", "令牌")) }
                div.row {
                    input.grow #token name="token" type="password" autocomplete="off" spellcheck="false" required;
                    button { (lang.say("Sign in", "登录")) }
                }
            }
            p.muted.small {
                (lang.say("The session may do what the token may.", "登录后的权限与令牌相同。"))
            }
        }
    }
}

#[derive(Debug, Default, Deserialize)]
struct Enter {
    key: Option<String>,
    token: Option<String>,
}

async fn enter(
    State(house): State<Arc<House>>,
    taste: Taste,
    headers: HeaderMap,
    peer: Option<Extension<Peer>>,
    Form(form): Form<Enter>,
) -> Response {
    let peer = peer.map(|Extension(peer)| peer);
    match try_to_enter(&house, &headers, peer.as_ref(), &form).await {
        Ok(cookie) => {
            let mut answer = Redirect::to("/").into_response();
            answer.headers_mut().insert(SET_COOKIE, cookie);
            answer
        }
        Err(error) => {
            let body = html! { (notice(taste, &error, false)) (ways_in(taste)) };
            let title = taste.lang.say("Sign in", "登录");
            let mut answer = layout::outside(taste, title, &body);
            *answer.status_mut() = problem::status_of(error.code());
            answer
        }
    }
}

/// Starts a session and returns its cookie.
async fn try_to_enter(
    house: &House,
    headers: &HeaderMap,
    peer: Option<&Peer>,
    form: &Enter,
) -> Result<HeaderValue, OpError> {
    // Login CSRF protection: a cross-site page cannot sign a visitor in, not even with a valid link.
    let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
    if !matches!(site, None | Some(b"same-origin" | b"none")) {
        return Err(Refusal::new(
            Code::OriginForbidden,
            "This did not come from a page of this server.",
            "open the link itself",
        )
        .into());
    }
    let shown = match (&form.key, &form.token) {
        (Some(key), _) => Shown::Key(key.trim()),
        (None, Some(token)) => Shown::Token(token.trim()),
        (None, None) => return Err(unauthorized().into()),
    };
    // A valid key or token is accepted regardless of failed attempts from the same address. For invalid ones, the
    // number of detailed responses is limited.
    let session = match op::sign_in(&house.polis, shown).await {
        Ok(session) => session,
        Err(error) => {
            if error.code() == Code::Unauthorized {
                house.guesses.may_try(peer)?;
                house.guesses.failed(peer);
            }
            return Err(error);
        }
    };
    let secure = peer.is_some_and(|peer| peer.secure);
    let text = session_cookie(headers, &session.token, SESSION_LIFE_MS / 1_000, secure);
    Ok(HeaderValue::from_str(&text).map_err(|_| unauthorized())?)
}

fn session_cookie(headers: &HeaderMap, value: &str, seconds: i64, secure: bool) -> String {
    let name = cookie_name(headers);
    let secure = if secure { "; Secure" } else { "" };
    format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

/// Ends the session and invalidates its token.
async fn leave(
    visit: Visit,
    headers: HeaderMap,
    peer: Option<Extension<Peer>>,
) -> Result<Response, Refused> {
    if let Some(id) = &visit.identity.token {
        let left = op::sign_out(&visit.polis, &visit.me, id).await;
        left.map_err(|error| Refused::of(&visit, error))?;
    }
    let mut answer = Redirect::to("/signin").into_response();
    let secure = peer.is_some_and(|Extension(peer)| peer.secure);
    if let Ok(gone) = HeaderValue::from_str(&session_cookie(&headers, "", 0, secure)) {
        answer.headers_mut().insert(SET_COOKIE, gone);
    }
    Ok(answer)
}
