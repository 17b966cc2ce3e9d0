//! Resource subscriptions: notifies MCP clients that a resource or the resource list has changed.
//!
//! Protocol revisions with and without sessions are served alike: [`Wanted`] is what a client subscribed to,
//! and [`Listener`] is where it is notified. Changes come from the commit log, so it does not matter which
//! process made them. Callers are not notified of resources they may not read.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polis_core::event::{Event, kind};
use polis_core::token::Access;
use polis_core::visibility::Sight;
use polis_core::{Code, Kind, Refusal};
use polis_ops::op::{self, ListBoards};
use polis_ops::{OpError, Polis};
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::SubscriptionSink;
use rmcp::{Peer, RoleServer};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::mcp_state::House;
use super::uri::Place;
use crate::events::{Follower, News, end_of, still_counts};
use crate::identity::Identity;

/// Maximum number of subscribed resources per session or stream.
pub(crate) const MOST: usize = 256;
/// Minimum interval between two notifications that the list has changed.
const LIST_EVERY: Duration = Duration::from_secs(1);
/// Interval at which the token is checked again.
const STILL: Duration = Duration::from_secs(60);
/// Delay before a failed store operation is retried.
const AGAIN: Duration = Duration::from_secs(1);

/// What a client subscribed to.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// The resources, each with its URI as sent by the client.
    places: Vec<(Place, String)>,
    /// Whether the client wants to be notified when the list changes.
    pub(crate) list: bool,
}

impl Wanted {
    /// Creates a subscription to those of the given URIs that are visible to the caller.
    pub(crate) fn of<'a>(
        addresses: impl IntoIterator<Item = &'a String>,
        identity: &Identity,
        sight: &Sight,
    ) -> Self {
        let mut wanted = Self::default();
        for address in addresses {
            if let Ok(place) = may_hear(address, identity, sight) {
                // URIs beyond the limit are not subscribed and not acknowledged.
                let _ = wanted.add(place, address);
            }
        }
        wanted
    }

    /// Returns the URIs as sent by the client.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.places.iter().map(|(_, uri)| uri.clone()).collect()
    }

    fn add(&mut self, place: Place, uri: &str) -> Result<(), Refusal> {
        if self.places.iter().any(|(_, wanted)| wanted == uri) {
            return Ok(());
        }
        if self.places.len() >= MOST {
            return Err(Refusal::new(
                Code::RateLimited,
                format!("You hear of {MOST} resources already."),
                "unsubscribe from some of them",
            ));
        }
        self.places.push((place, uri.to_owned()));
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty() && !self.list
    }

    /// Returns the URIs of subscribed resources changed by an event.
    fn changed_by(&self, event: &Event) -> impl Iterator<Item = String> {
        let subject = Place::of_subject(&event.subject);
        self.places.iter().filter_map(move |(place, uri)| {
            let same = match place {
                Place::Tasks => matches!(subject, Some(Place::Task(_))),
                place => subject.as_ref() == Some(place),
            };
            (same && place.is_changed_by(&event.kind)).then(|| uri.clone())
        })
    }
}

/// Parses a URI. Fails if the resource has no change notifications or is not visible to the caller.
pub(crate) fn may_hear(
    address: &str,
    identity: &Identity,
    sight: &Sight,
) -> Result<Place, Refusal> {
    let place: Place = address.parse()?;
    identity.check(place.area(), Access::Read)?;
    match &place {
        Place::File(_) => Err(Refusal::new(
            Code::InvalidInput,
            "Nobody is told of changes of workspace files.",
            "subscribe to tasks and boards; read files when you need them",
        )),
        Place::Board(board) if !sight.reads(board) => Err(Refusal::new(
            Code::PermissionDenied,
            format!(
                "Permission denied: \"{}\" cannot read {board}.",
                identity.agent
            ),
            "list the resources to see which you may read",
        )),
        Place::Board(_) | Place::Task(_) | Place::Tasks => Ok(place),
    }
}

/// Starting point of a subscription: log position, visibility and known boards.
#[derive(Debug)]
pub(crate) struct Start {
    /// The boards in the list. Read first: a board created in the meantime is then notified once too often
    /// rather than missed.
    pub(crate) boards: HashSet<String>,
    pub(crate) place: u64,
    pub(crate) sight: Sight,
}

impl Start {
    /// Captures the current state. Every change after it will be notified, even if the subscription starts
    /// later.
    pub(crate) async fn of(house: &House, identity: &Identity) -> Result<Self, OpError> {
        let (polis, agent) = (&house.polis, &identity.agent);
        let listed = op::list_boards(polis, agent, &ListBoards::default()).await?;
        Ok(Self {
            boards: listed.boards.into_iter().map(|entry| entry.board).collect(),
            place: house.hub.now().await?,
            sight: op::event_sight(polis, agent).await?,
        })
    }
}

/// Destination of notifications.
#[derive(Debug)]
pub(crate) enum Listener {
    /// A session (revisions with `initialize`).
    Session(Peer<RoleServer>),
    /// A stream of `subscriptions/listen`.
    Stream(SubscriptionSink),
}

/// The client has disconnected or lost its access.
struct Gone;

impl Listener {
    async fn updated(&self, uri: String) -> Result<(), Gone> {
        match self {
            Self::Session(peer) => peer
                .notify_resource_updated(ResourceUpdatedNotificationParam::new(uri))
                .await
                .map_err(|_| Gone),
            Self::Stream(sink) => sink.notify_resource_updated(uri).await.map_err(|_| Gone),
        }
    }

    async fn list_changed(&self) -> Result<(), Gone> {
        match self {
            Self::Session(peer) => peer.notify_resource_list_changed().await.map_err(|_| Gone),
            Self::Stream(sink) => sink.notify_resource_list_changed().await.map_err(|_| Gone),
        }
    }
}

/// Subscriptions of a session (revisions with `initialize`), shared with its notification task.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    wanted: Wanted,
    /// Whether the notification task is running.
    told: bool,
}

impl Subscriptions {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a resource.
    pub(crate) fn add(&self, place: Place, uri: &str) -> Result<(), Refusal> {
        self.state().wanted.add(place, uri)
    }

    /// Returns whether it includes the list.
    pub(crate) fn has_list(&self) -> bool {
        self.state().wanted.list
    }

    /// Adds the list.
    pub(crate) fn add_list(&self) {
        self.state().wanted.list = true;
    }

    /// Removes a resource.
    pub(crate) fn remove(&self, uri: &str) {
        let mut state = self.state();
        state.wanted.places.retain(|(_, wanted)| wanted != uri);
    }

    /// Returns `true` if the caller has to start the notification task.
    pub(crate) fn begin(&self) -> bool {
        !std::mem::replace(&mut self.state().told, true)
    }

    /// Returns whether there are no subscriptions; the notification task then ends.
    fn is_over(&self) -> bool {
        let mut state = self.state();
        let over = state.wanted.is_empty();
        state.told = !over;
        over
    }
}

/// Notification task of one client. Ends when the client disconnects, loses its access or has no
/// subscriptions.
#[derive(Debug)]
pub(crate) struct Teller {
    pub(crate) polis: Polis,
    pub(crate) identity: Identity,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) listener: Listener,
    /// Cancelled when the session or the stream ends.
    pub(crate) ended: CancellationToken,
}

/// Notifications resulting from one batch of events.
#[derive(Debug, Default)]
struct Round {
    updated: BTreeSet<String>,
    list: bool,
}

impl Teller {
    /// Sends notifications for events after the follower's position. `boards` are those already in the list.
    pub(crate) async fn run(self, follower: Follower, boards: HashSet<String>) {
        let ended = self.ended.clone();
        tokio::select! {
            () = ended.cancelled() => {}
            _ = self.tell(follower, boards) => {}
        }
    }

    async fn tell(&self, mut follower: Follower, mut known: HashSet<String>) -> Result<(), Gone> {
        let mut sight = self.sight().await?;
        let mut list_due: Option<Instant> = None;
        let mut list_free = Instant::now();
        let until = end_of(&self.polis, &self.identity).await;
        let mut looks = interval_at(Instant::now() + STILL, STILL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.subscriptions.is_over() {
            let due = list_due.unwrap_or(list_free);
            let news = tokio::select! {
                news = follower.next() => news.ok_or(Gone)?,
                () = sleep_until(due), if list_due.is_some() => {
                    self.listener.list_changed().await?;
                    list_due = None;
                    list_free = Instant::now() + LIST_EVERY;
                    continue;
                }
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {
                    return Err(Gone);
                }
                _ = looks.tick() => {
                    if still_counts(&self.polis, &self.identity).await {
                        continue;
                    }
                    return Err(Gone);
                }
            };
            let token = self.identity.token.as_deref();
            if news
                .ends_access(token, self.identity.agent.as_str())
                .is_some()
            {
                return Err(Gone);
            }
            if news.events().iter().any(Sight::is_outdated_by) {
                sight = self.sight().await?;
            }
            let round = self.sum_up(&news, &sight, &mut known);
            for uri in round.updated {
                self.listener.updated(uri).await?;
            }
            if round.list && list_due.is_none() {
                list_due = Some(list_free.max(Instant::now()));
            }
        }
        Ok(())
    }

    /// Returns what the caller may see now. Fails with `Gone` if it lost its access. Retries while the store
    /// is unavailable.
    async fn sight(&self) -> Result<Sight, Gone> {
        loop {
            match op::event_sight(&self.polis, &self.identity.agent).await {
                Ok(sight) => return Ok(sight),
                Err(error) if error.kind() == Kind::Internal || error.kind() == Kind::Busy => {
                    sleep(AGAIN).await;
                }
                Err(_) => return Err(Gone),
            }
        }
    }

    fn sum_up(&self, news: &News, sight: &Sight, known: &mut HashSet<String>) -> Round {
        let mut round = Round::default();
        let state = self.subscriptions.state();
        for event in news.events().iter().filter(|event| sight.shows(event)) {
            round.updated.extend(state.wanted.changed_by(event));
            round.list |= state.wanted.list && changes_list(event, known);
        }
        round
    }
}

/// Returns whether an event adds a resource to the list or removes one.
fn changes_list(event: &Event, known: &mut HashSet<String>) -> bool {
    match event.kind.as_str() {
        kind::TASK_CREATED
        | kind::TASK_IMPORTED
        | kind::TASK_COMPLETED
        | kind::TASK_DELETED
        | kind::AGENT_ADDED
        | kind::AGENT_RETIRED => true,
        kind if kind.starts_with("board.") => match Place::of_subject(&event.subject) {
            Some(Place::Board(board)) => known.insert(board.to_string()),
            _ => false,
        },
        _ => false,
    }
}

impl From<Wanted> for Subscriptions {
    fn from(wanted: Wanted) -> Self {
        Self(Mutex::new(State { wanted, told: true }))
    }
}
