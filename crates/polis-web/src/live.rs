//! `GET /live?about=task,board/global&after=120`: tells a page that something it shows has changed, after the
//! place in the log the page was drawn at.
//!
//! What has changed is not told: the page fetches the part again, as the person who may see it. Events are
//! named as asked, by area (`task`, `board`, …) or by subject (`board/global`), or `event` for everything;
//! several in a short time are told as one, with `~` behind the name in a longer one (`wanted`).

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

/// How often a sign of life is sent, and looked whether the reader may still read.
const BEAT: Duration = Duration::from_secs(15);

/// How many events are looked through for a page that was drawn a while ago (a tab nobody has looked at yet,
/// say). If there are more, all it asks for counts as changed.
const LOOKED_THROUGH: u64 = 1_000;

/// The trigger of an element that is fetched again when something happens in an area, or to a subject such as
/// `task/5`. A slash would open a quotation in htmx' triggers, so the page's event has colons (see polis.js).
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
    /// The place in the log from which on to tell; from now on if it is not said.
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
        // Too much has happened, or the place is one of another log.
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

/// A page's stream.
struct Stream {
    hub: Hub,
    polis: Polis,
    follower: Follower,
    identity: Identity,
    sight: Sight,
    wanted: Wanted,
    beats: Interval,
    /// When the session ends by itself.
    until: Option<Instant>,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Beginning,
    UnderWay,
    Over,
}

/// Why a stream ends that its reader did not end.
#[derive(Debug, Clone, Copy)]
enum Reason {
    /// The server stops.
    Shutdown,
    /// The session does not count any more.
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
        // Proxies that gather answers would hold events back.
        set(HeaderName::from_static("x-accel-buffering"), "no");
        answer
    }

    /// The next piece to send; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        match self.stage {
            Stage::Over => return None,
            Stage::Beginning => {
                self.stage = Stage::UnderWay;
                // The first bytes tell a browser that the stream is open.
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

    /// A sign of life, if it may still read.
    async fn beat(&mut self) -> Bytes {
        if !still_counts(&self.polis, &self.identity).await {
            return self.end(Reason::Access);
        }
        // What an agent may see changes with its place in the team.
        self.look_again().await;
        Bytes::from_static(b": live\n\n")
    }

    async fn look_again(&mut self) {
        if let Ok(sight) = op::event_sight(&self.polis, &self.identity.agent).await {
            self.sight = sight;
        }
    }

    /// Notes what is asked for of what may be seen. Answers whether the session ends with it.
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

/// Waits for a moment; for ever if there is none.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
