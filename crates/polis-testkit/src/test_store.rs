//! What a suite stands on: one empty store, opened as often as a test asks.

use std::sync::Arc;
use std::time::Duration;

use polis_core::AgentId;
use polis_core::society::{MemberKey, RunId};
use polis_ops::port::Store;
use polis_ops::{Polis, PortFuture, Settings};

use crate::{CountedChance, FixedClock, MemoryStore};

/// How long a test may take before it counts as hanging.
const HANGING: Duration = Duration::from_secs(300);

/// One store of its own, empty at first, that can be opened several times, as several processes
/// would.
pub trait Ground: Send + Sync {
    /// Another handle on the same store.
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>>;
}

/// The model store; every handle is the same one.
#[derive(Debug, Default)]
pub struct MemoryGround(Arc<MemoryStore>);

impl Ground for MemoryGround {
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>> {
        let store: Arc<dyn Store> = Arc::<MemoryStore>::clone(&self.0);
        Box::pin(std::future::ready(Ok(store)))
    }
}

/// Runs a test on several threads; fails it if it hangs.
///
/// # Panics
/// If the test panics or hangs.
pub fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    let finished = runtime.block_on(async { tokio::time::timeout(HANGING, test).await });
    runtime.shutdown_background();
    assert!(finished.is_ok(), "the test hangs");
}

/// The operations' ground on a store, with a clock that stands still and nothing set.
pub fn polis(store: Arc<dyn Store>) -> Polis {
    Polis::new(
        store,
        Arc::new(FixedClock::default()),
        Arc::new(CountedChance::default()),
        Settings::default(),
    )
}

/// A run's name.
///
/// # Panics
/// If it is not one.
pub fn run_named(name: &str) -> RunId {
    name.parse().unwrap()
}

/// A member's name: `RUN/AGENT`.
///
/// # Panics
/// If it is not one.
pub fn member(name: &str) -> MemberKey {
    name.parse().unwrap()
}

/// An agent's name.
///
/// # Panics
/// If it is none.
pub fn agent(name: &str) -> AgentId {
    name.parse().unwrap()
}
