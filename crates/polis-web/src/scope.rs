//! What a session has to be good for, by the address it asks at.
//!
//! A session is a token, and a token may be good for less than its agent. Addresses that are about more
//! than one area ask for the others themselves ([`Visit::check`]).

use http::Method;
use polis_core::Refusal;
use polis_core::token::{Access, Area};

use crate::request_context::Visit;

/// Refuses what the session is not good for.
pub(crate) fn check(visit: &Visit, method: &Method) -> Result<(), Refusal> {
    let first = visit.path.split('/').nth(1).unwrap_or_default();
    let area = match first {
        "tasks" => Area::Tasks,
        "boards" => Area::Boards,
        "agents" => Area::Agents,
        "workspaces" => Area::Files,
        "events" | "live" => Area::Events,
        // What a reader chooses about pages, the way out, and what asks for several areas.
        _ => return Ok(()),
    };
    let access = match *method {
        // Nobody is shown a form that would be refused with all that was written into it.
        Method::GET | Method::HEAD if !is_deed(&visit.path) => Access::Read,
        _ => Access::Write,
    };
    visit.identity.check(area, access)
}

/// Whether a page is there only to do something. Those of boards ask for themselves, as names of boards have
/// slashes in them.
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
