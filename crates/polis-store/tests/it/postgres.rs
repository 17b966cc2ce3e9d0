//! Runs the port conformance suite over the PostgreSQL store; each test has its own schema, each handle its
//! own connections.

use std::sync::Arc;
use std::time::Duration;

use polis_ops::PortFuture;
use polis_ops::port::Store;
use polis_store::PostgresStore;
use polis_testkit::Ground;
use polis_testkit::postgres::fresh_schema;

struct Schema(String);

impl Ground for Schema {
    fn open(&self) -> PortFuture<'_, Arc<dyn Store>> {
        Box::pin(async {
            let store = PostgresStore::connect(&self.0, Duration::from_secs(60)).await?;
            Ok(Arc::new(store) as Arc<dyn Store>)
        })
    }
}

async fn fresh() -> Schema {
    Schema(fresh_schema().await)
}

polis_testkit::conformance_tests!(fresh, [#[ignore = "needs PostgreSQL: scripts/test starts one"]]);
polis_testkit::case_tests!(fresh, [#[ignore = "needs PostgreSQL: scripts/test starts one"]]);
polis_testkit::exchange_tests!(fresh, [#[ignore = "needs PostgreSQL: scripts/test starts one"]]);
polis_testkit::society_tests!(fresh, [#[ignore = "needs PostgreSQL: scripts/test starts one"]]);
polis_testkit::history_tests!(fresh, [#[ignore = "needs PostgreSQL: scripts/test starts one"]]);
