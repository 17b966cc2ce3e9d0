//! Tests of the workspace file commands (`polis ws`): JSON output, refusals, limits, and log events.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::test_project::{CommandOutput, TestProject, on_both_stores};
use crate::workspace::workspace_access::register_bottom_agent;

/// SHA-256 of "hello".
const HELLO_SHA256: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

fn project_with_ada() -> TestProject {
    let project = TestProject::embedded();
    register_bottom_agent(&project, "ada", "");
    project
}

fn write_ada_file(project: &TestProject, path: &str, content: &str) {
    project.run_ok("ada", &["ws", "write", path, "--content", content]);
}

fn ada_file_path(project: &TestProject, path: &str) -> PathBuf {
    project.data_path("workspaces/ada").join(path)
}

fn ws_stdout_bytes(project: &TestProject, args: &[&str]) -> Vec<u8> {
    let output = project
        .command()
        .args(["--as", "ada", "ws"])
        .args(args)
        .output()
        .unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    output.stdout
}

fn file_commands_json_output_follows_the_contract(project: &TestProject) {
    register_bottom_agent(project, "ada", "");
    let write = ["ws", "write", "src/主.rs", "--content", "hello"];
    assert_eq!(
        project.run_ok("ada", &write),
        json!({"ok": true, "bytes": 5, "hash": HELLO_SHA256, "created": true})
    );
    assert_eq!(project.run_ok("ada", &write)["created"], false);
    assert_eq!(
        project.run_ok("ada", &["ws", "cat", "src/主.rs"]),
        json!({"content": "hello", "size": 5, "hash": HELLO_SHA256})
    );
    let src = json!({"name": "src", "type": "directory", "size": 0});
    assert_eq!(
        project.run_ok("ada", &["ws", "ls"]),
        json!({"files": [src]})
    );
    assert_eq!(
        project.run_ok("ada", &["ws", "ls", "."]),
        json!({"files": [src]})
    );
    assert_eq!(
        project.run_ok("ada", &["ws", "ls", "src"]),
        json!({"files": [{"name": "主.rs", "type": "file", "size": 5}]})
    );
    let deep = json!({"name": "src/主.rs", "type": "file", "size": 5});
    assert_eq!(
        project.run_ok("ada", &["ws", "ls", "--recursive"]),
        json!({"files": [src, deep]})
    );
    let edit = ["ws", "edit", "src/主.rs", "--old", "ll", "--new", "-"];
    let edited = project.run_ok("ada", &edit);
    assert_eq!(
        (&edited["ok"], &edited["replaced"], &edited["bytes"]),
        (&json!(true), &json!(1), &json!(4))
    );
    let done = json!({"ok": true});
    assert_eq!(project.run_ok("ada", &["ws", "mkdir", "a/b"]), done);
    assert_eq!(
        project.run_ok("ada", &["ws", "mv", "src/主.rs", "a/b/c.rs"]),
        done
    );
    let found = project.run_ok("ada", &["ws", "search", "^he-o$"]);
    assert_eq!(
        found,
        json!({"matches": [{"path": "a/b/c.rs", "line": 1, "text": "he-o"}], "filesSearched": 1})
    );
    let info = project.run_ok("ada", &["ws", "info"]);
    assert_eq!(
        info,
        json!({
            "fileCount": 1, "dirCount": 3, "totalSize": 4, "lastModified": info["lastModified"],
            "workspaceId": "ada",
        })
    );
    assert!(info["lastModified"].as_str().unwrap().ends_with('Z'));
    assert_eq!(
        project.run_ok("ada", &["ws", "rm", "a", "--recursive"]),
        done
    );
    assert_eq!(project.run_ok("ada", &["ws", "info"])["fileCount"], 0);
}

fn file_changes_are_logged_without_content(project: &TestProject) {
    register_bottom_agent(project, "ada", "");
    register_bottom_agent(project, "bob", "ada");
    let before = project.read_log().len();
    for args in [
        &["write", "a.txt", "--content", "secret"][..],
        &["edit", "a.txt", "--old", "secret", "--new", "hidden"],
        &["mkdir", "d"],
        &["mv", "a.txt", "d/b.txt"],
        &["rm", "d", "--recursive"],
    ] {
        project.run_ok("bob", &[&["ws"], args].concat());
    }
    project.run_ok("bob", &["ws", "ls"]);
    project.run_refused("bob", &["ws", "cat", "a.txt"], 4, "file_not_found");
    project.run_refused("bob", &["ws", "cat", "../x"], 3, "path_traversal_blocked");
    let log = project.read_log().split_off(before);
    let told: Vec<(&str, &Value)> = log
        .iter()
        .map(|event| (event["kind"].as_str().unwrap(), &event["data"]))
        .collect();
    let hash = |n: usize| &told[n].1["hash"];
    assert_eq!(
        told,
        [
            (
                "file.written",
                &json!({"path": "a.txt", "bytes": 6, "hash": hash(0), "created": true})
            ),
            (
                "file.edited",
                &json!({"path": "a.txt", "bytes": 6, "hash": hash(1), "replaced": 1})
            ),
            ("file.directory-made", &json!({"path": "d"})),
            ("file.moved", &json!({"path": "a.txt", "to": "d/b.txt"})),
            ("file.deleted", &json!({"path": "d", "recursive": true})),
            (
                "file.refused",
                &json!({"op": "read_file", "path": "../x", "code": "path_traversal_blocked"})
            ),
        ]
    );
    for event in &log {
        assert_eq!(
            (&event["actor"], &event["subject"]),
            (&json!("bob"), &json!("workspace/ada"))
        );
        assert!(!event.to_string().contains("secret") && !event.to_string().contains("hidden"));
    }
    let shown = project.run_text("user", &["log"]);
    assert!(
        shown.contains("file.written         workspace/ada  bob  a.txt"),
        "{shown}"
    );
}

#[test]
fn file_command_refusals_have_their_codes() {
    let project = project_with_ada();
    write_ada_file(&project, "a.txt", "one two one");
    write_ada_file(&project, "d/inside.txt", "x");
    std::fs::write(ada_file_path(&project, "binary"), b"\xff\xfe\0").unwrap();
    let wrong = "0".repeat(64);
    for (args, exit, code) in [
        (&["cat", "../../polis.db"][..], 3, "path_traversal_blocked"),
        (&["cat", "/etc/passwd"], 3, "path_traversal_blocked"),
        (&["cat", "d/../../x"], 3, "path_traversal_blocked"),
        (&["cat", "d/../a.txt"], 3, "path_traversal_blocked"),
        (&["cat", "a\\b"], 3, "path_traversal_blocked"),
        (&["cat", ""], 3, "path_traversal_blocked"),
        (&["ls", ".."], 3, "path_traversal_blocked"),
        (
            &["write", "../x", "--content", "x"],
            3,
            "path_traversal_blocked",
        ),
        (
            &["edit", "/x", "--old", "a", "--new", "b"],
            3,
            "path_traversal_blocked",
        ),
        (&["rm", ".."], 3, "path_traversal_blocked"),
        (&["mv", "a.txt", "../x"], 3, "path_traversal_blocked"),
        (&["mkdir", "/x"], 3, "path_traversal_blocked"),
        (&["search", "x", ".."], 3, "path_traversal_blocked"),
        (&["cat", "none"], 4, "file_not_found"),
        (&["ls", "none"], 4, "file_not_found"),
        (&["rm", "none"], 4, "file_not_found"),
        (&["mv", "none", "x"], 4, "file_not_found"),
        (
            &["edit", "none", "--old", "a", "--new", "b"],
            4,
            "file_not_found",
        ),
        (&["cat", "d"], 2, "is_a_directory"),
        (&["write", "d", "--content", "x"], 2, "is_a_directory"),
        (&["cat", "a.txt/x"], 2, "not_a_directory"),
        (&["ls", "a.txt"], 2, "not_a_directory"),
        (
            &["write", "a.txt/x", "--content", "x"],
            2,
            "not_a_directory",
        ),
        (&["mkdir", "a.txt"], 2, "not_a_directory"),
        (&["cat", "binary"], 2, "not_text"),
        (
            &["edit", "a.txt", "--old", "three", "--new", "b"],
            4,
            "text_not_found",
        ),
        (
            &["edit", "a.txt", "--old", "one", "--new", "b"],
            5,
            "text_not_unique",
        ),
        (
            &[
                "edit",
                "a.txt",
                "--old",
                "two",
                "--new",
                "b",
                "--expect-hash",
                &wrong,
            ],
            5,
            "hash_mismatch",
        ),
        (
            &["write", "a.txt", "--content", "x", "--expect-hash", &wrong],
            5,
            "hash_mismatch",
        ),
        (
            &["write", "a.txt", "--content", "x", "--create-only"],
            5,
            "file_exists",
        ),
        (&["mv", "a.txt", "d/inside.txt"], 5, "file_exists"),
        (&["rm", "d"], 5, "directory_not_empty"),
        (&["search", "("], 2, "invalid_pattern"),
        (&["cat", "a.txt", "--lines", "2-1"], 2, "invalid_input"),
        (&["cat", "a.txt", "--lines", "x"], 2, "invalid_input"),
        (&["cat", "a.txt", "--max-bytes", "-1"], 2, "invalid_input"),
        (&["write", "a.txt"], 2, "invalid_input"),
        (
            &["write", "a.txt", "--content-file", "none"],
            2,
            "invalid_input",
        ),
        (&["edit", "a.txt", "--old", "x"], 2, "invalid_input"),
    ] {
        project.run_refused("ada", &[&["ws"], args].concat(), exit, code);
    }
    // None of the refused commands changed anything.
    assert_eq!(
        project.run_ok("ada", &["ws", "cat", "a.txt"])["content"],
        "one two one"
    );
    assert_eq!(project.run_ok("ada", &["ws", "info"])["fileCount"], 3);
    // A name that contains dots is valid.
    write_ada_file(&project, "a..b.txt", "x");
    write_ada_file(&project, "[...slug].tsx", "x");
}

#[test]
fn hash_mismatch_names_the_current_hash() {
    let project = project_with_ada();
    write_ada_file(&project, "a", "hello");
    let wrong = "0".repeat(64);
    let args = [
        "ws",
        "write",
        "a",
        "--content",
        "x",
        "--expect-hash",
        &wrong,
    ];
    let answer = project.run_json("ada", &args);
    answer.expect_refusal(5, "hash_mismatch");
    let document: Value = serde_json::from_str(&answer.stderr).unwrap();
    assert_eq!(document["error"]["currentHash"], HELLO_SHA256);
    let args = [
        "ws",
        "write",
        "a",
        "--content",
        "x",
        "--expect-hash",
        HELLO_SHA256,
    ];
    project.run_ok("ada", &args);
}

#[test]
fn ws_cat_prints_exact_bytes() {
    let project = project_with_ada();
    let all: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    for content in [
        b"".as_slice(),
        b"no line end",
        b"a\r\nb\n",
        "\u{feff}长\0".as_bytes(),
        &all,
    ] {
        let source = project.project_path("content");
        std::fs::write(&source, content).unwrap();
        for by in ["file", "input"] {
            let written = match by {
                "file" => project.run_json(
                    "ada",
                    &[
                        "ws",
                        "write",
                        "x",
                        "--content-file",
                        source.to_str().unwrap(),
                    ],
                ),
                _ => project.run_json_with_stdin(
                    "ada",
                    &["ws", "write", "x", "--content", "-"],
                    content,
                ),
            };
            assert_eq!(written.expect_document()["bytes"], content.len());
            assert_eq!(
                std::fs::read(ada_file_path(&project, "x")).unwrap(),
                content
            );
            assert_eq!(ws_stdout_bytes(&project, &["cat", "x"]), content);
            project.run_ok("ada", &["ws", "rm", "x"]);
        }
    }
    // Also as an argument.
    let mut command = project.json_command("ada", &["ws", "write", "y", "--content"]);
    command.arg(OsStr::from_bytes(b"\xff-"));
    CommandOutput::from_output(command.output().unwrap()).expect_document();
    assert_eq!(ws_stdout_bytes(&project, &["cat", "y"]), b"\xff-");
    assert_eq!(
        project.run_ok("ada", &["ws", "cat", "y", "--base64"]),
        json!({
            "content": "/y0=", "encoding": "base64", "size": 2,
            "hash": project.run_ok("ada", &["ws", "cat", "y", "--base64"])["hash"],
        })
    );
}

#[test]
fn ws_cat_reads_line_and_byte_ranges() {
    let project = project_with_ada();
    write_ada_file(&project, "a", "一\n二\n三\n四\n");
    for (lines, content) in [
        ("2-3", "二\n三\n"),
        ("3-", "三\n四\n"),
        ("-1", "一\n"),
        ("4", "四\n"),
    ] {
        let part = project.run_ok("ada", &["ws", "cat", "a", "--lines", lines]);
        assert_eq!(part["content"], content, "{lines}");
        assert_eq!(
            ws_stdout_bytes(&project, &["cat", "a", "--lines", lines]),
            content.as_bytes()
        );
    }
    let part = project.run_ok("ada", &["ws", "cat", "a", "--max-bytes", "5"]);
    assert_eq!(
        (&part["content"], &part["truncated"]),
        (&json!("一\n"), &json!(true))
    );
    assert_eq!(
        ws_stdout_bytes(&project, &["cat", "a", "--max-bytes", "5"]),
        "一\n".as_bytes()
    );
}

#[test]
fn ws_search_honours_its_options() {
    let project = project_with_ada();
    write_ada_file(&project, "a.rs", "fn Main() {}\nmain()\n");
    write_ada_file(&project, "b.txt", "main.\n");
    write_ada_file(&project, "target/c.rs", "main\n");
    write_ada_file(&project, ".gitignore", "target/\n");
    let found = |args: &[&str]| -> Vec<String> {
        let found = project.run_ok("ada", &[&["ws", "search"], args].concat());
        let matches = found["matches"].as_array().unwrap();
        let text = |m: &Value| format!("{}:{}", m["path"].as_str().unwrap(), m["line"]);
        matches.iter().map(text).collect()
    };
    assert_eq!(found(&["main"]), ["a.rs:2", "b.txt:1"]);
    assert_eq!(
        found(&["main", "--ignore-case"]),
        ["a.rs:1", "a.rs:2", "b.txt:1"]
    );
    assert_eq!(
        found(&["main", "--all"]),
        ["a.rs:2", "b.txt:1", "target/c.rs:1"]
    );
    assert_eq!(found(&["main", "--glob", "*.rs"]), ["a.rs:2"]);
    assert_eq!(found(&["main", "--glob", "!*.rs"]), ["b.txt:1"]);
    assert_eq!(found(&["main.", "--fixed"]), ["b.txt:1"]);
    assert_eq!(found(&["main", "--limit", "1"]), ["a.rs:2"]);
    assert_eq!(found(&["main", "target", "--all"]), ["target/c.rs:1"]);
    assert_eq!(found(&["-v"]), Vec::<String>::new());
    assert_eq!(
        project.run_text("ada", &["ws", "search", "main"]),
        "a.rs:2: main()\nb.txt:1: main.\n"
    );
    assert_eq!(
        project.run_text("ada", &["ws", "search", "none"]),
        "No match in 2 files.\n"
    );
}

#[test]
fn file_commands_in_text_mode_confirm_the_change() {
    let project = project_with_ada();
    for (args, said) in [
        (
            &["write", "a", "--content", "x"][..],
            "Wrote 1 B to a, a new file.\n",
        ),
        (&["write", "a", "--content", "aa"], "Wrote 2 B to a.\n"),
        (
            &["edit", "a", "--old", "a", "--new", "b", "--all"],
            "Replaced 2 occurrences in a.\n",
        ),
        (&["mkdir", "d"], "Created d.\n"),
        (&["ls", "d"], "The directory is empty.\n"),
        (&["mv", "a", "d/a"], "Moved a to d/a.\n"),
        (&["rm", "d/a"], "Deleted d/a.\n"),
    ] {
        assert_eq!(project.run_text("ada", &[&["ws"], args].concat()), said);
    }
}

#[test]
fn workspace_quota_and_read_limit_follow_the_configuration() {
    let project = project_with_ada();
    let set = "[workspaces]\nquota = \"10KiB\"\nmax_read = \"1KiB\"\n";
    std::fs::write(project.data_path("polis.toml"), set).unwrap();
    let long = "x".repeat(2_000);
    write_ada_file(&project, "a", &long);
    project.run_refused("ada", &["ws", "cat", "a"], 2, "file_too_large");
    project.run_ok("ada", &["ws", "cat", "a", "--max-bytes", "10"]);
    let longer = "x".repeat(9_000);
    project.run_refused(
        "ada",
        &["ws", "write", "b", "--content", &longer],
        5,
        "quota_exceeded",
    );
    assert!(!ada_file_path(&project, "b").exists());
    write_ada_file(&project, "a", &longer);
    project.run_refused(
        "ada",
        &["ws", "write", "c", "--content", &long],
        5,
        "quota_exceeded",
    );
}

#[test]
fn file_content_above_the_limit_is_refused_not_truncated() {
    let project = project_with_ada();
    let long = vec![b'x'; (64 << 20) + 1];
    let answer = project.run_json_with_stdin("ada", &["ws", "write", "x", "--content", "-"], &long);
    answer.expect_refusal(2, "file_too_large");
    assert!(!ada_file_path(&project, "x").exists());
}

#[test]
fn file_change_without_log_entry_is_reported() {
    let project = project_with_ada();
    write_ada_file(&project, "a", "1");
    // The log is in the database; the workspace is in another directory.
    project.run_ok("ada", &["ws", "bind", "elsewhere", "--force"]);
    let database = project.data_path("polis.db");
    let sql = "CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(FAIL, 'no'); END";
    rusqlite::Connection::open(database)
        .unwrap()
        .execute_batch(sql)
        .unwrap();
    let written = project.run_ok("ada", &["ws", "write", "b", "--content", "2"]);
    assert_eq!(
        (&written["ok"], &written["logged"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(
        std::fs::read_to_string(project.project_path("elsewhere/b")).unwrap(),
        "2"
    );
    let mut command = project.command();
    command.args(["--as", "ada", "ws", "rm", "b"]);
    let answer = CommandOutput::from_output(command.output().unwrap());
    assert_eq!(
        (answer.exit_code, answer.stdout.as_str()),
        (Some(0), "Deleted b.\n")
    );
    assert!(answer.stderr.contains("could not be logged"), "{answer:?}");
}

on_both_stores!(
    file_commands_json_output_follows_the_contract,
    file_changes_are_logged_without_content,
);
