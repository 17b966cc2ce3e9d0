//! The HTTP API: every tool at an address, behind one gate.
//!
//! `route` is the table of addresses; the router (`app`) and the OpenAPI document (`openapi`) are made of
//! it. A request passes the `gate` (names, pages, tokens, rates), reaches its `endpoint`, and leaves as an
//! `answer` or a `problem`. `server` has the sockets. Live events and MCP are mounted by whoever starts
//! the server.

mod admission;
mod app;
mod background_services;
pub mod body;
mod builtin_routes;
mod endpoint;
mod etag;
pub mod host;
mod input;
pub mod listen;
pub mod log;
pub mod openapi;
mod options;
mod path_encoding;
pub mod problem;
pub mod rate_limit;
mod request_id;
mod response;
mod route;
mod server;
mod server_state;
pub mod tls;

pub use admission::{Peer, is_page};
pub use app::App;
pub use background_services::Live;
pub use listen::{Listen, Listener};
pub use options::Options;
pub use server::Server;
pub use server_state::Closing;
