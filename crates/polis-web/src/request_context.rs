//! Request context of a page: the authenticated agent, its scopes, preferences and CSRF token.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::header::{ACCEPT_LANGUAGE, COOKIE};
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode};
use polis_core::AgentId;
use polis_core::token::{Access, Area};
use polis_ops::Polis;
use polis_serve::Identity;
use polis_view::Lang;

use crate::error_page::{OrRefuse as _, Refused};
use crate::state::House;

/// The header that htmx sends with every request.
const HX_REQUEST: HeaderName = HeaderName::from_static("hx-request");

/// Colour theme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Theme {
    /// Follows the system setting.
    #[default]
    System,
    /// Dark text on a light background.
    Light,
    /// Light text on a dark background.
    Dark,
}

impl Theme {
    /// Returns its name in the cookie and in the document.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Returns the value of the `color-scheme` meta element.
    pub(crate) fn schemes(self) -> &'static str {
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
pub(crate) struct Taste {
    pub(crate) lang: Lang,
    pub(crate) theme: Theme,
}

impl Taste {
    /// Reads the preferences from the cookies, else from the browser's language, else from the installation's default.
    pub(crate) fn of(headers: &HeaderMap, usual: Lang) -> Self {
        let spoken = headers.get(ACCEPT_LANGUAGE).and_then(|v| v.to_str().ok());
        let spoken = spoken.and_then(|list| {
            let mut names = list.split(',');
            names.find_map(|one| Lang::parse(one.split(';').next().unwrap_or("").trim()))
        });
        Self {
            lang: cookie(headers, "polis-lang")
                .and_then(Lang::parse)
                .or(spoken)
                .unwrap_or(usual),
            theme: cookie(headers, "polis-theme").map_or(Theme::System, Theme::parse),
        }
    }
}

/// Request context of an authenticated request.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    /// Application state with the caller's registry entry already loaded.
    pub(crate) polis: Polis,
    /// The authenticated agent.
    pub(crate) me: AgentId,
    /// Language and theme.
    pub(crate) taste: Taste,
    /// The CSRF token that forms have to send.
    pub(crate) csrf: String,
    /// Scopes and token of the session.
    pub(crate) identity: Identity,
    /// Path of the request, without the query string.
    pub(crate) path: String,
    /// URL to return to: the path with the query string.
    pub(crate) back: String,
    /// Whether htmx requests a fragment instead of a whole page.
    pub(crate) part: bool,
    /// Log position when a whole page was requested: the page is at least as new.
    pub(crate) place: Option<u64>,
}

impl Visit {
    /// Returns the project name.
    pub(crate) fn project(&self) -> &str {
        &self.polis.settings.boards.project
    }

    /// Returns the text in the reader's language.
    pub(crate) fn say<T>(&self, en: T, zh: T) -> T {
        self.taste.lang.say(en, zh)
    }

    /// Fails if the session's scopes do not allow the access.
    pub(crate) fn check(&self, area: Area, access: Access) -> Result<(), Refused> {
        self.identity.check(area, access).or_refuse(self)
    }

    /// Returns whether the session's scopes allow the access, for content that a page omits instead of failing.
    pub(crate) fn allows(&self, area: Area, access: Access) -> bool {
        self.identity.scopes.allow(area, access)
    }

    /// Returns whether the session's scopes allow changes in all of these areas, for actions that a page offers.
    pub(crate) fn may_change(&self, areas: &[Area]) -> bool {
        areas.iter().all(|area| self.allows(*area, Access::Write))
    }

    /// Returns the reader's language.
    pub(crate) fn lang(&self) -> Lang {
        self.taste.lang
    }

    /// Returns the current time in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        self.polis.clock.now_millis()
    }
}

/// Returns whether htmx sent the request and will swap the response into an existing page.
pub(crate) fn is_part(headers: &HeaderMap) -> bool {
    headers.contains_key(HX_REQUEST)
}

/// Returns a cookie of a request.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|one| one.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

impl<S: Sync> FromRequestParts<S> for Visit {
    type Rejection = StatusCode;

    /// The session middleware has inserted it.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or(StatusCode::UNAUTHORIZED)
    }
}

impl FromRequestParts<Arc<House>> for Taste {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, house: &Arc<House>) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers, house.usual()))
    }
}
