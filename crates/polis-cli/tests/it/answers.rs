//! Tests of the output format: one JSON document on stdout, or an error document on stderr; exit codes, pagination and
//! filters.

use serde_json::{Value, json};

use crate::board::{Answer, Board, feed, on_both_stores};

fn keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

fn assert_has(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value.get(field).is_some(), "no {field} in {value}");
    }
}

fn a_task_has_the_documents_fields(board: &Board) {
    let blocker = board.create(&[]);
    let waiting = board.create(&[]);
    let task = board.ok(
        "user",
        &[
            "task",
            "create",
            "--subject",
            "[backend-leader] REQ-002 后端实现",
            "--description",
            "两行\n说明",
            "--active-form",
            "实现后端服务",
            "--required-role",
            "backend-leader",
            "--type",
            "backend_implementation",
            "--metadata",
            r#"{"priority":"high","n":[1,{"a":null}]}"#,
            "--add-blocked-by",
            &blocker,
            "--add-blocks",
            &waiting,
        ],
    );
    let expected = json!({
        "id": "3", "subject": "[backend-leader] REQ-002 后端实现", "description": "两行\n说明",
        "activeForm": "实现后端服务", "status": "pending", "owner": "",
        "metadata": {"priority": "high", "n": [1, {"a": null}]},
        "blocks": [waiting], "blockedBy": [blocker],
        "createdAt": task["createdAt"], "updatedAt": task["updatedAt"],
        "requiredRole": "backend-leader", "version": 1, "taskType": "backend_implementation",
    });
    assert_eq!(task, expected);
    assert!(task["createdAt"].as_str().unwrap().ends_with('Z'));
    assert_eq!(board.get("3"), expected);
    assert_eq!(board.get("#3"), expected);
    assert_eq!(board.get("1")["blocks"], json!(["3"]));
    assert_eq!(board.get("2")["blockedBy"], json!(["3"]));
}

fn absent_optional_fields_are_left_out(board: &Board) {
    let task = board.ok("user", &["task", "create", "--subject", "x"]);
    assert_eq!(
        keys(&task),
        [
            "id",
            "subject",
            "description",
            "status",
            "owner",
            "blocks",
            "blockedBy",
            "createdAt",
            "updatedAt",
            "version"
        ]
    );
}

fn every_command_answers_with_one_document(board: &Board) {
    let agent = board.ok(
        "user",
        &["agent", "add", "backend-1", "--role", "backend-leader"],
    );
    assert_eq!(
        keys(&agent),
        [
            "id",
            "name",
            "role",
            "layer",
            "supervisor",
            "status",
            "createdAt"
        ]
    );
    assert_eq!(keys(&board.ok("user", &["agent", "list"])), ["agents"]);
    board.create(&["--required-role", "backend-leader"]);
    let page = board.ok("user", &["task", "list"]);
    assert_eq!(keys(&page), ["tasks", "next"]);
    assert_has(
        &page["tasks"][0],
        &[
            "id",
            "subject",
            "status",
            "owner",
            "blockedBy",
            "requiredRole",
            "version",
        ],
    );
    let claimed = board.ok("backend-1", &["task", "claim", "1"]);
    assert_has(&claimed, &["id", "owner", "status", "version", "claimedAt"]);
    assert_has(
        &board.ok("user", &["task", "update", "1", "--subject", "y"]),
        &["id", "version"],
    );
    let figures = board.ok("user", &["task", "stats"]);
    assert_has(
        &figures,
        &[
            "roleMatchRate",
            "conflictRate",
            "crossRoleRate",
            "invalidTransitions",
            "created",
        ],
    );
    let export = board.file("out");
    let export = export.to_str().unwrap();
    assert_eq!(
        board.ok("user", &["task", "export", export]),
        json!({"exported": 1})
    );
    let imported = board.ok("user", &["task", "import", export]);
    assert_has(&imported, &["imported", "repaired", "skipped"]);
    for command in [
        &["stats"][..],
        &["doctor"],
        &["config", "show"],
        &["config", "check"],
        &["agent", "tree"],
        &["agent", "show", "backend-1"],
        &["task", "ready"],
        &["task", "recommend"],
        &["task", "graph"],
        &["task", "history", "1"],
        &["task", "comments", "1"],
        &["schema", "task"],
    ] {
        assert!(board.ok("user", command).is_object(), "{command:?}");
    }
    let event = &board.log()[0];
    assert_eq!(
        keys(event),
        ["seq", "at", "actor", "kind", "subject", "data"]
    );
}

fn every_class_of_refusal_has_its_exit_code(board: &Board) {
    board.create(&["--required-role", "backend-leader"]);
    for (agent, args, exit, code) in [
        (
            "user",
            &["task", "create", "--subject", ""][..],
            2,
            "invalid_subject",
        ),
        ("user", &["task", "update", "1"], 2, "invalid_input"),
        (
            "user",
            &["task", "update", "1", "--status", "done"],
            2,
            "invalid_status",
        ),
        (
            "user",
            &["agent", "add", "-x", "--role", "architect"],
            2,
            "invalid_input",
        ),
        ("a b", &["task", "list"], 2, "invalid_agent_id"),
        ("architect", &["task", "claim", "1"], 3, "role_mismatch"),
        (
            "architect",
            &["agent", "add", "x", "--role", "architect"],
            3,
            "permission_denied",
        ),
        ("user", &["task", "get", "99"], 4, "task_not_found"),
        ("user", &["agent", "show", "nobody"], 4, "agent_not_found"),
        ("architect", &["task", "claim"], 4, "nothing_to_claim"),
        (
            "user",
            &["task", "update", "1", "--status", "completed"],
            5,
            "invalid_transition",
        ),
        (
            "user",
            &[
                "task",
                "update",
                "1",
                "--subject",
                "y",
                "--expected-version",
                "7",
            ],
            5,
            "version_mismatch",
        ),
        (
            "user",
            &["task", "update", "1", "--add-blocks", "1"],
            5,
            "dependency_cycle",
        ),
    ] {
        board.refused(agent, args, exit, code);
    }
    assert_eq!(board.get("1")["version"], 1);
}

fn people_read_sentences(board: &Board) {
    let mut command = board.command();
    let answer = Answer::of(command.args(["task", "get", "7"]).output().unwrap());
    assert_eq!(answer.exit, Some(4));
    assert_eq!(answer.stdout, "");
    assert_eq!(
        answer.stderr,
        "Error: Task #7 not found.\nHint: run `polis task list` to see the tasks there are\n"
    );
    let shown = board.shown("user", &["task", "create", "--subject", "写文档"]);
    assert!(shown.starts_with("Task #1 created\n#1 写文档\n"), "{shown}");
    let shown = board.shown("user", &["task", "update", "1", "--status", "in_progress"]);
    assert!(
        shown.starts_with("Task #1 updated, version: 1 -> 2\n"),
        "{shown}"
    );
    assert!(!shown.contains('\u{1b}'), "colours although nobody looks");
}

fn long_text_comes_from_standard_input(board: &Board) {
    let long = "行\n".repeat(50_000);
    let create = ["task", "create", "--subject", "x", "--description", "-"];
    let task = board.run_with("user", &create, long.as_bytes()).document();
    assert_eq!(task["description"], long.as_str());
    let comment = ["task", "comment", "1", "--content", "-"];
    let said = board
        .run_with("user", &comment, "来自管道".as_bytes())
        .document();
    assert_eq!(said["body"], "来自管道");
    let metadata = ["task", "update", "1", "--metadata", "-"];
    let task = board.run_with("user", &metadata, br#"{"a":1}"#).document();
    assert_eq!(task["metadata"], json!({"a": 1}));
}

fn pages_join_to_the_whole_list(board: &Board) {
    for _ in 0..7 {
        board.create(&[]);
    }
    board.ok("user", &["task", "delete", "4"]);
    let mut seen = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut args = vec!["task", "list", "--limit", "2"];
        args.extend(cursor.iter().flat_map(|c| ["--cursor", c.as_str()]));
        let page = board.ok("user", &args);
        let ids = page["tasks"].as_array().unwrap();
        assert!(ids.len() <= 2);
        seen.extend(ids.iter().map(|t| t["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, ["1", "2", "3", "5", "6", "7"]);
    assert_eq!(board.listed("user", &["task", "list"]), seen);
    board.refused(
        "user",
        &["task", "list", "--limit", "0"],
        2,
        "invalid_input",
    );
    board.refused(
        "user",
        &["task", "list", "--cursor", "x"],
        2,
        "invalid_task_id",
    );
}

fn lists_filter_by_state_owner_and_type(board: &Board) {
    board.create(&["--type", "testing"]);
    board.create(&[]);
    board.create(&[]);
    board.ok("architect", &["task", "claim", "2"]);
    board.ok("architect", &["task", "claim", "3"]);
    board.ok(
        "architect",
        &["task", "update", "3", "--status", "completed"],
    );
    let list = |args: &[&str]| board.listed("user", &[&["task", "list"], args].concat());
    assert_eq!(list(&["--status", "pending"]), ["1"]);
    assert_eq!(list(&["--status", "in_progress"]), ["2"]);
    assert_eq!(list(&["--status", "completed"]), ["3"]);
    assert_eq!(list(&["--owner", "architect"]), ["2", "3"]);
    assert_eq!(list(&["--type", "testing"]), ["1"]);
    assert_eq!(list(&["--ready"]), ["1"]);
    assert_eq!(
        list(&["--owner", "architect", "--status", "completed"]),
        ["3"]
    );
}

fn metadata_merges_and_null_removes(board: &Board) {
    board.create(&[
        "--metadata",
        r#"{"a":1,"b":{"c":2},"big":123456789012345678901234567890}"#,
    ]);
    let update = ["task", "update", "1", "--metadata", r#"{"a":null,"d":[]}"#];
    let answer = board.run("user", &update);
    assert!(
        answer
            .stdout
            .contains("\"big\":123456789012345678901234567890"),
        "{answer:?}"
    );
    let metadata = &answer.document()["metadata"];
    assert_eq!(keys(metadata), ["b", "big", "d"]);
}

fn deleted_tasks_can_still_be_read(board: &Board) {
    board.create(&[]);
    let deleted = board.ok("architect", &["task", "delete", "1"]);
    assert_eq!(deleted["status"], "deleted");
    assert!(board.listed("user", &["task", "list"]).is_empty());
    assert_eq!(board.get("1")["status"], "deleted");
    assert_eq!(board.create(&[]), "2", "numbers are not given out again");
    board.refused(
        "user",
        &["task", "update", "1", "--subject", "x"],
        4,
        "task_not_found",
    );
}

#[test]
fn standard_input_that_is_not_utf8_is_refused() {
    let board = Board::embedded();
    let create = ["task", "create", "--subject", "x", "--description", "-"];
    let answer = feed(&mut board.json_command("user", &create), b"\xff\xfe");
    let refused = answer.refusal(2, "invalid_input");
    assert!(refused.message.contains("UTF-8"), "{refused:?}");
}

#[test]
fn a_reader_that_leaves_early_is_no_fault() {
    let board = Board::embedded();
    for _ in 0..20 {
        board.create(&[]);
    }
    let mut child = crate::board::start(&mut board.json_command("user", &["log"]));
    drop(child.stdout.take());
    let answer = crate::board::finish(child);
    assert_eq!((answer.exit, answer.stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_missing_argument_is_named() {
    let board = Board::embedded();
    let refused = board.refused("user", &["task", "create"], 2, "invalid_input");
    assert!(refused.message.contains("--subject"), "{refused:?}");
}

on_both_stores!(
    a_task_has_the_documents_fields,
    absent_optional_fields_are_left_out,
    every_command_answers_with_one_document,
    every_class_of_refusal_has_its_exit_code,
    people_read_sentences,
    long_text_comes_from_standard_input,
    pages_join_to_the_whole_list,
    lists_filter_by_state_owner_and_type,
    metadata_merges_and_null_removes,
    deleted_tasks_can_still_be_read,
);
