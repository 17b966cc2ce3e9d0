//! Runs the port conformance suite over the PostgreSQL store; each test has its own schema, each handle its
//! own connections.

use std::sync::Arc;
use std::time::Duration;

use polis_ops::PortFuture;
use polis_ops::port::Store;
use polis_store::PostgresStore;
use polis_testkit::StoreFactory;
use polis_testkit::postgres::create_test_schema;

struct PostgresStoreFactory(String);

impl StoreFactory for PostgresStoreFactory {
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>> {
        Box::pin(async {
            let store = PostgresStore::connect(&self.0, Duration::from_secs(60)).await?;
            Ok(Arc::new(store) as Arc<dyn Store>)
        })
    }
}

async fn fresh_postgres_factory() -> PostgresStoreFactory {
    PostgresStoreFactory(create_test_schema().await)
}

polis_testkit::conformance_tests!(fresh_postgres_factory, [#[ignore = "needs PostgreSQL: scripts/test starts one"]]);
polis_testkit::task_case_tests!(fresh_postgres_factory, [#[ignore = "needs PostgreSQL: scripts/test starts one"]]);
polis_testkit::messaging_tests!(fresh_postgres_factory, [#[ignore = "needs PostgreSQL: scripts/test starts one"]]);
polis_testkit::society_tests!(fresh_postgres_factory, [#[ignore = "needs PostgreSQL: scripts/test starts one"]]);
polis_testkit::linearizability_tests!(fresh_postgres_factory, [#[ignore = "needs PostgreSQL: scripts/test starts one"]]);
