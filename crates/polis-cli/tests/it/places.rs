//! Tests of project discovery: `init`, the upward search, flags and environment.

use std::os::unix::fs::PermissionsExt as _;

use crate::board::{Answer, Board, bare_command, on_both_stores};

fn answer(command: &mut std::process::Command) -> Answer {
    Answer::of(command.output().unwrap())
}

#[test]
fn init_names_the_directory_and_the_language() {
    let board = Board::bare();
    let made = board.ok("user", &["init"]);
    let here = board.path().canonicalize().unwrap();
    assert_eq!(made["dir"], here.to_str().unwrap());
    assert_eq!(made["language"], "en");
    for name in ["polis.db", "polis.toml"] {
        assert!(board.workspace(name).is_file(), "{name}");
    }
    let mode = board.workspace("").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "others may look into the workspace");
}

fn init_twice_is_harmless(board: &Board) {
    let id = board.create(&[]);
    let before = std::fs::read(board.workspace("polis.toml")).unwrap();
    let again = board.ok("user", &["init", "--lang", "zh"]);
    assert_eq!(again["language"], "en", "the language that is set stays");
    assert_eq!(
        std::fs::read(board.workspace("polis.toml")).unwrap(),
        before
    );
    assert_eq!(board.listed("user", &["task", "list"]), [id]);
}

fn init_at_the_same_moment_by_many_makes_one_board(like: &Board) {
    let board = like.bare_like();
    let children: Vec<_> = (0..8)
        .map(|_| crate::board::start(&mut board.json_command("user", &["init"])))
        .collect();
    for child in children {
        crate::board::finish(child).document();
    }
    assert_eq!(board.create(&[]), "1");
}

#[test]
fn the_language_comes_from_the_flag_or_the_locale() {
    for (locale, flag, expected) in [
        (Some("zh_CN.UTF-8"), None, "zh"),
        (Some("de_DE.UTF-8"), None, "en"),
        (None, Some("zh"), "zh"),
        (Some("zh_CN.UTF-8"), Some("en"), "en"),
    ] {
        let board = Board::bare();
        let mut command = board.command();
        command.args(["--json", "init"]);
        if let Some(locale) = locale {
            command.env("LANG", locale);
        }
        if let Some(flag) = flag {
            command.args(["--lang", flag]);
        }
        assert_eq!(answer(&mut command).document()["language"], expected);
    }
}

#[test]
fn the_board_is_found_upward() {
    let board = Board::embedded();
    let below = board.file("src/deep/below");
    std::fs::create_dir_all(&below).unwrap();
    let made = answer(bare_command(&below).args(["--json", "task", "create", "--subject", "x"]));
    assert_eq!(made.document()["id"], "1");
    assert!(!below.join(".agent-workspace").exists());
    assert_eq!(board.listed("user", &["task", "list"]), ["1"]);
}

#[test]
fn without_a_board_every_command_says_how_to_begin() {
    let board = Board::bare();
    for args in [
        &["task", "list"][..],
        &["task", "create", "--subject", "x"],
        &["agent", "list"],
        &["log"],
        &["stats"],
        &["config", "show"],
    ] {
        let refused = board.refused("user", args, 4, "not_initialized");
        assert!(refused.hint.contains("polis init"), "{refused:?}");
    }
    let doctor = board.run("user", &["doctor"]);
    assert_eq!(doctor.exit, Some(1));
    let report: serde_json::Value = serde_json::from_str(&doctor.stdout).unwrap();
    assert_eq!(report["ok"], false);
    assert!(std::fs::read_dir(board.path()).unwrap().next().is_none());
}

fn flags_stand_before_and_after_the_command(board: &Board) {
    let elsewhere = tempfile::tempdir().unwrap();
    let dir = board.path().to_str().unwrap();
    let store = board.store_flags();
    let run = |args: &[&str]| answer(bare_command(elsewhere.path()).args(&store).args(args));
    let first = [
        "--dir",
        dir,
        "--as",
        "architect",
        "--json",
        "task",
        "create",
        "--subject",
        "a",
    ];
    let last = [
        "task",
        "create",
        "--subject",
        "a",
        "--dir",
        dir,
        "--as",
        "architect",
        "--json",
    ];
    let mixed = [
        "--json",
        "task",
        "--as",
        "architect",
        "create",
        "--subject=a",
        "--dir",
        dir,
    ];
    for args in [&first[..], &last, &mixed] {
        let task = run(args).document();
        assert_eq!(task["version"], 1);
    }
    let log = board.log();
    assert_eq!(log.len(), 3);
    assert!(log.iter().all(|event| event["actor"] == "architect"));
}

#[test]
fn the_environment_speaks_where_no_flag_does() {
    let board = Board::embedded();
    let other = Board::embedded();
    let elsewhere = tempfile::tempdir().unwrap();
    let create = ["--json", "task", "create", "--subject", "x"];
    let with = |name: &str, value: &std::path::Path| {
        let mut command = bare_command(elsewhere.path());
        command
            .env(name, value)
            .env("POLIS_AGENT", "architect")
            .args(create);
        command
    };
    assert_eq!(
        answer(&mut with("POLIS_DIR", board.path())).document()["id"],
        "1"
    );
    assert_eq!(
        answer(&mut with("POLIS_STORE", board.path())).document()["id"],
        "2"
    );
    let mut flagged = with("POLIS_DIR", board.path());
    flagged
        .arg("--dir")
        .arg(other.path())
        .args(["--as", "test-leader"]);
    assert_eq!(answer(&mut flagged).document()["id"], "1");
    assert_eq!(board.log().last().unwrap()["actor"], "architect");
    assert_eq!(other.log()[0]["actor"], "test-leader");
}

#[test]
fn the_workspace_itself_may_be_named() {
    let board = Board::embedded();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut command = bare_command(elsewhere.path());
    command
        .arg("--dir")
        .arg(board.workspace(""))
        .args(["--json", "task", "list"]);
    assert_eq!(
        answer(&mut command).document()["next"],
        serde_json::Value::Null
    );
}

#[test]
fn a_directory_that_is_not_there_is_not_found() {
    let board = Board::embedded();
    board.refused(
        "user",
        &["task", "list", "--dir", "nowhere"],
        4,
        "not_initialized",
    );
}

fn the_store_may_be_named_in_the_configuration(board: &Board) {
    let url = board.store_flags().pop().unwrap_or_default();
    std::fs::write(board.workspace("polis.toml"), format!("store = {url:?}\n")).unwrap();
    let mut command = bare_command(board.path());
    command.args(["--json", "task", "create", "--subject", "x"]);
    assert_eq!(answer(&mut command).document()["id"], "1");
    assert_eq!(board.listed("user", &["task", "list"]), ["1"]);
}

#[test]
fn a_server_that_cannot_be_reached_is_told_without_the_password() {
    let board = Board::embedded();
    std::fs::write(board.workspace("polis.toml"), "patience = \"100ms\"\n").unwrap();
    let url = "postgres://ada:s3cret@127.0.0.1:1/polis";
    for args in [&["task", "list"][..], &["task", "create", "--subject", "x"]] {
        let mut command = bare_command(board.path());
        command
            .args(["--json", "--verbose", "--store", url])
            .args(args);
        let said = answer(&mut command);
        assert_eq!((said.exit, said.stdout.as_str()), (Some(1), ""));
        assert!(said.stderr.contains("store_unavailable"), "{said:?}");
        assert!(!said.stderr.contains("s3cret"), "{said:?}");
    }
    for bad in [
        "postgres://ada:s3cret@127.0.0.1:99999999/x",
        "postgres://h/x?s3cret=1",
    ] {
        let mut command = bare_command(board.path());
        command.args(["--json", "--store", bad, "task", "list"]);
        let said = answer(&mut command);
        assert!(
            said.exit.is_some_and(|exit| exit == 1 || exit == 2),
            "{said:?}"
        );
        assert!(!said.stderr.contains("ada:s3cret"), "{said:?}");
    }
}

on_both_stores!(
    init_twice_is_harmless,
    init_at_the_same_moment_by_many_makes_one_board,
    flags_stand_before_and_after_the_command,
    the_store_may_be_named_in_the_configuration,
);
