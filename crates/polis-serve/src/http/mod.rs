//! HTTP API: one route per tool, behind common admission checks.
//!
//! `route` is the table of routes, from which the router (`app`) and the OpenAPI document (`openapi`) are
//! generated. A request passes admission in `gate` (Host, Origin, token, rate limit), is handled by its
//! `endpoint`, and leaves as an `answer` or a `problem`. `server` owns the sockets. Live events and MCP are
//! mounted by the code that starts the server.

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
