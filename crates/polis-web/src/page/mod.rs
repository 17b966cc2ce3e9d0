//! The pages of the web interface, one module per tab.

use std::sync::Arc;

use axum::Router;
use polis_core::{Code, Refusal};

use crate::error_page::Refused;
use crate::request_context::Visit;
use crate::state::House;

mod agents;
pub(crate) mod boards;
mod events;
mod now;
mod tasks;
pub(crate) mod workspaces;

/// The "not found" page.
pub(crate) async fn nothing(visit: Visit) -> Refused {
    let refusal = Refusal::new(
        Code::RouteNotFound,
        visit.say("There is no page at this address.", "这个地址没有页面。"),
        visit.say("go on from one of the tabs above", "请从上方的标签页继续"),
    );
    Refused::of(&visit, refusal.into())
}

/// Returns the routes of all pages that need a session.
pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new()
        .merge(boards::routes())
        .merge(events::routes())
        .merge(now::routes())
        .merge(agents::routes())
        .merge(tasks::routes())
        .merge(workspaces::routes())
}
