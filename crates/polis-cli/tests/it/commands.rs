//! Tests of `polis ws commands`: commands that ran, and one that is running in another process.

use serde_json::Value;

use crate::board::{Board, eventually, on_both_stores};

fn team(board: &Board) {
    for (id, role) in [("ada", "team-lead"), ("bob", "architect")] {
        board.ok("user", &["agent", "add", id, "--role", role]);
    }
}

fn listed(board: &Board, by: &str, args: &[&str]) -> Vec<Value> {
    let list = board.ok(by, &[&["ws", "commands"], args].concat());
    list["commands"].as_array().unwrap().clone()
}

fn commands_are_listed_with_what_they_wrote(board: &Board) {
    team(board);
    board.ok("ada", &["exec", "--", "echo one; echo two >&2; exit 3"]);
    board.ok("bob", &["exec", "--", "echo bob"]);
    let all = listed(board, "user", &[]);
    assert_eq!(all.len(), 2);
    assert_eq!(all[0]["command"], "echo bob", "the newest first");
    assert_eq!(listed(board, "ada", &[]), all[1..]);
    assert_eq!(listed(board, "user", &["--of", "ada"]), all[1..]);
    let id = all[1]["id"].as_str().unwrap();
    let shown = board.ok("ada", &["ws", "commands", id]);
    assert_eq!(shown["exitCode"], 3);
    let output = shown["output"].as_str().unwrap();
    assert!(
        output.contains("one\n") && output.contains("two\n"),
        "{output}"
    );
    board.refused("bob", &["ws", "commands", id], 4, "command_not_found");
}

fn a_running_command_is_seen_from_another_process(board: &Board) {
    team(board);
    let mut command = board.command();
    command.args(["--as", "ada", "exec", "--", "echo up; sleep 60"]);
    let mut child = command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let running = || listed(board, "user", &["--running"]);
    eventually("a running command", || running().len() == 1);
    let id = running()[0]["id"].as_str().unwrap().to_owned();
    eventually("its output", || {
        board.ok("user", &["ws", "commands", &id])["output"] == "up\n"
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(listed(board, "user", &[])[0]["id"], id.as_str());
}

on_both_stores!(
    commands_are_listed_with_what_they_wrote,
    a_running_command_is_seen_from_another_process,
);
