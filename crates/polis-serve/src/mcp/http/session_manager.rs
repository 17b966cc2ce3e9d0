//! MCP session manager (protocol revisions with sessions): ownership, limits, idle timeout and LRU eviction.
//!
//! `rmcp` runs a session; the events of its streams are kept in `request_replay` for a client that lost its
//! connection. This module bounds the lifetime of sessions and protects them from other callers. A session
//! belongs to the token it was created with. It ends when its client closes it, when it has been idle for too
//! long, or when its owner, or all owners together, exceed the limit: then the least recently used session is
//! evicted. Its client gets 404 and creates a new session.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use parking_lot::Mutex;
use rmcp::model::{
    ClientJsonRpcMessage, JsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig, SessionError,
};
use rmcp::transport::streamable_http_server::session::{
    ServerSseMessage, SessionId, SessionManager,
};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::request_context;
use super::request_replay::{self, RequestReplay};
use crate::caller_identity::CallerIdentity;

/// Timeout for closing a session while its client waits.
const SESSION_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Limits on number and lifetime of sessions.
#[derive(Debug, Clone, Copy)]
pub(super) struct McpSessionLimits {
    pub(super) max_total: usize,
    pub(super) max_per_owner: usize,
    pub(super) idle_timeout: Duration,
    /// How long a response is kept for replay to a client that lost its connection.
    pub(super) replay_ttl: Duration,
}

/// Session manager: `rmcp`'s sessions with ownership, limits and replay.
#[derive(Debug)]
pub(super) struct McpSessionManager {
    local: Arc<LocalSessionManager>,
    registry: Arc<McpSessionRegistry>,
    limits: McpSessionLimits,
}

/// Ownership and use of each session.
#[derive(Debug, Default)]
struct McpSessionRegistry(Mutex<McpSessionTable>);

/// All sessions by id.
#[derive(Debug, Default)]
struct McpSessionTable {
    sessions: HashMap<SessionId, McpSessionEntry>,
    /// Whether the task that evicts idle sessions is running.
    sweeper_running: bool,
}

/// One session: its owner and its use.
#[derive(Debug)]
struct McpSessionEntry {
    owner: CallerIdentity,
    ended: CancellationToken,
    last_used: Instant,
    /// Number of open streams and requests. A session with any is in use.
    open_streams: usize,
    /// Whether its streams start with a priming event, as required by its protocol revision.
    primed: bool,
    replay: Arc<RequestReplay>,
}

impl McpSessionRegistry {
    /// Removes a session and cancels its work.
    fn remove_and_cancel(&self, id: &SessionId) {
        let entry = self.0.lock().sessions.remove(id);
        if let Some(entry) = entry {
            entry.ended.cancel();
        }
    }
}

impl McpSessionTable {
    /// Returns the least recently used session of one owner, or of all.
    fn least_recently_used(&self, owner: Option<&CallerIdentity>) -> Option<SessionId> {
        let is_owned = |entry: &McpSessionEntry| owner.is_none_or(|owner| entry.owner == *owner);
        let found = self.sessions.iter().filter(|(_, entry)| is_owned(entry));
        // A session in use is chosen only if all are in use.
        let (id, _) = found.min_by_key(|(_, entry)| (entry.open_streams > 0, entry.last_used))?;
        Some(id.clone())
    }

    /// Returns the session to evict before one more of this owner is created.
    fn session_to_evict(
        &self,
        owner: &CallerIdentity,
        limits: McpSessionLimits,
    ) -> Option<SessionId> {
        let all = self.sessions.values();
        if all.filter(|entry| entry.owner == *owner).count() >= limits.max_per_owner {
            return self.least_recently_used(Some(owner));
        }
        if self.sessions.len() >= limits.max_total {
            return self.least_recently_used(None);
        }
        None
    }

    fn replay_logs(&self) -> Vec<Arc<RequestReplay>> {
        let all = self.sessions.values();
        all.map(|entry| Arc::clone(&entry.replay)).collect()
    }

    fn idle_sessions(&self, idle: Duration) -> Vec<SessionId> {
        let now = Instant::now();
        let is_idle =
            |entry: &McpSessionEntry| entry.open_streams == 0 && entry.last_used + idle <= now;
        let found = self.sessions.iter().filter(|(_, entry)| is_idle(entry));
        found.map(|(id, _)| id.clone()).collect()
    }
}

impl McpSessionManager {
    pub(super) fn new(limits: McpSessionLimits) -> Self {
        let mut config = SessionConfig::default();
        // Idle sessions are tracked here: a session that only listens is in use too.
        config.keep_alive = None;
        // How a stream starts depends on the session's protocol revision, which `rmcp` ignores.
        config.sse_retry = None;
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        Self {
            local: Arc::new(local),
            registry: Arc::default(),
            limits,
        }
    }

    /// Returns the number of sessions.
    pub(super) fn count(&self) -> usize {
        self.registry.0.lock().sessions.len()
    }

    /// Returns whether a session belongs to this caller or does not exist, and marks it as used.
    pub(super) fn admit_caller(&self, id: &str, identity: &CallerIdentity) -> bool {
        match self.registry.0.lock().sessions.get_mut(id) {
            Some(entry) => {
                let is_owner = entry.owner == *identity;
                if is_owner {
                    entry.last_used = Instant::now();
                }
                is_owner
            }
            None => true,
        }
    }

    /// Evicts a session without waiting for its end.
    fn evict_session(
        local: &Arc<LocalSessionManager>,
        registry: &McpSessionRegistry,
        id: SessionId,
    ) {
        registry.remove_and_cancel(&id);
        let local = Arc::clone(local);
        tokio::spawn(async move { local.close_session(&id).await });
    }

    /// Starts the task that evicts idle sessions while there are any.
    fn start_sweeper(&self) {
        if std::mem::replace(&mut self.registry.0.lock().sweeper_running, true) {
            return;
        }
        let (local, registry) = (Arc::clone(&self.local), Arc::clone(&self.registry));
        let idle = self.limits.idle_timeout;
        tokio::spawn(async move {
            loop {
                sleep(idle / 4).await;
                let expired = registry.0.lock().idle_sessions(idle);
                for id in expired {
                    Self::evict_session(&local, &registry, id);
                }
                for replay in registry.0.lock().replay_logs() {
                    replay.evict();
                }
                let mut entries = registry.0.lock();
                if entries.sessions.is_empty() {
                    entries.sweeper_running = false;
                    return;
                }
            }
        });
    }

    /// Returns the replay logs of a session, and whether its streams are primed.
    fn session_replay(
        &self,
        id: &SessionId,
    ) -> Result<(Arc<RequestReplay>, bool), LocalSessionManagerError> {
        let entries = self.registry.0.lock();
        let entry = entries.sessions.get(id);
        let entry = entry.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))?;
        Ok((Arc::clone(&entry.replay), entry.primed))
    }

    /// Wraps a stream so that its session counts as in use.
    fn track_stream<S>(&self, id: &SessionId, stream: S) -> TrackedStream<S> {
        if let Some(entry) = self.registry.0.lock().sessions.get_mut(id) {
            entry.open_streams += 1;
        }
        TrackedStream {
            stream: Box::pin(stream),
            registry: Arc::clone(&self.registry),
            id: id.clone(),
        }
    }
}

/// A stream that keeps its session in use while it is open.
struct TrackedStream<S> {
    stream: Pin<Box<S>>,
    registry: Arc<McpSessionRegistry>,
    id: SessionId,
}

impl<S: Stream> Stream for TrackedStream<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.as_mut().poll_next(cx)
    }
}

impl<S> Drop for TrackedStream<S> {
    fn drop(&mut self) {
        if let Some(entry) = self.registry.0.lock().sessions.get_mut(&self.id) {
            entry.open_streams = entry.open_streams.saturating_sub(1);
            entry.last_used = Instant::now();
        }
    }
}

/// Returns the protocol revision negotiated for a session.
fn negotiated_version(answer: &ServerJsonRpcMessage) -> Option<&ProtocolVersion> {
    match answer {
        JsonRpcMessage::Response(response) => match &response.result {
            ServerResult::InitializeResult(result) => Some(&result.protocol_version),
            _ => None,
        },
        _ => None,
    }
}

impl SessionManager for McpSessionManager {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        // Sessions are only created by requests.
        let scope = request_context::current_request()
            .map_err(|_| SessionError::SessionServiceTerminated)?;
        let too_many = self
            .registry
            .0
            .lock()
            .session_to_evict(&scope.identity, self.limits);
        if let Some(id) = too_many {
            Self::evict_session(&self.local, &self.registry, id);
        }
        let (id, transport) = self.local.create_session().await?;
        let entry = McpSessionEntry {
            owner: scope.identity,
            ended: scope.ended,
            last_used: Instant::now(),
            open_streams: 0,
            primed: false,
            replay: Arc::new(RequestReplay::new(self.limits.replay_ttl)),
        };
        self.registry.0.lock().sessions.insert(id.clone(), entry);
        self.start_sweeper();
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let answer = self.local.initialize_session(id, message).await?;
        if let Some(entry) = self.registry.0.lock().sessions.get_mut(id) {
            let revision = negotiated_version(&answer);
            entry.primed =
                revision.is_some_and(|revision| *revision >= ProtocolVersion::V_2025_11_25);
        }
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.registry.remove_and_cancel(id);
        // A session whose client does not read ends when its connection does.
        let closed = timeout(SESSION_CLOSE_TIMEOUT, self.local.close_session(id)).await;
        closed.unwrap_or(Ok(()))
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let (replay, primed) = self.session_replay(id)?;
        let events = self.local.create_stream(id, message).await?;
        // A running request keeps its session in use, whether or not its client is still connected.
        let mut events = self.track_stream(id, events);
        let log = replay.create_log(primed);
        let reader = log.new_reader(0);
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                log.push(event);
            }
            log.mark_complete();
            replay.evict();
        });
        Ok(self.track_stream(id, reader))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Self::Error> {
        self.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = self.local.create_standalone_stream(id).await?;
        Ok(self.track_stream(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = if request_replay::is_request_event(&last_event_id) {
            let (replay, _) = self.session_replay(id)?;
            let reader = replay.resume(&last_event_id);
            reader.ok_or(SessionError::InvalidEventId)?.left_stream()
        } else {
            let stream = self.local.resume(id, last_event_id).await?;
            stream.right_stream()
        };
        Ok(self.track_stream(id, stream))
    }
}
