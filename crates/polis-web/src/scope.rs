//! Scope check of a session by URL path.
//!
//! A session is a token, and a token's scopes may be narrower than its agent's rights. Handlers that concern more than
//! one area check the others themselves ([`Visit::check`]).

use http::Method;
use polis_core::Refusal;
use polis_core::token::{Access, Area};

use crate::request_context::Visit;

/// Fails if the session's scopes do not allow the request.
pub(crate) fn check(visit: &Visit, method: &Method) -> Result<(), Refusal> {
    let first = visit.path.split('/').nth(1).unwrap_or_default();
    let area = match first {
        "tasks" => Area::Tasks,
        "boards" => Area::Boards,
        "agents" => Area::Agents,
        "workspaces" => Area::Files,
        "events" | "live" => Area::Events,
        // Preferences, logout, and pages that check several areas themselves.
        _ => return Ok(()),
    };
    let access = match *method {
        // A form that would be refused on submission, with everything typed into it, is not shown in the first place.
        Method::GET | Method::HEAD if !is_deed(&visit.path) => Access::Read,
        _ => Access::Write,
    };
    visit.identity.check(area, access)
}

/// Returns whether a GET page exists only to perform an action. Board pages check this themselves, because board names
/// contain slashes.
fn is_deed(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    matches!(
        parts[..],
        ["tasks", "new"]
            | ["tasks", _, "edit" | "delete"]
            | ["agents", _, "retire"]
            | ["agents", "runs", _, "stop"]
            | ["agents", "runs", _, "of", _, "terminate"]
    )
}
