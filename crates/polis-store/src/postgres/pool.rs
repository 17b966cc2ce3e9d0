//! The few connections that reads share, replaced when they break.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use polis_ops::PortError;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;

use super::connection::{Address, Parameter, Purpose, Session};
use super::error::{from_postgres, is_broken, silent};

/// How many connections there are. Questions of many callers go down one without waiting for each
/// other's answers; the second is for when the first is busy with a long one.
const CONNECTIONS: usize = 2;

/// How many questions all go down the first.
const BRIEF: usize = 32;

/// The connections.
#[derive(Debug)]
pub(super) struct Pool {
    address: Arc<Address>,
    slots: [Mutex<Option<Arc<Session>>>; CONNECTIONS],
    turn: AtomicUsize,
}

impl Pool {
    /// A pool that begins with this connection.
    pub(super) fn new(address: Arc<Address>, first: Session) -> Self {
        Self {
            address,
            slots: [Mutex::new(Some(Arc::new(first))), Mutex::new(None)],
            turn: AtomicUsize::new(0),
        }
    }

    /// Asks. If the connection breaks, asks once more on a new one: a read may be repeated.
    pub(super) async fn query(
        &self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, PortError> {
        let deadline = self.address.deadline();
        let slot = self.slot();
        let asked = timeout_at(deadline, async {
            let session = self.session(slot, deadline).await?;
            match session.query(sql, parameters).await {
                Err(error) if is_broken(&error) => {
                    discard(slot, &session).await;
                    let session = self.session(slot, deadline).await?;
                    session.query(sql, parameters).await.map_err(from_postgres)
                }
                answer => answer.map_err(from_postgres),
            }
        });
        if let Ok(answer) = asked.await {
            return answer;
        }
        // It may never answer again; whoever comes next shall not wait for it.
        if let Ok(mut kept) = slot.try_lock() {
            *kept = None;
        }
        Err(silent())
    }

    /// The connection whose turn it is.
    fn slot(&self) -> &Mutex<Option<Arc<Session>>> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let [first, second] = &self.slots;
        // A command asks a few questions and ends: opening a second connection is not worth it.
        if turn < BRIEF || turn.is_multiple_of(2) {
            first
        } else {
            second
        }
    }

    async fn session(
        &self,
        slot: &Mutex<Option<Arc<Session>>>,
        deadline: Instant,
    ) -> Result<Arc<Session>, PortError> {
        let mut kept = slot.lock().await;
        if let Some(session) = kept.as_ref().filter(|session| !session.is_closed()) {
            return Ok(Arc::clone(session));
        }
        *kept = None;
        let session = Arc::new(self.address.open(Purpose::Read, deadline).await?);
        *kept = Some(Arc::clone(&session));
        Ok(session)
    }
}

/// Takes a broken connection out, unless somebody has replaced it already.
async fn discard(slot: &Mutex<Option<Arc<Session>>>, broken: &Arc<Session>) {
    let mut kept = slot.lock().await;
    if kept.as_ref().is_some_and(|s| Arc::ptr_eq(s, broken)) {
        *kept = None;
    }
}
