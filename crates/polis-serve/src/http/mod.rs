//! The HTTP API: every tool at an address, behind one gate.
//!
//! `route` is the table of addresses; the router (`app`) and the OpenAPI document (`openapi`) are made of
//! it. A request passes the `gate` (names, pages, tokens, rates), reaches its `endpoint`, and leaves as an
//! `answer` or a `problem`. `server` has the sockets. Live events and MCP are mounted by whoever starts
//! the server.

mod address;
mod answer;
mod app;
pub mod body;
mod condition;
mod endpoint;
mod gate;
mod ground;
pub mod host;
mod input;
pub mod listen;
mod live;
pub mod log;
pub mod openapi;
mod options;
mod own;
pub mod problem;
pub mod rate;
mod request_id;
mod route;
mod server;
pub mod tls;

pub use app::App;
pub use gate::{Peer, is_page};
pub use ground::Closing;
pub use listen::{Listen, Listener};
pub use live::Live;
pub use options::Options;
pub use server::Server;
