//! Tests of the output format of the command line: one JSON document on stdout or one error document on
//! stderr, exit codes, pagination, filters and broken pipes.

use serde_json::{Value, json};

use crate::harness::test_project::{CommandOutput, TestProject, on_both_stores, run_with_stdin};

fn object_keys(value: &Value) -> Vec<&str> {
    value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

fn assert_has_fields(value: &Value, fields: &[&str]) {
    for field in fields {
        assert!(value.get(field).is_some(), "no {field} in {value}");
    }
}

fn task_json_has_all_documented_fields(project: &TestProject) {
    let blocker = project.create_task(&[]);
    let waiting = project.create_task(&[]);
    let task = project.run_ok(
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
        "priority": "high",
        "blocks": [waiting], "blockedBy": [blocker],
        "createdAt": task["createdAt"], "updatedAt": task["updatedAt"],
        "requiredRole": "backend-leader", "version": 1, "taskType": "backend_implementation",
    });
    assert_eq!(task, expected);
    assert!(task["createdAt"].as_str().unwrap().ends_with('Z'));
    assert_eq!(project.get_task("3"), expected);
    assert_eq!(project.get_task("#3"), expected);
    assert_eq!(project.get_task("1")["blocks"], json!(["3"]));
    assert_eq!(project.get_task("2")["blockedBy"], json!(["3"]));
}

fn task_json_omits_absent_optional_fields(project: &TestProject) {
    let task = project.run_ok("user", &["task", "create", "--subject", "x"]);
    assert_eq!(
        object_keys(&task),
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

fn json_commands_print_one_document(project: &TestProject) {
    let agent = project.run_ok(
        "user",
        &["agent", "add", "backend-1", "--role", "backend-leader"],
    );
    assert_eq!(
        object_keys(&agent),
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
    assert_eq!(
        object_keys(&project.run_ok("user", &["agent", "list"])),
        ["agents"]
    );
    project.create_task(&["--required-role", "backend-leader"]);
    let page = project.run_ok("user", &["task", "list"]);
    assert_eq!(object_keys(&page), ["tasks", "next"]);
    assert_has_fields(
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
    let claimed = project.run_ok("backend-1", &["task", "claim", "1"]);
    assert_has_fields(&claimed, &["id", "owner", "status", "version", "claimedAt"]);
    assert_has_fields(
        &project.run_ok("user", &["task", "update", "1", "--subject", "y"]),
        &["id", "version"],
    );
    let figures = project.run_ok("user", &["task", "stats"]);
    assert_has_fields(
        &figures,
        &[
            "roleMatchRate",
            "conflictRate",
            "crossRoleRate",
            "invalidTransitions",
            "created",
        ],
    );
    let export = project.project_path("out");
    let export = export.to_str().unwrap();
    assert_eq!(
        project.run_ok("user", &["task", "export", export]),
        json!({"exported": 1})
    );
    let imported = project.run_ok("user", &["task", "import", export]);
    assert_has_fields(&imported, &["imported", "repaired", "skipped"]);
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
        assert!(project.run_ok("user", command).is_object(), "{command:?}");
    }
    let event = &project.read_log()[0];
    assert_eq!(
        object_keys(event),
        ["seq", "at", "actor", "kind", "subject", "data"]
    );
}

fn refusal_classes_have_distinct_exit_codes(project: &TestProject) {
    project.create_task(&["--required-role", "backend-leader"]);
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
        project.run_refused(agent, args, exit, code);
    }
    assert_eq!(project.get_task("1")["version"], 1);
}

fn text_mode_prints_sentences_without_colors(project: &TestProject) {
    let mut command = project.command();
    let answer = CommandOutput::from_output(command.args(["task", "get", "7"]).output().unwrap());
    assert_eq!(answer.exit_code, Some(4));
    assert_eq!(answer.stdout, "");
    assert_eq!(
        answer.stderr,
        "Error: Task #7 not found.\nHint: list the tasks with `polis task list`\n"
    );
    let shown = project.run_text("user", &["task", "create", "--subject", "写文档"]);
    assert!(shown.starts_with("Task #1 created\n#1 写文档\n"), "{shown}");
    let shown = project.run_text("user", &["task", "update", "1", "--status", "in_progress"]);
    assert!(
        shown.starts_with("Task #1 updated, version: 1 -> 2\n"),
        "{shown}"
    );
    assert!(
        !shown.contains('\u{1b}'),
        "colours although stdout is not a terminal"
    );
}

fn dash_reads_long_text_from_stdin(project: &TestProject) {
    let long = "行\n".repeat(50_000);
    let create = ["task", "create", "--subject", "x", "--description", "-"];
    let task = project
        .run_json_with_stdin("user", &create, long.as_bytes())
        .expect_document();
    assert_eq!(task["description"], long.as_str());
    let comment = ["task", "comment", "1", "--content", "-"];
    let said = project
        .run_json_with_stdin("user", &comment, "来自管道".as_bytes())
        .expect_document();
    assert_eq!(said["body"], "来自管道");
    let metadata = ["task", "update", "1", "--metadata", "-"];
    let task = project
        .run_json_with_stdin("user", &metadata, br#"{"a":1}"#)
        .expect_document();
    assert_eq!(task["metadata"], json!({"a": 1}));
}

fn task_list_pages_join_to_the_whole_list(project: &TestProject) {
    for _ in 0..7 {
        project.create_task(&[]);
    }
    project.run_ok("user", &["task", "delete", "4"]);
    let mut seen = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut args = vec!["task", "list", "--limit", "2"];
        args.extend(cursor.iter().flat_map(|c| ["--cursor", c.as_str()]));
        let page = project.run_ok("user", &args);
        let ids = page["tasks"].as_array().unwrap();
        assert!(ids.len() <= 2);
        seen.extend(ids.iter().map(|t| t["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, ["1", "2", "3", "5", "6", "7"]);
    assert_eq!(project.list_task_ids("user", &["task", "list"]), seen);
    project.run_refused(
        "user",
        &["task", "list", "--limit", "0"],
        2,
        "invalid_input",
    );
    project.run_refused(
        "user",
        &["task", "list", "--cursor", "x"],
        2,
        "invalid_task_id",
    );
}

fn task_list_filters_by_status_owner_and_type(project: &TestProject) {
    project.create_task(&["--type", "testing"]);
    project.create_task(&[]);
    project.create_task(&[]);
    project.run_ok("architect", &["task", "claim", "2"]);
    project.run_ok("architect", &["task", "claim", "3"]);
    project.run_ok(
        "architect",
        &["task", "update", "3", "--status", "completed"],
    );
    let list = |args: &[&str]| project.list_task_ids("user", &[&["task", "list"], args].concat());
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

fn metadata_update_merges_and_null_removes_keys(project: &TestProject) {
    project.create_task(&[
        "--metadata",
        r#"{"a":1,"b":{"c":2},"big":123456789012345678901234567890}"#,
    ]);
    let update = ["task", "update", "1", "--metadata", r#"{"a":null,"d":[]}"#];
    let answer = project.run_json("user", &update);
    assert!(
        answer
            .stdout
            .contains("\"big\":123456789012345678901234567890"),
        "{answer:?}"
    );
    let metadata = &answer.expect_document()["metadata"];
    assert_eq!(object_keys(metadata), ["b", "big", "d"]);
}

fn deleted_task_is_readable_and_not_listed(project: &TestProject) {
    project.create_task(&[]);
    let deleted = project.run_ok("architect", &["task", "delete", "1"]);
    assert_eq!(deleted["status"], "deleted");
    assert!(project.list_task_ids("user", &["task", "list"]).is_empty());
    assert_eq!(project.get_task("1")["status"], "deleted");
    assert_eq!(project.create_task(&[]), "2", "task numbers are not reused");
    project.run_refused(
        "user",
        &["task", "update", "1", "--subject", "x"],
        4,
        "task_not_found",
    );
}

#[test]
fn stdin_with_invalid_utf8_is_refused() {
    let project = TestProject::embedded();
    let create = ["task", "create", "--subject", "x", "--description", "-"];
    let answer = run_with_stdin(&mut project.json_command("user", &create), b"\xff\xfe");
    let refused = answer.expect_refusal(2, "invalid_input");
    assert!(refused.message.contains("UTF-8"), "{refused:?}");
}

#[test]
fn broken_pipe_on_stdout_is_not_an_error() {
    let project = TestProject::embedded();
    for _ in 0..20 {
        project.create_task(&[]);
    }
    let mut child =
        crate::harness::test_project::spawn_captured(&mut project.json_command("user", &["log"]));
    drop(child.stdout.take());
    let answer = crate::harness::test_project::wait_for_output(child);
    assert_eq!((answer.exit_code, answer.stderr.as_str()), (Some(0), ""));
}

#[test]
fn missing_argument_is_named_in_the_refusal() {
    let project = TestProject::embedded();
    let refused = project.run_refused("user", &["task", "create"], 2, "invalid_input");
    assert!(refused.message.contains("--subject"), "{refused:?}");
}

on_both_stores!(
    task_json_has_all_documented_fields,
    task_json_omits_absent_optional_fields,
    json_commands_print_one_document,
    refusal_classes_have_distinct_exit_codes,
    text_mode_prints_sentences_without_colors,
    dash_reads_long_text_from_stdin,
    task_list_pages_join_to_the_whole_list,
    task_list_filters_by_status_owner_and_type,
    metadata_update_merges_and_null_removes_keys,
    deleted_task_is_readable_and_not_listed,
);
