//! Tests of symlinks, FIFOs and directories planted in place of board files: never followed, and never waited
//! for.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::run_to_end;
use crate::harness::test_project::{CommandOutput, TestProject, spawn_captured, wait_until};

/// A secret file next to the board that an attack must neither read nor change.
struct SecretFile(PathBuf);

impl SecretFile {
    const CONTENT: &str = "the secret's own text\n";

    fn create_in(board: &TestProject) -> Self {
        let path = board.project_path("secret.md");
        std::fs::write(&path, Self::CONTENT).unwrap();
        Self(path)
    }

    fn assert_not_leaked(&self, answers: &[CommandOutput]) {
        let now = std::fs::read_to_string(&self.0).unwrap();
        assert_eq!(now, Self::CONTENT, "written through a symlink");
        for answer in answers {
            assert!(
                !answer.stdout.contains("secret's own"),
                "leaked: {answer:?}"
            );
            assert!(
                !answer.stderr.contains("secret's own"),
                "leaked: {answer:?}"
            );
        }
    }
}

/// Replaces a path with a symlink.
fn plant_symlink(target: &Path, at: &Path) {
    if std::fs::symlink_metadata(at).is_ok_and(|found| found.is_dir()) {
        std::fs::remove_dir_all(at).unwrap();
    } else {
        let _ = std::fs::remove_file(at);
    }
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    symlink(target, at).unwrap();
}

const BOARD_COMMANDS: &[&[&str]] = &[
    &["board", "read", "top"],
    &["board", "write", "top", "--content", "new text", "--force"],
    &["board", "append", "top", "--content", "entry"],
    &["board", "section", "set", "top", "T", "--content", "x"],
    &["board", "history", "top"],
    &["board", "restore", "top", "1"],
    &[
        "board",
        "write",
        "top",
        "--content",
        "newer text",
        "--force",
    ],
    &["board", "list"],
    &["board", "read", "top"],
];
const BLACKBOARD_COMMANDS: &[&[&str]] = &[
    &["blackboard", "read", "tasks/1/status.md"],
    &[
        "blackboard",
        "write",
        "tasks/1/status.md",
        "--mode",
        "overwrite",
        "--content",
        "new",
    ],
    &[
        "blackboard",
        "write",
        "tasks/1/status.md",
        "--mode",
        "append",
        "--content",
        "more",
    ],
    &["blackboard", "list"],
    &["blackboard", "read", "tasks/1/status.md"],
];

/// Creates a project with text on `top` and on the blackboard.
fn project_with_texts() -> TestProject {
    let project = TestProject::embedded();
    for text in ["one", "two", "three"] {
        project.run_ok(
            "user",
            &["board", "write", "top", "--content", text, "--force"],
        );
        let write = [
            "blackboard",
            "write",
            "tasks/1/status.md",
            "--mode",
            "overwrite",
            "--content",
            text,
        ];
        project.run_ok("user", &write);
    }
    project
}

#[test]
fn planted_symlink_is_never_followed() {
    for (at, commands) in [
        ("whiteboards/top-layer.md", BOARD_COMMANDS),
        ("whiteboards/.locks/top-layer.lock", BOARD_COMMANDS),
        ("whiteboards/.locks/top-layer.new", BOARD_COMMANDS),
        ("whiteboard-history/top-layer-v1.md", BOARD_COMMANDS),
        ("whiteboard-history/top-layer-v3.md", BOARD_COMMANDS),
        ("whiteboard-history/top-layer-v4.md", BOARD_COMMANDS),
        ("blackboard/tasks/1/status.md", BLACKBOARD_COMMANDS),
        ("blackboard/tasks/1/status.md.bak", BLACKBOARD_COMMANDS),
        (
            "whiteboards/.locks/bb_tasks_1_status.md.lock",
            BLACKBOARD_COMMANDS,
        ),
    ] {
        for dangling in [false, true] {
            let project = project_with_texts();
            let secret = SecretFile::create_in(&project);
            let nowhere = project.project_path("nowhere.md");
            assert!(
                !at.ends_with(".lock") || project.data_path(at).exists(),
                "{at}"
            );
            plant_symlink(
                if dangling { &nowhere } else { &secret.0 },
                &project.data_path(at),
            );
            let answers: Vec<CommandOutput> = commands
                .iter()
                .map(|args| run_to_end(&project, args, b"", at))
                .collect();
            secret.assert_not_leaked(&answers);
            assert!(!nowhere.exists(), "{at}: created a file through a symlink");
        }
    }
}

#[test]
fn planted_directory_symlink_is_never_entered() {
    for (at, name, commands) in [
        ("whiteboards", "top-layer.md", BOARD_COMMANDS),
        ("whiteboards/.locks", "top-layer.lock", BOARD_COMMANDS),
        ("whiteboards/.locks", "top-layer.new", BOARD_COMMANDS),
        ("whiteboard-history", "top-layer-v1.md", BOARD_COMMANDS),
        ("blackboard", "tasks/1/status.md", BLACKBOARD_COMMANDS),
        ("blackboard/tasks", "1/status.md", BLACKBOARD_COMMANDS),
        ("blackboard/tasks/1", "status.md", BLACKBOARD_COMMANDS),
    ] {
        let project = project_with_texts();
        // Keeps as few versions as possible, so that surplus copies are removed.
        std::fs::write(
            project.data_path("polis.toml"),
            "[whiteboards]\nmax_versions = 1\n",
        )
        .unwrap();
        let outside = project.project_path("outside");
        let victim = outside.join(name);
        std::fs::create_dir_all(victim.parent().unwrap()).unwrap();
        std::fs::write(&victim, SecretFile::CONTENT).unwrap();
        let secret = SecretFile(victim);
        let before = list_tree(&outside);
        plant_symlink(&outside, &project.data_path(at));
        let answers: Vec<CommandOutput> = commands
            .iter()
            .map(|args| run_to_end(&project, args, b"", at))
            .collect();
        secret.assert_not_leaked(&answers);
        assert_eq!(
            list_tree(&outside),
            before,
            "{at}: a file outside was created or removed"
        );
    }
}

/// Returns every path below a directory.
fn list_tree(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(list_tree(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

#[test]
fn planted_symlink_is_refused_until_it_is_removed() {
    let project = project_with_texts();
    let secret = SecretFile::create_in(&project);
    let file = project.data_path("whiteboards/top-layer.md");
    plant_symlink(&secret.0, &file);
    let refused = project.run_json("user", &["board", "read", "top"]);
    assert_eq!(refused.exit_code, Some(5), "{refused:?}");
    assert!(
        refused.stderr.contains("which polis does not follow"),
        "{refused:?}"
    );
    std::fs::remove_file(&file).unwrap();
    assert_eq!(
        project.run_ok("user", &["board", "read", "top"])["content"],
        "three"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "three");
    let status = project.blackboard_file_path("tasks/1/status.md");
    plant_symlink(&secret.0, &status);
    let refused = project.run_blackboard("user", &["read", "tasks/1/status.md"]);
    assert!(refused.stderr.starts_with("403 FORBIDDEN: "), "{refused:?}");
    secret.assert_not_leaked(&[refused]);
}

#[test]
fn special_file_in_place_of_board_file_does_not_hang() {
    for (at, commands) in [
        ("whiteboards/top-layer.md", BOARD_COMMANDS),
        ("whiteboards/.locks/top-layer.lock", BOARD_COMMANDS),
        ("whiteboards/.locks/top-layer.new", BOARD_COMMANDS),
        ("whiteboard-history/top-layer-v3.md", BOARD_COMMANDS),
        ("blackboard/tasks/1/status.md", BLACKBOARD_COMMANDS),
        ("blackboard/tasks/1/status.md.bak", BLACKBOARD_COMMANDS),
        (
            "whiteboards/.locks/bb_tasks_1_status.md.lock",
            BLACKBOARD_COMMANDS,
        ),
    ] {
        for directory in [false, true] {
            let project = project_with_texts();
            let at = project.data_path(at);
            let _ = std::fs::remove_file(&at);
            if directory {
                std::fs::create_dir(&at).unwrap();
            } else {
                let made = Command::new("mkfifo").arg(&at).status().unwrap();
                assert!(made.success());
            }
            for args in commands {
                run_to_end(&project, args, b"", &format!("{at:?}"));
            }
        }
    }
}

#[test]
fn directories_removed_during_appends_lose_nothing() {
    let project = TestProject::embedded();
    project.run_ok("user", &["board", "write", "top", "--content", "# T\n"]);
    let whiteboards = project.data_path("whiteboards");
    let mut acknowledged = 0;
    for round in 0..10 {
        let adding: Vec<_> = (0..4)
            .map(|n| {
                let line = format!("entry {round}/{n}");
                let args = ["board", "append", "top", "--content", &line];
                spawn_captured(&mut project.json_command("user", &args))
            })
            .collect();
        for _ in 0..20 {
            let away = project.data_path("away");
            if std::fs::rename(&whiteboards, &away).is_ok() {
                let _ = std::fs::remove_dir_all(&away);
            }
            std::thread::yield_now();
        }
        for child in adding {
            let answer = CommandOutput::from_output(child.wait_with_output().unwrap());
            assert!(!answer.stderr.contains("panicked"), "{answer:?}");
            acknowledged += usize::from(answer.exit_code == Some(0));
        }
    }
    let mut text = String::new();
    wait_until("the file matching the store", || {
        let read = project.run_ok("user", &["board", "read", "top"]);
        text = read["content"].as_str().unwrap().to_owned();
        std::fs::read_to_string(project.data_path("whiteboards/top-layer.md"))
            .is_ok_and(|file| file == text)
    });
    let entries = text
        .lines()
        .filter(|line| line.starts_with("entry "))
        .count();
    assert!(entries >= acknowledged, "{entries} of {acknowledged}");
    assert!(acknowledged > 0, "no append succeeded");
}
