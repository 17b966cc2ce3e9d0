//! Tests of task dependencies: both directions, readiness, cycles, and graph output.

use serde_json::json;

use crate::board::{Board, on_both_stores};

/// Creates a chain of three tasks: 1 blocks 2, 2 blocks 3.
fn chain(board: &Board) {
    board.create(&[]);
    board.create(&["--add-blocked-by", "1"]);
    board.create(&["--add-blocked-by", "2"]);
}

fn complete(board: &Board, id: &str) -> serde_json::Value {
    board.ok("user", &["task", "claim", id]);
    board.ok("user", &["task", "update", id, "--status", "completed"])
}

fn both_sides_know_and_both_count(board: &Board) {
    for _ in 0..4 {
        board.create(&[]);
    }
    let task = board.ok(
        "user",
        &[
            "task",
            "update",
            "2",
            "--add-blocks",
            "3,4",
            "--add-blocked-by",
            "1",
        ],
    );
    assert_eq!(
        (&task["blocks"], &task["blockedBy"]),
        (&json!(["3", "4"]), &json!(["1"]))
    );
    for (id, field) in [("1", "blocks"), ("3", "blockedBy"), ("4", "blockedBy")] {
        let other = board.get(id);
        assert_eq!(other[field], json!(["2"]));
        assert_eq!(other["version"], 2, "the other side changed too");
    }
    let again = board.ok("user", &["task", "update", "2", "--add-blocks", "3"]);
    assert_eq!(again["blocks"], json!(["3", "4"]), "no edge twice");
    let task = board.ok(
        "user",
        &[
            "task",
            "update",
            "2",
            "--remove-blocks",
            "3",
            "--remove-blocked-by",
            "1",
        ],
    );
    assert_eq!(
        (&task["blocks"], &task["blockedBy"]),
        (&json!(["4"]), &json!([]))
    );
    assert_eq!(board.get("3")["blockedBy"], json!([]));
    assert_eq!(board.get("1")["blocks"], json!([]));
}

fn a_blocked_task_waits(board: &Board) {
    chain(board);
    assert_eq!(board.listed("user", &["task", "ready"]), ["1"]);
    let refused = board.refused("architect", &["task", "claim", "2"], 5, "task_blocked");
    assert!(refused.message.contains("#1"), "{refused:?}");
    board.refused(
        "architect",
        &["task", "update", "2", "--status", "in_progress"],
        5,
        "task_blocked",
    );
    let done = complete(board, "1");
    assert_eq!(done["unblocked"], json!(["2"]));
    assert_eq!(board.listed("user", &["task", "ready"]), ["2"]);
    let deleted = board.ok("user", &["task", "delete", "2"]);
    assert_eq!(
        deleted["unblocked"],
        json!(["3"]),
        "what is deleted blocks nobody"
    );
    board.ok("architect", &["task", "claim", "3"]);
}

fn a_task_is_unblocked_by_the_last_of_its_blockers(board: &Board) {
    for _ in 0..3 {
        board.create(&[]);
    }
    board.create(&["--add-blocked-by", "1,2", "--add-blocked-by", "3"]);
    assert!(complete(board, "2").get("unblocked").is_none());
    assert!(complete(board, "1").get("unblocked").is_none());
    assert_eq!(complete(board, "3")["unblocked"], json!(["4"]));
    board.create(&["--add-blocked-by", "1,3"]);
    assert_eq!(board.listed("user", &["task", "ready"]), ["4", "5"]);
}

fn circles_are_refused_with_their_path(board: &Board) {
    chain(board);
    let versions = || ["1", "2", "3"].map(|id| board.get(id)["version"].as_u64().unwrap());
    let before = versions();
    let close = ["task", "update", "1", "--add-blocked-by", "3"];
    let refused = board.refused("user", &close, 5, "dependency_cycle");
    assert_eq!(refused.message, "Dependency cycle: #3 -> #1 -> #2 -> #3.");
    let refused = board.refused(
        "user",
        &["task", "update", "2", "--add-blocks", "2"],
        5,
        "dependency_cycle",
    );
    assert_eq!(refused.message, "Dependency cycle: #2 -> #2.");
    let between = [
        "task",
        "create",
        "--subject",
        "x",
        "--add-blocks",
        "1",
        "--add-blocked-by",
        "3",
    ];
    board.refused("user", &between, 5, "dependency_cycle");
    assert_eq!(versions(), before, "a refused change changes nothing");
    assert_eq!(board.listed("user", &["task", "list"]).len(), 3);
}

#[test]
fn a_deleted_task_is_on_no_circle() {
    let board = Board::embedded();
    chain(&board);
    board.ok("user", &["task", "delete", "2"]);
    board.ok("user", &["task", "update", "3", "--add-blocks", "1"]);
}

fn dependencies_on_what_is_not_there_are_refused(board: &Board) {
    chain(board);
    board.ok("user", &["task", "delete", "3"]);
    for id in ["9", "3"] {
        board.refused(
            "user",
            &["task", "update", "1", "--add-blocks", id],
            4,
            "task_not_found",
        );
        let create = ["task", "create", "--subject", "x", "--add-blocked-by", id];
        board.refused("user", &create, 4, "task_not_found");
    }
    assert_eq!(board.get("1")["blocks"], json!(["2"]));
    assert_eq!(board.listed("user", &["task", "list"]), ["1", "2"]);
}

fn graphs_are_drawn_as_text_dot_and_mermaid(board: &Board) {
    board.ok("user", &["task", "create", "--subject", "调研 \"x\""]);
    board.ok(
        "user",
        &[
            "task",
            "create",
            "--subject",
            "API",
            "--add-blocked-by",
            "1",
        ],
    );
    board.ok("user", &["task", "create", "--subject", "apart"]);
    board.ok("architect", &["task", "claim", "1"]);
    let text = "▶ #1 调研 \"x\" @architect\n└─ ☐ #2 API\n";
    assert_eq!(board.shown("user", &["task", "graph"]), text);
    assert_eq!(board.ok("user", &["task", "graph"])["graph"], text);
    assert_eq!(board.shown("user", &["task", "graph", "2"]), text);
    let dot = board.shown("user", &["task", "graph", "--format", "dot"]);
    assert!(
        dot.starts_with("digraph tasks {\n") && dot.trim_end().ends_with('}'),
        "{dot}"
    );
    assert!(
        dot.contains(r##"t1 [label="#1 调研 \"x\"\nin_progress"];"##),
        "{dot}"
    );
    assert!(dot.contains("t1 -> t2;"), "{dot}");
    let mermaid = board.shown("user", &["task", "graph", "--format", "mermaid"]);
    assert!(
        mermaid.starts_with("graph LR\n") && mermaid.contains("t1 --> t2"),
        "{mermaid}"
    );
    assert!(
        mermaid.contains(r##"t1["#35;1 调研 #quot;x#quot;"]:::in_progress"##),
        "{mermaid}"
    );
    board.refused("user", &["task", "graph", "9"], 4, "task_not_found");
}

/// The next task number does not exist yet.
fn the_next_number_is_not_there_to_wait_for(board: &Board) {
    board.create(&[]);
    let create = ["task", "create", "--subject", "x", "--add-blocked-by", "2"];
    board.run("user", &create).refusal(4, "task_not_found");
    board.create(&["--add-blocked-by", "1"]);
    assert_eq!(board.get("2")["blockedBy"][0], "1");
}

on_both_stores!(
    the_next_number_is_not_there_to_wait_for,
    both_sides_know_and_both_count,
    a_blocked_task_waits,
    a_task_is_unblocked_by_the_last_of_its_blockers,
    circles_are_refused_with_their_path,
    dependencies_on_what_is_not_there_are_refused,
    graphs_are_drawn_as_text_dot_and_mermaid,
);
