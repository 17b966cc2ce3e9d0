//! `GET /v1/events`: the commit log as server-sent events.
//!
//! Who asks was decided before; the answer to a refusal is made by whoever mounts this.

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

/// How a refusal becomes an answer.
pub type Refuse = fn(&OpError) -> Response;

/// What may be set about streams of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseSettings {
    /// How often a sign of life is sent, and looked whether the reader may still read.
    pub heartbeat: Duration,
    /// When a reader that lost its connection is asked to come back.
    pub retry: Duration,
    /// How many events a reader may be behind before it is told so.
    pub behind: u64,
    /// How many readers there may be at a time.
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

/// What every stream needs.
#[derive(Debug)]
struct Desk {
    hub: Hub,
    polis: Polis,
    settings: SseSettings,
    refuse: Refuse,
}

/// `GET /v1/events`. Takes who asks from the request's extensions ([`Identity`]).
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
        // Proxies that gather answers would hold events back.
        set(http::HeaderName::from_static("x-accel-buffering"), "no");
        response
    }
}
