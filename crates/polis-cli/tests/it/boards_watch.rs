//! Tests of `polis board watch`: changes by other processes and other tools.

use std::process::Child;

use serde_json::Value;

use crate::board::{Board, finish, on_both_stores, read_line, start};
use crate::boards_team::{add, version};

fn watch(board: &Board, more: &[&str]) -> Child {
    let args = [&["board", "watch", "global"], more].concat();
    start(&mut board.json_command("user", &args))
}

fn update(child: &mut Child) -> Value {
    serde_json::from_str(&read_line(child)).unwrap()
}

/// Starts at the template, so that the test need not wait until the watcher is ready.
const FROM_THE_BEGINNING: [&str; 4] = ["--since", "0", "--limit", "3"];

fn what_others_do_is_told(board: &Board) {
    add(board, "ana", "team-lead", "top", "");
    board.ok("ana", &["board", "write", "global", "--content", "one\n"]);
    let mut watcher = watch(board, &FROM_THE_BEGINNING);
    let first = update(&mut watcher);
    assert_eq!(
        (version(&first), &first["lastModifiedBy"]),
        (1, &"ana".into())
    );
    assert!(
        first["diff"].as_str().unwrap().ends_with("+one\n"),
        "{first}"
    );
    board.ok("user", &["board", "append", "global", "--content", "two"]);
    let second = update(&mut watcher);
    assert_eq!(
        (version(&second), &second["lastModifiedBy"]),
        (2, &"user".into())
    );
    assert_eq!(second["board"], "global");
    assert_eq!(
        second["lastModifiedAt"],
        board.view("global")["lastModifiedAt"]
    );
    assert!(
        second["diff"].as_str().unwrap().contains("+two"),
        "{second}"
    );
    // Changes of other boards are not reported.
    board.ok(
        "user",
        &["board", "append", "top", "--content", "elsewhere"],
    );
    board.create(&[]);
    let lock = board.ok("ana", &["board", "lock", "global"]);
    let token = lock["token"].as_str().unwrap();
    board.ok("ana", &["board", "unlock", "global", "--token", token]);
    board.ok("user", &["board", "restore", "global", "1"]);
    let third = update(&mut watcher);
    assert_eq!(version(&third), 3);
    assert!(
        third["diff"].as_str().unwrap().contains("\n-two"),
        "{third}"
    );
    let answer = finish(watcher);
    assert_eq!(
        (answer.exit, answer.stdout.as_str()),
        (Some(0), ""),
        "{answer:?}"
    );
}

#[test]
fn what_other_tools_do_is_told() {
    let board = &Board::embedded();
    board.put("global", "one\n");
    let mut watcher = watch(board, &FROM_THE_BEGINNING);
    assert_eq!(version(&update(&mut watcher)), 1);
    std::fs::write(board.workspace("global-whiteboard.md"), "two\n").unwrap();
    let edit = update(&mut watcher);
    assert_eq!(
        (version(&edit), &edit["lastModifiedBy"]),
        (2, &"external".into())
    );
    assert!(
        edit["diff"].as_str().unwrap().ends_with("-one\n+two\n"),
        "{edit}"
    );
    board.put("global", "three\n");
    assert_eq!(version(&update(&mut watcher)), 3);
    assert_eq!(finish(watcher).exit, Some(0));
}

fn a_person_sees_what_changed(board: &Board) {
    board.put("global", "one\n");
    board.put("global", "two\n");
    let args = ["board", "watch", "global", "--since", "1", "--limit", "1"];
    let shown = board.shown("user", &args);
    assert!(
        shown.starts_with("global, version 2 by user at 2"),
        "{shown}"
    );
    assert!(shown.contains("-one\n+two\n"), "{shown}");
}

on_both_stores!(what_others_do_is_told, a_person_sees_what_changed);
