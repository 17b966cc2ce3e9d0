//! Store factory for the suites: an empty store that a test can open several times; also the test runner and
//! constructors for common ids.

use std::sync::Arc;
use std::time::Duration;

use polis_core::AgentId;
use polis_core::society::{MemberKey, RunId};
use polis_ops::port::Store;
use polis_ops::{Polis, PortFuture, Settings};

use crate::{CountedChance, FixedClock, MemoryStore};

/// Timeout after which a test counts as hanging.
const HANGING: Duration = Duration::from_secs(300);

/// An initially empty store that can be opened several times, as several processes would.
pub trait Ground: Send + Sync {
    /// Opens another handle on the same store.
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>>;
}

/// The in-memory model store; every handle is the same one.
#[derive(Debug, Default)]
pub struct MemoryGround(Arc<MemoryStore>);

impl Ground for MemoryGround {
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>> {
        let store: Arc<dyn Store> = Arc::<MemoryStore>::clone(&self.0);
        Box::pin(std::future::ready(Ok(store)))
    }
}

/// Runs a test on a runtime with several threads; fails it if it hangs.
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

/// Creates a `Polis` on a store, with a manual clock and default settings.
pub fn polis(store: Arc<dyn Store>) -> Polis {
    Polis::new(
        store,
        Arc::new(FixedClock::default()),
        Arc::new(CountedChance::default()),
        Settings::default(),
    )
}

/// Parses the name of a run.
///
/// # Panics
/// If it is invalid.
pub fn run_named(name: &str) -> RunId {
    name.parse().unwrap()
}

/// Parses the name of a member: `RUN/AGENT`.
///
/// # Panics
/// If it is invalid.
pub fn member(name: &str) -> MemberKey {
    name.parse().unwrap()
}

/// Parses the name of an agent.
///
/// # Panics
/// If it is invalid.
pub fn agent(name: &str) -> AgentId {
    name.parse().unwrap()
}
