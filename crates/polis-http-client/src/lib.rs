//! HTTP client for model calls, webhook deliveries and trace export: posts JSON documents, and reads responses in
//! one piece or as a stream.
//!
//! [`HttpClient`] is a thin layer over hyper-util's client, the one that `reqwest` is built on. It adds timeouts and
//! errors that callers can tell apart and that contain no URL. One client has one connection pool:
//!
//! - **Connections** are kept for 30 seconds after their last request, and shared by all targets of one origin.
//! - **HTTP/2** is used where a TLS endpoint offers it (ALPN), HTTP/1.1 otherwise.
//! - **Proxies** are those of [`ProxySettings`]; the default is none.
//! - **Root certificates** are those of the system, loaded once per process at the first TLS connection. A client can
//!   have additional ones ([`TlsRoots`]); it then loads its own set.
//! - **Redirects are never followed.** A request can carry a secret, such as an API key or a signature, and has a body
//!   that is meant for its receiver only; a redirect would send both to another host. A response with a 3xx status is
//!   returned like any other.
//! - **Compression** is neither requested nor decoded, so a limit on a body is a limit on the memory that it needs.
//! - **Retries** are up to the caller. Only a request that was not sent, because an idle connection had been closed, is
//!   sent on another connection.
//!
//! A request ends when its future or its response is dropped: that closes an HTTP/1.1 connection, and resets the
//! stream of an HTTP/2 connection.

mod connector;
mod http_client;
mod post_response;
mod post_target;
mod proxy_settings;
mod request_error;
mod tls_roots;

pub use http_client::{HttpClient, HttpClientSettings, RequestTimeouts};
pub use post_response::{PostResponse, ReceivedBody};
pub use post_target::{InvalidUrlError, PostTarget};
pub use proxy_settings::ProxySettings;
pub use request_error::RequestError;
pub use tls_roots::TlsRoots;
