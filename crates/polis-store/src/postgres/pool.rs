//! Connection pool for reads: a few shared connections, replaced when they break.
//!
//! No caller holds a lock across an await: a caller may stop being polled at any await (one branch of a
//! `select!` runs while the others are suspended), and the next caller would wait for it. Opening a
//! connection, which many callers may wait for, runs in a separate task.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use polis_ops::PortError;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;

use super::connection::{Address, Parameter, Purpose, Session};
use super::error::{from_postgres, is_broken, silent};

/// Number of connections. Queries of many callers are pipelined on one connection without waiting for each
/// other's results; the second serves while the first is busy with a long query.
const CONNECTIONS: usize = 2;

/// How many queries use only the first connection.
const BRIEF: usize = 32;

/// The connection pool.
#[derive(Debug)]
pub(super) struct Pool {
    address: Arc<Address>,
    slots: [Arc<Slot>; CONNECTIONS],
    turn: AtomicUsize,
}

/// A slot for one connection.
#[derive(Debug, Default)]
struct Slot {
    /// The connection, if one is open. Locked only briefly.
    current: Mutex<Option<Arc<Session>>>,
    /// Held by the task that opens the connection.
    opening: tokio::sync::Mutex<()>,
}

impl Slot {
    /// Returns the connection, unless it is closed.
    fn current(&self) -> Option<Arc<Session>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.clone().filter(|session| !session.is_closed())
    }

    fn put(&self, session: Option<Arc<Session>>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }

    /// Removes a broken connection, unless it was already replaced.
    fn discard(&self, broken: &Arc<Session>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|s| Arc::ptr_eq(s, broken)) {
            *current = None;
        }
    }

    /// Returns the connection, opening one if necessary.
    async fn opened(
        &self,
        address: &Address,
        deadline: Instant,
    ) -> Result<Arc<Session>, PortError> {
        let _opening = self.opening.lock().await;
        if let Some(session) = self.current() {
            return Ok(session);
        }
        let session = Arc::new(address.open(Purpose::Read, deadline).await?);
        self.put(Some(Arc::clone(&session)));
        Ok(session)
    }
}

impl Pool {
    /// Creates a pool that starts with this connection.
    pub(super) fn new(address: Arc<Address>, first: Session) -> Self {
        let slots = [Arc::default(), Arc::default()];
        let [slot, _]: &[Arc<Slot>; CONNECTIONS] = &slots;
        slot.put(Some(Arc::new(first)));
        Self {
            address,
            slots,
            turn: AtomicUsize::new(0),
        }
    }

    /// Runs a query. If the connection breaks, retries once on a new one: a read is safe to repeat.
    pub(super) async fn query(
        &self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, PortError> {
        let deadline = self.address.deadline();
        let slot = self.slot();
        let mut used = None;
        let asked = timeout_at(deadline, async {
            let session = used.insert(self.session(slot, deadline).await?);
            match session.query(sql, parameters).await {
                Err(error) if is_broken(&error) => {
                    slot.discard(session);
                    *session = self.session(slot, deadline).await?;
                    session.query(sql, parameters).await.map_err(from_postgres)
                }
                answer => answer.map_err(from_postgres),
            }
        });
        if let Ok(answer) = asked.await {
            return answer;
        }
        // The connection may never answer again; do not let the next caller wait for it.
        if let Some(session) = &used {
            slot.discard(session);
        }
        Err(silent())
    }

    /// Returns the slot for the next query, round-robin.
    fn slot(&self) -> &Arc<Slot> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let [first, second] = &self.slots;
        // A command runs a few queries and exits: opening a second connection is not worth it.
        if turn < BRIEF || turn.is_multiple_of(2) {
            first
        } else {
            second
        }
    }

    async fn session(
        &self,
        slot: &Arc<Slot>,
        deadline: Instant,
    ) -> Result<Arc<Session>, PortError> {
        if let Some(session) = slot.current() {
            return Ok(session);
        }
        let (slot, address) = (Arc::clone(slot), Arc::clone(&self.address));
        let opened = tokio::spawn(async move { slot.opened(&address, deadline).await });
        opened.await.map_err(|_| silent())?
    }
}
