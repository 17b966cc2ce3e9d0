//! Tests of invalid, huge or hostile command-line input: a clear refusal, the documented exit code, and no
//! change.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use crate::harness::test_project::{CommandOutput, TestProject, on_both_stores};
use crate::task::task_file_dir::TaskFileDir;

fn task_subject_with_invalid_characters_is_refused(project: &TestProject) {
    let long = "x".repeat(100 << 10);
    let wide = "长".repeat(1_001);
    for bad in [
        "",
        "   ",
        "\t",
        "a\nb",
        "a\u{1b}[31mb",
        "bell\u{7}",
        "\u{85}",
        &long,
        &wide,
    ] {
        let create = ["task", "create", "--subject", bad];
        let refused = project.run_refused("user", &create, 2, "invalid_subject");
        assert!(refused.message.len() < 500, "the message repeats the input");
        assert!(!refused.message.contains('\u{1b}'), "{refused:?}");
    }
    let longest = "长".repeat(1_000);
    project.run_ok("user", &["task", "create", "--subject", &longest]);
    for bad in ["", "a\nb", &long] {
        project.run_refused(
            "user",
            &["task", "update", "1", "--subject", bad],
            2,
            "invalid_subject",
        );
    }
    let form = ["task", "update", "1", "--active-form", "a\u{1}b"];
    project.run_refused("user", &form, 2, "invalid_subject");
    assert_eq!(project.get_task("1")["version"], 1);
}

fn task_description_above_the_limit_is_refused(project: &TestProject) {
    let create = ["task", "create", "--subject", "x", "--description", "-"];
    let most = "y".repeat(1 << 20);
    let task = project
        .run_json_with_stdin("user", &create, most.as_bytes())
        .expect_document();
    assert_eq!(task["description"].as_str().unwrap().len(), 1 << 20);
    let over = "y".repeat(10 << 20);
    let answer = project.run_json_with_stdin("user", &create, over.as_bytes());
    let refused = answer.expect_refusal(2, "invalid_text");
    assert!(refused.message.contains("10485760 bytes"), "{refused:?}");
    let answer = project.run_json_with_stdin("user", &create, b"nul \0 here");
    answer.expect_refusal(2, "invalid_text");
    assert_eq!(project.list_task_ids("user", &["task", "list"]), ["1"]);
}

fn task_metadata_that_is_not_an_object_is_refused(project: &TestProject) {
    project.create_task(&[]);
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(200_000), "]".repeat(200_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(200_000), "}".repeat(200_000));
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(300 << 10));
    for bad in [
        "",
        "{",
        "{\"a\":}",
        "[]",
        "1",
        "\"text\"",
        "null",
        "true",
        "{} {}",
        "{'a':1}",
        "{\"a\":1,}",
        "{\"a\":NaN}",
        "{\"a\":\"\u{1}\"}",
        &deep,
        &objects,
        &large,
    ] {
        for args in [
            &["task", "create", "--subject", "x", "--metadata", "-"][..],
            &["task", "update", "1", "--metadata", "-"],
        ] {
            let refused = project
                .run_json_with_stdin("user", args, bad.as_bytes())
                .expect_refusal(2, "invalid_metadata");
            assert!(
                refused.message.starts_with("Invalid metadata"),
                "{refused:?}"
            );
            assert!(refused.message.len() < 500, "the message repeats the input");
        }
    }
    let fits = format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
    project
        .run_json_with_stdin(
            "user",
            &["task", "update", "1", "--metadata", "-"],
            fits.as_bytes(),
        )
        .expect_document();
    assert_eq!(project.get_task("1")["version"], 2);
}

fn task_id_that_is_not_decimal_is_refused(project: &TestProject) {
    project.create_task(&[]);
    for bad in [
        "",
        "x",
        "0",
        "01",
        "+1",
        "1.0",
        "1e3",
        "٣",
        "９",
        " 1",
        "1;drop",
        "../1",
        "#",
        "##1",
        "99999999999999999999",
    ] {
        for args in [
            &["task", "get", bad][..],
            &["task", "claim", bad],
            &["task", "update", bad, "--subject", "x"],
            &["task", "update", "1", "--add-blocks", bad],
            &["task", "history", bad],
            &["task", "comment", bad, "--body", "x"],
        ] {
            if args[3..].contains(&bad) && bad == " 1" {
                continue; // lists of numbers may be typed with spaces
            }
            let refused = project.run_refused("user", args, 2, "invalid_task_id");
            assert!(
                refused.message.starts_with("Invalid task id: \""),
                "{refused:?}"
            );
        }
    }
    let answer = project.run_json("user", &["task", "get", "-1"]);
    answer.expect_refusal(2, "invalid_input");
    project.run_refused(
        "user",
        &["task", "get", "9223372036854775807"],
        4,
        "task_not_found",
    );
    project.run_refused(
        "user",
        &["task", "get", "9223372036854775808"],
        2,
        "invalid_task_id",
    );
}

fn agent_id_with_invalid_characters_is_refused(project: &TestProject) {
    for bad in [
        "",
        "-",
        "a b",
        "a/b",
        "../x",
        ".",
        "a\nb",
        "a\u{1b}[2J",
        "'; drop table tasks; --",
    ] {
        let mut command = project.command();
        command
            .arg("--json")
            .arg(format!("--as={bad}"))
            .args(["task", "list"]);
        let refused = CommandOutput::from_output(command.output().unwrap())
            .expect_refusal(2, "invalid_agent_id");
        assert!(!refused.message.contains('\u{1b}'), "{refused:?}");
    }
    let quoted = "x'; drop table tasks; --";
    project.run_ok("user", &["task", "create", "--subject", quoted]);
    assert_eq!(project.get_task("1")["subject"], quoted);
    assert!(
        project
            .list_task_ids("user", &["task", "list", "--owner", quoted])
            .is_empty()
    );
}

#[test]
fn usage_errors_are_json_documents() {
    let project = TestProject::embedded();
    for args in [
        &["task", "list", "--frobnicate"][..],
        &["task", "frobnicate"],
        &["frobnicate"],
        &["task", "create"],
        &["task", "get"],
        &["task", "get", "1", "2"],
        &["task", "list", "--limit", "many"],
        &["task", "list", "--limit", "-1"],
        &["task", "update", "1", "--expected-version", "one"],
        &["task", "update", "1", "--expected-version", "-1"],
        &["task", "claim", "--expected-version", "1"],
        &["log", "--since", "x"],
        &["schema", "nothing"],
        &["completions", "cmd"],
        &["task", "graph", "--format", "png"],
        &["init", "--lang", "fr"],
    ] {
        project.run_refused("user", args, 2, "invalid_input");
    }
    let answer = CommandOutput::from_output(
        project
            .command()
            .args(["task", "list", "--frobnicate"])
            .output()
            .unwrap(),
    );
    assert_eq!((answer.exit_code, answer.stdout.as_str()), (Some(2), ""));
    assert!(answer.stderr.contains("--frobnicate"), "{answer:?}");
}

#[test]
fn missing_subcommand_is_a_json_error_document() {
    let project = TestProject::embedded();
    for args in [&["task"][..], &[], &["agent"], &["config"]] {
        project.run_refused("user", args, 2, "invalid_input");
    }
}

#[test]
fn arguments_with_invalid_utf8_are_refused() {
    let project = TestProject::embedded();
    let broken = OsStr::from_bytes(b"a\xff\xfeb");
    for args in [
        ["task", "create", "--subject"].map(OsStr::new),
        ["task", "list", "--owner"].map(OsStr::new),
        ["task", "list", "--as"].map(OsStr::new),
    ] {
        let mut command = project.command();
        command.arg("--json").args(args).arg(broken);
        CommandOutput::from_output(command.output().unwrap()).expect_refusal(2, "invalid_input");
    }
    let mut command = project.command();
    command
        .env("POLIS_AGENT", broken)
        .args(["--json", "task", "list"]);
    CommandOutput::from_output(command.output().unwrap()).expect_refusal(2, "invalid_input");
    // A directory may have such a name.
    let directory = project.path().join(broken);
    std::fs::create_dir(&directory).unwrap();
    let mut command = project.command();
    command.current_dir(&directory).args(["--json", "init"]);
    assert_eq!(
        CommandOutput::from_output(command.output().unwrap()).exit_code,
        Some(0)
    );
    assert!(directory.join(".agent-workspace/polis.db").is_file());
}

fn huge_task_files_are_imported_or_reported(project: &TestProject) {
    let files = TaskFileDir::new(project, "huge");
    let ten = "s".repeat(10 << 20);
    files
        .write_task(1, &json!({"subject": ten}))
        .write_task(2, &json!({"description": "d".repeat(17 << 20)}))
        .write_raw(
            "3.json",
            format!(
                "{{\"id\":\"3\",\"subject\":\"deep\",\"status\":\"pending\",\"x\":{}{}}}",
                "[".repeat(200_000),
                "]".repeat(200_000)
            ),
        )
        .write_task(4, &json!({"metadata": {"a": "m".repeat(1 << 20)}}));
    let report = files.import_as_user(project);
    let skipped: Vec<_> = report["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["file"].as_str().unwrap())
        .collect();
    assert_eq!(skipped, ["2.json", "3.json"]);
    assert!(
        report.to_string().len() < 5_000,
        "the report repeats the input"
    );
    assert_eq!(
        project.get_task("1")["subject"].as_str().unwrap().len(),
        10 << 20,
        "imported tasks are kept unchanged"
    );
    assert_eq!(
        project.get_task("4")["metadata"]["a"]
            .as_str()
            .unwrap()
            .len(),
        1 << 20
    );
    project.run_ok("architect", &["task", "claim", "1"]);
    assert_eq!(project.list_task_ids("user", &["task", "list"]), ["1", "4"]);
}

on_both_stores!(
    task_subject_with_invalid_characters_is_refused,
    task_description_above_the_limit_is_refused,
    task_metadata_that_is_not_an_object_is_refused,
    task_id_that_is_not_decimal_is_refused,
    agent_id_with_invalid_characters_is_refused,
    huge_task_files_are_imported_or_reported,
);
