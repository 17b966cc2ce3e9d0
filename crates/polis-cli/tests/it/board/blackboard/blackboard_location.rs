//! Tests of where a blackboard is located: in a project, in `CLAWOS_HOME`, or in a directory named by
//! `--root`.

use std::path::Path;
use std::process::Command;

use super::PRODUCT_MANAGER;
use crate::harness::test_project::{BLACKBOARD_EXE, CommandOutput, TestProject, program_command};

const WRITE_ARGS: [&str; 6] = [
    "write",
    "shared/context.md",
    "--mode",
    "overwrite",
    "--content",
    "one",
];
const READ_ARGS: [&str; 2] = ["read", "shared/context.md"];

fn run_command(command: &mut Command) -> CommandOutput {
    CommandOutput::from_output(command.output().unwrap())
}

fn blackboard_command_in(directory: &Path) -> Command {
    let mut command = program_command(BLACKBOARD_EXE, directory);
    command.args(["--as", PRODUCT_MANAGER]);
    command
}

fn file_names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The location in requirement 003 (docs/requirements.md) is used if nothing else is named and no project is
/// found.
#[test]
fn home_blackboard_is_used_without_a_project() {
    let bare = TestProject::uninitialized();
    let (here, home) = (bare.project_path("here"), bare.project_path("home"));
    let files = home.join("clawos/blackboard");
    std::fs::create_dir(&here).unwrap();
    let in_home =
        |args: &[&str]| run_command(blackboard_command_in(&here).env("HOME", &home).args(args));
    let missing = in_home(&READ_ARGS);
    assert_eq!(missing.exit_code, Some(4), "{missing:?}");
    assert!(missing.stderr.starts_with("404 NOT_FOUND"), "{missing:?}");
    std::fs::create_dir_all(files.join("tasks/123")).unwrap();
    std::fs::write(files.join("tasks/123/status.md"), "done").unwrap();
    let read = in_home(&["read", "tasks/123/status.md"]);
    assert_eq!(
        (read.exit_code, read.stdout.as_str()),
        (Some(0), "done"),
        "{read:?}"
    );
    in_home(&WRITE_ARGS).expect_success();
    let file = files.join("shared/context.md");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "one");
    assert_eq!(
        file_names(&here),
        [""; 0],
        "the current directory stays empty"
    );
    // A store that is named explicitly wins.
    let store = bare.project_path("elsewhere");
    let store = store.to_str().unwrap();
    let typed = in_home(&["read", "tasks/123/status.md", "--store", store]);
    let mut command = blackboard_command_in(&here);
    let named = command.env("HOME", &home).env("POLIS_STORE", store);
    let named = run_command(named.args(["read", "tasks/123/status.md"]));
    for answer in [typed, named] {
        assert_ne!(answer.exit_code, Some(0), "{answer:?}");
        assert_eq!(answer.stdout, "", "{answer:?}");
    }
    // A project around the current directory has its own blackboard.
    let project = TestProject::embedded();
    let mut command = blackboard_command_in(project.path());
    let own = run_command(
        command
            .env("HOME", &home)
            .args(["read", "tasks/123/status.md"]),
    );
    assert_eq!(own.exit_code, Some(4), "{own:?}");
}

#[test]
fn separate_blackboard_root_needs_no_init() {
    let bare = TestProject::uninitialized();
    let (here, home) = (bare.project_path("here"), bare.project_path("clawos"));
    std::fs::create_dir(&here).unwrap();
    let files = home.join("blackboard");
    run_command(
        blackboard_command_in(&here)
            .env("CLAWOS_HOME", &home)
            .args(WRITE_ARGS),
    )
    .expect_success();
    let file = files.join("shared/context.md");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
    assert_eq!(
        file_names(&here),
        [""; 0],
        "the current directory stays empty"
    );
    assert_eq!(
        file_names(&files),
        ["shared"],
        "the store is not among the files"
    );
    for mut command in [
        {
            let mut c = blackboard_command_in(&here);
            c.env("CLAWOS_HOME", &home).args(READ_ARGS);
            c
        },
        {
            let mut c = blackboard_command_in(&here);
            c.env("CLAWOS_HOME", &files).args(READ_ARGS);
            c
        },
        {
            let mut c = blackboard_command_in(&here);
            c.arg("--root").arg(&home).args(READ_ARGS);
            c
        },
        {
            let mut c = blackboard_command_in(&here);
            c.args(READ_ARGS).arg("--root").arg(&files);
            c
        },
        {
            let mut c = blackboard_command_in(&here);
            c.args(READ_ARGS).args(["--root", "../clawos/"]);
            c
        },
        {
            let mut c = blackboard_command_in(&home);
            c.args(READ_ARGS).args(["--root", "."]);
            c
        },
        {
            let mut c = blackboard_command_in(&home);
            c.args(READ_ARGS).args(["--root", "blackboard"]);
            c
        },
        {
            let mut c = program_command(crate::harness::test_project::POLIS_EXE, &here);
            c.arg("blackboard").args(READ_ARGS).arg("--root").arg(&home);
            c
        },
    ] {
        assert_eq!(
            run_command(&mut command).expect_success().stdout,
            "one",
            "{command:?}"
        );
    }
    // The flag wins over the environment; an empty variable counts as not set.
    let elsewhere = bare.project_path("elsewhere");
    let mut command = blackboard_command_in(&here);
    command
        .env("CLAWOS_HOME", &home)
        .arg("--root")
        .arg(&elsewhere);
    run_command(command.args(READ_ARGS)).expect_status(4, "404 NOT_FOUND");
    assert!(!elsewhere.exists(), "reading creates nothing");
    let mut command = blackboard_command_in(&here);
    run_command(command.env("CLAWOS_HOME", "").args(READ_ARGS)).expect_status(4, "404 NOT_FOUND");
}

#[test]
fn separate_blackboard_root_has_its_own_configuration_and_log() {
    let bare = TestProject::uninitialized();
    let home = bare.project_path("clawos");
    let at_home = |agent: &str, args: &[&str]| {
        let mut command = program_command(BLACKBOARD_EXE, bare.path());
        run_command(
            command
                .arg("--root")
                .arg(&home)
                .args(["--as", agent])
                .args(args),
        )
    };
    at_home(PRODUCT_MANAGER, &WRITE_ARGS).expect_success();
    at_home("designer", &WRITE_ARGS).expect_status(3, "403 FORBIDDEN");
    let granted = "[blackboard.writers]\ndesigner = [\"shared/*\"]\n";
    std::fs::write(home.join(".agent-workspace/polis.toml"), granted).unwrap();
    at_home("designer", &WRITE_ARGS).expect_success();
    at_home(PRODUCT_MANAGER, &WRITE_ARGS).expect_status(3, "403 FORBIDDEN");
    let mut log = program_command(crate::harness::test_project::POLIS_EXE, bare.path());
    log.args(["--json", "log", "--dir"]).arg(&home);
    assert_eq!(
        run_command(&mut log)
            .expect_success()
            .stdout
            .lines()
            .count(),
        2
    );
}

#[test]
fn separate_blackboard_root_has_one_set_of_files() {
    let bare = TestProject::uninitialized();
    let home = bare.project_path("clawos");
    let mut command = blackboard_command_in(bare.path());
    run_command(command.arg("--root").arg(&home).args(WRITE_ARGS)).expect_success();
    let before = file_names(&home.join(".agent-workspace"));
    // Other commands on the same store find the same files.
    for args in [
        &["board", "list"][..],
        &["doctor"],
        &["blackboard", "read", "shared/context.md"],
    ] {
        let mut command = program_command(crate::harness::test_project::POLIS_EXE, &home);
        run_command(command.args(args)).expect_success();
    }
    let left: Vec<String> = file_names(&home.join(".agent-workspace"))
        .into_iter()
        .filter(|name| !before.contains(name) && name == "blackboard")
        .collect();
    assert_eq!(left, [""; 0], "a second set of files");
    let mut log = program_command(crate::harness::test_project::POLIS_EXE, &home);
    assert_eq!(
        run_command(log.args(["--json", "log"]))
            .expect_success()
            .stdout
            .lines()
            .count(),
        1
    );
}

#[test]
fn blackboard_of_a_parent_project_is_found() {
    let project = TestProject::embedded();
    project.overwrite_blackboard_file("shared/context.md", "one");
    let below = project.project_path("src/deep");
    std::fs::create_dir_all(&below).unwrap();
    assert_eq!(
        run_command(blackboard_command_in(&below).args(READ_ARGS))
            .expect_success()
            .stdout,
        "one"
    );
    let elsewhere = TestProject::uninitialized();
    let mut command = blackboard_command_in(elsewhere.path());
    command.args(READ_ARGS).arg("--dir").arg(project.path());
    assert_eq!(run_command(&mut command).expect_success().stdout, "one");
    let nowhere = run_command(blackboard_command_in(elsewhere.path()).args(READ_ARGS));
    let said = nowhere.expect_status(4, "404 NOT_FOUND");
    assert!(
        said.contains("polis init") && said.contains("--root"),
        "{said}"
    );
}

#[test]
fn existing_blackboard_files_are_imported() {
    let bare = TestProject::uninitialized();
    let home = bare.project_path("clawos");
    std::fs::create_dir_all(home.join("blackboard/shared")).unwrap();
    std::fs::write(home.join("blackboard/shared/context.md"), "theirs").unwrap();
    let mut command = blackboard_command_in(bare.path());
    let read = run_command(command.arg("--root").arg(&home).args(READ_ARGS));
    assert_eq!(read.expect_success().stdout, "theirs");
}

#[test]
fn project_as_blackboard_root_keeps_its_files() {
    let project = TestProject::embedded();
    project.overwrite_blackboard_file("shared/context.md", "project");
    for root in [".", ".agent-workspace", ".agent-workspace/blackboard"] {
        let mut command = blackboard_command_in(project.path());
        let read = run_command(command.args(["--root", root]).args(READ_ARGS));
        assert_eq!(read.expect_success().stdout, "project", "{root}");
    }
    assert_eq!(
        project.blackboard_file_bytes("shared/context.md"),
        b"project"
    );
    assert_eq!(file_names(project.path()), [".agent-workspace"]);
}
