//! Telling clients that a resource, or the list of them, has changed.
//!
//! Both eras are served alike: what a client wants to hear of is a [`Wanted`], where it hears of it a
//! [`Listener`]. Changes come from the commit log, so it makes no difference which process made them. What
//! a caller may not read, it does not hear of either.

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

/// How many resources one session, or one stream, may hear of.
pub(crate) const MOST: usize = 256;
/// The least time between two notifications that the list has changed.
const LIST_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked whether a token has ended by itself.
const STILL: Duration = Duration::from_secs(60);
/// How long to wait before a store that failed is asked again.
const AGAIN: Duration = Duration::from_secs(1);

/// What a client wants to hear of.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// The resources, each as the client wrote its address.
    places: Vec<(Place, String)>,
    /// Whether it wants to hear that the list has changed.
    pub(crate) list: bool,
}

impl Wanted {
    /// The resources at these addresses that the caller may hear of.
    pub(crate) fn of<'a>(
        addresses: impl IntoIterator<Item = &'a String>,
        identity: &Identity,
        sight: &Sight,
    ) -> Self {
        let mut wanted = Self::default();
        for address in addresses {
            if let Ok(place) = may_hear(address, identity, sight) {
                // More than the bound is not heard of, and not said to be.
                let _ = wanted.add(place, address);
            }
        }
        wanted
    }

    /// The addresses, as the client wrote them.
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

    /// The resources that an event changed.
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

/// The place of an address, if it has changes and the caller may see them.
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

/// From where on a client is told of changes, and what it could see there.
#[derive(Debug)]
pub(crate) struct Start {
    /// The boards that were in the list. Looked at first: one that appears meanwhile is told of once too
    /// often, not once too little.
    pub(crate) boards: HashSet<String>,
    pub(crate) place: u64,
    pub(crate) sight: Sight,
}

impl Start {
    /// As of now. What happens after this is told, whenever that begins.
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

/// Where a client hears of changes.
#[derive(Debug)]
pub(crate) enum Listener {
    /// A session of the eras with `initialize`.
    Session(Peer<RoleServer>),
    /// A stream of `subscriptions/listen`.
    Stream(SubscriptionSink),
}

/// The client is gone.
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

/// What a session of the eras with `initialize` hears of; shared with the task that tells it.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    wanted: Wanted,
    /// Whether a task tells it.
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

    /// Whether it hears of the list.
    pub(crate) fn has_list(&self) -> bool {
        self.state().wanted.list
    }

    /// Adds the list.
    pub(crate) fn add_list(&self) {
        self.state().wanted.list = true;
    }

    /// Takes a resource out.
    pub(crate) fn remove(&self, uri: &str) {
        let mut state = self.state();
        state.wanted.places.retain(|(_, wanted)| wanted != uri);
    }

    /// Whether the caller is the one to start the task that tells it.
    pub(crate) fn begin(&self) -> bool {
        !std::mem::replace(&mut self.state().told, true)
    }

    /// Whether nothing is wanted; the task that asks ends then.
    fn is_over(&self) -> bool {
        let mut state = self.state();
        let over = state.wanted.is_empty();
        state.told = !over;
        over
    }
}

/// Tells one client of changes, until it is gone, may not read any more, or wants nothing.
#[derive(Debug)]
pub(crate) struct Teller {
    pub(crate) polis: Polis,
    pub(crate) identity: Identity,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) listener: Listener,
    /// Cancelled when the session or the stream ends.
    pub(crate) ended: CancellationToken,
}

/// What one round of news comes to.
#[derive(Debug, Default)]
struct Round {
    updated: BTreeSet<String>,
    list: bool,
}

impl Teller {
    /// Tells of what comes after the follower's place, where the list had these boards.
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

    /// What the caller may see now; whoever may see nothing counts as gone. A store that is away is
    /// waited for.
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

/// Whether an event makes a resource appear in the list, or go from it.
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
