//! HTTP API: at least one route for every tool, behind common admission checks.
//!
//! `route` is the table of these routes; the router (`http_app`) and the OpenAPI document (`openapi`) are generated
//! from it. `builtin_routes` adds health checks, metrics and the OpenAPI document. `admission`, the middleware
//! in front of all routes, checks Host, Origin, token and rate limit. Then the `route_endpoint` handles the
//! request and returns a `response` or a `problem`. `server` owns the sockets. [`BackgroundServices`] mounts live
//! events and MCP; the code that starts the server calls it in [`HttpApp::with_routes`].

mod admission;
mod builtin_routes;
mod http_app;
pub mod openapi;
mod options;
pub mod problem;
mod request;
pub(crate) mod request_language;
mod response;
mod route;
mod route_endpoint;
mod server;
mod server_state;

pub use admission::{ConnectionPeer, host_allow_list, is_web_page_path, rate_limit};
pub use http_app::HttpApp;
pub use options::ServerOptions;
pub use request::body;
pub use server::background_services::BackgroundServices;
pub use server::listen::{BoundListener, ListenAddress};
pub use server::write_timeout::WriteTimeoutStream;
pub use server::{HttpServer, listen, server_log, tls};
pub use server_state::GracefulShutdown;
