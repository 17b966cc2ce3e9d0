//! Resource subscriptions: notifies MCP clients that a resource or the resource list has changed.
//!
//! Clients of revisions with `initialize` are notified in their session, others on a `subscriptions/listen`
//! stream; all else is the same. Changes come from the event log, so it does not matter which process made
//! them. Callers are not notified of resources they may not read. Workspace files cannot be subscribed to.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use polis_core::event::{Event, EventArea, EventKind};
use polis_core::token::AccessLevel;
use polis_core::visibility::EventVisibility;
use polis_core::{Refusal, RefusalKind};
use polis_ops::op::{self, ListBoardsParams};
use polis_ops::{App, OpError};
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::SubscriptionSink;
use rmcp::{Peer, RoleServer};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::resource_uri::ResourceUri;
use crate::caller_identity::CallerIdentity;
use crate::events::{EventSlice, LogFollower, is_access_valid, token_expiry};
use crate::mcp::mcp_state::McpState;
use crate::refusal_tables::McpRefusal;

/// Maximum number of subscribed resources per session or stream.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 256;
/// Minimum interval between two notifications that the list has changed.
const LIST_NOTIFY_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which the token is checked again.
const TOKEN_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// Delay before a failed store operation is retried.
const RETRY_BACKOFF: Duration = Duration::from_secs(1);

/// Resources a client subscribed to, and whether to the resource list.
#[derive(Debug, Default)]
pub(crate) struct SubscriptionSet {
    /// The resources, each with its URI as sent by the client.
    resources: Vec<(ResourceUri, String)>,
    /// Whether the client wants to be notified when the list changes.
    pub(crate) resource_list: bool,
}

impl SubscriptionSet {
    /// Creates a subscription to those of the given URIs that are visible to the caller.
    pub(crate) fn from_visible_uris<'a>(
        addresses: impl IntoIterator<Item = &'a String>,
        identity: &CallerIdentity,
        visibility: &EventVisibility,
    ) -> Self {
        let mut set = Self::default();
        for address in addresses {
            if let Ok(resource) = parse_subscribable_uri(address, identity, visibility) {
                // URIs beyond the limit are not subscribed and not acknowledged.
                let _ = set.add(resource, address);
            }
        }
        set
    }

    /// Returns the URIs as sent by the client.
    pub(crate) fn uris(&self) -> Vec<String> {
        self.resources.iter().map(|(_, uri)| uri.clone()).collect()
    }

    fn add(&mut self, resource: ResourceUri, uri: &str) -> Result<(), Refusal> {
        if self.resources.iter().any(|(_, existing)| existing == uri) {
            return Ok(());
        }
        if self.resources.len() >= MAX_SUBSCRIPTIONS {
            return Err(Refusal::from(McpRefusal::TooManySubscriptions {
                max_subscriptions: MAX_SUBSCRIPTIONS,
            }));
        }
        self.resources.push((resource, uri.to_owned()));
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.resources.is_empty() && !self.resource_list
    }

    /// Returns the URIs of subscribed resources changed by an event.
    fn changed_by(&self, event: &Event) -> impl Iterator<Item = String> {
        let subject = ResourceUri::from_event_subject(&event.subject);
        self.resources.iter().filter_map(move |(resource, uri)| {
            let same = match resource {
                ResourceUri::Tasks => matches!(subject, Some(ResourceUri::Task(_))),
                resource => subject.as_ref() == Some(resource),
            };
            (same && resource.is_changed_by(event.known_kind())).then(|| uri.clone())
        })
    }
}

/// Parses a URI. Fails if the resource has no change notifications or is not visible to the caller.
pub(crate) fn parse_subscribable_uri(
    address: &str,
    identity: &CallerIdentity,
    visibility: &EventVisibility,
) -> Result<ResourceUri, Refusal> {
    let resource: ResourceUri = address.parse()?;
    identity.check_scope(resource.area(), AccessLevel::Read)?;
    match &resource {
        ResourceUri::File(_) => Err(Refusal::from(McpRefusal::FilesNotWatched)),
        ResourceUri::Board(board) if !visibility.may_read_board(board) => {
            Err(Refusal::from(McpRefusal::CannotReadBoard {
                agent: identity.agent.clone(),
                board: board.to_string(),
            }))
        }
        ResourceUri::Board(_) | ResourceUri::Task(_) | ResourceUri::Tasks => Ok(resource),
    }
}

/// Starting point of a subscription: log position, visibility and known boards.
#[derive(Debug)]
pub(crate) struct SubscriptionStart {
    /// The boards in the list. Read first: a board created in the meantime is then notified once too often
    /// rather than missed.
    pub(crate) boards: HashSet<String>,
    pub(crate) log_position: u64,
    pub(crate) visibility: EventVisibility,
}

impl SubscriptionStart {
    /// Captures the current state. Every change after it will be notified, even if the subscription starts
    /// later.
    pub(crate) async fn capture(
        state: &McpState,
        identity: &CallerIdentity,
    ) -> Result<Self, OpError> {
        let request = identity.request(&state.app);
        let listed = op::list_boards(&request, &ListBoardsParams::default()).await?;
        Ok(Self {
            boards: listed.boards.into_iter().map(|entry| entry.board).collect(),
            log_position: state.hub.last_sequence().await?,
            visibility: op::load_event_visibility(&request).await?,
        })
    }
}

/// Destination of notifications.
#[derive(Debug)]
pub(crate) enum NotificationTarget {
    /// A session (revisions with `initialize`).
    Session(Peer<RoleServer>),
    /// A stream of `subscriptions/listen`.
    Stream(SubscriptionSink),
}

/// The client has disconnected or lost its access.
struct ClientGone;

impl NotificationTarget {
    async fn notify_updated(&self, uri: String) -> Result<(), ClientGone> {
        match self {
            Self::Session(peer) => peer
                .notify_resource_updated(ResourceUpdatedNotificationParam::new(uri))
                .await
                .map_err(|_| ClientGone),
            Self::Stream(sink) => sink
                .notify_resource_updated(uri)
                .await
                .map_err(|_| ClientGone),
        }
    }

    async fn notify_list_changed(&self) -> Result<(), ClientGone> {
        match self {
            Self::Session(peer) => peer
                .notify_resource_list_changed()
                .await
                .map_err(|_| ClientGone),
            Self::Stream(sink) => sink
                .notify_resource_list_changed()
                .await
                .map_err(|_| ClientGone),
        }
    }
}

/// Subscriptions of a session (revisions with `initialize`), shared with its notification task.
#[derive(Debug, Default)]
pub(crate) struct SessionSubscriptions(Mutex<SubscriptionState>);

/// Subscriptions and the state of the notification task.
#[derive(Debug, Default)]
struct SubscriptionState {
    subscribed: SubscriptionSet,
    /// Whether the notification task is running.
    notifier_running: bool,
}

impl SessionSubscriptions {
    /// Adds a resource.
    pub(crate) fn add(&self, resource: ResourceUri, uri: &str) -> Result<(), Refusal> {
        self.0.lock().subscribed.add(resource, uri)
    }

    /// Returns whether it includes the list.
    pub(crate) fn has_list(&self) -> bool {
        self.0.lock().subscribed.resource_list
    }

    /// Adds the list.
    pub(crate) fn add_list(&self) {
        self.0.lock().subscribed.resource_list = true;
    }

    /// Removes a resource.
    pub(crate) fn remove(&self, uri: &str) {
        let mut state = self.0.lock();
        state
            .subscribed
            .resources
            .retain(|(_, existing)| existing != uri);
    }

    /// Returns `true` if the caller has to start the notification task.
    pub(crate) fn mark_notifier_started(&self) -> bool {
        !std::mem::replace(&mut self.0.lock().notifier_running, true)
    }

    /// Returns whether the notification task has to end: there are no subscriptions.
    fn end_notifier_if_empty(&self) -> bool {
        let mut state = self.0.lock();
        let is_empty = state.subscribed.is_empty();
        state.notifier_running = !is_empty;
        is_empty
    }
}

/// Notification task of one client. Ends when the client disconnects, loses its access or has no
/// subscriptions.
#[derive(Debug)]
pub(crate) struct ResourceNotifier {
    pub(crate) app: App,
    pub(crate) identity: CallerIdentity,
    pub(crate) subscriptions: Arc<SessionSubscriptions>,
    pub(crate) target: NotificationTarget,
    /// Cancelled when the session or the stream ends.
    pub(crate) ended: CancellationToken,
}

/// Notifications resulting from one batch of events.
#[derive(Debug, Default)]
struct PendingNotifications {
    updated: BTreeSet<String>,
    list_changed: bool,
}

impl ResourceNotifier {
    /// Sends notifications for events after the follower's position. `boards` are those already in the list.
    pub(crate) async fn run(self, follower: LogFollower, boards: HashSet<String>) {
        let ended = self.ended.clone();
        tokio::select! {
            () = ended.cancelled() => {}
            _ = self.send_notifications(follower, boards) => {}
        }
    }

    async fn send_notifications(
        &self,
        mut follower: LogFollower,
        mut known_boards: HashSet<String>,
    ) -> Result<(), ClientGone> {
        let mut visibility = self.load_visibility().await?;
        let mut list_due: Option<Instant> = None;
        let mut list_free = Instant::now();
        let until = token_expiry(&self.app, &self.identity).await;
        let mut token_checks =
            interval_at(Instant::now() + TOKEN_CHECK_INTERVAL, TOKEN_CHECK_INTERVAL);
        token_checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.subscriptions.end_notifier_if_empty() {
            let deadline = list_due.unwrap_or(list_free);
            let slice = tokio::select! {
                slice = follower.next() => slice.ok_or(ClientGone)?,
                () = sleep_until(deadline), if list_due.is_some() => {
                    self.target.notify_list_changed().await?;
                    list_due = None;
                    list_free = Instant::now() + LIST_NOTIFY_INTERVAL;
                    continue;
                }
                () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => {
                    return Err(ClientGone);
                }
                _ = token_checks.tick() => {
                    if is_access_valid(&self.app, &self.identity).await {
                        continue;
                    }
                    return Err(ClientGone);
                }
            };
            let token = self.identity.token.as_deref();
            if slice
                .revocation_index(token, self.identity.agent.as_str())
                .is_some()
            {
                return Err(ClientGone);
            }
            if slice.events().iter().any(EventVisibility::is_outdated_by) {
                visibility = self.load_visibility().await?;
            }
            let pending = self.collect_notifications(&slice, &visibility, &mut known_boards);
            for uri in pending.updated {
                self.target.notify_updated(uri).await?;
            }
            if pending.list_changed && list_due.is_none() {
                list_due = Some(list_free.max(Instant::now()));
            }
        }
        Ok(())
    }

    /// Returns what the caller may see now. Fails with `ClientGone` if it lost its access. Retries while the store
    /// is unavailable.
    async fn load_visibility(&self) -> Result<EventVisibility, ClientGone> {
        loop {
            match op::load_event_visibility(&self.app.request(&self.identity.agent)).await {
                Ok(visibility) => return Ok(visibility),
                Err(error)
                    if error.kind() == RefusalKind::Internal
                        || error.kind() == RefusalKind::Busy =>
                {
                    sleep(RETRY_BACKOFF).await;
                }
                Err(_) => return Err(ClientGone),
            }
        }
    }

    fn collect_notifications(
        &self,
        slice: &EventSlice,
        visibility: &EventVisibility,
        known_boards: &mut HashSet<String>,
    ) -> PendingNotifications {
        let mut pending = PendingNotifications::default();
        let state = self.subscriptions.0.lock();
        for event in slice
            .events()
            .iter()
            .filter(|event| visibility.is_visible(event))
        {
            pending.updated.extend(state.subscribed.changed_by(event));
            pending.list_changed |=
                state.subscribed.resource_list && changes_resource_list(event, known_boards);
        }
        pending
    }
}

/// Returns whether an event adds a resource to the list or removes one.
fn changes_resource_list(event: &Event, known_boards: &mut HashSet<String>) -> bool {
    match event.known_kind() {
        Some(
            EventKind::TaskCreated
            | EventKind::TaskImported
            | EventKind::TaskCompleted
            | EventKind::TaskDeleted
            | EventKind::AgentAdded
            | EventKind::AgentRetired,
        ) => true,
        Some(kind) if kind.area() == EventArea::Board => {
            match ResourceUri::from_event_subject(&event.subject) {
                Some(ResourceUri::Board(board)) => known_boards.insert(board.to_string()),
                _ => false,
            }
        }
        _ => false,
    }
}

impl From<SubscriptionSet> for SessionSubscriptions {
    fn from(subscribed: SubscriptionSet) -> Self {
        Self(Mutex::new(SubscriptionState {
            subscribed,
            notifier_running: true,
        }))
    }
}
