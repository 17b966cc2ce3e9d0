//! Runs blocking work of the embedded store on the calling thread, or in a server with `spawn_blocking`. Also
//! contains the per-board async locks ([`BoardLocks`]).
//!
//! A lookup takes 2 to 20 µs and runs on the calling thread: moving it to another thread would cost 16 µs
//! more. A hundred rows take 120 µs. In a server, any work that may take longer or waits for a lock runs on
//! tokio's blocking thread pool, except commits of single changesets, which the writer thread executes (`writer`).
//! Other processes serve no other requests meanwhile and run everything inline.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use polis_core::board::BoardName;
use polis_ops::PortError;
use polis_ops::port::PortFuture;
use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::sync::OwnedMutexGuard;

use super::{EmbeddedStore, EmbeddedStoreState, StoreMode};

/// Maximum number of long reads that run concurrently. More would only compete for the same processors, and
/// each holds a connection; waiting reads occupy no thread.
pub(super) const MAX_LONG_READS: usize = 4;

/// Maximum number of rows of a read that runs inline.
pub(super) const MAX_INLINE_ROWS: u32 = 100;

/// Wraps a result in a future that is ready immediately.
pub(super) fn ready_future<'a, T: Send + 'a>(answer: Result<T, PortError>) -> PortFuture<'a, T> {
    Box::pin(std::future::ready(answer))
}

impl EmbeddedStore {
    /// Runs a short read inline.
    pub(super) fn read_short<'a, T: Send + 'a>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, PortError>,
    ) -> PortFuture<'a, T> {
        ready_future(self.shared.read_inline(work))
    }

    /// Runs a read of at most `rows` rows: inline if it is short, else as a long read.
    pub(super) fn read_rows<'a, T: Send + 'static>(
        &'a self,
        rows: u32,
        work: impl FnOnce(&Connection) -> Result<T, PortError> + Send + 'static,
    ) -> PortFuture<'a, T> {
        if rows <= MAX_INLINE_ROWS {
            self.read_short(work)
        } else {
            self.read_long(work)
        }
    }

    /// Runs a read that may take long.
    pub(super) fn read_long<'a, T: Send + 'static>(
        &'a self,
        work: impl FnOnce(&Connection) -> Result<T, PortError> + Send + 'static,
    ) -> PortFuture<'a, T> {
        self.run_long(move |shared| shared.read_inline(work))
    }

    /// Runs work that may take long but waits for no lock.
    pub(super) fn run_long<'a, T: Send + 'static>(
        &'a self,
        work: impl FnOnce(&EmbeddedStoreState) -> Result<T, PortError> + Send + 'static,
    ) -> PortFuture<'a, T> {
        if !self.shared.should_offload_blocking() {
            return ready_future(work(&self.shared));
        }
        Box::pin(async move {
            let permit = Arc::clone(&self.shared.long_read_permits)
                .acquire_owned()
                .await;
            run_blocking(&self.shared, move |shared| {
                let _permit = permit;
                work(shared)
            })
            .await
        })
    }
}

impl EmbeddedStoreState {
    /// Whether the calling thread may have other tasks to serve: a server, inside a tokio runtime.
    pub(super) fn should_offload_blocking(&self) -> bool {
        self.mode == StoreMode::Server && Handle::try_current().is_ok()
    }
}

/// Runs work that may take long or block: with `spawn_blocking` if this thread serves other tasks, else
/// inline. Once started it runs to completion, even if the caller's future is dropped.
pub(super) async fn run_blocking<T: Send + 'static>(
    shared: &Arc<EmbeddedStoreState>,
    work: impl FnOnce(&EmbeddedStoreState) -> Result<T, PortError> + Send + 'static,
) -> Result<T, PortError> {
    if !shared.should_offload_blocking() {
        return work(shared);
    }
    let shared = Arc::clone(shared);
    tokio::task::spawn_blocking(move || work(&shared))
        .await
        .unwrap_or_else(|e| Err(PortError::internal("A thread of the store", e)))
}

/// Per-board async mutexes: tasks that need the same board's file wait for each other without occupying a
/// thread.
#[derive(Debug, Default)]
pub(super) struct BoardLocks(Mutex<BTreeMap<BoardName, Weak<tokio::sync::Mutex<()>>>>);

impl BoardLocks {
    /// Waits for the lock of a board, which is held until the guard is dropped.
    pub(super) async fn lock_board(&self, name: &BoardName) -> OwnedMutexGuard<()> {
        let turn = {
            let mut all = self.0.lock();
            all.retain(|_, turn| turn.strong_count() > 0);
            let existing = all.get(name).and_then(Weak::upgrade);
            existing.unwrap_or_else(|| {
                let lock = Arc::default();
                all.insert(name.clone(), Arc::downgrade(&lock));
                lock
            })
        };
        turn.lock_owned().await
    }
}
