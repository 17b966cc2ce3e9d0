//! Tests of the event log commands: `polis log` reads it in pages, `polis watch` follows it live.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::test_project::{
    CommandOutput, TestProject, on_both_stores, read_stdout_line, spawn_captured, wait_for_output,
};

fn event_sequence(answer: &CommandOutput) -> Vec<u64> {
    assert_eq!(
        (answer.exit_code, answer.stderr.as_str()),
        (Some(0), ""),
        "{answer:?}"
    );
    let event = |line| -> u64 {
        serde_json::from_str::<Value>(line).unwrap()["seq"]
            .as_u64()
            .unwrap()
    };
    answer.stdout.lines().map(event).collect()
}

fn log_is_read_in_pages(project: &TestProject) {
    for _ in 0..5 {
        project.create_task(&[]);
    }
    let log = |args: &[&str]| event_sequence(&project.run_json("user", &[&["log"], args].concat()));
    assert_eq!(log(&[]), [1, 2, 3, 4, 5]);
    assert_eq!(log(&["--since", "3"]), [4, 5]);
    assert_eq!(log(&["--limit", "2"]), [1, 2]);
    assert_eq!(log(&["--since", "1", "--limit", "2"]), [2, 3]);
    assert!(log(&["--since", "5"]).is_empty());
    assert_eq!(log(&["--last", "1"]).len(), 1);
}

fn log_has_refused_attempts_but_not_invalid_input(project: &TestProject) {
    project.create_task(&[]);
    project.run_refused(
        "user",
        &["task", "update", "1", "--status", "nonsense"],
        2,
        "invalid_status",
    );
    project.run_refused(
        "user",
        &["task", "update", "1", "--status", "completed"],
        5,
        "invalid_transition",
    );
    let log = project.read_log();
    assert_eq!(log.len(), 2);
    assert_eq!(log[1]["kind"], "task.refused");
    assert_eq!(log[1]["data"]["code"], "invalid_transition");
}

fn watcher_sees_each_event_once_and_promptly(project: &TestProject) {
    project.create_task(&[]);
    let mut child = spawn_captured(
        &mut project.json_command("user", &["watch", "--since", "0", "--limit", "3"]),
    );
    let first: Value = serde_json::from_str(&read_stdout_line(&mut child)).unwrap();
    assert_eq!(
        (first["seq"].as_u64(), first["kind"].as_str()),
        (Some(1), Some("task.created"))
    );
    let begun = Instant::now();
    project.run_ok("architect", &["task", "claim", "1"]);
    let second: Value = serde_json::from_str(&read_stdout_line(&mut child)).unwrap();
    // Without a notification, it would poll only after a minute.
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "the event arrived late"
    );
    assert_eq!(
        (second["seq"].as_u64(), second["kind"].as_str()),
        (Some(2), Some("task.claimed"))
    );
    project.run_ok(
        "architect",
        &["task", "update", "1", "--status", "completed"],
    );
    assert_eq!(event_sequence(&wait_for_output(child)), [3]);
}

fn watcher_without_since_starts_with_the_next_event(project: &TestProject) {
    project.create_task(&[]);
    let mut child = spawn_captured(&mut project.json_command("user", &["watch", "--limit", "1"]));
    // The watcher does not report when it is ready, so write until it has seen an event.
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stdout, &mut text).unwrap();
        text
    });
    crate::harness::test_project::wait_until("the watcher ending", || {
        project.create_task(&[]);
        child.try_wait().unwrap().is_some()
    });
    let event: Value = serde_json::from_str(reader.join().unwrap().trim()).unwrap();
    assert!(event["seq"].as_u64().unwrap() >= 2);
}

#[test]
fn task_created_event_names_the_task() {
    let project = TestProject::embedded();
    let id = project.create_task(&[]);
    let event = &project.read_log()[0];
    assert_eq!(event["subject"], format!("task/{id}"));
    assert_eq!(event["data"]["subject"], "work");
    let named = event["data"].get("id").and_then(Value::as_str);
    assert!(
        named.is_none_or(|named| named == id),
        "the event data names task {named:?}"
    );
}

fn log_in_text_mode_prints_one_line_per_event(project: &TestProject) {
    assert!(
        project
            .run_text("user", &["log"])
            .starts_with("No events yet.")
    );
    project.create_task(&[]);
    project.run_ok("architect", &["task", "claim", "1"]);
    let shown = project.run_text("user", &["log"]);
    assert_eq!(shown.lines().count(), 2);
    assert!(
        shown
            .contains("task.claimed         task/1  architect  status=in_progress owner=architect"),
        "{shown}"
    );
}

on_both_stores!(
    log_is_read_in_pages,
    log_has_refused_attempts_but_not_invalid_input,
    watcher_sees_each_event_once_and_promptly,
    watcher_without_since_starts_with_the_next_event,
    log_in_text_mode_prints_one_line_per_event,
);
