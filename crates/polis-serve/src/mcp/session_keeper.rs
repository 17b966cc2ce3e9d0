//! Keeps agent sessions open in the store while their process or connection is alive.
//!
//! A session binds claimed tasks to their claimant. It is renewed periodically and closed at the end.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use polis_core::AgentId;
use polis_core::session::http_id;
use polis_ops::op::{OpenSession, RENEW_SESSION_MS};
use polis_ops::{OpError, Polis};
use tokio_util::sync::CancellationToken;

/// Renews a session until `stop` is cancelled, then closes it. If another process has taken it over (this one
/// was suspended for longer than a session lives), cancels `stop`: two processes must not act in one session.
pub async fn keep_session(polis: Polis, mut session: OpenSession, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(Duration::from_millis(RENEW_SESSION_MS)) => {}
        }
        match session.renew(&polis).await {
            Ok(true) => {}
            Ok(false) => {
                stop.cancel();
                return;
            }
            // The store is unavailable; a session outlives several missed renewals.
            Err(error) => tracing::warn!(%error, "the session could not be renewed"),
        }
    }
    if let Err(error) = session.close(&polis).await {
        tracing::debug!(%error, "the session could not be closed; it ends by itself");
    }
}

/// HTTP sessions of one server that have claimed a task.
#[derive(Debug)]
pub(crate) struct HttpSessions {
    /// Unique id of this server, with its process identity.
    holder: String,
    open: Arc<Mutex<HashSet<String>>>,
}

impl HttpSessions {
    pub(crate) fn new(polis: &Polis) -> Self {
        Self {
            holder: polis
                .processes
                .with_identity(&format!("http-{}", polis.chance.token())),
            open: Arc::default(),
        }
    }

    /// Opens the session of a connection in the store on its first claim, and keeps it open until the
    /// connection ends. Returns its id.
    pub(crate) async fn open(
        &self,
        polis: &Polis,
        agent: &AgentId,
        session: &str,
        ended: &CancellationToken,
    ) -> Result<String, OpError> {
        let id = http_id(agent, session);
        let is_open = |id: &str| {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.contains(id)
        };
        if is_open(&id) {
            return Ok(id);
        }
        // Two concurrent first claims open it twice, which is harmless: the holder is the same.
        let opened = OpenSession::open(polis, id.clone(), agent, &self.holder).await?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = opened
            && open.insert(id.clone())
        {
            let keep = keep_session(polis.clone(), opened, ended.clone());
            let (all, id) = (Arc::clone(&self.open), id.clone());
            tokio::spawn(async move {
                keep.await;
                all.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&id);
            });
        }
        Ok(id)
    }
}
