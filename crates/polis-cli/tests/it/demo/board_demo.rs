//! Test of `polis demo board`: real worker processes, one of them killed, and every task completed once.

use std::path::Path;

use crate::harness::english_text::english_sentences;
use crate::harness::test_project::polis_command;

/// Runs the demo with temporary files in a directory, and returns what it prints.
fn run_board_demo(directory: &Path, locale: &str) -> String {
    let mut command = polis_command(directory);
    command.args(["demo", "board"]);
    command.env("TMPDIR", directory).env("LANG", locale);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn demo_board_recovers_a_killed_worker_and_cleans_up() {
    let room = tempfile::tempdir().unwrap();
    let text = run_board_demo(room.path(), "C.UTF-8");
    assert!(text.contains("was killed while it held task/"), "{text}");
    assert!(
        text.contains("16 of 16 tasks completed exactly once"),
        "{text}"
    );
    assert!(text.contains("taken over after the kill: task/"), "{text}");
    assert!(
        text.contains("16 of 16 entries, each complete and exactly once"),
        "{text}"
    );
    assert!(
        text.contains("all checks passed. Access outside it: cat"),
        "{text}"
    );
    assert_eq!(std::fs::read_dir(room.path()).unwrap().count(), 0);
}

#[test]
fn demo_board_in_chinese_has_chinese_tasks_and_entries() {
    let room = tempfile::tempdir().unwrap();
    let text = run_board_demo(room.path(), "zh_CN.UTF-8");
    assert!(text.contains("└─ ☐ #16 正式上线"), "{text}");
    assert!(text.contains("16 个任务中有 16 个恰好完成一次"), "{text}");
    assert!(text.contains("应有 16 条记录，实有 16 条"), "{text}");
    assert!(text.contains("已达成 1 个里程碑"), "{text}");
    assert!(text.contains("全部检查通过。"), "{text}");
    assert_eq!(english_sentences(&text), [""; 0], "{text}");
}
