//! Store factories of the tests: memory, embedded and PostgreSQL stores, each handle opened as a separate
//! process would open it. `on_every_store!` runs a test on all three.

use std::sync::Arc;
use std::time::Duration;

use polis_ops::PortFuture;
use polis_ops::port::Store;
use polis_store::embedded::StoreMode;
use polis_store::{EmbeddedStore, PostgresStore};
use polis_testkit::postgres::create_test_schema;
use polis_testkit::{MemoryStoreFactory, StoreFactory};
use tempfile::TempDir;

const STORE_TIMEOUT: Duration = Duration::from_secs(60);

/// An embedded store in a temporary directory.
pub(crate) struct EmbeddedStoreFactory(TempDir);

impl StoreFactory for EmbeddedStoreFactory {
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>> {
        let opened = EmbeddedStore::create(self.0.path(), StoreMode::Server, STORE_TIMEOUT);
        let opened = opened.map(|store| Arc::new(store) as Arc<dyn Store>);
        Box::pin(std::future::ready(opened))
    }
}

/// A PostgreSQL store in a separate schema.
pub(crate) struct PostgresStoreFactory(String);

impl StoreFactory for PostgresStoreFactory {
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>> {
        Box::pin(async {
            let store = PostgresStore::connect(&self.0, STORE_TIMEOUT).await?;
            Ok(Arc::new(store) as Arc<dyn Store>)
        })
    }
}

pub(crate) async fn memory_factory() -> MemoryStoreFactory {
    MemoryStoreFactory::default()
}

pub(crate) async fn embedded_factory() -> EmbeddedStoreFactory {
    EmbeddedStoreFactory(tempfile::tempdir().unwrap())
}

pub(crate) async fn postgres_factory() -> PostgresStoreFactory {
    PostgresStoreFactory(create_test_schema().await)
}

/// Defines one test for each of these functions and each store.
macro_rules! on_every_store {
    ($($name:ident)*) => {
        mod memory {
            $(#[test]
            fn $name() {
                polis_testkit::run_test(async { super::$name(&crate::store_factories::memory_factory().await).await });
            })*
        }
        mod embedded {
            $(#[test]
            fn $name() {
                polis_testkit::run_test(async { super::$name(&crate::store_factories::embedded_factory().await).await });
            })*
        }
        mod postgres {
            $(#[test]
            #[ignore = "needs PostgreSQL: scripts/test starts one"]
            fn $name() {
                polis_testkit::run_test(async { super::$name(&crate::store_factories::postgres_factory().await).await });
            })*
        }
    };
}
pub(crate) use on_every_store;
