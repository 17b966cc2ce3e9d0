//! CORS: which methods and headers pages of the configured origins may use, and which response headers they may
//! read. Which origins are allowed is checked in `admission` (see `host_allow_list`).

use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_REQUEST_METHOD, AUTHORIZATION, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH,
    LINK, LOCATION, ORIGIN, RETRY_AFTER,
};
use http::{HeaderName, Method, Request};
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::http::request::request_id::X_REQUEST_ID;
use crate::http::response::IDEMPOTENCY_REPLAYED;
use crate::http::route_endpoint::IDEMPOTENCY_KEY;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");
const MCP_PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// How long a browser may cache the response to a preflight request.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(600);

/// Returns the layer for requests from an allowed origin.
pub(crate) fn cors_layer() -> CorsLayer {
    CorsLayer::new()
        // Only requests from an allowed origin pass this layer.
        .allow_origin(AllowOrigin::mirror_request())
        .allow_methods([
            Method::GET,
            Method::HEAD,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ])
        .allow_headers([
            AUTHORIZATION,
            CONTENT_TYPE,
            IF_MATCH,
            IF_NONE_MATCH,
            IDEMPOTENCY_KEY,
            LAST_EVENT_ID,
            X_REQUEST_ID,
            MCP_SESSION_ID,
            MCP_PROTOCOL_VERSION,
            MCP_METHOD,
            MCP_NAME,
        ])
        .expose_headers([
            ETAG,
            LINK,
            LOCATION,
            RETRY_AFTER,
            IDEMPOTENCY_REPLAYED,
            X_REQUEST_ID,
            MCP_SESSION_ID,
        ])
        .max_age(PREFLIGHT_MAX_AGE)
        .vary([ORIGIN])
}

/// Returns whether a request is a preflight request, which the layer answers itself.
pub(crate) fn is_preflight<B>(request: &Request<B>) -> bool {
    request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD)
}
