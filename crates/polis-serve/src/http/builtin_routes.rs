//! Endpoints of the server itself: liveness, readiness, Prometheus metrics and the OpenAPI document.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use polis_core::token::{Access, Area, unauthorized};
use polis_core::{Code, Refusal};

use super::problem::Problem;
use super::server_state::Ground;
use super::{body, openapi, response};
use crate::identity::Identity;
use crate::metrics;

/// Timeout of the store in a readiness check.
const PATIENCE: Duration = Duration::from_secs(5);

/// An endpoint of the server itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// Liveness: the process answers.
    Alive,
    /// Readiness: the store is reachable and the server is not shutting down.
    Ready,
    /// Metrics.
    Metrics,
    /// The OpenAPI document.
    Description,
}

impl Own {
    /// All of them, with their paths.
    pub(crate) const ALL: [(&'static str, Self); 4] = [
        ("/healthz", Self::Alive),
        ("/readyz", Self::Ready),
        ("/metrics", Self::Metrics),
        ("/v1/openapi.json", Self::Description),
    ];
}

/// Serves one of them.
#[derive(Debug, Clone)]
pub(crate) struct OwnEndpoint {
    pub(crate) ground: Arc<Ground>,
    pub(crate) own: Own,
}

impl OwnEndpoint {
    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, Problem> {
        let (parts, _) = request.into_parts();
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Err(Problem::method(&HeaderValue::from_static("GET, HEAD")));
        }
        let identity = parts.extensions.get::<Identity>();
        match self.own {
            Own::Alive => Ok(document(r#"{"status":"ok"}"#)),
            Own::Ready => self.ready().await,
            Own::Metrics => {
                let identity = identity.ok_or_else(unauthorized)?;
                identity.check(Area::Server, Access::Read)?;
                let page = Bytes::from(self.ground.metrics.page());
                Ok(page_of(&parts.headers, page, metrics::MEDIA_TYPE).await)
            }
            Own::Description => {
                identity.ok_or_else(unauthorized)?;
                let text = Bytes::from_static(openapi::text().as_bytes());
                Ok(page_of(&parts.headers, text, "application/json").await)
            }
        }
    }

    async fn ready(&self) -> Result<Response<Body>, Problem> {
        if self.ground.closing.begun.is_cancelled() {
            return Err(Refusal::new(
                Code::StoreBusy,
                "The server is being shut down.",
                "use another one, or wait until it is there again",
            )
            .into());
        }
        let asked = tokio::time::timeout(PATIENCE, self.ground.polis.store.last_sequence()).await;
        match asked {
            Ok(Ok(_)) => Ok(document(r#"{"status":"ready"}"#)),
            Ok(Err(error)) => Err(polis_ops::OpError::from(error).into()),
            Err(_) => Err(Refusal::new(
                Code::StoreUnavailable,
                "The store does not answer.",
                "wait, and look at the server's log",
            )
            .into()),
        }
    }
}

/// Returns a longer document, compressed if the client accepts gzip.
async fn page_of(headers: &HeaderMap, page: Bytes, kind: &'static str) -> Response<Body> {
    let packed = if body::takes_gzip(headers) {
        body::gzip(&page).await
    } else {
        None
    };
    let gzip = packed.is_some();
    let mut answer = Response::new(Body::from(packed.unwrap_or(page)));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    answer
}

fn document(text: &'static str) -> Response<Body> {
    let mut answer = Response::new(Body::from(text));
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    *answer.status_mut() = StatusCode::OK;
    answer
}

impl tower_service::Service<Request<Body>> for OwnEndpoint {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let endpoint = self.clone();
        Box::pin(async move {
            let answered = endpoint.answer(request).await;
            Ok(answered.unwrap_or_else(|problem| response::refused(&endpoint.ground, &problem)))
        })
    }
}
