//! Request context of a page ([`RequestContext`]): the authenticated agent, its scopes, preferences and CSRF
//! token. The guard of a route that needs a session creates it, and handlers take it as an extractor.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use http::header::COOKIE;
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode};
use polis_core::AgentId;
use polis_core::token::{AccessLevel, OperationArea};
use polis_ops::Request;
use polis_serve::CallerIdentity;
use polis_view::UiLanguage;

use crate::error_page::{OrPageError as _, PageError};
use crate::request::preferences::Preferences;
use crate::route_table::RouteState;

/// The header that htmx sends with every request.
const HX_REQUEST: HeaderName = HeaderName::from_static("hx-request");

/// Request context of an authenticated request.
#[derive(Debug, Clone)]
pub(crate) struct RequestContext {
    /// The request to the operations, with the caller's registry entry already loaded.
    pub(crate) request: Arc<Request>,
    /// The agent as which the session acts.
    pub(crate) me: AgentId,
    /// Language and theme.
    pub(crate) preferences: Preferences,
    /// The CSRF token that forms have to send.
    pub(crate) csrf: String,
    /// Scopes and token of the session.
    pub(crate) identity: CallerIdentity,
    /// Path of the request, without the query string.
    pub(crate) path: String,
    /// URL to return to: the path with the query string.
    pub(crate) return_url: String,
    /// Whether htmx requests a fragment instead of a whole page.
    pub(crate) is_fragment: bool,
    /// Position in the event log when a whole page was requested: the page is at least as new.
    pub(crate) log_position: Option<u64>,
}

impl RequestContext {
    /// Returns the project name.
    pub(crate) fn project_name(&self) -> &str {
        &self.request.app.settings.boards.project
    }

    /// Fails with `InsufficientScope` if the session's scopes do not allow the access.
    pub(crate) fn check_access(
        &self,
        area: OperationArea,
        access: AccessLevel,
    ) -> Result<(), PageError> {
        self.identity.check_scope(area, access).or_page_error(self)
    }

    /// Returns whether the session's scopes allow the access, for content that a page omits instead of
    /// failing.
    pub(crate) fn may_access(&self, area: OperationArea, access: AccessLevel) -> bool {
        self.identity.scopes.allows(area, access)
    }

    /// Returns whether the session's scopes allow changes in all of these areas, for actions that a page
    /// offers.
    pub(crate) fn may_write(&self, areas: &[OperationArea]) -> bool {
        areas
            .iter()
            .all(|area| self.may_access(*area, AccessLevel::Write))
    }

    /// Returns the reader's language.
    pub(crate) fn lang(&self) -> UiLanguage {
        self.preferences.lang
    }

    /// Returns the current time in milliseconds.
    pub(crate) fn now_millis(&self) -> i64 {
        self.request.app.clock.now_millis()
    }
}

/// Returns whether htmx sent the request and will swap the response into an existing page.
pub(crate) fn is_htmx_request(headers: &HeaderMap) -> bool {
    headers.contains_key(HX_REQUEST)
}

/// Returns a cookie of a request.
pub(crate) fn read_cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|one| one.trim().split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

impl FromRequestParts<RouteState> for RequestContext {
    type Rejection = StatusCode;

    /// Returns the context that the route's guard has inserted. Fails with 401 if there is none.
    async fn from_request_parts(parts: &mut Parts, _: &RouteState) -> Result<Self, StatusCode> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or(StatusCode::UNAUTHORIZED)
    }
}
