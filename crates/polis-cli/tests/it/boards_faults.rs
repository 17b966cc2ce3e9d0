//! Tests of boards on a full or read-only disk: writes are refused with a clear message, the old content is intact, and
//! everything works again afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::board::{Answer, Board, POLIS};
use crate::broken_disk::refused_for_growing;
use crate::broken_disk::{Mounts, OtherUser, skipped};

/// One write of each kind.
const WRITES: [&[&str]; 6] = [
    &["board", "write", "global", "--content", "lost", "--force"],
    &["board", "append", "global", "--content", "lost"],
    &[
        "board",
        "section",
        "set",
        "global",
        "S",
        "--content",
        "lost",
    ],
    &["board", "restore", "global", "1"],
    &["board", "write", "top", "--content", "lost", "--force"],
    &["board", "append", "mid/architect", "--content", "lost"],
];

/// Asserts that every write is refused and that reads return the old content.
fn check_read_only(board: &Board, run: &dyn Fn(&[&str]) -> Answer) {
    let file = board.bytes("global-whiteboard.md");
    for args in WRITES {
        let refused = run(args).refusal(3, "store_read_only");
        assert!(
            refused.message.contains("nothing was changed"),
            "{refused:?}"
        );
    }
    let view = run(&["board", "read", "global"]).document();
    assert_eq!(
        (&view["version"], &view["content"]),
        (&2.into(), &"two\n".into())
    );
    let history = run(&["board", "history", "global"]).document();
    assert_eq!(history["versions"].as_array().unwrap().len(), 2);
    assert_eq!(
        run(&["board", "show", "global", "1"]).document()["content"],
        "one\n"
    );
    assert_eq!(
        run(&["board", "read", "mid/architect"]).document()["version"],
        0
    );
    run(&["board", "list"]).document();
    assert_eq!(board.bytes("global-whiteboard.md"), file);
}

fn works_again(board: &Board) {
    assert_eq!(board.text("global"), "two\n");
    assert_eq!(board.versions("global"), [2, 1]);
    for args in WRITES {
        board.ok("user", args);
    }
    assert_eq!(board.text("global"), "one\n");
    assert_eq!(board.bytes("global-whiteboard.md"), b"one\n");
    let told = board.log();
    assert!(
        told.iter().all(|event| event["kind"] != "board.external"),
        "{told:?}"
    );
    assert_eq!(board.ok("user", &["doctor"])["ok"], true);
}

fn begun() -> Board {
    let board = Board::embedded();
    board.put("global", "one\n");
    board.put("global", "two\n");
    board.put("top", "top\n");
    board
}

#[test]
fn a_read_only_file_system_is_refused_and_read() {
    let board = begun();
    let line = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    let Some(mounts) = Mounts::with(line, board.path()) else {
        return skipped("no right to mount; the test of another user's directory stands in");
    };
    check_read_only(&board, &|args| mounts.polis(&board, args));
    drop(mounts);
    works_again(&board);
}

/// Only the boards' directory is read-only; the database is writable.
#[test]
fn a_read_only_directory_of_boards_is_refused_and_read() {
    let board = begun();
    let line = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    let Some(mounts) = Mounts::with(line, &board.workspace("whiteboards")) else {
        return skipped("no right to mount; the test of another user's directory stands in");
    };
    check_read_only(&board, &|args| mounts.polis(&board, args));
    mounts
        .polis(&board, &["task", "create", "--subject", "works"])
        .document();
    drop(mounts);
    works_again(&board);
}

#[test]
fn a_directory_of_boards_of_somebody_else_is_refused_and_read() {
    let board = begun();
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let works = Command::new("setpriv")
        .args(nobody)
        .args([POLIS, "--version"])
        .output();
    if !works.is_ok_and(|output| output.status.success()) {
        return skipped("no right to become another user");
    }
    // The other user owns everything except the boards' files and directories.
    let own = "chmod 755 . && chown -R 65534 .agent-workspace && cd .agent-workspace && \
               chown -R 0 whiteboards whiteboard-history global-whiteboard.md && \
               chmod -R a+rX . && chmod a-w global-whiteboard.md";
    let status = Command::new("sh")
        .args(["-ec", own])
        .current_dir(board.path())
        .status();
    assert!(status.unwrap().success());
    let other = OtherUser::trusting(&board);
    check_read_only(&board, &|args| {
        let mut command = other.command();
        command.arg("--dir").arg(board.path());
        Answer::of(command.arg("--json").args(args).output().unwrap())
    });
    fs::set_permissions(
        board.workspace("global-whiteboard.md"),
        PermissionsExt::from_mode(0o644),
    )
    .unwrap();
    works_again(&board);
}

/// A small tmpfs that is filled by one kind of board write.
struct Small<'a> {
    board: &'a Board,
    mounts: Mounts,
    /// Texts of all versions so far.
    texts: Vec<String>,
}

impl Small<'_> {
    fn run(&self, args: &[String]) -> Answer {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.mounts.polis(self.board, &args)
    }

    fn read(&self) -> Value {
        let args = ["board", "read", "global"].map(String::from);
        self.run(&args).document()
    }

    fn file(&self) -> Vec<u8> {
        let file = self.board.workspace("global-whiteboard.md");
        self.mounts
            .command("cat")
            .arg(file)
            .output()
            .unwrap()
            .stdout
    }

    /// Asserts that the store has the last version, and the file a complete one: an older one if there is no room for
    /// the newest.
    fn check(&self) {
        let view = self.read();
        assert_eq!(view["version"], self.texts.len() - 1);
        assert!(
            view["content"] == **self.texts.last().unwrap(),
            "the content changed"
        );
        let file = self.file();
        assert!(
            self.texts.iter().any(|text| text.as_bytes() == file),
            "the file is torn"
        );
    }
}

/// Fills a disk, then enlarges it.
fn fill(size: &str, step: &dyn Fn(usize) -> Vec<String>) {
    let board = Board::bare();
    let line = format!("mount -t tmpfs -o size={size} tmpfs \"$1\"");
    let Some(mounts) = Mounts::with(&line, board.path()) else {
        return skipped("no right to mount; the test of the size limit stands in");
    };
    let mut small = Small {
        board: &board,
        mounts,
        texts: Vec::new(),
    };
    small
        .run(&["init", "--lang", "en"].map(String::from))
        .document();
    let refused = loop {
        let text = small.read()["content"].as_str().unwrap().to_owned();
        small.texts.push(text);
        if small.texts.len() > 1 {
            small.check();
        }
        let answer = small.run(&step(small.texts.len()));
        if answer.exit != Some(0) {
            break answer.refusal(1, "store_full");
        }
        assert!(small.texts.len() < 200, "the disk never fills");
    };
    assert!(
        refused.message.contains("nothing was changed"),
        "{refused:?}"
    );
    assert!(small.texts.len() > 1, "the disk was full from the start");
    small.check();
    let again = step(small.texts.len());
    small.run(&again).refusal(1, "store_full");
    small.check();
    let grow = ["-o", "remount,size=32m"];
    let grown = small
        .mounts
        .command("mount")
        .args(grow)
        .arg(board.path())
        .status();
    assert!(grown.unwrap().success());
    small.check();
    assert!(
        small.file() == small.texts.last().unwrap().as_bytes(),
        "the file was not brought forward"
    );
    assert_eq!(small.run(&again).document()["version"], small.texts.len());
    let text = small.read()["content"].as_str().unwrap().to_owned();
    assert!(small.file() == text.as_bytes());
    assert_eq!(small.run(&["doctor".to_owned()]).document()["ok"], true);
    let log = small.run(&["log".to_owned()]);
    assert_eq!(log.stdout.lines().count(), small.texts.len());
}

#[test]
fn a_disk_filled_by_appends_loses_nothing() {
    // With some of these sizes the disk is full between the store's commit and the file write.
    for size in ["680k", "700k", "760k", "780k"] {
        fill(size, &|n| {
            let text = format!("{n} {}", "x".repeat(30_000));
            ["board", "append", "global", "--content", &text]
                .map(String::from)
                .to_vec()
        });
    }
}

#[test]
fn a_disk_filled_by_writes_loses_nothing() {
    fill("900k", &|n| {
        let text = format!("{n} {}\n", "x".repeat(10_000 + n * 2_000));
        ["board", "write", "global", "--content", &text, "--force"]
            .map(String::from)
            .to_vec()
    });
}

#[test]
fn a_disk_filled_by_sections_loses_nothing() {
    fill("900k", &|n| {
        let text = format!("{n} {}", "x".repeat(20_000));
        let title = format!("Section {n}");
        [
            "board",
            "section",
            "set",
            "global",
            &title,
            "--content",
            &text,
        ]
        .map(String::from)
        .to_vec()
    });
}

#[test]
fn a_file_that_may_not_grow_loses_nothing() {
    let board = begun();
    let long = "x".repeat(100_000);
    for verb in ["write", "append"] {
        refused_for_growing(&board, &["board", verb, "global", "--content", &long]);
        assert_eq!(board.text("global"), "two\n");
        assert_eq!(board.bytes("global-whiteboard.md"), b"two\n");
    }
    works_again(&board);
}

/// A blackboard file is created before the commit; if the commit is refused, the file must not remain.
#[test]
fn a_new_file_that_was_refused_is_not_there() {
    let board = Board::bare();
    let Some(mounts) = Mounts::with("mount -t tmpfs -o size=700k tmpfs \"$1\"", board.path())
    else {
        return skipped("no right to mount");
    };
    let run = |args: &[&str]| mounts.polis(&board, args);
    run(&["init"]).document();
    let text = "x".repeat(100_000);
    // The last of several writes is too large, wherever the space ends.
    let write = |n: usize| {
        let path = format!("note-{n}.md");
        let args = [
            "blackboard",
            "write",
            &path,
            "--mode",
            "overwrite",
            "--content",
            &text,
        ];
        run(&args).exit == Some(0)
    };
    let written = (0..20).take_while(|n| write(*n)).count();
    assert!((1..20).contains(&written), "{written}");
    let path = format!("note-{written}.md");
    assert_eq!(run(&["blackboard", "read", &path]).exit, Some(4));
    assert!(
        run(&["log"]).stdout.lines().count() == written,
        "nothing was changed"
    );
    let file = board.workspace("blackboard").join(&path);
    let found = mounts.command("ls").arg(file).output().unwrap();
    assert!(!found.status.success(), "an empty file is left");
}
