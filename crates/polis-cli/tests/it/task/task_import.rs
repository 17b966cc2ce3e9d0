//! Tests of task import and export: lossless, repairing, idempotent and atomic.

use serde_json::json;

use crate::harness::test_project::{TestProject, on_both_stores};
use crate::task::task_file_dir::{TaskFileDir, export_tasks, read_task_files, report_lines};

/// A task list in Claude Code's format: lock file, high-water mark, additional fields.
fn claude_code_task_list(project: &TestProject) -> TaskFileDir {
    let files = TaskFileDir::new(project, "list");
    files
        .write_raw(".lock", "")
        .write_raw(".highwatermark", "41\n")
        .write_raw("README.md", "not a task")
        .write_task(1, &json!({"activeForm": "Designing", "status": "completed", "blocks": ["2"], "owner": "architect"}))
        .write_task(2, &json!({"blockedBy": ["1"], "metadata": {"priority": "high", "_internal": true}}))
        .write_task(5, &json!({"requiredRole": "backend-leader", "taskType": "bug_fix", "version": 7}));
    files
}

fn import_of_claude_code_list_is_complete(project: &TestProject) {
    let files = claude_code_task_list(project);
    let report = files.import_as_user(project);
    assert_eq!(report["imported"], 3);
    assert_eq!(
        (&report["repaired"], &report["skipped"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(
        project.list_task_ids("user", &["task", "list"]),
        ["1", "2", "5"]
    );
    assert_eq!(
        project.list_task_ids("user", &["task", "ready"]),
        ["2", "5"],
        "a completed task blocks no other"
    );
    assert_eq!(project.get_task("5")["version"], 7);
    assert_eq!(
        project.create_task(&[]),
        "42",
        "task numbers continue above the high-water mark"
    );
    let kinds: Vec<_> = project
        .read_log()
        .iter()
        .map(|e| e["kind"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds,
        [
            "task.imported",
            "task.imported",
            "task.imported",
            "task.created"
        ]
    );
}

fn import_repeated_changes_nothing(project: &TestProject) {
    let files = claude_code_task_list(project);
    files.write_task(6, &json!({"blocks": ["5", "99"]}));
    files.import_as_user(project);
    let before = (project.read_log().len(), export_tasks(project, "before"));
    let again = files.import_as_user(project);
    assert_eq!(
        (again["imported"].as_u64(), again["unchanged"].as_u64()),
        (Some(0), Some(4))
    );
    assert_eq!(again["skipped"], json!([]));
    assert_eq!(
        (project.read_log().len(), export_tasks(project, "after")),
        before
    );
}

fn import_and_export_round_trip_preserves_fields(project: &TestProject) {
    let files = claude_code_task_list(project);
    files.write_task(
        9,
        &json!({
            "createdAt": "2026-02-15T08:00:00+08:00", "updatedAt": "2026-02-15T00:00:00.123456Z",
            "tags": ["a", {"b": null}], "x-other": {"deep": [[[1.5]]]}, "startedAt": "2026-02-15T00:00:00Z",
        }),
    );
    files.import_as_user(project);
    std::fs::remove_file(files.0.join("README.md")).unwrap();
    let mut expected = read_task_files(&files.0);
    // Defaults are written explicitly, as requirement 004 (docs/requirements.md) demands, and a priority in the
    // metadata is also written as a field; everything else is unchanged.
    expected.get_mut("2.json").unwrap()["priority"] = json!("high");
    for task in expected.values_mut() {
        if task.get("version").is_none() {
            task["version"] = json!(1);
        }
    }
    assert_eq!(export_tasks(project, "out"), expected);
}

fn import_preserves_numbers_and_keys_exactly(project: &TestProject) {
    let files = TaskFileDir::new(project, "list");
    files.write_raw(
        "1.json",
        r#"{"id":"1","subject":"x","description":"","status":"pending","zz":{"n":12345678901234567890123,"f":1.50,"e":1E400},
            "metadata":{"b":98765432109876543210,"a":"\u0041\/"},"名字":"值"}"#,
    );
    files.import_as_user(project);
    let answer = project.run_json("user", &["task", "get", "1"]);
    for kept in [
        r#""zz":{"n":12345678901234567890123,"f":1.50,"e":1E400}"#,
        r#""metadata":{"b":98765432109876543210,"a":"\u0041\/"}"#,
        r#""名字":"值""#,
    ] {
        assert!(
            answer.stdout.contains(kept),
            "{kept} is not in {}",
            answer.stdout
        );
    }
    // Not every JSON parser supports a number that large, so these answers are not parsed.
    let update = [
        "task",
        "update",
        "1",
        "--subject",
        "changed",
        "--metadata",
        "{\"c\":1}",
    ];
    for args in [&update[..], &["task", "history", "1"], &["log"]] {
        let answer = project.run_json("user", args);
        assert_eq!((answer.exit_code, answer.stderr.as_str()), (Some(0), ""));
    }
    project.run_ok(
        "user",
        &[
            "task",
            "export",
            project.project_path("out").to_str().unwrap(),
        ],
    );
    let text = std::fs::read_to_string(project.project_path("out/1.json")).unwrap();
    for kept in [
        "12345678901234567890123",
        "1.50",
        "1E400",
        "98765432109876543210",
        r"\u0041\/",
        "名字",
    ] {
        assert!(text.contains(kept), "{kept} is not in {text}");
    }
}

fn export_can_be_imported_into_another_project(project: &TestProject) {
    project.create_task(&["--metadata", r#"{"big":123456789012345678901}"#]);
    project.create_task(&["--add-blocked-by", "1", "--required-role", "architect"]);
    project.create_task(&[]);
    project.run_ok("architect", &["task", "claim", "1", "--lease", "1h"]);
    project.run_ok("architect", &["task", "comment", "1", "--body", "@user 看"]);
    project.run_ok(
        "user",
        &["task", "comment", "1", "--body", "好", "--reply-to", "1"],
    );
    project.run_ok("user", &["task", "delete", "3"]);
    let first = export_tasks(project, "out");
    assert_eq!(first["1.json"]["comments"].as_array().unwrap().len(), 2);
    let other = TestProject::embedded();
    let out = project.project_path("out");
    let report = other.run_ok(
        "user",
        &["task", "import", out.to_str().unwrap(), "--strict"],
    );
    assert_eq!(report["imported"], 3);
    assert_eq!(export_tasks(&other, "out"), first);
    assert_eq!(
        other.run_ok("user", &["task", "comments", "1"]),
        project.run_ok("user", &["task", "comments", "1"])
    );
    assert_eq!(
        other.create_task(&[]),
        "4",
        "the number of a deleted task is not reused"
    );
    other.run_refused("architect", &["task", "claim", "2"], 5, "task_blocked");
}

/// Task files with one error of each kind.
fn faulty_task_files(project: &TestProject) -> TaskFileDir {
    let files = TaskFileDir::new(project, "faulty");
    files
        .write_task(1, &json!({"blocks": ["2", "9"]}))
        .write_task(2, &json!({}))
        .write_task(4, &json!({"blocks": ["5"], "blockedBy": ["5"]}))
        .write_task(5, &json!({"blocks": ["4", "5", "4"]}))
        .write_raw(
            "3.json",
            r#"{"id":"2","subject":"twice","description":"","status":"pending"}"#,
        )
        .write_raw("6.json", r#"{"id":"6","subj"#)
        .write_raw("7.json", "[1,2]")
        .write_raw(
            "8.json",
            r#"{"id":8,"subject":"a number","createdAt":"yesterday","blockedBy":["x"]}"#,
        )
        .write_raw("10.json", r#"{"id":"10","subject":"x","status":"blocked"}"#)
        .write_raw(
            "11.json",
            r#"{"id":"eleven","subject":"x","status":"pending"}"#,
        )
        .write_raw(
            "12.json",
            b"{\"id\":\"12\",\"subject\":\"\xff\",\"status\":\"pending\"}",
        )
        .write_raw("13.json", r#"{"subject":"no id","status":"pending"}"#)
        .write_raw("14.json", r#"{"id":"14","status":"pending"}"#)
        .write_raw("15.json", "")
        .write_raw(
            "16.json",
            r#"{"id":"16","subject":"nul\u0000","status":"pending"}"#,
        );
    std::fs::create_dir(files.0.join("17.json")).unwrap();
    files
}

fn import_repairs_or_skips_faulty_files_and_reports_them(project: &TestProject) {
    let files = faulty_task_files(project);
    let report = files.import_as_user(project);
    let repaired = report_lines(&report["repaired"], "what");
    for (file, word) in [
        ("1.json", "9"),
        ("2.json", "blockedBy lacked 1"),
        ("3.json", "used twice"),
        ("4.json", "cycle"),
        ("5.json", "itself"),
        ("5.json", "twice"),
        ("8.json", "\"8\""),
        ("8.json", "createdAt"),
        ("8.json", "no status"),
        ("8.json", "not a task id"),
        ("13.json", "file name"),
    ] {
        let found = repaired
            .iter()
            .any(|r| r.starts_with(&format!("{file}: ")) && r.contains(word));
        assert!(found, "no repair of {file} with {word:?} in {repaired:#?}");
    }
    let skipped: Vec<String> = report_lines(&report["skipped"], "why")
        .iter()
        .map(|s| s.split(':').next().unwrap().to_owned())
        .collect();
    assert_eq!(
        skipped,
        [
            "10.json", "11.json", "12.json", "14.json", "15.json", "16.json", "17.json", "6.json",
            "7.json"
        ]
    );
    assert_eq!(report["imported"], 7);
    assert_eq!(project.get_task("1")["blocks"], json!(["2"]));
    assert_eq!(project.get_task("2")["blockedBy"], json!(["1"]));
    assert_eq!(
        project.get_task("2")["subject"],
        "task 2",
        "the file named after the number keeps it"
    );
    let circle: usize = ["4", "5"]
        .map(|id| project.get_task(id)["blocks"].as_array().unwrap().len())
        .iter()
        .sum();
    assert_eq!(circle, 1, "one edge of the cycle remains");
    let again = files.import_as_user(project);
    assert_eq!(
        (again["imported"].as_u64(), again["unchanged"].as_u64()),
        (Some(0), Some(7))
    );
    assert_eq!(again["repaired"], report["repaired"]);
}

fn strict_import_of_faulty_files_changes_nothing(project: &TestProject) {
    let files = faulty_task_files(project);
    files.write_raw(".highwatermark", "99");
    let refused = project.run_refused(
        "user",
        &["task", "import", files.path_arg(), "--strict"],
        2,
        "import_faults",
    );
    assert!(
        refused.message.contains("nothing was imported"),
        "{refused:?}"
    );
    assert!(refused.message.contains("6.json"), "{refused:?}");
    assert!(project.list_task_ids("user", &["task", "list"]).is_empty());
    assert!(project.read_log().is_empty());
    assert_eq!(project.create_task(&[]), "1");
}

fn import_keeps_an_existing_task_with_other_content(project: &TestProject) {
    project.run_ok("user", &["task", "create", "--subject", "ours"]);
    let files = TaskFileDir::new(project, "list");
    files
        .write_task(1, &json!({"blocks": ["2"]}))
        .write_task(2, &json!({"blockedBy": ["1"]}));
    let report = files.import_as_user(project);
    assert_eq!(report["imported"], 1);
    assert!(
        report_lines(&report["skipped"], "why")[0].contains("different content"),
        "{report}"
    );
    let ours = project.get_task("1");
    assert_eq!(
        (ours["subject"].as_str(), &ours["blocks"]),
        (Some("ours"), &json!([]))
    );
    assert_eq!(
        project.get_task("2")["blockedBy"],
        json!([]),
        "no one-sided edge is stored"
    );
    assert_eq!(
        project.list_task_ids("user", &["task", "ready"]),
        ["1", "2"]
    );
    let strict = ["task", "import", files.path_arg(), "--strict"];
    project.run_refused("user", &strict, 2, "import_faults");
}

fn import_is_allowed_only_for_the_lead(project: &TestProject) {
    let files = claude_code_task_list(project);
    project.run_refused(
        "architect",
        &["task", "import", files.path_arg()],
        3,
        "permission_denied",
    );
    project.run_ok("team-lead", &["task", "import", files.path_arg()]);
    project.run_refused(
        "user",
        &[
            "task",
            "import",
            project.project_path("nowhere").to_str().unwrap(),
        ],
        2,
        "invalid_input",
    );
    let file = files.0.join("1.json");
    project.run_refused(
        "user",
        &["task", "import", file.to_str().unwrap()],
        2,
        "invalid_input",
    );
    project.run_refused(
        "user",
        &["task", "export", file.to_str().unwrap()],
        2,
        "invalid_input",
    );
    let empty = TaskFileDir::new(project, "empty");
    assert_eq!(empty.import_as_user(project)["imported"], 0);
}

fn task_list_of_a_long_import_is_one_document(project: &TestProject) {
    let files = TaskFileDir::new(project, "list");
    for id in 1..=2_500 {
        files.write_task(id, &json!({}));
    }
    assert_eq!(files.import_as_user(project)["imported"], 2_500);
    let numbers = project.list_task_ids("user", &["task", "list"]);
    let expected: Vec<String> = (1..=2_500).map(|id| id.to_string()).collect();
    assert_eq!(numbers, expected);
    let page = project.run_ok("user", &["task", "list", "--limit", "1500"]);
    assert_eq!(page["tasks"].as_array().unwrap().len(), 1_500);
    assert_eq!(page["next"], "1500");
    assert_eq!(project.read_log().len(), 2_500);
}

on_both_stores!(
    task_list_of_a_long_import_is_one_document,
    import_of_claude_code_list_is_complete,
    import_repeated_changes_nothing,
    import_and_export_round_trip_preserves_fields,
    import_preserves_numbers_and_keys_exactly,
    export_can_be_imported_into_another_project,
    import_repairs_or_skips_faulty_files_and_reports_them,
    strict_import_of_faulty_files_changes_nothing,
    import_keeps_an_existing_task_with_other_content,
    import_is_allowed_only_for_the_lead,
);
