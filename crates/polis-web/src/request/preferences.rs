//! Preferences of a reader: language and colour theme, stored in cookies. `POST /preferences` changes them.

use std::convert::Infallible;

use axum::extract::{Form, FromRequestParts};
use axum::response::{IntoResponse as _, Redirect, Response};
use http::header::{ACCEPT_LANGUAGE, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use polis_view::UiLanguage;
use serde::Deserialize;

use crate::request::request_context::read_cookie;
use crate::route_table::{RouteAccess, RouteState, WebRoute};

/// Colour theme of the pages, a preference of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ColorTheme {
    /// Follows the system setting.
    #[default]
    System,
    /// Dark text on a light background.
    Light,
    /// Light text on a dark background.
    Dark,
}

impl ColorTheme {
    /// Returns its name in the cookie and in the document.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Returns the value of the `color-scheme` meta element.
    pub(crate) fn color_schemes(self) -> &'static str {
        match self {
            Self::System => "light dark",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    pub(crate) fn parse(name: &str) -> Self {
        match name {
            "light" => Self::Light,
            "dark" => Self::Dark,
            _ => Self::System,
        }
    }
}

/// Preferences of a reader; known before authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Preferences {
    pub(crate) lang: UiLanguage,
    pub(crate) theme: ColorTheme,
}

impl Preferences {
    /// Reads the preferences from the cookies, else from the browser's language, else from the installation's
    /// default.
    pub(crate) fn from_headers(headers: &HeaderMap, default_language: UiLanguage) -> Self {
        let accepted = headers.get(ACCEPT_LANGUAGE).and_then(|v| v.to_str().ok());
        let accepted = accepted.and_then(|list| {
            let mut names = list.split(',');
            names.find_map(|one| UiLanguage::parse(one.split(';').next().unwrap_or("").trim()))
        });
        Self {
            lang: read_cookie(headers, "polis-lang")
                .and_then(UiLanguage::parse)
                .or(accepted)
                .unwrap_or(default_language),
            theme: read_cookie(headers, "polis-theme")
                .map_or(ColorTheme::System, ColorTheme::parse),
        }
    }
}

impl FromRequestParts<RouteState> for Preferences {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &RouteState) -> Result<Self, Infallible> {
        let default_language = state.web_state().default_language();
        Ok(Self::from_headers(&parts.headers, default_language))
    }
}

pub(crate) fn preference_routes() -> Vec<WebRoute> {
    vec![WebRoute::post(
        "/preferences",
        RouteAccess::AnySession,
        save_preferences,
    )]
}

/// Fields of the preferences form; missing ones are not changed. `back` is the URL to return to.
#[derive(Debug, Deserialize)]
struct PreferencesForm {
    lang: Option<String>,
    theme: Option<String>,
    back: Option<String>,
}

/// Stores the preferences and redirects back.
async fn save_preferences(Form(choice): Form<PreferencesForm>) -> Response {
    let return_url = choice
        .back
        .as_deref()
        .filter(|target| is_local_path(target));
    let mut answer = Redirect::to(return_url.unwrap_or("/")).into_response();
    let lang = choice.lang.as_deref().and_then(UiLanguage::parse);
    let theme = choice.theme.as_deref().map(ColorTheme::parse);
    let chosen = [
        ("polis-lang", lang.map(UiLanguage::code)),
        ("polis-theme", theme.map(ColorTheme::name)),
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
fn is_local_path(target: &str) -> bool {
    target.starts_with('/')
        && !target.starts_with("//")
        && target
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_target_outside_server_is_rejected() {
        for good in ["/", "/tasks?q=a&b=%20", "/boards/mid%2Fdev"] {
            assert!(is_local_path(good), "{good}");
        }
        for bad in [
            "",
            "tasks",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\nb",
        ] {
            assert!(!is_local_path(bad), "{bad}");
        }
    }
}
