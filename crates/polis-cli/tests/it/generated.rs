//! Tests of generated output: completions, man pages and schemas; and of `doctor`.

use serde_json::Value;

use crate::board::{Board, bare_command, on_both_stores};

#[test]
fn completions_for_every_shell() {
    let board = Board::bare();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = bare_command(board.path())
            .args(["completions", shell])
            .output()
            .unwrap();
        assert!(output.status.success() && output.stderr.is_empty());
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(
            script.contains("polis") && script.contains("heartbeat"),
            "{shell}"
        );
        if shell == "bash" {
            let file = board.file("polis.bash");
            std::fs::write(&file, script).unwrap();
            let check = std::process::Command::new("bash")
                .arg("-n")
                .arg(&file)
                .status()
                .unwrap();
            assert!(check.success(), "bash does not read its completions");
        }
    }
}

#[test]
fn man_pages_for_every_command() {
    let board = Board::bare();
    let pages = board.file("man/man1");
    board.shown("user", &["man", pages.to_str().unwrap()]);
    for name in [
        "polis.1",
        "polis-task.1",
        "polis-task-claim.1",
        "polis-agent-add.1",
        "polis-init.1",
    ] {
        let page = std::fs::read_to_string(pages.join(name)).unwrap();
        assert!(page.contains(".TH") && page.contains(".SH NAME"), "{name}");
    }
}

#[test]
fn man_pages_answer_with_a_document_too() {
    let board = Board::bare();
    let pages = board.file("man1");
    assert!(
        board
            .ok("user", &["man", pages.to_str().unwrap()])
            .is_object()
    );
}

#[test]
fn schemas_are_json_schemas() {
    let board = Board::bare();
    for (what, property) in [
        ("task", "requiredRole"),
        ("agent", "supervisor"),
        ("event", "seq"),
        ("task-create", "taskType"),
        ("task-list", "roleFilter"),
        ("task-update", "forceAssign"),
        ("task-claim", "leaseMs"),
    ] {
        let schema = board.ok("user", &["schema", what]);
        assert!(
            schema["$schema"]
                .as_str()
                .unwrap()
                .contains("json-schema.org")
        );
        assert_eq!(schema["type"], "object");
        assert!(
            schema["properties"].get(property).is_some(),
            "{what} lacks {property}"
        );
        let pretty: Value = serde_json::from_str(&board.shown("user", &["schema", what])).unwrap();
        assert_eq!(pretty, schema);
    }
}

#[test]
fn help_and_version_need_no_board() {
    let board = Board::bare();
    let version = board.shown("user", &["--version"]);
    assert!(version.starts_with("polis "), "{version}");
    let help = board.shown("user", &["--help"]);
    assert!(
        help.contains("Exit codes: 0 ok") && help.contains("task"),
        "{help}"
    );
    assert!(!help.contains("demo-worker"), "hidden commands stay hidden");
    for path in [
        &["task"][..],
        &["task", "claim"],
        &["agent", "add"],
        &["watch"],
    ] {
        assert!(
            board
                .shown("user", &[path, &["--help"]].concat())
                .contains("Usage: polis")
        );
    }
}

fn the_doctor_finds_a_sound_board_sound(board: &Board) {
    board.create(&[]);
    let report = board.ok("user", &["doctor"]);
    assert_eq!(report["ok"], true);
    assert!(report["version"].is_string());
    let checks = report["checks"].as_array().unwrap();
    for name in [
        "directory",
        "configuration",
        "permissions",
        "store",
        "content",
    ] {
        let check = checks.iter().find(|c| c["name"] == name).unwrap();
        assert_eq!(check["ok"], true, "{check}");
    }
    let shown = board.shown("user", &["doctor"]);
    assert!(shown.contains("✓ store") && !shown.contains('✗'), "{shown}");
}

on_both_stores!(the_doctor_finds_a_sound_board_sound);

/// `git add -A` in a project adds none of polis's data.
#[test]
fn init_keeps_the_data_out_of_git_and_doctor_repairs_it() {
    let board = Board::bare();
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        let output = command.current_dir(board.path()).args(args).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    git(&["init", "-q"]);
    std::fs::write(board.file("README"), "hello").unwrap();
    board.ok("user", &["init"]);
    board.create(&[]);
    let untracked = || git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(untracked(), "?? README\n");
    // A project of an older version has no `.gitignore`.
    std::fs::remove_file(board.workspace(".gitignore")).unwrap();
    let warned = board.run("user", &["doctor"]);
    assert_eq!(warned.exit, Some(1), "{warned:?}");
    assert!(warned.stdout.contains("doctor --fix"), "{warned:?}");
    let fixed = board.ok("user", &["doctor", "--fix"]);
    assert_eq!(fixed["ok"], true, "{fixed}");
    assert_eq!(untracked(), "?? README\n");
    // Existing rules are kept and missing ones added: all data if there is no rule, else only the private data.
    for (mine, tracked) in [
        ("", ""),
        ("# mine\n", ""),
        ("polis.db*", "whiteboards/top-layer.md"),
    ] {
        std::fs::write(board.workspace(".gitignore"), mine).unwrap();
        board.ok("user", &["init"]);
        let warned = board.run("user", &["doctor"]);
        assert_eq!(warned.exit, Some(1), "{mine:?}: {warned:?}");
        board.put("top", "text\n");
        board.ok("user", &["doctor", "--fix"]);
        board.ok("user", &["doctor"]);
        let kept = std::fs::read_to_string(board.workspace(".gitignore")).unwrap();
        assert!(kept.starts_with(mine), "{mine:?}: {kept:?}");
        let untracked = untracked();
        assert!(!untracked.contains("polis.lock"), "{mine:?}: {untracked}");
        assert!(!untracked.contains(".locks"), "{mine:?}: {untracked}");
        assert!(untracked.contains(tracked), "{mine:?}: {untracked}");
    }
}
