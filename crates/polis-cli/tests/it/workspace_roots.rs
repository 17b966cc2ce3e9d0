//! Tests of the root of a bound workspace: it is the directory that was bound, whatever is put in its place, and
//! overlaps no project of the machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::board::Board;
use crate::workspaces::{add, text};

fn bound(board: &Board, agent: &str, directory: &Path) {
    add(board, agent, "");
    board.ok("user", &["ws", "bind", text(directory), "--of", agent]);
}

/// Asserts that file tools and commands refuse the workspace.
fn check_refused(board: &Board, agent: &str) {
    for args in [
        &["ws", "ls"][..],
        &["ws", "cat", "secret"],
        &["ws", "write", "pwn", "--content", "x"],
        &["ws", "info"],
        &["exec", "--", "cat secret; touch pwn"],
    ] {
        let refused = board.refused(agent, args, 2, "invalid_workspace");
        assert!(
            refused.hint.contains("bind the workspace again"),
            "{refused:?}"
        );
    }
}

#[test]
fn root_that_was_swapped_is_refused() {
    let board = Board::embedded();
    let machine = tempfile::tempdir().unwrap();
    let at = |name: &str| machine.path().canonicalize().unwrap().join(name);
    fs::create_dir_all(at("parent/ws")).unwrap();
    fs::create_dir_all(at("home")).unwrap();
    fs::write(at("home/secret"), "KEY").unwrap();
    bound(&board, "ada", &at("parent/ws"));
    board.ok("ada", &["ws", "write", "mine", "--content", "x"]);
    // A symlink in its place.
    fs::rename(at("parent/ws"), at("parent/moved")).unwrap();
    symlink(at("home"), at("parent/ws")).unwrap();
    check_refused(&board, "ada");
    // A symlink in the place of a parent directory.
    fs::remove_file(at("parent/ws")).unwrap();
    fs::rename(at("parent/moved"), at("parent/ws")).unwrap();
    fs::rename(at("parent"), at("away")).unwrap();
    symlink(at("home"), at("parent")).unwrap();
    fs::create_dir(at("home/ws")).unwrap();
    check_refused(&board, "ada");
    // Another directory in its place.
    fs::remove_file(at("parent")).unwrap();
    fs::rename(at("away"), at("parent")).unwrap();
    fs::rename(at("parent/ws"), at("parent/moved")).unwrap();
    fs::rename(at("home"), at("parent/ws")).unwrap();
    check_refused(&board, "ada");
    assert!(!at("parent/ws/pwn").exists());
    // The original directory again, and then another one that a person binds.
    fs::rename(at("parent/ws"), at("home")).unwrap();
    fs::rename(at("parent/moved"), at("parent/ws")).unwrap();
    assert_eq!(board.ok("ada", &["ws", "cat", "mine"])["content"], "x");
    fs::rename(at("parent/ws"), at("parent/moved")).unwrap();
    fs::create_dir(at("parent/ws")).unwrap();
    check_refused(&board, "ada");
    board.ok(
        "user",
        &["ws", "bind", text(&at("parent/ws")), "--of", "ada"],
    );
    let said = board.ok("ada", &["exec", "--", "ls -a"]);
    assert_eq!(said["stdout"], ".\n..\n", "{said}");
}

#[test]
fn directories_overlap_no_workspace_and_no_project_of_another_store() {
    let (one, two) = (Board::embedded(), Board::embedded());
    let machine = tempfile::tempdir().unwrap();
    let at = |name: &str| machine.path().canonicalize().unwrap().join(name);
    fs::create_dir_all(at("work/sub")).unwrap();
    bound(&one, "ada", &at("work"));
    add(&two, "eve", "");
    for directory in [
        at("work"),
        at("work/sub"),
        at(""),
        one.path().to_owned(),
        one.workspace("workspaces/ada"),
    ] {
        let bind = ["ws", "bind", text(&directory), "--of", "eve"];
        two.refused("user", &bind, 5, "workspace_overlaps");
    }
    two.ok("user", &["ws", "bind", text(&at("other")), "--of", "eve"]);
    one.refused(
        "user",
        &[
            "ws",
            "bind",
            text(&at("other/deep")),
            "--of",
            "ada",
            "--force",
        ],
        5,
        "workspace_overlaps",
    );
    // A workspace that was bound elsewhere leaves its old directory free.
    one.ok(
        "user",
        &["ws", "bind", text(&at("new")), "--of", "ada", "--force"],
    );
    add(&two, "bob", "");
    two.ok("user", &["ws", "bind", text(&at("work")), "--of", "bob"]);
}

#[test]
fn project_in_a_workspace_is_hidden_from_commands() {
    let board = Board::embedded();
    let machine = tempfile::tempdir().unwrap();
    let place = machine.path().canonicalize().unwrap();
    bound(&board, "ada", &place);
    // Created by another program after the directory was bound.
    fs::create_dir(place.join(".agent-workspace")).unwrap();
    fs::write(place.join(".agent-workspace/polis.toml"), "secret").unwrap();
    let script = "cat .agent-workspace/polis.toml; echo x >> .agent-workspace/polis.toml; rm -rf .agent-workspace; ls -A .agent-workspace";
    let said = board.ok("ada", &["exec", "--", script]);
    assert_eq!(said["stdout"], "", "{said}");
    let kept = fs::read_to_string(place.join(".agent-workspace/polis.toml")).unwrap();
    assert_eq!(kept, "secret");
    assert_eq!(
        board.ok("ada", &["ws", "ls"])["files"],
        serde_json::json!([])
    );
}
