//! Runs the port conformance suite over the embedded store; each handle is opened as another process would.

use std::sync::Arc;
use std::time::Duration;

use polis_ops::PortFuture;
use polis_ops::port::Store;
use polis_store::EmbeddedStore;
use polis_store::embedded::StoreMode;
use polis_testkit::StoreFactory;
use tempfile::TempDir;

struct EmbeddedStoreFactory(TempDir);

impl StoreFactory for EmbeddedStoreFactory {
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>> {
        let patience = Duration::from_secs(60);
        let opened = EmbeddedStore::create(self.0.path(), StoreMode::Server, patience);
        let opened = opened.map(|store| Arc::new(store) as Arc<dyn Store>);
        Box::pin(std::future::ready(opened))
    }
}

async fn fresh_embedded_factory() -> EmbeddedStoreFactory {
    EmbeddedStoreFactory(tempfile::tempdir().unwrap())
}

polis_testkit::conformance_tests!(fresh_embedded_factory);
polis_testkit::task_case_tests!(fresh_embedded_factory);
polis_testkit::messaging_tests!(fresh_embedded_factory);
polis_testkit::society_tests!(fresh_embedded_factory);
polis_testkit::linearizability_tests!(fresh_embedded_factory);
