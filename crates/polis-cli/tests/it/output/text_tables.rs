//! Tests of tables in text mode: columns are aligned, also with wide characters, and control characters do
//! not reach the terminal.

use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

use polis_core::task::TaskField;
use polis_testkit::sample_task;

use crate::harness::test_project::{TestProject, on_both_stores};
use crate::task::task_file_dir::TaskFileDir;

/// Returns the display column at which a word begins.
fn display_column(line: &str, word: &str) -> usize {
    line[..line
        .find(word)
        .unwrap_or_else(|| panic!("{word} is not in {line}"))]
        .width()
}

fn table_columns_align_with_wide_characters(project: &TestProject) {
    project.run_ok(
        "user",
        &[
            "agent",
            "add",
            "程序员-1",
            "--role",
            "backend-leader",
            "--name",
            "小王同学",
        ],
    );
    project.run_ok(
        "user",
        &["agent", "add", "qa", "--role", "test-leader", "--name", "Q"],
    );
    project.run_ok(
        "user",
        &["task", "create", "--subject", "后端实现:订单服务"],
    );
    project.run_ok("user", &["task", "create", "--subject", "ship it"]);
    project.run_ok("程序员-1", &["task", "claim", "1"]);
    let tasks = project.run_text("user", &["task", "list"]);
    let lines: Vec<&str> = tasks.lines().collect();
    let subject = display_column(lines[0], "SUBJECT");
    assert_eq!(display_column(lines[1], "后端实现"), subject, "{tasks}");
    assert_eq!(display_column(lines[2], "ship it"), subject, "{tasks}");
    assert_eq!(
        display_column(lines[1], "程序员-1"),
        display_column(lines[0], "OWNER"),
        "{tasks}"
    );
    let agents = project.run_text("user", &["agent", "list"]);
    let lines: Vec<&str> = agents.lines().collect();
    let row = |name: &str| *lines.iter().find(|l| l.starts_with(name)).unwrap();
    assert_eq!(
        display_column(row("程序员-1"), "backend-leader"),
        display_column(lines[0], "ROLE"),
        "{agents}"
    );
    assert_eq!(
        display_column(row("qa"), "test-leader"),
        display_column(lines[0], "ROLE"),
        "{agents}"
    );
    assert_eq!(
        display_column(row("程序员-1"), "小王同学"),
        display_column(row("qa"), "Q"),
        "{agents}"
    );
}

fn text_output_strips_imported_control_characters(project: &TestProject) {
    let files = project.project_path("tasks");
    std::fs::create_dir(&files).unwrap();
    let task = "{\"id\":\"1\",\"subject\":\"a\\u001b[2Jb\",\"description\":\"x\\u0007\\ny\",\"status\":\"pending\",\
                \"owner\":\"e\\u001b]0;x\",\"activeForm\":\"q\\u009b1m\",\"metadata\":{\"k\":\"\\u001b[1m\"}}";
    std::fs::write(files.join("1.json"), task).unwrap();
    project.run_ok("user", &["task", "import", files.to_str().unwrap()]);
    for args in [
        &["task", "list"][..],
        &["task", "get", "1"],
        &["task", "history", "1"],
        &["log"],
        &["task", "graph"],
    ] {
        let shown = project.run_text("user", args);
        let control = shown.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(control, None, "{args:?}: {shown:?}");
    }
    assert_eq!(
        project.get_task("1")["subject"],
        "a\u{1b}[2Jb",
        "the stored text is unchanged"
    );
}

fn empty_list_suggests_the_next_command(project: &TestProject) {
    for (args, says) in [
        (&["task", "list"][..], "polis task create"),
        (&["task", "ready"], "polis task graph"),
        (
            &["task", "list", "--status", "completed"],
            "polis task list",
        ),
        (&["agent", "list"], "polis agent add"),
        (&["agent", "tree"], "polis agent add"),
        (&["task", "graph"], "--add-blocked-by"),
        (&["task", "recommend"], "polis task graph"),
    ] {
        let shown = project.run_text("user", args);
        assert!(shown.contains(says), "{args:?}: {shown}");
    }
}

fn task_get_shows_every_task_field(project: &TestProject) {
    let files = TaskFileDir::new(project, "sample");
    files
        .write_task(1, &json!({"blocks": ["2"]}))
        .write_raw("2.json", sample_task::sample_task_json())
        .write_task(3, &json!({"blockedBy": ["2"]}));
    files.import_as_user(project);
    let text = project.run_text("user", &["task", "get", "2"]);
    for &field in TaskField::ALL {
        let (_, shown) = sample_task::sample_field_value(field);
        assert!(text.contains(shown), "{field:?}: {text}");
    }
}

on_both_stores!(
    table_columns_align_with_wide_characters,
    text_output_strips_imported_control_characters,
    empty_list_suggests_the_next_command,
    task_get_shows_every_task_field,
);
