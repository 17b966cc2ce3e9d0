//! Tests of invalid, huge or hostile input: a clear refusal, the documented exit code, and no change.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use serde_json::json;

use crate::board::{Answer, Board, on_both_stores};
use crate::task_files::TaskFiles;

fn subjects_are_one_clean_line(board: &Board) {
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
        let refused = board.refused("user", &create, 2, "invalid_subject");
        assert!(refused.message.len() < 500, "the message repeats the input");
        assert!(!refused.message.contains('\u{1b}'), "{refused:?}");
    }
    let longest = "长".repeat(1_000);
    board.ok("user", &["task", "create", "--subject", &longest]);
    for bad in ["", "a\nb", &long] {
        board.refused(
            "user",
            &["task", "update", "1", "--subject", bad],
            2,
            "invalid_subject",
        );
    }
    let form = ["task", "update", "1", "--active-form", "a\u{1}b"];
    board.refused("user", &form, 2, "invalid_subject");
    assert_eq!(board.get("1")["version"], 1);
}

fn descriptions_have_a_limit(board: &Board) {
    let create = ["task", "create", "--subject", "x", "--description", "-"];
    let most = "y".repeat(1 << 20);
    let task = board.run_with("user", &create, most.as_bytes()).document();
    assert_eq!(task["description"].as_str().unwrap().len(), 1 << 20);
    let over = "y".repeat(10 << 20);
    let answer = board.run_with("user", &create, over.as_bytes());
    let refused = answer.refusal(2, "invalid_text");
    assert!(refused.message.contains("10485760 bytes"), "{refused:?}");
    let answer = board.run_with("user", &create, b"nul \0 here");
    answer.refusal(2, "invalid_text");
    assert_eq!(board.listed("user", &["task", "list"]), ["1"]);
}

fn metadata_is_a_json_object(board: &Board) {
    board.create(&[]);
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
            let refused = board
                .run_with("user", args, bad.as_bytes())
                .refusal(2, "invalid_metadata");
            assert!(
                refused.message.starts_with("Invalid metadata"),
                "{refused:?}"
            );
            assert!(refused.message.len() < 500, "the message repeats the input");
        }
    }
    let fits = format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
    board
        .run_with(
            "user",
            &["task", "update", "1", "--metadata", "-"],
            fits.as_bytes(),
        )
        .document();
    assert_eq!(board.get("1")["version"], 2);
}

fn task_numbers_are_decimal(board: &Board) {
    board.create(&[]);
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
            let refused = board.refused("user", args, 2, "invalid_task_id");
            assert!(
                refused.message.starts_with("Invalid task id: \""),
                "{refused:?}"
            );
        }
    }
    let answer = board.run("user", &["task", "get", "-1"]);
    answer.refusal(2, "invalid_input");
    board.refused(
        "user",
        &["task", "get", "9223372036854775807"],
        4,
        "task_not_found",
    );
    board.refused(
        "user",
        &["task", "get", "9223372036854775808"],
        2,
        "invalid_task_id",
    );
}

fn agents_names_are_checked(board: &Board) {
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
        let mut command = board.command();
        command
            .arg("--json")
            .arg(format!("--as={bad}"))
            .args(["task", "list"]);
        let refused = Answer::of(command.output().unwrap()).refusal(2, "invalid_agent_id");
        assert!(!refused.message.contains('\u{1b}'), "{refused:?}");
    }
    let quoted = "x'; drop table tasks; --";
    board.ok("user", &["task", "create", "--subject", quoted]);
    assert_eq!(board.get("1")["subject"], quoted);
    assert!(
        board
            .listed("user", &["task", "list", "--owner", quoted])
            .is_empty()
    );
}

#[test]
fn usage_errors_are_documents_too() {
    let board = Board::embedded();
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
        board.refused("user", args, 2, "invalid_input");
    }
    let answer = Answer::of(
        board
            .command()
            .args(["task", "list", "--frobnicate"])
            .output()
            .unwrap(),
    );
    assert_eq!((answer.exit, answer.stdout.as_str()), (Some(2), ""));
    assert!(answer.stderr.contains("--frobnicate"), "{answer:?}");
}

#[test]
fn a_missing_command_is_a_document_too() {
    let board = Board::embedded();
    for args in [&["task"][..], &[], &["agent"], &["config"]] {
        board.refused("user", args, 2, "invalid_input");
    }
}

#[test]
fn arguments_that_are_not_utf8_are_refused() {
    let board = Board::embedded();
    let broken = OsStr::from_bytes(b"a\xff\xfeb");
    for args in [
        ["task", "create", "--subject"].map(OsStr::new),
        ["task", "list", "--owner"].map(OsStr::new),
        ["task", "list", "--as"].map(OsStr::new),
    ] {
        let mut command = board.command();
        command.arg("--json").args(args).arg(broken);
        Answer::of(command.output().unwrap()).refusal(2, "invalid_input");
    }
    let mut command = board.command();
    command
        .env("POLIS_AGENT", broken)
        .args(["--json", "task", "list"]);
    Answer::of(command.output().unwrap()).refusal(2, "invalid_input");
    // A directory may have such a name.
    let directory = board.path().join(broken);
    std::fs::create_dir(&directory).unwrap();
    let mut command = board.command();
    command.current_dir(&directory).args(["--json", "init"]);
    assert_eq!(Answer::of(command.output().unwrap()).exit, Some(0));
    assert!(directory.join(".agent-workspace/polis.db").is_file());
}

fn huge_task_files_are_taken_or_told(board: &Board) {
    let files = TaskFiles::new(board, "huge");
    let ten = "s".repeat(10 << 20);
    files
        .task(1, &json!({"subject": ten}))
        .task(2, &json!({"description": "d".repeat(17 << 20)}))
        .write(
            "3.json",
            format!(
                "{{\"id\":\"3\",\"subject\":\"deep\",\"status\":\"pending\",\"x\":{}{}}}",
                "[".repeat(200_000),
                "]".repeat(200_000)
            ),
        )
        .task(4, &json!({"metadata": {"a": "m".repeat(1 << 20)}}));
    let report = files.import(board);
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
        board.get("1")["subject"].as_str().unwrap().len(),
        10 << 20,
        "others' tasks are kept as they are"
    );
    assert_eq!(
        board.get("4")["metadata"]["a"].as_str().unwrap().len(),
        1 << 20
    );
    board.ok("architect", &["task", "claim", "1"]);
    assert_eq!(board.listed("user", &["task", "list"]), ["1", "4"]);
}

on_both_stores!(
    subjects_are_one_clean_line,
    descriptions_have_a_limit,
    metadata_is_a_json_object,
    task_numbers_are_decimal,
    agents_names_are_checked,
    huge_task_files_are_taken_or_told,
);
