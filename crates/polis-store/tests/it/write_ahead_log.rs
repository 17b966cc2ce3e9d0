//! Tests of the length of the SQLite write-ahead log (WAL): it stays bounded in a process that serves one
//! client, and short in a one-shot command.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use polis_core::AgentId;
use polis_core::task::create::TaskCreateParams;
use polis_ops::op;
use polis_store::EmbeddedStore;
use polis_store::embedded::StoreMode;
use polis_testkit::{run_test, store_factory};

const MEBIBYTE: u64 = 1 << 20;

fn wal_length(directory: &Path) -> u64 {
    std::fs::metadata(directory.join("polis.db-wal")).map_or(0, |file| file.len())
}

/// Creates tasks until the WAL has been filled several times. Returns its maximum length.
fn fill_wal(directory: &Path, usage: StoreMode) -> u64 {
    let mut longest = 0;
    run_test(async {
        let store = EmbeddedStore::create(directory, usage, Duration::from_secs(60)).unwrap();
        let app = store_factory::new_test_app(Arc::new(store));
        for n in 0..200 {
            let task = TaskCreateParams {
                subject: n.to_string(),
                description: "x".repeat(20_000),
                ..TaskCreateParams::default()
            };
            op::create_task(&app.request(&AgentId::user()), &task)
                .await
                .unwrap();
            longest = longest.max(wal_length(directory));
        }
    });
    longest
}

#[test]
fn wal_of_single_client_process_is_overwritten() {
    let room = tempfile::tempdir().unwrap();
    let longest = fill_wal(room.path(), StoreMode::SingleClient);
    assert!(
        longest > MEBIBYTE,
        "the WAL file is kept and overwritten: {longest}"
    );
    assert!(
        longest < 2 * MEBIBYTE,
        "4 MB of tasks were written: {longest}"
    );
    assert_eq!(wal_length(room.path()), 0, "the log is truncated on exit");
}

#[test]
fn wal_of_one_shot_command_stays_short() {
    let room = tempfile::tempdir().unwrap();
    let longest = fill_wal(room.path(), StoreMode::OneShot);
    assert!(longest < MEBIBYTE, "{longest}");
}
