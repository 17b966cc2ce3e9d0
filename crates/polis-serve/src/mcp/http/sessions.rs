//! Session manager of the MCP revisions with sessions: ownership, limits and idle timeout.
//!
//! `rmcp` runs a session; the events of its streams are kept in `replay` for a client that lost its
//! connection. This module bounds the lifetime of sessions and protects them from other callers. A session
//! belongs to the token it was created with. It ends when its client closes it, when it has been idle for too
//! long, or when its owner, or all owners together, exceed the limit: then the least recently used session is
//! evicted. Its client gets 404 and creates a new session.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
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

use super::replay::{self, Replay};
use super::scope;
use crate::identity::Identity;

/// Timeout for closing a session while its client waits.
const CLOSING: Duration = Duration::from_secs(5);

/// Limits on number and lifetime of sessions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) all: usize,
    pub(super) each: usize,
    pub(super) idle: Duration,
    /// How long a response is kept for replay to a client that lost its connection.
    pub(super) replay: Duration,
}

/// All sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    local: Arc<LocalSessionManager>,
    book: Arc<Book>,
    limits: Limits,
}

/// Ownership and use of each session.
#[derive(Debug, Default)]
struct Book(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    sessions: HashMap<SessionId, Entry>,
    /// Whether the task that evicts idle sessions is running.
    swept: bool,
}

#[derive(Debug)]
struct Entry {
    owner: Identity,
    ended: CancellationToken,
    used: Instant,
    /// Number of open streams and requests. A session with any is in use.
    streams: usize,
    /// Whether its streams start with a priming event, as required by its protocol revision.
    primed: bool,
    replay: Arc<Replay>,
}

impl Book {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a session and cancels its work.
    fn strike(&self, id: &SessionId) {
        let entry = self.entries().sessions.remove(id);
        if let Some(entry) = entry {
            entry.ended.cancel();
        }
    }
}

impl Entries {
    /// Returns the least recently used session of one owner, or of all.
    fn oldest(&self, owner: Option<&Identity>) -> Option<SessionId> {
        let of = |entry: &Entry| owner.is_none_or(|owner| entry.owner == *owner);
        let found = self.sessions.iter().filter(|(_, entry)| of(entry));
        // A session in use is chosen only if all are in use.
        let (id, _) = found.min_by_key(|(_, entry)| (entry.streams > 0, entry.used))?;
        Some(id.clone())
    }

    /// Returns the session to evict before one more of this owner is created.
    fn too_many(&self, owner: &Identity, limits: Limits) -> Option<SessionId> {
        let all = self.sessions.values();
        if all.filter(|entry| entry.owner == *owner).count() >= limits.each {
            return self.oldest(Some(owner));
        }
        if self.sessions.len() >= limits.all {
            return self.oldest(None);
        }
        None
    }

    fn replays(&self) -> Vec<Arc<Replay>> {
        let all = self.sessions.values();
        all.map(|entry| Arc::clone(&entry.replay)).collect()
    }

    fn idle(&self, idle: Duration) -> Vec<SessionId> {
        let now = Instant::now();
        let is_idle = |entry: &Entry| entry.streams == 0 && entry.used + idle <= now;
        let found = self.sessions.iter().filter(|(_, entry)| is_idle(entry));
        found.map(|(id, _)| id.clone()).collect()
    }
}

impl Sessions {
    pub(super) fn new(limits: Limits) -> Self {
        let mut config = SessionConfig::default();
        // Idle sessions are tracked here: a session that only listens is in use too.
        config.keep_alive = None;
        // How a stream starts depends on the session's protocol revision, which `rmcp` ignores.
        config.sse_retry = None;
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        Self {
            local: Arc::new(local),
            book: Arc::default(),
            limits,
        }
    }

    /// Returns the number of sessions.
    pub(super) fn count(&self) -> usize {
        self.book.entries().sessions.len()
    }

    /// Returns whether a session belongs to this caller or does not exist, and marks it as used.
    pub(super) fn admits(&self, id: &str, identity: &Identity) -> bool {
        match self.book.entries().sessions.get_mut(id) {
            Some(entry) => {
                let own = entry.owner == *identity;
                if own {
                    entry.used = Instant::now();
                }
                own
            }
            None => true,
        }
    }

    /// Evicts a session without waiting for its end.
    fn send_away(local: &Arc<LocalSessionManager>, book: &Book, id: SessionId) {
        book.strike(&id);
        let local = Arc::clone(local);
        tokio::spawn(async move { local.close_session(&id).await });
    }

    /// Starts the task that evicts idle sessions while there are any.
    fn sweep(&self) {
        if std::mem::replace(&mut self.book.entries().swept, true) {
            return;
        }
        let (local, book) = (Arc::clone(&self.local), Arc::clone(&self.book));
        let idle = self.limits.idle;
        tokio::spawn(async move {
            loop {
                sleep(idle / 4).await;
                let gone = book.entries().idle(idle);
                for id in gone {
                    Self::send_away(&local, &book, id);
                }
                for replay in book.entries().replays() {
                    replay.evict();
                }
                let mut entries = book.entries();
                if entries.sessions.is_empty() {
                    entries.swept = false;
                    return;
                }
            }
        });
    }

    /// Returns the replay logs of a session, and whether its streams are primed.
    fn replay(&self, id: &SessionId) -> Result<(Arc<Replay>, bool), LocalSessionManagerError> {
        let entries = self.book.entries();
        let entry = entries.sessions.get(id);
        let entry = entry.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))?;
        Ok((Arc::clone(&entry.replay), entry.primed))
    }

    /// Wraps a stream so that its session counts as in use.
    fn in_use<S>(&self, id: &SessionId, stream: S) -> InUse<S> {
        if let Some(entry) = self.book.entries().sessions.get_mut(id) {
            entry.streams += 1;
        }
        InUse {
            stream: Box::pin(stream),
            book: Arc::clone(&self.book),
            id: id.clone(),
        }
    }
}

/// A stream that keeps its session in use while it is open.
struct InUse<S> {
    stream: Pin<Box<S>>,
    book: Arc<Book>,
    id: SessionId,
}

impl<S: Stream> Stream for InUse<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.stream.as_mut().poll_next(cx)
    }
}

impl<S> Drop for InUse<S> {
    fn drop(&mut self) {
        if let Some(entry) = self.book.entries().sessions.get_mut(&self.id) {
            entry.streams = entry.streams.saturating_sub(1);
            entry.used = Instant::now();
        }
    }
}

/// Returns the protocol revision negotiated for a session.
fn negotiated(answer: &ServerJsonRpcMessage) -> Option<&ProtocolVersion> {
    match answer {
        JsonRpcMessage::Response(response) => match &response.result {
            ServerResult::InitializeResult(result) => Some(&result.protocol_version),
            _ => None,
        },
        _ => None,
    }
}

impl SessionManager for Sessions {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        // Sessions are only created by requests.
        let scope = scope::current().map_err(|_| SessionError::SessionServiceTerminated)?;
        let too_many = self.book.entries().too_many(&scope.identity, self.limits);
        if let Some(id) = too_many {
            Self::send_away(&self.local, &self.book, id);
        }
        let (id, transport) = self.local.create_session().await?;
        let entry = Entry {
            owner: scope.identity,
            ended: scope.ended,
            used: Instant::now(),
            streams: 0,
            primed: false,
            replay: Arc::new(Replay::new(self.limits.replay)),
        };
        self.book.entries().sessions.insert(id.clone(), entry);
        self.sweep();
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        let answer = self.local.initialize_session(id, message).await?;
        if let Some(entry) = self.book.entries().sessions.get_mut(id) {
            let revision = negotiated(&answer);
            entry.primed =
                revision.is_some_and(|revision| *revision >= ProtocolVersion::V_2025_11_25);
        }
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.book.strike(id);
        // A session whose client does not read ends when its connection does.
        let closed = timeout(CLOSING, self.local.close_session(id)).await;
        closed.unwrap_or(Ok(()))
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let (replay, primed) = self.replay(id)?;
        let events = self.local.create_stream(id, message).await?;
        // A running request keeps its session in use, whether or not its client is still connected.
        let mut events = self.in_use(id, events);
        let log = replay.begin(primed);
        let reader = log.reader(0);
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                log.push(event);
            }
            log.end();
            replay.evict();
        });
        Ok(self.in_use(id, reader))
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
        Ok(self.in_use(id, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        let stream = if replay::is_of_request(&last_event_id) {
            let (replay, _) = self.replay(id)?;
            let reader = replay.resume(&last_event_id);
            reader.ok_or(SessionError::InvalidEventId)?.left_stream()
        } else {
            let stream = self.local.resume(id, last_event_id).await?;
            stream.right_stream()
        };
        Ok(self.in_use(id, stream))
    }
}
