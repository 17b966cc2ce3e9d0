//! Test of `polis demo board`: real processes, one of them killed, every task done once.

use std::process::Command;

#[test]
fn a_killed_workers_task_is_taken_over_and_nothing_is_left_behind() {
    let room = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_polis"))
        .args(["demo", "board"])
        .env("TMPDIR", room.path())
        .env("POLIS_STATE_DIR", crate::board::state_dir())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.contains("was killed while it held task/"), "{text}");
    assert!(
        text.contains("16 of 16 tasks completed exactly once"),
        "{text}"
    );
    assert!(text.contains("taken over after the kill: task/"), "{text}");
    assert!(
        text.contains("16 of 16 entries, each once and whole"),
        "{text}"
    );
    assert!(
        text.contains("all checks passed. What lies outside: cat"),
        "{text}"
    );
    assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0);
}
