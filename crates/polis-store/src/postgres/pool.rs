//! The few connections that reads share, replaced when they break.
//!
//! Nobody who asks ever holds a lock while it waits: a caller may stop being polled at any await (one arm of a
//! `select!` runs while the others stand still), and whoever asked next would wait for it. Opening, which many wait
//! for, is a task of its own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use polis_ops::PortError;
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
    slots: [Arc<Slot>; CONNECTIONS],
    turn: AtomicUsize,
}

/// A connection's place.
#[derive(Debug, Default)]
struct Slot {
    /// The connection, if there is one. Locked for a moment only.
    current: Mutex<Option<Arc<Session>>>,
    /// Held by the one that opens it.
    opening: tokio::sync::Mutex<()>,
}

impl Slot {
    /// The connection, unless it has ended.
    fn current(&self) -> Option<Arc<Session>> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.clone().filter(|session| !session.is_closed())
    }

    fn put(&self, session: Option<Arc<Session>>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = session;
    }

    /// Takes a connection out, unless somebody has replaced it already.
    fn discard(&self, broken: &Arc<Session>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().is_some_and(|s| Arc::ptr_eq(s, broken)) {
            *current = None;
        }
    }

    /// The connection, opened if there is none.
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
    /// A pool that begins with this connection.
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

    /// Asks. If the connection breaks, asks once more on a new one: a read may be repeated.
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
        // It may never answer again; whoever comes next shall not wait for it.
        if let Some(session) = &used {
            slot.discard(session);
        }
        Err(silent())
    }

    /// The connection whose turn it is.
    fn slot(&self) -> &Arc<Slot> {
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
