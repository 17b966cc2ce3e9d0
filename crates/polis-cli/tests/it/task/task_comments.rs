//! Tests of task comments with threads and mentions, and of a task's history.

use serde_json::{Value, json};

use crate::harness::test_project::{TestProject, on_both_stores};

fn comments_have_threads_and_mentions(project: &TestProject) {
    project.create_task(&[]);
    let say = |agent: &str, args: &[&str]| {
        project.run_ok(agent, &[&["task", "comment", "1", "--body"], args].concat())
    };
    let first = say(
        "architect",
        &["@backend-leader-2, 请看 @程序员. 邮箱 me@example.com @architect!"],
    );
    assert_eq!(
        (first["taskId"].as_str(), first["id"].as_u64()),
        (Some("1"), Some(1))
    );
    assert_eq!(first["author"], "architect");
    assert_eq!(
        first["mentions"],
        json!(["architect", "backend-leader-2", "程序员"])
    );
    say("test-leader", &["第二条"]);
    say("backend-leader-2", &["好的\n两行", "--reply-to", "1"]);
    let comments = project.run_ok("user", &["task", "comments", "1"]);
    let list = comments["comments"].as_array().unwrap();
    let ids: Vec<_> = list
        .iter()
        .map(|c| (c["id"].as_u64().unwrap(), c["replyTo"].as_u64()))
        .collect();
    assert_eq!(ids, [(1, None), (2, None), (3, Some(1))]);
    let shown = project.run_text("user", &["task", "comments", "1"]);
    let lines: Vec<&str> = shown
        .lines()
        .map(|l| l.split(" 20").next().unwrap())
        .collect();
    assert_eq!(lines[0], "[1] architect");
    assert_eq!(
        lines[2..5],
        ["  [3] backend-leader-2", "    好的", "    两行"]
    );
    assert_eq!(lines[5], "[2] test-leader");
    assert_eq!(
        project.get_task("1")["version"],
        1,
        "a comment does not change the version"
    );
    let spoken: Vec<_> = project
        .read_log()
        .into_iter()
        .filter(|e| e["kind"] == "task.commented")
        .collect();
    assert_eq!(spoken.len(), 3);
    assert_eq!(spoken[0]["data"]["mentions"], first["mentions"]);
}

fn empty_or_invalid_comments_are_refused(project: &TestProject) {
    project.create_task(&[]);
    for (args, exit, code) in [
        (&["1", "--body", " \n"][..], 2, "invalid_text"),
        (&["1", "--body", "bell\u{7}"], 2, "invalid_text"),
        (
            &["1", "--body", "x", "--reply-to", "1"],
            4,
            "comment_not_found",
        ),
        (
            &["1", "--body", "x", "--reply-to", "0"],
            4,
            "comment_not_found",
        ),
        (&["2", "--body", "x"], 4, "task_not_found"),
    ] {
        project.run_refused("user", &[&["task", "comment"], args].concat(), exit, code);
    }
    assert_eq!(
        project.run_ok("user", &["task", "comments", "1"]),
        json!({"comments": []})
    );
    project.run_refused("user", &["task", "comments", "2"], 4, "task_not_found");
}

fn task_history_records_actor_and_changes(project: &TestProject) {
    project.run_ok("user", &["task", "create", "--subject", "before"]);
    project.run_ok(
        "architect",
        &[
            "task",
            "update",
            "1",
            "--subject",
            "after",
            "--metadata",
            r#"{"a":1}"#,
        ],
    );
    project.run_ok("architect", &["task", "claim", "1"]);
    project.run_refused("test-leader", &["task", "claim", "1"], 5, "already_claimed");
    project.run_ok(
        "architect",
        &["task", "update", "1", "--metadata", r#"{"a":null}"#],
    );
    project.run_ok(
        "architect",
        &["task", "update", "1", "--status", "completed"],
    );
    let history = project.run_ok("user", &["task", "history", "1"]);
    let entries = history["history"].as_array().unwrap();
    let kinds: Vec<_> = entries
        .iter()
        .map(|e| e["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "task.created",
            "task.updated",
            "task.claimed",
            "task.refused",
            "task.updated",
            "task.completed"
        ]
    );
    let versions: Vec<_> = entries.iter().map(|e| e["version"].as_u64()).collect();
    assert_eq!(
        versions,
        [Some(1), Some(2), Some(3), None, Some(4), Some(5)]
    );
    let change = |n: usize, field: &str| -> Value {
        let list = entries[n]["changes"].as_array().unwrap();
        list.iter().find(|c| c["field"] == field).unwrap().clone()
    };
    assert_eq!(
        change(1, "subject"),
        json!({"field": "subject", "from": "before", "to": "after"})
    );
    assert_eq!(
        change(2, "owner"),
        json!({"field": "owner", "from": "", "to": "architect"})
    );
    assert_eq!(
        change(4, "metadata"),
        json!({"field": "metadata", "from": {"a": 1}, "to": null})
    );
    assert_eq!(
        change(5, "status"),
        json!({"field": "status", "from": "in_progress", "to": "completed"})
    );
    assert_eq!(entries[3]["actor"], "test-leader");
    assert_eq!(entries[3]["data"]["code"], "already_claimed");
    let shown = project.run_text("user", &["task", "history", "1"]);
    assert!(
        shown.contains("subject: \"before\" -> \"after\""),
        "{shown}"
    );
    project.run_refused("user", &["task", "history", "9"], 4, "task_not_found");
}

on_both_stores!(
    comments_have_threads_and_mentions,
    empty_or_invalid_comments_are_refused,
    task_history_records_actor_and_changes,
);
