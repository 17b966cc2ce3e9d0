//! Checks that a tool's document equals that of the corresponding command, for every read.

use serde_json::{Value, json};

use super::client::{Client, LATER};
use crate::board::{Board, on_both_stores};
use crate::boards_team::add;

/// Creates data of every kind with the command line.
fn fill(board: &Board) -> String {
    add(board, "ana", "team-lead", "top", "");
    let one = board.create(&["--metadata", r#"{"n":1.50}"#]);
    board.create(&["--add-blocked-by", &one]);
    for args in [
        &["task", "comment", &one, "--body", "hm @ana"][..],
        &["task", "claim", &one],
        &["board", "write", "global", "--content", "# A\n\none\n"],
        &["board", "section", "set", "global", "A", "--content", "two"],
        &["decision", "propose", "--content", "Rust"],
        &["milestone", "add", "M1", "--description", "first"],
        &["ws", "write", "src/a.txt", "--content", "one\ntwo\n"],
        &["message", "send", "ana", "--content", "to myself"],
    ] {
        board.ok("ana", args);
    }
    let shared = [
        "blackboard",
        "write",
        "tasks/1/status.md",
        "--content",
        "ok",
        "--mode",
        "overwrite",
    ];
    board.ok("user", &shared);
    let kept = &["artifact", "put", "--type", "spec", "--content", "text"];
    let kept = board.ok("ana", kept);
    kept["ref"].as_str().unwrap().to_owned()
}

fn tools_answer_what_commands_answer(board: &Board) {
    let kept = fill(board);
    let mut client = Client::begin(board, "ana", LATER);
    let global = || json!({"board": "global"});
    let asked: [(&str, Value, &[&str]); 24] = [
        ("TaskGet", json!({"taskId": "1"}), &["task", "get", "1"]),
        ("TaskList", json!({}), &["task", "list"]),
        (
            "TaskList",
            json!({"ready": true}),
            &["task", "list", "--ready"],
        ),
        (
            "TaskList",
            json!({"limit": 1}),
            &["task", "list", "--limit", "1"],
        ),
        (
            "TaskComments",
            json!({"taskId": "1"}),
            &["task", "comments", "1"],
        ),
        (
            "TaskHistory",
            json!({"taskId": "1"}),
            &["task", "history", "1"],
        ),
        ("TaskRecommend", json!({}), &["task", "recommend"]),
        (
            "TaskStats",
            json!({"by": "week"}),
            &["task", "stats", "--by", "week"],
        ),
        ("whiteboard_list", json!({}), &["board", "list"]),
        ("whiteboard_read", global(), &["board", "read", "global"]),
        (
            "whiteboard_read",
            json!({"board": "global", "section": "A"}),
            &["board", "read", "global", "--section", "A"],
        ),
        (
            "whiteboard_history",
            global(),
            &["board", "history", "global"],
        ),
        (
            "whiteboard_show",
            json!({"board": "global", "version": 1}),
            &["board", "show", "global", "1"],
        ),
        (
            "whiteboard_diff",
            json!({"board": "global", "from": 1}),
            &["board", "diff", "global", "1"],
        ),
        (
            "whiteboard_decisions",
            global(),
            &["board", "decisions", "global"],
        ),
        (
            "whiteboard_milestones",
            global(),
            &["board", "milestones", "global"],
        ),
        (
            "blackboard_read",
            json!({"path": "tasks/1/status.md"}),
            &["blackboard", "read", "tasks/1/status.md"],
        ),
        (
            "read_file",
            json!({"path": "src/a.txt"}),
            &["ws", "cat", "src/a.txt"],
        ),
        (
            "list_files",
            json!({"recursive": true}),
            &["ws", "ls", "--recursive"],
        ),
        (
            "search_files",
            json!({"pattern": "tw."}),
            &["ws", "search", "tw."],
        ),
        ("get_workspace_info", json!({}), &["ws", "info"]),
        (
            "check_messages",
            json!({"since": 0}),
            &["message", "check", "--since", "0"],
        ),
        (
            "get_artifact",
            json!({"ref": kept}),
            &["artifact", "get", &kept],
        ),
        ("list_agents", json!({}), &["agent", "list"]),
    ];
    for (tool, params, args) in asked {
        let told = board.ok("ana", args);
        let mut answered = client.call(tool, params);
        // A truncated answer to a model is marked as such.
        answered.as_object_mut().unwrap().remove("cut");
        assert_eq!(answered, told, "{tool} {args:?}");
    }
    let refused = board.refused("ana", &["task", "get", "99"], 4, "task_not_found");
    let told = client.refused("TaskGet", json!({"taskId": "99"}), "task_not_found");
    assert!(told.contains(&refused.message), "{told}");
}

on_both_stores!(tools_answer_what_commands_answer);
