//! Routes and handlers of the web pages, one module per tab.

use polis_core::Refusal;

use crate::error_page::PageError;
use crate::refusal_tables::PageRefusal;
use crate::request::request_context::RequestContext;
use crate::route_table::WebRoute;

mod agents;
pub(crate) mod boards;
mod events;
mod overview;
mod tasks;
pub(crate) mod workspaces;

/// The "not found" page.
pub(crate) async fn page_not_found(context: RequestContext) -> PageError {
    let refusal = Refusal::from(PageRefusal::NoPage);
    PageError::new(&context, refusal.into())
}

/// Returns the routes of all tabs.
pub(crate) fn page_routes() -> Vec<WebRoute> {
    let mut routes = overview::overview_routes();
    routes.extend(tasks::task_routes());
    routes.extend(boards::board_routes());
    routes.extend(agents::agent_routes());
    routes.extend(workspaces::workspace_routes());
    routes.extend(events::event_routes());
    routes
}
