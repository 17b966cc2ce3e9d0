//! `GET /v1/events`: the event log as server-sent events (SSE).
//!
//! Checks permissions and the limit on concurrent readers, and parses the query (`stream_query`). [`SseStream`]
//! is the stream of one reader, shared with the live updates of web pages; `event_content` decides what it
//! sends. The request is already authenticated; refusals are rendered by a callback that the mounting code
//! passes.

mod event_content;
mod stream;
mod stream_query;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::response::Response;
use axum::routing::get;
use polis_core::Refusal;
use polis_core::token::{AccessLevel, OperationArea, unauthorized_refusal};
use polis_ops::{App, OpError};

use self::event_content::EventContent;
pub use self::stream::{SseContent, SseEndReason, SseSource, SseStream};
use self::stream_query::StreamQuery;
use super::hub::Hub;
use crate::CallerIdentity;
use crate::refusal_tables::EventRefusal;

/// Renders a refusal as a response.
pub type RefusalRenderer = fn(&OpError) -> Response;

/// Settings of event streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseSettings {
    /// Interval of heartbeats, at which the reader's access is checked again as well.
    pub heartbeat_interval: Duration,
    /// Reconnection delay (`retry`) for clients that lost their connection.
    pub reconnect_delay: Duration,
    /// Number of events a reader may lag behind before it gets a `behind` notice.
    pub behind_threshold: u64,
    /// Maximum number of concurrent readers.
    pub max_readers: usize,
}

impl Default for SseSettings {
    fn default() -> Self {
        Self {
            heartbeat_interval: Duration::from_secs(15),
            reconnect_delay: Duration::from_secs(2),
            behind_threshold: 10_000,
            max_readers: 10_000,
        }
    }
}

/// State shared by all streams.
#[derive(Debug)]
struct SseState {
    source: Arc<SseSource>,
    settings: SseSettings,
    render_refusal: RefusalRenderer,
}

/// Creates the router for `GET /v1/events`. Reads the caller from the request's extensions ([`CallerIdentity`]).
pub fn sse_router(hub: Hub, app: App, settings: SseSettings, refuse: RefusalRenderer) -> Router {
    let state = Arc::new(SseState {
        source: Arc::new(SseSource {
            hub,
            app,
            heartbeat_interval: settings.heartbeat_interval,
        }),
        settings,
        render_refusal: refuse,
    });
    let answer = move |request: Request| {
        let state = Arc::clone(&state);
        async move {
            let opened = state.open_stream(request).await;
            opened.map_or_else(
                |error| (state.render_refusal)(&error),
                SseStream::into_response,
            )
        }
    };
    Router::new().route("/v1/events", get(answer))
}

impl SseState {
    async fn open_stream(&self, request: Request) -> Result<SseStream<EventContent>, OpError> {
        let (request, _) = request.into_parts();
        let identity = request.extensions.get::<CallerIdentity>();
        let identity = identity.cloned().ok_or_else(unauthorized_refusal)?;
        identity.check_scope(OperationArea::Events, AccessLevel::Read)?;
        let query = StreamQuery::from_request(&request)?;
        if self.source.hub.readers() >= self.settings.max_readers {
            return Err(OpError::Refused(Refusal::from(
                EventRefusal::TooManyReaders,
            )));
        }
        let content = EventContent::new(query, &self.settings);
        let start = |content: &mut EventContent, head| content.start_position(head);
        SseStream::open(&self.source, identity, content, start).await
    }
}
