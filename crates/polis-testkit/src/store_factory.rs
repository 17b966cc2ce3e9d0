//! Store factory for the suites: opens several handles on one initially empty store, as several processes
//! would. Also the test runner with its timeout, a [`App`] with a manual clock, and parsers for ids.

use std::sync::Arc;
use std::time::Duration;

use polis_core::AgentId;
use polis_core::society::{MemberKey, RunId};
use polis_ops::port::Store;
use polis_ops::{App, InstallationSettings, PortFuture};

use crate::{CountingRandomSource, FixedClock, MemoryStore};

/// Timeout after which a test counts as hanging.
const TEST_TIMEOUT: Duration = Duration::from_secs(300);

/// An initially empty store that can be opened several times, as several processes would.
pub trait StoreFactory: Send + Sync {
    /// Opens another handle on the same store.
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>>;
}

/// The in-memory store; every handle is the same one.
#[derive(Debug, Default)]
pub struct MemoryStoreFactory(Arc<MemoryStore>);

impl StoreFactory for MemoryStoreFactory {
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>> {
        let store: Arc<dyn Store> = Arc::<MemoryStore>::clone(&self.0);
        Box::pin(std::future::ready(Ok(store)))
    }
}

/// Runs a test on a runtime with several threads; fails it if it hangs.
///
/// # Panics
/// If the test panics or hangs.
pub fn run_test(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    let finished = runtime.block_on(async { tokio::time::timeout(TEST_TIMEOUT, test).await });
    runtime.shutdown_background();
    assert!(finished.is_ok(), "the test timed out");
}

/// Creates an application on a store, with a manual clock and default settings.
pub fn new_test_app(store: Arc<dyn Store>) -> App {
    App::new(
        store,
        Arc::new(FixedClock::default()),
        Arc::new(CountingRandomSource::default()),
        InstallationSettings::default(),
    )
}

/// Parses the name of a run.
///
/// # Panics
/// If it is invalid.
pub fn parse_run_id(name: &str) -> RunId {
    name.parse().unwrap()
}

/// Parses the name of a member: `RUN/AGENT`.
///
/// # Panics
/// If it is invalid.
pub fn parse_member_key(name: &str) -> MemberKey {
    name.parse().unwrap()
}

/// Parses the name of an agent.
///
/// # Panics
/// If it is invalid.
pub fn parse_agent_id(name: &str) -> AgentId {
    name.parse().unwrap()
}
