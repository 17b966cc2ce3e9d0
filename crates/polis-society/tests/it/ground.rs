//! Store factories: the three stores (memory, embedded, PostgreSQL), opened as several processes would open them.

use std::sync::Arc;
use std::time::Duration;

use polis_ops::PortFuture;
use polis_ops::port::Store;
use polis_store::embedded::Use;
use polis_store::{EmbeddedStore, PostgresStore};
use polis_testkit::postgres::fresh_schema;
use polis_testkit::{Ground, MemoryGround};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// An embedded store in a temporary directory.
pub(crate) struct Directory(TempDir);

impl Ground for Directory {
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>> {
        let opened = EmbeddedStore::create(self.0.path(), Use::Long, PATIENCE);
        let opened = opened.map(|store| Arc::new(store) as Arc<dyn Store>);
        Box::pin(std::future::ready(opened))
    }
}

/// A PostgreSQL store in a separate schema.
pub(crate) struct Schema(String);

impl Ground for Schema {
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>> {
        Box::pin(async {
            let store = PostgresStore::connect(&self.0, PATIENCE).await?;
            Ok(Arc::new(store) as Arc<dyn Store>)
        })
    }
}

pub(crate) async fn memory() -> MemoryGround {
    MemoryGround::default()
}

pub(crate) async fn embedded() -> Directory {
    Directory(tempfile::tempdir().unwrap())
}

pub(crate) async fn postgres() -> Schema {
    Schema(fresh_schema().await)
}

/// Defines one test for each of these functions and each store.
macro_rules! on_every_store {
    ($($name:ident)*) => {
        mod memory {
            $(#[test]
            fn $name() {
                polis_testkit::run(async { super::$name(&crate::ground::memory().await).await });
            })*
        }
        mod embedded {
            $(#[test]
            fn $name() {
                polis_testkit::run(async { super::$name(&crate::ground::embedded().await).await });
            })*
        }
        mod postgres {
            $(#[test]
            #[ignore = "needs PostgreSQL: scripts/test starts one"]
            fn $name() {
                polis_testkit::run(async { super::$name(&crate::ground::postgres().await).await });
            })*
        }
    };
}
pub(crate) use on_every_store;
