//! Session renewal: renews the sessions of agents in the store while they live, and closes them at the end.
//!
//! A session is a `polis mcp` process, or a session of MCP over HTTP. It holds the claims it made: other
//! sessions of the same agent cannot claim these tasks while it is open. The session of a process is open
//! from its start; one over HTTP is opened here by its first claim. If another process has taken a session
//! over, the process or connection that held it is stopped.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use polis_core::AgentId;
use polis_core::agent_session::http_session_id;
use polis_ops::op::{OpenSession, SESSION_RENEWAL_INTERVAL_MS};
use polis_ops::{App, OpError};
use tokio_util::sync::CancellationToken;

/// Renews a session until `stop` is cancelled, then closes it. If another process has taken it over (this one
/// was suspended for longer than a session lives), cancels `stop`: two processes must not act in one session.
pub async fn keep_session_alive(app: App, mut session: OpenSession, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(Duration::from_millis(SESSION_RENEWAL_INTERVAL_MS)) => {}
        }
        match session.renew(&app).await {
            Ok(true) => {}
            Ok(false) => {
                stop.cancel();
                return;
            }
            // The store is unavailable; a session outlives several missed renewals.
            Err(error) => tracing::warn!(%error, "the session could not be renewed"),
        }
    }
    if let Err(error) = session.close(&app).await {
        tracing::debug!(%error, "the session could not be closed; it ends by itself");
    }
}

/// HTTP sessions of one server that have claimed a task.
#[derive(Debug)]
pub(crate) struct ClaimingHttpSessions {
    /// Unique id of this server, with its process identity.
    holder: String,
    open: Arc<Mutex<HashSet<String>>>,
}

impl ClaimingHttpSessions {
    pub(crate) fn new(app: &App) -> Self {
        Self {
            holder: app
                .processes
                .with_identity(&format!("http-{}", app.random.random_token())),
            open: Arc::default(),
        }
    }

    /// Opens the session of a connection in the store on its first claim, and keeps it open until the
    /// connection ends. Returns its id.
    pub(crate) async fn open_on_claim(
        &self,
        app: &App,
        agent: &AgentId,
        session: &str,
        ended: &CancellationToken,
    ) -> Result<String, OpError> {
        let id = http_session_id(agent, session);
        let is_open = |id: &str| {
            let open = self.open.lock();
            open.contains(id)
        };
        if is_open(&id) {
            return Ok(id);
        }
        // Two concurrent first claims open it twice, which is harmless: the holder is the same.
        let opened = OpenSession::open(app, id.clone(), agent, &self.holder).await?;
        let mut open = self.open.lock();
        if let Some(opened) = opened
            && open.insert(id.clone())
        {
            let renewal = keep_session_alive(app.clone(), opened, ended.clone());
            let (all, id) = (Arc::clone(&self.open), id.clone());
            tokio::spawn(async move {
                renewal.await;
                all.lock().remove(&id);
            });
        }
        Ok(id)
    }
}
