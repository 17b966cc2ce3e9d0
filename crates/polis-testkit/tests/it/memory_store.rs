//! Runs the suites over the in-memory store, which must satisfy them itself.

use polis_testkit::MemoryStoreFactory;

async fn new_factory() -> MemoryStoreFactory {
    MemoryStoreFactory::default()
}

polis_testkit::conformance_tests!(new_factory);
polis_testkit::task_case_tests!(new_factory);
polis_testkit::messaging_tests!(new_factory);
polis_testkit::society_tests!(new_factory);
polis_testkit::linearizability_tests!(new_factory);
