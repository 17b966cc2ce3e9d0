//! Connection pool for reads: runs queries on a few shared connections. Callers get rows, never a connection.
//!
//! A query is repeated once if its connection breaks, and fails at its deadline; the connection is then
//! replaced.
//!
//! No caller holds a lock across an await: a caller may stop being polled at any await (one branch of a
//! `select!` runs while the others are suspended), and the next caller would wait for it. Opening a
//! connection, which many callers may wait for, runs in a separate task.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use polis_ops::PortError;
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;

use super::connection::{ConnectionPurpose, PgParam, PgSession, ServerAddress};
use super::error::{from_postgres, is_connection_lost, server_timeout_error};

/// Number of connections. Queries of many callers are pipelined on one connection without waiting for each
/// other's results; the second serves while the first is busy with a long query.
const POOL_SIZE: usize = 2;

/// How many queries use only the first connection.
const FIRST_CONNECTION_QUERIES: usize = 32;

/// The connection pool: queries are distributed over its slots.
#[derive(Debug)]
pub(super) struct ReadPool {
    address: Arc<ServerAddress>,
    slots: [Arc<ConnectionSlot>; POOL_SIZE],
    next_query: AtomicUsize,
}

/// A slot for one connection.
#[derive(Debug, Default)]
struct ConnectionSlot {
    /// The connection, if one is open. Locked only briefly.
    current: Mutex<Option<Arc<PgSession>>>,
    /// Held by the task that opens the connection.
    opening: tokio::sync::Mutex<()>,
}

impl ConnectionSlot {
    /// Returns the connection, unless it is closed.
    fn current_session(&self) -> Option<Arc<PgSession>> {
        let current = self.current.lock();
        current.clone().filter(|session| !session.is_closed())
    }

    fn set_session(&self, session: Option<Arc<PgSession>>) {
        *self.current.lock() = session;
    }

    /// Removes a broken connection, unless it was already replaced.
    fn discard_session(&self, broken: &Arc<PgSession>) {
        let mut current = self.current.lock();
        if current.as_ref().is_some_and(|s| Arc::ptr_eq(s, broken)) {
            *current = None;
        }
    }

    /// Returns the connection, opening one if necessary.
    async fn get_or_open(
        &self,
        address: &ServerAddress,
        deadline: Instant,
    ) -> Result<Arc<PgSession>, PortError> {
        let _opening = self.opening.lock().await;
        if let Some(session) = self.current_session() {
            return Ok(session);
        }
        let session = Arc::new(
            address
                .open_session(ConnectionPurpose::Read, deadline)
                .await?,
        );
        self.set_session(Some(Arc::clone(&session)));
        Ok(session)
    }
}

impl ReadPool {
    /// Creates a pool that starts with this connection.
    pub(super) fn new(address: Arc<ServerAddress>, first: PgSession) -> Self {
        let slots = [Arc::default(), Arc::default()];
        let [slot, _]: &[Arc<ConnectionSlot>; POOL_SIZE] = &slots;
        slot.set_session(Some(Arc::new(first)));
        Self {
            address,
            slots,
            next_query: AtomicUsize::new(0),
        }
    }

    /// Runs a query. If the connection breaks, retries once on a new one: a read is safe to repeat.
    pub(super) async fn query(
        &self,
        sql: &str,
        parameters: &[PgParam<'_>],
    ) -> Result<Vec<Row>, PortError> {
        let deadline = self.address.deadline();
        let slot = self.choose_slot();
        let mut used = None;
        let response = timeout_at(deadline, async {
            let session = used.insert(self.session_in_slot(slot, deadline).await?);
            match session.query(sql, parameters).await {
                Err(error) if is_connection_lost(&error) => {
                    slot.discard_session(session);
                    *session = self.session_in_slot(slot, deadline).await?;
                    session.query(sql, parameters).await.map_err(from_postgres)
                }
                answer => answer.map_err(from_postgres),
            }
        });
        if let Ok(answer) = response.await {
            return answer;
        }
        // The connection may never answer again; do not let the next caller wait for it.
        if let Some(session) = &used {
            slot.discard_session(session);
        }
        Err(server_timeout_error())
    }

    /// Returns the slot for the next query, round-robin.
    fn choose_slot(&self) -> &Arc<ConnectionSlot> {
        let turn = self.next_query.fetch_add(1, Ordering::Relaxed);
        let [first, second] = &self.slots;
        // A command runs a few queries and exits: opening a second connection is not worth it.
        if turn < FIRST_CONNECTION_QUERIES || turn.is_multiple_of(2) {
            first
        } else {
            second
        }
    }

    async fn session_in_slot(
        &self,
        slot: &Arc<ConnectionSlot>,
        deadline: Instant,
    ) -> Result<Arc<PgSession>, PortError> {
        if let Some(session) = slot.current_session() {
            return Ok(session);
        }
        let (slot, address) = (Arc::clone(slot), Arc::clone(&self.address));
        let opened = tokio::spawn(async move { slot.get_or_open(&address, deadline).await });
        opened.await.map_err(|_| server_timeout_error())?
    }
}
