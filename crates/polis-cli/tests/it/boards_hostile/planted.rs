//! Tests of symlinks, pipes and directories in the place of files: never followed, never waited for.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::ends;
use crate::board::{Answer, Board, eventually, start};

/// A secret file next to the board that an attack must neither read nor change.
struct Secret(PathBuf);

impl Secret {
    const TEXT: &str = "the secret's own text\n";

    fn beside(board: &Board) -> Self {
        let path = board.file("secret.md");
        std::fs::write(&path, Self::TEXT).unwrap();
        Self(path)
    }

    fn check(&self, answers: &[Answer]) {
        let now = std::fs::read_to_string(&self.0).unwrap();
        assert_eq!(now, Self::TEXT, "written through a link");
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
fn plant(target: &Path, at: &Path) {
    if std::fs::symlink_metadata(at).is_ok_and(|found| found.is_dir()) {
        std::fs::remove_dir_all(at).unwrap();
    } else {
        let _ = std::fs::remove_file(at);
    }
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    symlink(target, at).unwrap();
}

const ON_BOARD: &[&[&str]] = &[
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
const ON_FILE: &[&[&str]] = &[
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
fn begun() -> Board {
    let board = Board::embedded();
    for text in ["one", "two", "three"] {
        board.ok(
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
        board.ok("user", &write);
    }
    board
}

#[test]
fn a_planted_link_is_never_followed() {
    for (at, commands) in [
        ("whiteboards/top-layer.md", ON_BOARD),
        ("whiteboards/.locks/top-layer.lock", ON_BOARD),
        ("whiteboards/.locks/top-layer.new", ON_BOARD),
        ("whiteboard-history/top-layer-v1.md", ON_BOARD),
        ("whiteboard-history/top-layer-v3.md", ON_BOARD),
        ("whiteboard-history/top-layer-v4.md", ON_BOARD),
        ("blackboard/tasks/1/status.md", ON_FILE),
        ("blackboard/tasks/1/status.md.bak", ON_FILE),
        ("whiteboards/.locks/bb_tasks_1_status.md.lock", ON_FILE),
    ] {
        for dangling in [false, true] {
            let board = begun();
            let secret = Secret::beside(&board);
            let nowhere = board.file("nowhere.md");
            assert!(
                !at.ends_with(".lock") || board.workspace(at).exists(),
                "{at}"
            );
            plant(
                if dangling { &nowhere } else { &secret.0 },
                &board.workspace(at),
            );
            let answers: Vec<Answer> = commands
                .iter()
                .map(|args| ends(&board, args, b"", at))
                .collect();
            secret.check(&answers);
            assert!(!nowhere.exists(), "{at}: made a file through a link");
        }
    }
}

#[test]
fn a_planted_directory_is_never_entered() {
    for (at, name, commands) in [
        ("whiteboards", "top-layer.md", ON_BOARD),
        ("whiteboards/.locks", "top-layer.lock", ON_BOARD),
        ("whiteboards/.locks", "top-layer.new", ON_BOARD),
        ("whiteboard-history", "top-layer-v1.md", ON_BOARD),
        ("blackboard", "tasks/1/status.md", ON_FILE),
        ("blackboard/tasks", "1/status.md", ON_FILE),
        ("blackboard/tasks/1", "status.md", ON_FILE),
    ] {
        let board = begun();
        // Keeps as few versions as possible, so that surplus copies are removed.
        std::fs::write(
            board.workspace("polis.toml"),
            "[whiteboards]\nmax_versions = 1\n",
        )
        .unwrap();
        let outside = board.file("outside");
        let victim = outside.join(name);
        std::fs::create_dir_all(victim.parent().unwrap()).unwrap();
        std::fs::write(&victim, Secret::TEXT).unwrap();
        let secret = Secret(victim);
        let before = tree(&outside);
        plant(&outside, &board.workspace(at));
        let answers: Vec<Answer> = commands
            .iter()
            .map(|args| ends(&board, args, b"", at))
            .collect();
        secret.check(&answers);
        assert_eq!(
            tree(&outside),
            before,
            "{at}: something was made or removed outside"
        );
    }
}

/// Returns every path below a directory.
fn tree(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(tree(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

#[test]
fn a_link_says_what_is_wrong_and_removing_it_mends() {
    let board = begun();
    let secret = Secret::beside(&board);
    let file = board.workspace("whiteboards/top-layer.md");
    plant(&secret.0, &file);
    let refused = board.run("user", &["board", "read", "top"]);
    assert_eq!(refused.exit, Some(5), "{refused:?}");
    assert!(refused.stderr.contains("does not follow it"), "{refused:?}");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(
        board.ok("user", &["board", "read", "top"])["content"],
        "three"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "three");
    let status = board.on_disk("tasks/1/status.md");
    plant(&secret.0, &status);
    let refused = board.blackboard("user", &["read", "tasks/1/status.md"]);
    assert!(refused.stderr.starts_with("403 FORBIDDEN: "), "{refused:?}");
    secret.check(&[refused]);
}

#[test]
fn what_is_no_file_does_not_hang_anybody() {
    for (at, commands) in [
        ("whiteboards/top-layer.md", ON_BOARD),
        ("whiteboards/.locks/top-layer.lock", ON_BOARD),
        ("whiteboards/.locks/top-layer.new", ON_BOARD),
        ("whiteboard-history/top-layer-v3.md", ON_BOARD),
        ("blackboard/tasks/1/status.md", ON_FILE),
        ("blackboard/tasks/1/status.md.bak", ON_FILE),
        ("whiteboards/.locks/bb_tasks_1_status.md.lock", ON_FILE),
    ] {
        for directory in [false, true] {
            let board = begun();
            let at = board.workspace(at);
            let _ = std::fs::remove_file(&at);
            if directory {
                std::fs::create_dir(&at).unwrap();
            } else {
                let made = Command::new("mkfifo").arg(&at).status().unwrap();
                assert!(made.success());
            }
            for args in commands {
                ends(&board, args, b"", &format!("{at:?}"));
            }
        }
    }
}

#[test]
fn directories_that_come_and_go_lose_nothing() {
    let board = Board::embedded();
    board.ok("user", &["board", "write", "top", "--content", "# T\n"]);
    let whiteboards = board.workspace("whiteboards");
    let mut acknowledged = 0;
    for round in 0..10 {
        let adding: Vec<_> = (0..4)
            .map(|n| {
                let line = format!("entry {round}/{n}");
                let args = ["board", "append", "top", "--content", &line];
                start(&mut board.json_command("user", &args))
            })
            .collect();
        for _ in 0..20 {
            let away = board.workspace("away");
            if std::fs::rename(&whiteboards, &away).is_ok() {
                let _ = std::fs::remove_dir_all(&away);
            }
            std::thread::yield_now();
        }
        for child in adding {
            let answer = Answer::of(child.wait_with_output().unwrap());
            assert!(!answer.stderr.contains("panicked"), "{answer:?}");
            acknowledged += usize::from(answer.exit == Some(0));
        }
    }
    let mut text = String::new();
    eventually("the file in step", || {
        let read = board.ok("user", &["board", "read", "top"]);
        text = read["content"].as_str().unwrap().to_owned();
        std::fs::read_to_string(board.workspace("whiteboards/top-layer.md"))
            .is_ok_and(|file| file == text)
    });
    let entries = text
        .lines()
        .filter(|line| line.starts_with("entry "))
        .count();
    assert!(entries >= acknowledged, "{entries} of {acknowledged}");
    assert!(acknowledged > 0, "nothing went through");
}
