//! Preferences: `POST /taste` sets the language and the colour theme, which are stored in cookies.

use std::sync::Arc;

use axum::Router;
use axum::extract::Form;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::post;
use http::HeaderValue;
use http::header::SET_COOKIE;
use polis_view::Lang;
use serde::Deserialize;

use crate::request_context::Theme;
use crate::state::House;

pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new().route("/taste", post(choose))
}

#[derive(Debug, Deserialize)]
struct Choice {
    lang: Option<String>,
    theme: Option<String>,
    back: Option<String>,
}

/// Stores the preferences and redirects back.
async fn choose(Form(choice): Form<Choice>) -> Response {
    let back = choice.back.as_deref().filter(|to| is_local(to));
    let mut answer = Redirect::to(back.unwrap_or("/")).into_response();
    let lang = choice.lang.as_deref().and_then(Lang::parse);
    let theme = choice.theme.as_deref().map(Theme::parse);
    let chosen = [
        ("polis-lang", lang.map(Lang::code)),
        ("polis-theme", theme.map(Theme::name)),
    ];
    for (name, value) in chosen {
        let Some(value) = value else { continue };
        let cookie = format!("{name}={value}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Strict");
        if let Ok(cookie) = HeaderValue::from_str(&cookie) {
            answer.headers_mut().append(SET_COOKIE, cookie);
        }
    }
    answer
}

/// Returns whether a redirect target is a path of this server (prevents open redirects).
fn is_local(to: &str) -> bool {
    to.starts_with('/')
        && !to.starts_with("//")
        && to
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        for good in ["/", "/tasks?q=a&b=%20", "/boards/mid%2Fdev"] {
            assert!(is_local(good), "{good}");
        }
        for bad in [
            "",
            "tasks",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\nb",
        ] {
            assert!(!is_local(bad), "{bad}");
        }
    }
}
