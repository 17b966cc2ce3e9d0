//! Web interface of polis: server-rendered pages over the same operations as every other surface, with live updates
//! through one event stream (SSE). Contains no business rules.
//!
//! A request passes the server's admission check, is authenticated by its session (`session`), and is handled by a page
//! (`page/*`, one directory per tab). `layout` renders complete documents, `refused` renders errors. A fragment of a
//! page is rendered by the same function as within the page, and the browser fetches it again when `live` reports a
//! change.

mod assets;
mod compression;
mod error_page;
mod excerpt;
mod extract;
mod form_idempotency;
mod layout;
mod live;
mod login;
mod login_throttle;
mod markdown;
mod minify;
mod navigation;
mod page;
mod preferences;
mod request_context;
mod scope;
mod session;
mod side_by_side;
mod state;
mod tab;
mod time_ago;
mod timeline;
mod url;

pub use state::Web;
