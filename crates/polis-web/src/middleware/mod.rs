//! Middleware of all pages, which `state` puts around the route table.

pub(crate) mod compression;
pub(crate) mod security_headers;
