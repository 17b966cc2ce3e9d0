//! polis in a browser: pages made on the server over the same operations every surface has, live through
//! one stream of events. No rules of its own.
//!
//! A request comes through the server's gate, is somebody's by its session (`session`), and is answered by
//! a page (`page/*`), one folder for each tab. Whole documents are drawn by `layout`, refusals by `refused`;
//! parts of a page are the same functions that draw them within it, fetched again when `live` says that
//! something happened.

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
