//! Work that may take long, or wait, is kept off the threads that serve others.
//!
//! A look-up takes 2 to 20 µs and runs where it is asked: sending it to another thread would cost 16 µs
//! more. A hundred rows take 120 µs. What may take longer than that, and whatever waits for a lock,
//! goes to one of tokio's threads for blocking work, if the process is a server. A command serves
//! nobody else, and does all of it itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use polis_core::board::BoardName;
use polis_ops::PortError;
use polis_ops::port::PortFuture;
use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::sync::OwnedMutexGuard;

use super::{EmbeddedStore, Shared, Use};

/// How many long reads run at once. More would only share the same processors, and each has a
/// connection; they wait without a thread.
pub(super) const LONG_READS: usize = 4;

/// How many rows a short read has at the most.
pub(super) const SHORT: u32 = 100;

/// A finished answer as a future.
pub(super) fn ready<'a, T: Send + 'a>(answer: Result<T, PortError>) -> PortFuture<'a, T> {
    Box::pin(std::future::ready(answer))
}

impl EmbeddedStore {
    /// A read that is short: run here and now.
    pub(super) fn read<'a, T: Send + 'a>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, PortError>,
    ) -> PortFuture<'a, T> {
        ready(self.shared.read(work))
    }

    /// A read of so many rows at the most.
    pub(super) fn read_rows<'a, T: Send + 'static>(
        &'a self,
        rows: u32,
        work: impl FnOnce(&Connection) -> Result<T, PortError> + Send + 'static,
    ) -> PortFuture<'a, T> {
        if rows <= SHORT {
            self.read(work)
        } else {
            self.read_long(work)
        }
    }

    /// A read that may be long.
    pub(super) fn read_long<'a, T: Send + 'static>(
        &'a self,
        work: impl FnOnce(&Connection) -> Result<T, PortError> + Send + 'static,
    ) -> PortFuture<'a, T> {
        self.long(move |shared| shared.read(work))
    }

    /// Work that may be long, and waits for nobody.
    pub(super) fn long<'a, T: Send + 'static>(
        &'a self,
        work: impl FnOnce(&Shared) -> Result<T, PortError> + Send + 'static,
    ) -> PortFuture<'a, T> {
        if !self.shared.serves_others() {
            return ready(work(&self.shared));
        }
        Box::pin(async move {
            let permit = Arc::clone(&self.shared.long_reads).acquire_owned().await;
            aside(&self.shared, move |shared| {
                let _permit = permit;
                work(shared)
            })
            .await
        })
    }
}

impl Shared {
    /// Whether the thread that asks may have others to serve.
    pub(super) fn serves_others(&self) -> bool {
        self.usage == Use::Long && Handle::try_current().is_ok()
    }
}

/// Runs what may take long or wait: elsewhere if this thread has others to serve. Once begun it runs to
/// its end, even if nobody waits for it any more.
pub(super) async fn aside<T: Send + 'static>(
    shared: &Arc<Shared>,
    work: impl FnOnce(&Shared) -> Result<T, PortError> + Send + 'static,
) -> Result<T, PortError> {
    if !shared.serves_others() {
        return work(shared);
    }
    let shared = Arc::clone(shared);
    tokio::task::spawn_blocking(move || work(&shared))
        .await
        .unwrap_or_else(|e| Err(PortError::internal("A thread of the store", e)))
}

/// Those who want the same board's file take turns, waiting for each other without keeping a thread.
#[derive(Debug, Default)]
pub(super) struct Turns(Mutex<BTreeMap<BoardName, Weak<tokio::sync::Mutex<()>>>>);

impl Turns {
    /// Waits for one's turn, which lasts until it is dropped.
    pub(super) async fn take(&self, name: &BoardName) -> OwnedMutexGuard<()> {
        let turn = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|_, turn| turn.strong_count() > 0);
            let known = all.get(name).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let fresh = Arc::default();
                all.insert(name.clone(), Arc::downgrade(&fresh));
                fresh
            })
        };
        turn.lock_owned().await
    }
}
