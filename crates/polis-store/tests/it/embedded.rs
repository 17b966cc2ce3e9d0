//! Runs the port conformance suite over the embedded store; each handle is opened as another process would.

use std::sync::Arc;
use std::time::Duration;

use polis_ops::PortFuture;
use polis_ops::port::Store;
use polis_store::EmbeddedStore;
use polis_store::embedded::Use;
use polis_testkit::Ground;
use tempfile::TempDir;

struct Directory(TempDir);

impl Ground for Directory {
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>> {
        let patience = Duration::from_secs(60);
        let opened = EmbeddedStore::create(self.0.path(), Use::Long, patience);
        let opened = opened.map(|store| Arc::new(store) as Arc<dyn Store>);
        Box::pin(std::future::ready(opened))
    }
}

async fn fresh() -> Directory {
    Directory(tempfile::tempdir().unwrap())
}

polis_testkit::conformance_tests!(fresh);
polis_testkit::case_tests!(fresh);
polis_testkit::exchange_tests!(fresh);
polis_testkit::society_tests!(fresh);
polis_testkit::history_tests!(fresh);
