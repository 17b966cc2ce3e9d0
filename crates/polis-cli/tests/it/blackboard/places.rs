//! Tests of where a blackboard is located: in a project, or in a directory of its own outside a project.

use std::path::Path;
use std::process::Command;

use super::PM;
use crate::board::{Answer, BLACKBOARD, Board, bare_program};

const WRITE: [&str; 6] = [
    "write",
    "shared/context.md",
    "--mode",
    "overwrite",
    "--content",
    "one",
];
const READ: [&str; 2] = ["read", "shared/context.md"];

fn run(command: &mut Command) -> Answer {
    Answer::of(command.output().unwrap())
}

fn blackboard(directory: &Path) -> Command {
    let mut command = bare_program(BLACKBOARD, directory);
    command.args(["--as", PM]);
    command
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The location that the source document of the blackboard names is used if nothing else is named and no project is
/// found.
#[test]
fn blackboard_in_the_home_directory_is_found_without_a_project() {
    let bare = Board::bare();
    let (here, home) = (bare.file("here"), bare.file("home"));
    let files = home.join("clawos/blackboard");
    std::fs::create_dir(&here).unwrap();
    let in_home = |args: &[&str]| run(blackboard(&here).env("HOME", &home).args(args));
    let missing = in_home(&READ);
    assert_eq!(missing.exit, Some(4), "{missing:?}");
    assert!(missing.stderr.starts_with("404 NOT_FOUND"), "{missing:?}");
    std::fs::create_dir_all(files.join("tasks/123")).unwrap();
    std::fs::write(files.join("tasks/123/status.md"), "done").unwrap();
    let read = in_home(&["read", "tasks/123/status.md"]);
    assert_eq!(
        (read.exit, read.stdout.as_str()),
        (Some(0), "done"),
        "{read:?}"
    );
    in_home(&WRITE).done();
    let file = files.join("shared/context.md");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "one");
    assert_eq!(names(&here), [""; 0], "nothing is left where it was called");
    // A store that is named explicitly wins.
    let store = bare.file("elsewhere");
    let store = store.to_str().unwrap();
    let typed = in_home(&["read", "tasks/123/status.md", "--store", store]);
    let mut command = blackboard(&here);
    let named = command.env("HOME", &home).env("POLIS_STORE", store);
    let named = run(named.args(["read", "tasks/123/status.md"]));
    for answer in [typed, named] {
        assert_ne!(answer.exit, Some(0), "{answer:?}");
        assert_eq!(answer.stdout, "", "{answer:?}");
    }
    // A project around the current directory has its own blackboard.
    let project = Board::embedded();
    let mut command = blackboard(project.path());
    let own = run(command
        .env("HOME", &home)
        .args(["read", "tasks/123/status.md"]));
    assert_eq!(own.exit, Some(4), "{own:?}");
}

#[test]
fn a_home_of_its_own_needs_no_init() {
    let bare = Board::bare();
    let (here, home) = (bare.file("here"), bare.file("clawos"));
    std::fs::create_dir(&here).unwrap();
    let files = home.join("blackboard");
    run(blackboard(&here).env("CLAWOS_HOME", &home).args(WRITE)).done();
    let file = files.join("shared/context.md");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
    assert_eq!(names(&here), [""; 0], "nothing is left where it was called");
    assert_eq!(names(&files), ["shared"], "the store is beside the files");
    for mut command in [
        {
            let mut c = blackboard(&here);
            c.env("CLAWOS_HOME", &home).args(READ);
            c
        },
        {
            let mut c = blackboard(&here);
            c.env("CLAWOS_HOME", &files).args(READ);
            c
        },
        {
            let mut c = blackboard(&here);
            c.arg("--root").arg(&home).args(READ);
            c
        },
        {
            let mut c = blackboard(&here);
            c.args(READ).arg("--root").arg(&files);
            c
        },
        {
            let mut c = blackboard(&here);
            c.args(READ).args(["--root", "../clawos/"]);
            c
        },
        {
            let mut c = blackboard(&home);
            c.args(READ).args(["--root", "."]);
            c
        },
        {
            let mut c = blackboard(&home);
            c.args(READ).args(["--root", "blackboard"]);
            c
        },
        {
            let mut c = bare_program(crate::board::POLIS, &here);
            c.arg("blackboard").args(READ).arg("--root").arg(&home);
            c
        },
    ] {
        assert_eq!(run(&mut command).done().stdout, "one", "{command:?}");
    }
    // The flag wins over the environment; an empty variable counts as not set.
    let elsewhere = bare.file("elsewhere");
    let mut command = blackboard(&here);
    command
        .env("CLAWOS_HOME", &home)
        .arg("--root")
        .arg(&elsewhere);
    run(command.args(READ)).status(4, "404 NOT_FOUND");
    assert!(!elsewhere.exists(), "reading begins nothing");
    let mut command = blackboard(&here);
    run(command.env("CLAWOS_HOME", "").args(READ)).status(4, "404 NOT_FOUND");
}

#[test]
fn a_home_of_its_own_has_its_configuration_and_log() {
    let bare = Board::bare();
    let home = bare.file("clawos");
    let at_home = |agent: &str, args: &[&str]| {
        let mut command = bare_program(BLACKBOARD, bare.path());
        run(command
            .arg("--root")
            .arg(&home)
            .args(["--as", agent])
            .args(args))
    };
    at_home(PM, &WRITE).done();
    at_home("designer", &WRITE).status(3, "403 FORBIDDEN");
    let granted = "[blackboard.writers]\ndesigner = [\"shared/*\"]\n";
    std::fs::write(home.join(".agent-workspace/polis.toml"), granted).unwrap();
    at_home("designer", &WRITE).done();
    at_home(PM, &WRITE).status(3, "403 FORBIDDEN");
    let mut log = bare_program(crate::board::POLIS, bare.path());
    log.args(["--json", "log", "--dir"]).arg(&home);
    assert_eq!(run(&mut log).done().stdout.lines().count(), 2);
}

#[test]
fn a_home_has_one_set_of_files() {
    let bare = Board::bare();
    let home = bare.file("clawos");
    let mut command = blackboard(bare.path());
    run(command.arg("--root").arg(&home).args(WRITE)).done();
    let before = names(&home.join(".agent-workspace"));
    // Other commands on the same store find the same files.
    for args in [
        &["board", "list"][..],
        &["doctor"],
        &["blackboard", "read", "shared/context.md"],
    ] {
        let mut command = bare_program(crate::board::POLIS, &home);
        run(command.args(args)).done();
    }
    let left: Vec<String> = names(&home.join(".agent-workspace"))
        .into_iter()
        .filter(|name| !before.contains(name) && name == "blackboard")
        .collect();
    assert_eq!(left, [""; 0], "a second set of files");
    let mut log = bare_program(crate::board::POLIS, &home);
    assert_eq!(
        run(log.args(["--json", "log"]))
            .done()
            .stdout
            .lines()
            .count(),
        1
    );
}

#[test]
fn a_project_is_found_from_below() {
    let board = Board::embedded();
    board.overwrite("shared/context.md", "one");
    let below = board.file("src/deep");
    std::fs::create_dir_all(&below).unwrap();
    assert_eq!(run(blackboard(&below).args(READ)).done().stdout, "one");
    let elsewhere = Board::bare();
    let mut command = blackboard(elsewhere.path());
    command.args(READ).arg("--dir").arg(board.path());
    assert_eq!(run(&mut command).done().stdout, "one");
    let nowhere = run(blackboard(elsewhere.path()).args(READ));
    let said = nowhere.status(4, "404 NOT_FOUND");
    assert!(
        said.contains("polis init") && said.contains("--root"),
        "{said}"
    );
}

#[test]
fn files_that_were_there_before_are_taken_over() {
    let bare = Board::bare();
    let home = bare.file("clawos");
    std::fs::create_dir_all(home.join("blackboard/shared")).unwrap();
    std::fs::write(home.join("blackboard/shared/context.md"), "theirs").unwrap();
    let mut command = blackboard(bare.path());
    let read = run(command.arg("--root").arg(&home).args(READ));
    assert_eq!(read.done().stdout, "theirs");
}

#[test]
fn a_project_named_as_a_home_keeps_its_files() {
    let board = Board::embedded();
    board.overwrite("shared/context.md", "project");
    for root in [".", ".agent-workspace", ".agent-workspace/blackboard"] {
        let mut command = blackboard(board.path());
        let read = run(command.args(["--root", root]).args(READ));
        assert_eq!(read.done().stdout, "project", "{root}");
    }
    assert_eq!(board.black_bytes("shared/context.md"), b"project");
    assert_eq!(names(board.path()), [".agent-workspace"]);
}
