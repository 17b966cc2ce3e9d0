//! Endpoints of the server itself: health checks (liveness, readiness), Prometheus metrics and the OpenAPI
//! document.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use polis_core::Refusal;
use polis_core::token::{AccessLevel, OperationArea, unauthorized_refusal};

use super::problem::HttpProblem;
use super::request::body;
use super::server_state::ServerState;
use super::{openapi, response};
use crate::caller_identity::CallerIdentity;
use crate::metrics;
use crate::refusal_tables::HttpRefusal;

/// Timeout of the store in a readiness check.
const READINESS_TIMEOUT: Duration = Duration::from_secs(5);

/// An endpoint of the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltinRoute {
    /// Liveness: the process responds.
    Liveness,
    /// Readiness: the store is reachable and the server is not shutting down.
    Readiness,
    /// Prometheus metrics; requires the scope `server:read`.
    Metrics,
    /// The OpenAPI document; requires any token.
    OpenApiDocument,
}

impl BuiltinRoute {
    /// All built-in routes with their paths.
    pub(crate) const ALL: [(&'static str, Self); 4] = [
        ("/healthz", Self::Liveness),
        ("/readyz", Self::Readiness),
        ("/metrics", Self::Metrics),
        ("/v1/openapi.json", Self::OpenApiDocument),
    ];
}

/// Handler of a built-in route.
#[derive(Debug, Clone)]
pub(crate) struct BuiltinEndpoint {
    pub(crate) state: Arc<ServerState>,
    pub(crate) route: BuiltinRoute,
}

impl BuiltinEndpoint {
    /// Returns the response to a request of any method.
    pub(crate) async fn handle(self, request: Request<Body>) -> Response<Body> {
        let result = self.respond(request).await;
        result.unwrap_or_else(|problem| response::problem_response(&self.state, &problem))
    }

    async fn respond(&self, request: Request<Body>) -> Result<Response<Body>, HttpProblem> {
        let (parts, _) = request.into_parts();
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Err(HttpProblem::method_not_allowed(&HeaderValue::from_static(
                "GET, HEAD",
            )));
        }
        let identity = parts.extensions.get::<CallerIdentity>();
        match self.route {
            BuiltinRoute::Liveness => Ok(json_response(r#"{"status":"ok"}"#)),
            BuiltinRoute::Readiness => self.check_readiness().await,
            BuiltinRoute::Metrics => {
                let identity = identity.ok_or_else(unauthorized_refusal)?;
                identity.check_scope(OperationArea::Server, AccessLevel::Read)?;
                let page = Bytes::from(self.state.metrics.render_openmetrics());
                Ok(
                    compressible_response(&parts.headers, page, metrics::OPENMETRICS_MEDIA_TYPE)
                        .await,
                )
            }
            BuiltinRoute::OpenApiDocument => {
                identity.ok_or_else(unauthorized_refusal)?;
                let text = Bytes::from_static(openapi::openapi_text().as_bytes());
                Ok(compressible_response(&parts.headers, text, "application/json").await)
            }
        }
    }

    async fn check_readiness(&self) -> Result<Response<Body>, HttpProblem> {
        if self.state.shutdown.started.is_cancelled() {
            return Err(Refusal::from(HttpRefusal::ShuttingDown).into());
        }
        let result =
            tokio::time::timeout(READINESS_TIMEOUT, self.state.app.store.last_sequence()).await;
        match result {
            Ok(Ok(_)) => Ok(json_response(r#"{"status":"ready"}"#)),
            Ok(Err(error)) => Err(polis_ops::OpError::from(error).into()),
            Err(_) => Err(Refusal::from(HttpRefusal::StoreSilent).into()),
        }
    }
}

/// Returns a longer document, compressed if the client accepts gzip.
async fn compressible_response(
    headers: &HeaderMap,
    page: Bytes,
    kind: &'static str,
) -> Response<Body> {
    let compressed = if body::accepts_gzip(headers) {
        body::compress_gzip(&page).await
    } else {
        None
    };
    let gzip = compressed.is_some();
    let mut answer = Response::new(Body::from(compressed.unwrap_or(page)));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    answer
}

fn json_response(text: &'static str) -> Response<Body> {
    let mut answer = Response::new(Body::from(text));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    *answer.status_mut() = StatusCode::OK;
    answer
}
