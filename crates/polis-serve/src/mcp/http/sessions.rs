//! Sessions of the eras that have them: whose each is, how many there are, when they end.
//!
//! `rmcp` runs a session; what its streams send is kept in `replay` for a client that lost its connection. Here it is kept from running for ever, and from being anybody else's. A session
//! belongs to the token it was begun with. It ends when its client says so, when nobody has used it for a
//! while, or when its owner, or everybody together, begins more than there may be: then the one that was not
//! used for longest goes. Its client is told that it is gone, and begins a new one.

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

/// How long the end of a session may take that its client waits for.
const CLOSING: Duration = Duration::from_secs(5);

/// How many sessions there may be, and for how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) all: usize,
    pub(super) each: usize,
    pub(super) idle: Duration,
    /// For how long an answer is kept for a client that lost its connection.
    pub(super) replay: Duration,
}

/// The sessions there are.
#[derive(Debug)]
pub(super) struct Sessions {
    local: Arc<LocalSessionManager>,
    book: Arc<Book>,
    limits: Limits,
}

/// Who has which session.
#[derive(Debug, Default)]
struct Book(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    sessions: HashMap<SessionId, Entry>,
    /// Whether a task looks for those that nobody uses.
    swept: bool,
}

#[derive(Debug)]
struct Entry {
    owner: Identity,
    ended: CancellationToken,
    used: Instant,
    /// How many streams and requests it has open; one that has any is in use.
    streams: usize,
    /// Whether its streams begin with an event without a message, as its revision of the protocol has it.
    primed: bool,
    replay: Arc<Replay>,
}

impl Book {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a session out.
    fn strike(&self, id: &SessionId) {
        let entry = self.entries().sessions.remove(id);
        if let Some(entry) = entry {
            entry.ended.cancel();
        }
    }
}

impl Entries {
    /// The session that was not used for longest, among those of one owner or of all.
    fn oldest(&self, owner: Option<&Identity>) -> Option<SessionId> {
        let of = |entry: &Entry| owner.is_none_or(|owner| entry.owner == *owner);
        let found = self.sessions.iter().filter(|(_, entry)| of(entry));
        // One in use goes only where all are.
        let (id, _) = found.min_by_key(|(_, entry)| (entry.streams > 0, entry.used))?;
        Some(id.clone())
    }

    /// The sessions that have to go for one more of this owner.
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
        // Whether a session is used is known here: one that only listens is, too.
        config.keep_alive = None;
        // How a stream begins depends on the session's revision, which `rmcp` does not look at.
        config.sse_retry = None;
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        Self {
            local: Arc::new(local),
            book: Arc::default(),
            limits,
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.book.entries().sessions.len()
    }

    /// Whether a session is this caller's, or nobody's; it counts as used.
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

    /// Ends a session that has to go; nobody waits for that.
    fn send_away(local: &Arc<LocalSessionManager>, book: &Book, id: SessionId) {
        book.strike(&id);
        let local = Arc::clone(local);
        tokio::spawn(async move { local.close_session(&id).await });
    }

    /// Looks for sessions that nobody uses, as long as there are any.
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

    /// The logs of a session's requests, and whether its streams are primed.
    fn replay(&self, id: &SessionId) -> Result<(Arc<Replay>, bool), LocalSessionManagerError> {
        let entries = self.book.entries();
        let entry = entries.sessions.get(id);
        let entry = entry.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))?;
        Ok((Arc::clone(&entry.replay), entry.primed))
    }

    /// A stream that keeps its session in use.
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

/// The revision of the protocol that a session was begun with.
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
        // Nothing but a request begins one.
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
        // One whose client takes nothing ends when its connection does.
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
        // A request is a use of its session, with or without a client that waits for the answer.
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
