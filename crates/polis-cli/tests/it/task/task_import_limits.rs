//! Tests of task import at its limits: largest task numbers and versions, NUL characters, nulls and duplicate
//! fields.

use serde_json::json;

use crate::harness::test_project::{CommandOutput, TestProject};
use crate::task::task_file_dir::TaskFileDir;

/// The largest possible task number.
const MAX_TASK_ID: u64 = i64::MAX as u64;

#[test]
fn import_writes_a_replaced_field_once() {
    let project = TestProject::embedded();
    let files = TaskFileDir::new(&project, "list");
    files.write_task(
        1,
        &json!({"version": "x", "updatedAt": "yesterday", "owner": 5}),
    );
    files.import_as_user(&project);
    let answer = project.run_json("user", &["task", "update", "1", "--subject", "changed"]);
    for key in ["\"version\":", "\"updatedAt\":", "\"owner\":"] {
        let times = answer.stdout.matches(key).count();
        assert_eq!(times, 1, "{key} in {}", answer.stdout);
    }
    assert_eq!(answer.expect_document()["version"], 2);
}

#[test]
fn import_high_water_mark_does_not_exhaust_task_ids() {
    let project = TestProject::embedded();
    let files = TaskFileDir::new(&project, "list");
    files.write_raw(".highwatermark", (MAX_TASK_ID - 1).to_string());
    files.import_as_user(&project);
    for _ in 0..3 {
        project.create_task(&[]);
    }
}

#[test]
fn import_of_largest_id_does_not_exhaust_task_ids() {
    let project = TestProject::embedded();
    let files = TaskFileDir::new(&project, "list");
    files
        .write_task(MAX_TASK_ID, &json!({}))
        .import_as_user(&project);
    project.create_task(&[]);
}

fn import_two_files_with_largest_id(project: &TestProject) {
    let files = TaskFileDir::new(project, "list");
    let twin = json!({"id": MAX_TASK_ID.to_string(), "subject": "twin", "status": "pending"});
    files
        .write_task(MAX_TASK_ID, &json!({}))
        .write_raw("5.json", twin.to_string());
    let report = files.import_as_user(project);
    let (imported, skipped) = (&report["imported"], report["skipped"].as_array().unwrap());
    assert_eq!(
        *imported,
        project.list_task_ids("user", &["task", "list"]).len()
    );
    assert_eq!(
        imported.as_u64().unwrap() + skipped.len() as u64,
        2,
        "{report}"
    );
}

#[test]
fn import_of_two_files_with_largest_id_is_reported() {
    import_two_files_with_largest_id(&TestProject::embedded());
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn import_of_two_files_with_largest_id_is_reported_by_postgres() {
    import_two_files_with_largest_id(&TestProject::postgres());
}

#[test]
fn import_of_largest_version_is_skipped_or_updatable() {
    let project = TestProject::embedded();
    let files = TaskFileDir::new(&project, "list");
    files.write_task(1, &json!({"version": MAX_TASK_ID}));
    if files.import_as_user(&project)["imported"] == 1 {
        project.run_ok("user", &["task", "update", "1", "--subject", "changed"]);
    }
}

#[test]
fn import_gives_a_duplicate_id_an_unused_number() {
    let project = TestProject::embedded();
    for _ in 0..3 {
        project.create_task(&[]);
    }
    let files = TaskFileDir::new(&project, "list");
    let twin = json!({"id": "10", "subject": "twin", "status": "pending"});
    files
        .write_task(10, &json!({}))
        .write_raw("ten.json", twin.to_string());
    files
        .write_raw(".highwatermark", "50")
        .import_as_user(&project);
    let numbers = project.list_task_ids("user", &["task", "list"]);
    assert_eq!(numbers.len(), 5);
    assert!(
        !numbers.contains(&"11".to_owned()),
        "11 may have been assigned before: {numbers:?}"
    );
}

#[test]
fn import_skips_text_with_nul_and_keeps_escapes() {
    let project = TestProject::embedded();
    let files = TaskFileDir::new(&project, "list");
    files
        .write_task(1, &json!({"subject": "nul\0"}))
        .write_task(2, &json!({"owner": "nul\0"}))
        .write_task(3, &json!({"metadata": {"a": "nul\0"}, "other": "nul\0"}));
    let report = files.import_as_user(&project);
    assert_eq!(report["imported"], 1);
    assert_eq!(project.get_task("3")["metadata"]["a"], "nul\0");
    assert_eq!(project.get_task("3")["other"], "nul\0");
}

/// Values that a new task may not have are errors in a file too; without `--strict` they are kept.
#[test]
fn import_reports_values_that_break_the_rules() {
    let faults = [
        r#"{"id":"1","subject":"","status":"pending"}"#,
        r#"{"id":"1","subject":"two\nlines","status":"pending"}"#,
        r#"{"id":"1","subject":"a","subject":"b","status":"pending"}"#,
        r#"{"id":"3","subject":"another number","status":"pending"}"#,
    ];
    for text in faults {
        let project = TestProject::embedded();
        let files = TaskFileDir::new(&project, "list");
        files.write_raw("1.json", text);
        let strict = ["task", "import", files.path_arg(), "--strict"];
        project.run_refused("user", &strict, 2, "import_faults");
        assert_eq!(project.read_log().len(), 0, "{text}");
        let report = files.import_as_user(&project);
        assert_eq!(report["imported"], 1, "{text}");
        assert_eq!(report["repaired"].as_array().unwrap().len(), 1, "{text}");
    }
}

#[test]
fn import_and_export_preserve_nulls() {
    let project = TestProject::embedded();
    let files = TaskFileDir::new(&project, "list");
    let text = json!({
        "id": "1", "subject": "x", "description": "", "status": "pending", "owner": "",
        "blocks": [], "blockedBy": [], "version": 1, "metadata": null, "activeForm": null,
        "requiredRole": null, "taskType": null, "createdAt": null, "theirs": null,
    });
    files.write_raw("1.json", text.to_string());
    let report = files.import_as_user(&project);
    assert_eq!(report["repaired"], json!([]));
    let out = project.data_path("out");
    project.run_ok("user", &["task", "export", out.to_str().unwrap()]);
    let exported = std::fs::read_to_string(out.join("1.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&exported).unwrap(),
        text
    );
    // Our value replaces the imported one, so that the field occurs once.
    let role = ["task", "update", "1", "--required-role", "architect"];
    assert_eq!(project.run_ok("user", &role)["requiredRole"], "architect");
    let raw = project.run_json("user", &["task", "get", "1"]).stdout;
    assert_eq!(raw.matches("\"requiredRole\"").count(), 1);
}

#[test]
fn import_report_is_in_the_language_of_the_person() {
    let project = TestProject::embedded();
    let files = TaskFileDir::new(&project, "list");
    files
        .write_task(1, &json!({"blocks": ["9"]}))
        .write_raw("2.json", r#"{"id":"2"}"#);
    let import = |arguments: &[&str]| {
        let mut command = project.command();
        command.args(["--as", "user", "--lang", "zh", "task", "import"]);
        command.arg(files.path_arg()).args(arguments);
        CommandOutput::from_output(command.output().unwrap())
    };
    let refused = import(&["--strict"]);
    assert!(
        refused
            .stderr
            .contains("2.json：缺少 subject\n1.json：blocks 列出了 9，该任务不存在；已丢弃\n"),
        "{refused:?}"
    );
    let report = import(&[]).stdout;
    assert!(report.contains("已跳过 2.json：缺少 subject\n"), "{report}");
    let document = import(&["--json"]).stdout;
    assert!(document.contains("\"why\":\"no subject\""), "{document}");
}
