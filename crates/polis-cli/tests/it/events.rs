//! Tests of the commit log: read in pages, and followed live.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::board::{Answer, Board, finish, on_both_stores, read_line, start};

fn seqs(answer: &Answer) -> Vec<u64> {
    assert_eq!(
        (answer.exit, answer.stderr.as_str()),
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

fn the_log_is_read_in_pages(board: &Board) {
    for _ in 0..5 {
        board.create(&[]);
    }
    let log = |args: &[&str]| seqs(&board.run("user", &[&["log"], args].concat()));
    assert_eq!(log(&[]), [1, 2, 3, 4, 5]);
    assert_eq!(log(&["--since", "3"]), [4, 5]);
    assert_eq!(log(&["--limit", "2"]), [1, 2]);
    assert_eq!(log(&["--since", "1", "--limit", "2"]), [2, 3]);
    assert!(log(&["--since", "5"]).is_empty());
    assert_eq!(log(&["--last", "1"]).len(), 1);
}

fn refused_attempts_are_in_the_log_but_typing_mistakes_are_not(board: &Board) {
    board.create(&[]);
    board.refused(
        "user",
        &["task", "update", "1", "--status", "nonsense"],
        2,
        "invalid_status",
    );
    board.refused(
        "user",
        &["task", "update", "1", "--status", "completed"],
        5,
        "invalid_transition",
    );
    let log = board.log();
    assert_eq!(log.len(), 2);
    assert_eq!(log[1]["kind"], "task.refused");
    assert_eq!(log[1]["data"]["code"], "invalid_transition");
}

fn a_watcher_sees_each_event_once_and_at_once(board: &Board) {
    board.create(&[]);
    let mut child =
        start(&mut board.json_command("user", &["watch", "--since", "0", "--limit", "3"]));
    let first: Value = serde_json::from_str(&read_line(&mut child)).unwrap();
    assert_eq!(
        (first["seq"].as_u64(), first["kind"].as_str()),
        (Some(1), Some("task.created"))
    );
    let begun = Instant::now();
    board.ok("architect", &["task", "claim", "1"]);
    let second: Value = serde_json::from_str(&read_line(&mut child)).unwrap();
    // Without a notification, it would poll only after a minute.
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "the news came late"
    );
    assert_eq!(
        (second["seq"].as_u64(), second["kind"].as_str()),
        (Some(2), Some("task.claimed"))
    );
    board.ok(
        "architect",
        &["task", "update", "1", "--status", "completed"],
    );
    assert_eq!(seqs(&finish(child)), [3]);
}

fn a_watcher_begins_with_what_comes_next(board: &Board) {
    board.create(&[]);
    let mut child = start(&mut board.json_command("user", &["watch", "--limit", "1"]));
    // The watcher does not report when it is ready, so write until it has seen an event.
    let mut stdout = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stdout, &mut text).unwrap();
        text
    });
    crate::board::eventually("the watcher ending", || {
        board.create(&[]);
        child.try_wait().unwrap().is_some()
    });
    let event: Value = serde_json::from_str(reader.join().unwrap().trim()).unwrap();
    assert!(event["seq"].as_u64().unwrap() >= 2);
}

#[test]
fn a_created_tasks_event_names_the_task() {
    let board = Board::embedded();
    let id = board.create(&[]);
    let event = &board.log()[0];
    assert_eq!(event["subject"], format!("task/{id}"));
    assert_eq!(event["data"]["subject"], "work");
    let named = event["data"].get("id").and_then(Value::as_str);
    assert!(
        named.is_none_or(|named| named == id),
        "the particulars name task {named:?}"
    );
}

fn people_read_the_log_as_lines(board: &Board) {
    assert!(
        board
            .shown("user", &["log"])
            .starts_with("Nothing has happened yet.")
    );
    board.create(&[]);
    board.ok("architect", &["task", "claim", "1"]);
    let shown = board.shown("user", &["log"]);
    assert_eq!(shown.lines().count(), 2);
    assert!(
        shown
            .contains("task.claimed         task/1  architect  status=in_progress owner=architect"),
        "{shown}"
    );
}

on_both_stores!(
    the_log_is_read_in_pages,
    refused_attempts_are_in_the_log_but_typing_mistakes_are_not,
    a_watcher_sees_each_event_once_and_at_once,
    a_watcher_begins_with_what_comes_next,
    people_read_the_log_as_lines,
);
