//! Tests of `polis board watch`: reports changes made by other processes and by other tools.

use std::process::Child;

use serde_json::Value;

use crate::board::board_helpers::{register_agent, version_field};
use crate::harness::test_project::{
    TestProject, on_both_stores, read_stdout_line, spawn_captured, wait_for_output,
};

fn start_watcher(project: &TestProject, more: &[&str]) -> Child {
    let args = [&["board", "watch", "global"], more].concat();
    spawn_captured(&mut project.json_command("user", &args))
}

fn read_update(child: &mut Child) -> Value {
    serde_json::from_str(&read_stdout_line(child)).unwrap()
}

/// Starts at the template, so that the test need not wait until the watcher is ready.
const SINCE_TEMPLATE: [&str; 4] = ["--since", "0", "--limit", "3"];

fn board_watch_reports_changes_of_other_processes(project: &TestProject) {
    register_agent(project, "ana", "team-lead", "top", "");
    project.run_ok("ana", &["board", "write", "global", "--content", "one\n"]);
    let mut watcher = start_watcher(project, &SINCE_TEMPLATE);
    let first = read_update(&mut watcher);
    assert_eq!(
        (version_field(&first), &first["lastModifiedBy"]),
        (1, &"ana".into())
    );
    assert!(
        first["diff"].as_str().unwrap().ends_with("+one\n"),
        "{first}"
    );
    project.run_ok("user", &["board", "append", "global", "--content", "two"]);
    let second = read_update(&mut watcher);
    assert_eq!(
        (version_field(&second), &second["lastModifiedBy"]),
        (2, &"user".into())
    );
    assert_eq!(second["board"], "global");
    assert_eq!(
        second["lastModifiedAt"],
        project.read_board("global")["lastModifiedAt"]
    );
    assert!(
        second["diff"].as_str().unwrap().contains("+two"),
        "{second}"
    );
    // Changes of other boards are not reported.
    project.run_ok(
        "user",
        &["board", "append", "top", "--content", "elsewhere"],
    );
    project.create_task(&[]);
    let lock = project.run_ok("ana", &["board", "lock", "global"]);
    let token = lock["token"].as_str().unwrap();
    project.run_ok("ana", &["board", "unlock", "global", "--token", token]);
    project.run_ok("user", &["board", "restore", "global", "1"]);
    let third = read_update(&mut watcher);
    assert_eq!(version_field(&third), 3);
    assert!(
        third["diff"].as_str().unwrap().contains("\n-two"),
        "{third}"
    );
    let answer = wait_for_output(watcher);
    assert_eq!(
        (answer.exit_code, answer.stdout.as_str()),
        (Some(0), ""),
        "{answer:?}"
    );
}

#[test]
fn board_watch_reports_external_edits() {
    let project = &TestProject::embedded();
    project.write_board("global", "one\n");
    let mut watcher = start_watcher(project, &SINCE_TEMPLATE);
    assert_eq!(version_field(&read_update(&mut watcher)), 1);
    std::fs::write(project.data_path("global-whiteboard.md"), "two\n").unwrap();
    let edit = read_update(&mut watcher);
    assert_eq!(
        (version_field(&edit), &edit["lastModifiedBy"]),
        (2, &"external".into())
    );
    assert!(
        edit["diff"].as_str().unwrap().ends_with("-one\n+two\n"),
        "{edit}"
    );
    project.write_board("global", "three\n");
    assert_eq!(version_field(&read_update(&mut watcher)), 3);
    assert_eq!(wait_for_output(watcher).exit_code, Some(0));
}

fn board_watch_in_text_mode_prints_the_diff(project: &TestProject) {
    project.write_board("global", "one\n");
    project.write_board("global", "two\n");
    let args = ["board", "watch", "global", "--since", "1", "--limit", "1"];
    let shown = project.run_text("user", &args);
    assert!(
        shown.starts_with("global, version 2 by user at 2"),
        "{shown}"
    );
    assert!(shown.contains("-one\n+two\n"), "{shown}");
}

on_both_stores!(
    board_watch_reports_changes_of_other_processes,
    board_watch_in_text_mode_prints_the_diff
);
