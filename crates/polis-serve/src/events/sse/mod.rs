//! `GET /v1/events`: the commit log as server-sent events (SSE).
//!
//! Checks permissions and the limit of readers, parses the query and turns a `Stream` into a response. The
//! request is already authenticated; refusals are rendered by the callback of the code that mounts the
//! router.

mod query;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::get;
use futures_util::stream::unfold;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use polis_core::token::{Access, Area, unauthorized};
use polis_core::{Code, Refusal};
use polis_ops::{OpError, Polis, op};

use self::query::Query;
use self::stream::Stream;
use super::hub::Hub;
use super::token_check::end_of;
use crate::Identity;

/// Renders a refusal as a response.
pub type Refuse = fn(&OpError) -> Response;

/// Settings of event streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseSettings {
    /// Interval of heartbeats, at which the reader's access is checked again as well.
    pub heartbeat: Duration,
    /// Reconnection delay (`retry`) for clients that lost their connection.
    pub retry: Duration,
    /// Number of events a reader may lag behind before it gets a `behind` notice.
    pub behind: u64,
    /// Maximum number of concurrent readers.
    pub readers: usize,
}

impl Default for SseSettings {
    fn default() -> Self {
        Self {
            heartbeat: Duration::from_secs(15),
            retry: Duration::from_secs(2),
            behind: 10_000,
            readers: 10_000,
        }
    }
}

/// State shared by all streams.
#[derive(Debug)]
struct Desk {
    hub: Hub,
    polis: Polis,
    settings: SseSettings,
    refuse: Refuse,
}

/// Creates the router for `GET /v1/events`. Reads the caller from the request's extensions ([`Identity`]).
pub fn router(hub: Hub, polis: Polis, settings: SseSettings, refuse: Refuse) -> Router {
    let desk = Arc::new(Desk {
        hub,
        polis,
        settings,
        refuse,
    });
    let answer = move |request: Request| {
        let desk = Arc::clone(&desk);
        async move {
            let opened = desk.open(request).await;
            opened.map_or_else(|error| (desk.refuse)(&error), Stream::into_response)
        }
    };
    Router::new().route("/v1/events", get(answer))
}

impl Desk {
    async fn open(self: &Arc<Self>, request: Request) -> Result<Stream, OpError> {
        let (request, _) = request.into_parts();
        let identity = request.extensions.get::<Identity>();
        let identity = identity.cloned().ok_or_else(unauthorized)?;
        identity.check(Area::Events, Access::Read)?;
        let query = Query::of(&request)?;
        if self.hub.readers() >= self.settings.readers {
            return Err(OpError::Refused(Refusal::new(
                Code::RateLimited,
                "There are as many readers of events as the server takes.",
                "try again later, or read pages of the log instead",
            )));
        }
        let sight = op::event_sight(&self.polis, &identity.agent).await?;
        let place = query.begin(self.hub.now().await?)?;
        let until = end_of(&self.polis, &identity).await;
        Ok(Stream::begin(self, identity, sight, query, place, until))
    }
}

impl Stream {
    fn into_response(self) -> Response {
        let pieces = unfold(self, async |mut stream| {
            let piece = stream.next().await?;
            Some((Ok::<_, std::convert::Infallible>(piece), stream))
        });
        let mut response = Response::new(Body::from_stream(pieces));
        let headers = response.headers_mut();
        let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
        set(CONTENT_TYPE, "text/event-stream");
        set(CACHE_CONTROL, "no-cache, no-store");
        // Reverse proxies that buffer responses would delay events.
        set(http::HeaderName::from_static("x-accel-buffering"), "no");
        response
    }
}
