//! Live updates (SSE): `GET /live?about=task,board/global&after=120` notifies a page that something it shows
//! has changed since the log position at which the page was rendered.
//!
//! The notification does not contain the change: the page fetches the fragment again, with the reader's own
//! permissions. Events are named as requested: by area (`task`, `board`, …), by subject (`board/global`), or
//! `event` for everything. Several events within a short time are coalesced into one; a name with the suffix
//! `~` uses a longer interval (`subscription`).

mod subscription;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use polis_core::token::{AccessLevel, OperationArea};
use polis_core::visibility::EventVisibility;
use polis_ops::App;
use polis_serve::events::{EventSlice, Hub, SseContent, SseEndReason, SseSource, SseStream};
use serde::Deserialize;
use tokio::time::Instant;

use self::subscription::PageSubscription;
use crate::error_page::{OrPageError as _, PageError};
use crate::request::extract::QueryParams;
use crate::request::request_context::RequestContext;
use crate::route_table::{RouteAccess, WebRoute};
use crate::state::WebState;

/// Interval of keep-alive comments and of the check that the session is still valid.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Maximum number of past events replayed for a page that was rendered a while ago (for example in a
/// background tab). If there are more, everything it subscribes to counts as changed.
const MAX_REPLAYED_EVENTS: u64 = 1_000;

/// Returns the htmx trigger of an element that is refreshed on events of an area, or of a subject such as
/// `task/5`. A slash would start a quotation in htmx triggers, so the page's event name uses colons (see
/// `polis.js`).
pub(crate) fn htmx_trigger(name: &str) -> String {
    format!("polis:{} from:body", name.replace('/', ":"))
}

pub(crate) fn live_routes() -> Vec<WebRoute> {
    let read = RouteAccess::Scoped(&[(OperationArea::Events, AccessLevel::Read)]);
    vec![WebRoute::get("/live", read, open_live_stream)]
}

/// Query parameters of the event stream.
#[derive(Debug, Deserialize)]
struct LiveQuery {
    #[serde(default)]
    about: String,
    /// Log position from which to notify; the current one if missing.
    after: Option<u64>,
}

/// Returns the source of the event streams of pages.
pub(crate) fn live_source(app: &App, hub: &Hub) -> Arc<SseSource> {
    Arc::new(SseSource {
        hub: hub.clone(),
        app: app.clone(),
        heartbeat_interval: KEEP_ALIVE_INTERVAL,
    })
}

/// Opens the event stream of a page. Fails with `InvalidInput` if the list of names is invalid.
async fn open_live_stream(
    State(state): State<Arc<WebState>>,
    context: RequestContext,
    QueryParams(query): QueryParams<LiveQuery>,
) -> Result<Response, PageError> {
    let subscription = PageSubscription::parse(&query.about).or_page_error(&context)?;
    let start = |subscription: &mut PageSubscription, head| {
        Ok(match query.after {
            None => head,
            Some(after) if after <= head && head - after <= MAX_REPLAYED_EVENTS => after,
            // Too many events, or the position belongs to another log.
            Some(_) => {
                subscription.mark_all_changed(head);
                head
            }
        })
    };
    let identity = context.identity.clone();
    let stream = SseStream::open(&state.live_source, identity, subscription, start).await;
    Ok(stream.or_page_error(&context)?.into_response())
}

impl SseContent for PageSubscription {
    /// The first bytes let the browser consider the stream open.
    fn opening(&mut self, _: u64) -> Bytes {
        Bytes::from_static(b"retry: 1000\n: live\n\n")
    }

    /// Records the visible events that the page subscribes to.
    fn take_events(
        &mut self,
        slice: &EventSlice,
        visibility: &EventVisibility,
        _: &mut VecDeque<Bytes>,
    ) {
        for event in slice.events() {
            if visibility.is_visible(event) {
                self.record_event(event);
            }
        }
    }

    fn due_chunk(&mut self, _: u64, _: u64) -> Option<Bytes> {
        self.due_notifications(Instant::now())
    }

    fn wake_time(&self) -> Option<Instant> {
        self.next_due_time()
    }

    fn heartbeat(&mut self, _: u64) -> Bytes {
        Bytes::from_static(b": live\n\n")
    }

    fn closing(&mut self, reason: SseEndReason, _: u64) -> Option<Bytes> {
        Some(format!("event: end\ndata: {}\n\n", reason.as_str()).into())
    }
}
