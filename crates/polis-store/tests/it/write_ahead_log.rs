//! Length of the write-ahead log (WAL), depending on how a process uses the store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use polis_core::AgentId;
use polis_core::task::create::TaskCreate;
use polis_ops::op;
use polis_store::EmbeddedStore;
use polis_store::embedded::Use;
use polis_testkit::{run, test_store};

const MEBIBYTE: u64 = 1 << 20;

fn length(directory: &Path) -> u64 {
    std::fs::metadata(directory.join("polis.db-wal")).map_or(0, |file| file.len())
}

/// Creates tasks until the WAL has been filled several times. Returns its maximum length.
fn fill(directory: &Path, usage: Use) -> u64 {
    let mut longest = 0;
    run(async {
        let store = EmbeddedStore::create(directory, usage, Duration::from_secs(60)).unwrap();
        let polis = test_store::polis(Arc::new(store));
        for n in 0..200 {
            let task = TaskCreate {
                subject: n.to_string(),
                description: "x".repeat(20_000),
                ..TaskCreate::default()
            };
            op::create_task(&polis, &AgentId::user(), &task)
                .await
                .unwrap();
            longest = longest.max(length(directory));
        }
    });
    longest
}

#[test]
fn a_process_that_serves_one_client_writes_over_the_log() {
    let room = tempfile::tempdir().unwrap();
    let longest = fill(room.path(), Use::Steady);
    assert!(
        longest > MEBIBYTE,
        "a file that stays is overwritten: {longest}"
    );
    assert!(
        longest < 2 * MEBIBYTE,
        "4 MB of tasks were written: {longest}"
    );
    assert_eq!(length(room.path()), 0, "it leaves a short one behind");
}

#[test]
fn a_command_keeps_the_log_short() {
    let room = tempfile::tempdir().unwrap();
    let longest = fill(room.path(), Use::Brief);
    assert!(longest < MEBIBYTE, "{longest}");
}
