//! Tests of task import: lossless, repairing, repeatable and atomic.

use serde_json::json;

use crate::board::{Board, on_both_stores};
use crate::task_files::{TaskFiles, exported, read, told};

/// A task list in Claude Code's format: lock file, high-water mark, additional fields.
fn claude_code(board: &Board) -> TaskFiles {
    let files = TaskFiles::new(board, "list");
    files
        .write(".lock", "")
        .write(".highwatermark", "41\n")
        .write("README.md", "not a task")
        .task(1, &json!({"activeForm": "Designing", "status": "completed", "blocks": ["2"], "owner": "architect"}))
        .task(2, &json!({"blockedBy": ["1"], "metadata": {"priority": "high", "_internal": true}}))
        .task(5, &json!({"requiredRole": "backend-leader", "taskType": "bug_fix", "version": 7}));
    files
}

fn a_claude_code_list_comes_in_whole(board: &Board) {
    let files = claude_code(board);
    let report = files.import(board);
    assert_eq!(report["imported"], 3);
    assert_eq!(
        (&report["repaired"], &report["skipped"]),
        (&json!([]), &json!([]))
    );
    assert_eq!(board.listed("user", &["task", "list"]), ["1", "2", "5"]);
    assert_eq!(
        board.listed("user", &["task", "ready"]),
        ["2", "5"],
        "what is done blocks nobody"
    );
    assert_eq!(board.get("5")["version"], 7);
    assert_eq!(
        board.create(&[]),
        "42",
        "numbers go on above the high-water mark"
    );
    let kinds: Vec<_> = board
        .log()
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

fn a_repeat_changes_nothing(board: &Board) {
    let files = claude_code(board);
    files.task(6, &json!({"blocks": ["5", "99"]}));
    files.import(board);
    let before = (board.log().len(), exported(board, "before"));
    let again = files.import(board);
    assert_eq!(
        (again["imported"].as_u64(), again["unchanged"].as_u64()),
        (Some(0), Some(4))
    );
    assert_eq!(again["skipped"], json!([]));
    assert_eq!((board.log().len(), exported(board, "after")), before);
}

fn what_comes_in_goes_out_again(board: &Board) {
    let files = claude_code(board);
    files.task(
        9,
        &json!({
            "createdAt": "2026-02-15T08:00:00+08:00", "updatedAt": "2026-02-15T00:00:00.123456Z",
            "tags": ["a", {"b": null}], "x-other": {"deep": [[[1.5]]]}, "startedAt": "2026-02-15T00:00:00Z",
        }),
    );
    files.import(board);
    std::fs::remove_file(files.0.join("README.md")).unwrap();
    let mut expected = read(&files.0);
    // Defaults are written explicitly (source document 004, §2.3); everything else is unchanged.
    for task in expected.values_mut() {
        if task.get("version").is_none() {
            task["version"] = json!(1);
        }
    }
    assert_eq!(exported(board, "out"), expected);
}

fn numbers_and_keys_are_kept_to_the_letter(board: &Board) {
    let files = TaskFiles::new(board, "list");
    files.write(
        "1.json",
        r#"{"id":"1","subject":"x","description":"","status":"pending","zz":{"n":12345678901234567890123,"f":1.50,"e":1E400},
            "metadata":{"b":98765432109876543210,"a":"\u0041\/"},"名字":"值"}"#,
    );
    files.import(board);
    let answer = board.run("user", &["task", "get", "1"]);
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
        let answer = board.run("user", args);
        assert_eq!((answer.exit, answer.stderr.as_str()), (Some(0), ""));
    }
    board.ok(
        "user",
        &["task", "export", board.file("out").to_str().unwrap()],
    );
    let text = std::fs::read_to_string(board.file("out/1.json")).unwrap();
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

fn an_export_moves_to_another_board_whole(board: &Board) {
    board.create(&["--metadata", r#"{"big":123456789012345678901}"#]);
    board.create(&["--add-blocked-by", "1", "--required-role", "architect"]);
    board.create(&[]);
    board.ok("architect", &["task", "claim", "1", "--lease", "1h"]);
    board.ok("architect", &["task", "comment", "1", "--body", "@user 看"]);
    board.ok(
        "user",
        &["task", "comment", "1", "--body", "好", "--reply-to", "1"],
    );
    board.ok("user", &["task", "delete", "3"]);
    let first = exported(board, "out");
    assert_eq!(first["1.json"]["comments"].as_array().unwrap().len(), 2);
    let other = Board::embedded();
    let out = board.file("out");
    let report = other.ok(
        "user",
        &["task", "import", out.to_str().unwrap(), "--strict"],
    );
    assert_eq!(report["imported"], 3);
    assert_eq!(exported(&other, "out"), first);
    assert_eq!(
        other.ok("user", &["task", "comments", "1"]),
        board.ok("user", &["task", "comments", "1"])
    );
    assert_eq!(
        other.create(&[]),
        "4",
        "a deleted task's number is not given out again"
    );
    other.refused("architect", &["task", "claim", "2"], 5, "task_blocked");
}

/// Task files with one error of each kind.
fn faulty(board: &Board) -> TaskFiles {
    let files = TaskFiles::new(board, "faulty");
    files
        .task(1, &json!({"blocks": ["2", "9"]}))
        .task(2, &json!({}))
        .task(4, &json!({"blocks": ["5"], "blockedBy": ["5"]}))
        .task(5, &json!({"blocks": ["4", "5", "4"]}))
        .write(
            "3.json",
            r#"{"id":"2","subject":"twice","description":"","status":"pending"}"#,
        )
        .write("6.json", r#"{"id":"6","subj"#)
        .write("7.json", "[1,2]")
        .write(
            "8.json",
            r#"{"id":8,"subject":"a number","createdAt":"yesterday","blockedBy":["x"]}"#,
        )
        .write("10.json", r#"{"id":"10","subject":"x","status":"blocked"}"#)
        .write(
            "11.json",
            r#"{"id":"eleven","subject":"x","status":"pending"}"#,
        )
        .write(
            "12.json",
            b"{\"id\":\"12\",\"subject\":\"\xff\",\"status\":\"pending\"}",
        )
        .write("13.json", r#"{"subject":"no id","status":"pending"}"#)
        .write("14.json", r#"{"id":"14","status":"pending"}"#)
        .write("15.json", "")
        .write(
            "16.json",
            r#"{"id":"16","subject":"nul\u0000","status":"pending"}"#,
        );
    std::fs::create_dir(files.0.join("17.json")).unwrap();
    files
}

fn faults_are_repaired_or_left_out_and_told(board: &Board) {
    let files = faulty(board);
    let report = files.import(board);
    let repaired = told(&report["repaired"], "what");
    for (file, word) in [
        ("1.json", "9"),
        ("2.json", "blockedBy lacked 1"),
        ("3.json", "given twice"),
        ("4.json", "circle"),
        ("5.json", "itself"),
        ("5.json", "twice"),
        ("8.json", "\"8\""),
        ("8.json", "createdAt"),
        ("8.json", "no status"),
        ("8.json", "no task id"),
        ("13.json", "file name"),
    ] {
        let found = repaired
            .iter()
            .any(|r| r.starts_with(&format!("{file}: ")) && r.contains(word));
        assert!(found, "no repair of {file} with {word:?} in {repaired:#?}");
    }
    let skipped: Vec<String> = told(&report["skipped"], "why")
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
    assert_eq!(board.get("1")["blocks"], json!(["2"]));
    assert_eq!(board.get("2")["blockedBy"], json!(["1"]));
    assert_eq!(
        board.get("2")["subject"],
        "task 2",
        "the file named by the number keeps it"
    );
    let circle: usize = ["4", "5"]
        .map(|id| board.get(id)["blocks"].as_array().unwrap().len())
        .iter()
        .sum();
    assert_eq!(circle, 1, "one edge of the circle is left");
    let again = files.import(board);
    assert_eq!(
        (again["imported"].as_u64(), again["unchanged"].as_u64()),
        (Some(0), Some(7))
    );
    assert_eq!(again["repaired"], report["repaired"]);
}

fn strict_changes_nothing(board: &Board) {
    let files = faulty(board);
    files.write(".highwatermark", "99");
    let refused = board.refused(
        "user",
        &["task", "import", files.name(), "--strict"],
        2,
        "import_faults",
    );
    assert!(
        refused.message.contains("nothing was imported"),
        "{refused:?}"
    );
    assert!(refused.message.contains("6.json"), "{refused:?}");
    assert!(board.listed("user", &["task", "list"]).is_empty());
    assert!(board.log().is_empty());
    assert_eq!(board.create(&[]), "1");
}

fn a_task_that_is_there_differently_stays(board: &Board) {
    board.ok("user", &["task", "create", "--subject", "ours"]);
    let files = TaskFiles::new(board, "list");
    files
        .task(1, &json!({"blocks": ["2"]}))
        .task(2, &json!({"blockedBy": ["1"]}));
    let report = files.import(board);
    assert_eq!(report["imported"], 1);
    assert!(
        told(&report["skipped"], "why")[0].contains("other content"),
        "{report}"
    );
    let ours = board.get("1");
    assert_eq!(
        (ours["subject"].as_str(), &ours["blocks"]),
        (Some("ours"), &json!([]))
    );
    assert_eq!(
        board.get("2")["blockedBy"],
        json!([]),
        "no edge with one side"
    );
    assert_eq!(board.listed("user", &["task", "ready"]), ["1", "2"]);
    let strict = ["task", "import", files.name(), "--strict"];
    board.refused("user", &strict, 2, "import_faults");
}

fn importing_is_for_the_lead(board: &Board) {
    let files = claude_code(board);
    board.refused(
        "architect",
        &["task", "import", files.name()],
        3,
        "permission_denied",
    );
    board.ok("team-lead", &["task", "import", files.name()]);
    board.refused(
        "user",
        &["task", "import", board.file("nowhere").to_str().unwrap()],
        2,
        "invalid_input",
    );
    let file = files.0.join("1.json");
    board.refused(
        "user",
        &["task", "import", file.to_str().unwrap()],
        2,
        "invalid_input",
    );
    board.refused(
        "user",
        &["task", "export", file.to_str().unwrap()],
        2,
        "invalid_input",
    );
    let empty = TaskFiles::new(board, "empty");
    assert_eq!(empty.import(board)["imported"], 0);
}

fn a_long_list_is_one_document(board: &Board) {
    let files = TaskFiles::new(board, "list");
    for id in 1..=2_500 {
        files.task(id, &json!({}));
    }
    assert_eq!(files.import(board)["imported"], 2_500);
    let numbers = board.listed("user", &["task", "list"]);
    let expected: Vec<String> = (1..=2_500).map(|id| id.to_string()).collect();
    assert_eq!(numbers, expected);
    let page = board.ok("user", &["task", "list", "--limit", "1500"]);
    assert_eq!(page["tasks"].as_array().unwrap().len(), 1_500);
    assert_eq!(page["next"], "1500");
    assert_eq!(board.log().len(), 2_500);
}

on_both_stores!(
    a_long_list_is_one_document,
    a_claude_code_list_comes_in_whole,
    a_repeat_changes_nothing,
    what_comes_in_goes_out_again,
    numbers_and_keys_are_kept_to_the_letter,
    an_export_moves_to_another_board_whole,
    faults_are_repaired_or_left_out_and_told,
    strict_changes_nothing,
    a_task_that_is_there_differently_stays,
    importing_is_for_the_lead,
);
