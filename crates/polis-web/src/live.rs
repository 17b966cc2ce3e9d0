//! Live updates (SSE): `GET /live?about=task,board/global&after=120` notifies a page that something it shows has
//! changed since the log position at which the page was rendered.
//!
//! The notification does not contain the change: the page fetches the fragment again, with the reader's own
//! permissions. Events are named as requested: by area (`task`, `board`, …), by subject (`board/global`), or `event`
//! for everything. Several events within a short time are coalesced into one; a name with the suffix `~` uses a longer
//! interval (`wanted`).

mod subscription;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream::unfold;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue};
use polis_core::visibility::Sight;
use polis_ops::{Polis, op};
use polis_serve::Identity;
use polis_serve::events::{Follower, Hub, News, end_of, still_counts};
use serde::Deserialize;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

use self::subscription::Wanted;
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::Query;
use crate::request_context::Visit;
use crate::state::House;

/// Interval of keep-alive comments and of the check that the session is still valid.
const BEAT: Duration = Duration::from_secs(15);

/// Maximum number of past events replayed for a page that was rendered a while ago (for example in a background tab).
/// If there are more, everything it subscribes to counts as changed.
const LOOKED_THROUGH: u64 = 1_000;

/// Returns the htmx trigger of an element that is refreshed on events of an area, or of a subject such as `task/5`. A
/// slash would start a quotation in htmx triggers, so the page's event name uses colons (see polis.js).
pub(crate) fn on(name: &str) -> String {
    format!("polis:{} from:body", name.replace('/', ":"))
}

pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new().route("/live", get(listen))
}

#[derive(Debug, Deserialize)]
struct About {
    #[serde(default)]
    about: String,
    /// Log position from which to notify; the current one if missing.
    after: Option<u64>,
}

async fn listen(
    State(house): State<Arc<House>>,
    visit: Visit,
    Query(asked): Query<About>,
) -> Result<Response, Refused> {
    let mut wanted = Wanted::parse(&asked.about).or_refuse(&visit)?;
    let sight = op::event_sight(&visit.polis, &visit.me).await;
    let sight = sight.or_refuse(&visit)?;
    let now = house.hub.now().await.or_refuse(&visit)?;
    let place = match asked.after {
        None => now,
        Some(after) if after <= now && now - after <= LOOKED_THROUGH => after,
        // Too many events, or the position belongs to another log.
        Some(_) => {
            wanted.note_all(now);
            now
        }
    };
    let mut beats = interval_at(Instant::now() + BEAT, BEAT);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let stream = Stream {
        until: end_of(&house.polis, &visit.identity).await,
        follower: house.hub.follow(place),
        hub: house.hub.clone(),
        polis: house.polis.clone(),
        identity: visit.identity,
        sight,
        wanted,
        beats,
        stage: Stage::Beginning,
    };
    Ok(stream.into_response())
}

/// The event stream of one page.
struct Stream {
    hub: Hub,
    polis: Polis,
    follower: Follower,
    identity: Identity,
    sight: Sight,
    wanted: Wanted,
    beats: Interval,
    /// When the session expires.
    until: Option<Instant>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Beginning,
    UnderWay,
    Over,
}

/// Why the server ends a stream.
#[derive(Debug, Clone, Copy)]
enum Reason {
    /// The server shuts down.
    Shutdown,
    /// The session is no longer valid.
    Access,
}

impl Stream {
    fn into_response(self) -> Response {
        let pieces = unfold(self, async |mut stream| {
            let piece = stream.next().await?;
            Some((Ok::<_, Infallible>(piece), stream))
        });
        let mut answer = Response::new(Body::from_stream(pieces));
        let headers = answer.headers_mut();
        let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
        set(CONTENT_TYPE, "text/event-stream");
        set(CACHE_CONTROL, "no-cache, no-store");
        // Disable response buffering in proxies, which would delay events.
        set(HeaderName::from_static("x-accel-buffering"), "no");
        answer
    }

    /// Returns the next chunk to send; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        match self.stage {
            Stage::Over => return None,
            Stage::Beginning => {
                self.stage = Stage::UnderWay;
                // The first bytes let the browser consider the stream open.
                return Some(Bytes::from_static(b"retry: 1000\n: live\n\n"));
            }
            Stage::UnderWay => {}
        }
        loop {
            if self.hub.is_closed() {
                return Some(self.end(Reason::Shutdown));
            }
            if let Some(piece) = self.wanted.due(Instant::now()) {
                return Some(piece);
            }
            let next = self.wanted.next_due();
            tokio::select! {
                biased;
                () = at(self.until) => return Some(self.end(Reason::Access)),
                _ = self.beats.tick() => return Some(self.beat().await),
                news = self.follower.next() => match news {
                    Some(news) => {
                        if self.take(news).await {
                            return Some(self.end(Reason::Access));
                        }
                    }
                    None => return Some(self.end(Reason::Shutdown)),
                },
                () = at(next) => {}
            }
        }
    }

    /// Returns a keep-alive comment, or ends the stream if the session is no longer valid.
    async fn beat(&mut self) -> Bytes {
        if !still_counts(&self.polis, &self.identity).await {
            return self.end(Reason::Access);
        }
        // An agent's visibility changes with its position in the team.
        self.look_again().await;
        Bytes::from_static(b": live\n\n")
    }

    async fn look_again(&mut self) {
        if let Ok(sight) = op::event_sight(&self.polis, &self.identity.agent).await {
            self.sight = sight;
        }
    }

    /// Records the visible events that the page subscribes to. Returns whether the session ends with them.
    async fn take(&mut self, news: News) -> bool {
        let ends = news.ends_access(self.identity.token.as_deref(), self.identity.agent.as_str());
        let news = news.up_to(ends.unwrap_or(usize::MAX));
        if !self.sight.shows_everything() && news.events().iter().any(Sight::is_outdated_by) {
            self.look_again().await;
        }
        for event in news.events().iter().filter(|event| self.sight.shows(event)) {
            self.wanted.note(event);
        }
        ends.is_some()
    }

    fn end(&mut self, reason: Reason) -> Bytes {
        self.stage = Stage::Over;
        Bytes::from_static(match reason {
            Reason::Shutdown => b"event: end\ndata: shutdown\n\n",
            Reason::Access => b"event: end\ndata: access\n\n",
        })
    }
}

/// Waits until the given time; never returns if there is none.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
