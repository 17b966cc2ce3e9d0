//! Runs the suites over the in-memory model store, which must satisfy them itself.

use polis_testkit::MemoryGround;

async fn fresh() -> MemoryGround {
    MemoryGround::default()
}

polis_testkit::conformance_tests!(fresh);
polis_testkit::case_tests!(fresh);
polis_testkit::exchange_tests!(fresh);
polis_testkit::society_tests!(fresh);
polis_testkit::history_tests!(fresh);
