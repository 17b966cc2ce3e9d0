//! Web interface of polis: server-rendered pages over the same operations as every other surface, with live
//! updates through one event stream (SSE). Contains no business rules.
//!
//! A request passes the server's admission check and the guard of its route (`route_table`), which checks
//! session, scopes and CSRF as the route declares them, and is handled by a page (`page/*`, one directory per
//! tab). `layout` renders complete documents, `error_page` renders
//! errors. A fragment of a page is rendered by the same function as within the page, and the browser fetches
//! it again when `live_updates` reports a change.

mod assets;
mod auth;
mod component;
mod error_page;
mod layout;
mod live_updates;
mod middleware;
mod page;
pub mod refusal_tables;
mod request;
mod route_table;
mod state;
mod url;

pub use route_table::{CsrfCheck, PageMethod, RouteAccess, RouteDeclaration, declared_routes};
pub use state::WebInterface;
