//! MCP resources: their URIs, contents and media types, and subscriptions to their changes.

pub(crate) mod media_types;
pub(crate) mod resource_uri;
pub(crate) mod resources;
pub(crate) mod subscriptions;
