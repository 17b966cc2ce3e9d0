//! Somebody's request for a page: who, in which language, and on which ground.

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

/// The header htmx sends with every request of its own.
const HX_REQUEST: HeaderName = HeaderName::from_static("hx-request");

/// How a page looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Theme {
    /// As the system does.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    /// Its name in the cookie and in the document.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// Which colour schemes a browser is told of.
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

/// What a person has chosen about pages; known before it is known who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Taste {
    pub(crate) lang: Lang,
    pub(crate) theme: Theme,
}

impl Taste {
    /// The cookies' word, else the browser's, else the installation's.
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

/// Somebody's request for a page.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    /// The ground, knowing already who asks.
    pub(crate) polis: Polis,
    /// Who asks.
    pub(crate) me: AgentId,
    /// Which language, how it looks.
    pub(crate) taste: Taste,
    /// What forms have to send back.
    pub(crate) csrf: String,
    /// What its session is good for, and by which token.
    pub(crate) identity: Identity,
    /// Where it was sent to, without what was asked there.
    pub(crate) path: String,
    /// The page to come back to: the address with what was asked there.
    pub(crate) back: String,
    /// Whether a part of a page is asked for, not a whole one.
    pub(crate) part: bool,
    /// How far the log was when a whole page was asked for: the page shows at least that.
    pub(crate) place: Option<u64>,
}

impl Visit {
    /// The name of the project that the pages are about.
    pub(crate) fn project(&self) -> &str {
        &self.polis.settings.boards.project
    }

    /// The text of the visitor's language.
    pub(crate) fn say<T>(&self, en: T, zh: T) -> T {
        self.taste.lang.say(en, zh)
    }

    /// Refuses what the session is not good for.
    pub(crate) fn check(&self, area: Area, access: Access) -> Result<(), Refused> {
        self.identity.check(area, access).or_refuse(self)
    }

    /// Whether the session is good for this; for what a page rather leaves out than refuses.
    pub(crate) fn allows(&self, area: Area, access: Access) -> bool {
        self.identity.scopes.allow(area, access)
    }

    /// Whether the session is good for changing all of these; for what a page offers to do.
    pub(crate) fn may_change(&self, areas: &[Area]) -> bool {
        areas.iter().all(|area| self.allows(*area, Access::Write))
    }

    /// The visitor's language.
    pub(crate) fn lang(&self) -> Lang {
        self.taste.lang
    }

    /// The moment pages are drawn at, in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        self.polis.clock.now_millis()
    }
}

/// Whether htmx asks, which puts the answer into a page that is there.
pub(crate) fn is_part(headers: &HeaderMap) -> bool {
    headers.contains_key(HX_REQUEST)
}

/// A cookie of a request.
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

    /// The session's guard has put it there.
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
