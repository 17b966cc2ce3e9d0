//! Tests of the store on a read-only or full disk: writes are refused with a clear message, and nothing is lost
//! afterwards.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::board::{Answer, Board, POLIS, state_dir};

/// A process that holds a mount namespace; others join it.
pub(crate) struct Mounts(Child);

impl Mounts {
    /// Runs a shell line that mounts something, in a new mount namespace. `None` where that is not permitted.
    pub(crate) fn with(line: &str, directory: &Path) -> Option<Self> {
        let script = format!("{line} && echo ready && read -r _");
        let mut child = Command::new("unshare")
            .args(["--mount", "sh", "-c", &script, "sh"])
            .arg(directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut said = String::new();
        BufReader::new(child.stdout.as_mut()?)
            .read_line(&mut said)
            .ok()?;
        let mounts = Self(child);
        (said == "ready\n").then_some(mounts)
    }

    /// Returns a program that runs in that mount namespace.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--mount", "--target", &self.0.id().to_string(), program]);
        command.stdin(Stdio::null());
        command.env("POLIS_STATE_DIR", state_dir());
        command
    }

    pub(crate) fn polis(&self, board: &Board, args: &[&str]) -> Answer {
        let mut command = self.command(POLIS);
        command
            .arg("--dir")
            .arg(board.path())
            .arg("--json")
            .args(args);
        Answer::of(command.output().unwrap())
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reports that a test could not run here.
pub(crate) fn skipped(why: &str) {
    // Written directly to stderr, since the test runner would capture it.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Asserts that reads work and writes are refused.
fn check_read_only(run: &dyn Fn(&[&str]) -> Answer) {
    assert_eq!(run(&["task", "get", "1"]).document()["subject"], "work");
    assert_eq!(
        run(&["task", "list"]).document()["tasks"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    for args in [
        &["task", "create", "--subject", "x"][..],
        &["task", "claim", "1"],
        &["task", "update", "1", "--subject", "x"],
        &["task", "comment", "1", "--body", "x"],
        &["agent", "add", "a", "--role", "architect"],
    ] {
        let refused = run(args).refusal(3, "store_read_only");
        assert!(
            refused.message.contains("nothing was changed"),
            "{refused:?}"
        );
    }
    let doctor = run(&["doctor"]);
    assert_eq!(doctor.exit, Some(1));
    let report: Value = serde_json::from_str(&doctor.stdout).unwrap();
    let failing: Vec<_> = report["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|c| c["ok"] == false)
        .collect();
    assert_eq!(failing.len(), 1, "{report}");
    assert_eq!(failing[0]["name"], "writable");
}

#[test]
fn a_read_only_file_system_is_refused_and_read() {
    let board = Board::embedded();
    board.create(&[]);
    let line = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    let Some(mounts) = Mounts::with(line, board.path()) else {
        return skipped("no right to mount; the test of another user's directory stands in");
    };
    check_read_only(&|args| mounts.polis(&board, args));
    mounts
        .polis(
            &board,
            &["task", "export", board.file("out").to_str().unwrap()],
        )
        .refusal(3, "store_read_only");
    drop(mounts);
    assert_eq!(board.create(&[]), "2");
}

#[test]
fn another_users_directory_is_refused_and_read() {
    let board = Board::embedded();
    board.create(&[]);
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    set(board.path(), 0o755);
    for entry in std::fs::read_dir(board.workspace("")).unwrap() {
        set(&entry.unwrap().path(), 0o444);
    }
    set(&board.workspace(""), 0o555);
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let works = Command::new("setpriv")
        .args(nobody)
        .args([POLIS, "--version"])
        .output();
    if works.is_ok_and(|output| output.status.success()) {
        let other = OtherUser::trusting(&board);
        check_read_only(&|args| {
            let mut command = other.command();
            command
                .arg("--dir")
                .arg(board.path())
                .arg("--json")
                .args(args);
            Answer::of(command.output().unwrap())
        });
    } else {
        skipped("no right to become another user");
    }
    set(&board.workspace(""), 0o700);
    for entry in std::fs::read_dir(board.workspace("")).unwrap() {
        set(&entry.unwrap().path(), 0o600);
    }
    assert_eq!(board.create(&[]), "2");
}

/// The unprivileged user `nobody` (uid 65534), which trusts a project that it does not own.
pub(crate) struct OtherUser {
    state: tempfile::TempDir,
}

impl OtherUser {
    const ID: u32 = 65_534;

    pub(crate) fn trusting(board: &Board) -> Self {
        let state = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(state.path(), Some(Self::ID), Some(Self::ID)).unwrap();
        let other = Self { state };
        let refused = other
            .command()
            .arg("--dir")
            .arg(board.path())
            .args(["--json", "stats"])
            .output();
        Answer::of(refused.unwrap()).refusal_with_paths(3, "not_trusted");
        let trusted = other
            .command()
            .args(["trust", "--json"])
            .arg(board.path())
            .output();
        assert_eq!(Answer::of(trusted.unwrap()).document()["trusted"], true);
        other
    }

    /// Returns polis running as this user.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new("setpriv");
        let id = Self::ID.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups", POLIS]);
        command.env("POLIS_STATE_DIR", self.state.path());
        command
    }
}

#[test]
fn a_full_disk_is_refused_and_loses_nothing() {
    let board = Board::bare();
    let Some(mounts) = Mounts::with("mount -t tmpfs -o size=600k tmpfs \"$1\"", board.path())
    else {
        return skipped("no right to mount; the test of the size limit stands in");
    };
    mounts.polis(&board, &["init"]).document();
    let long = "x".repeat(20_000);
    let mut created = 0;
    let refused = loop {
        let subject = format!("task {created}");
        let answer = mounts.polis(
            &board,
            &[
                "task",
                "create",
                "--subject",
                &subject,
                "--description",
                &long,
            ],
        );
        if answer.exit != Some(0) {
            break answer.refusal(1, "store_full");
        }
        created += 1;
        assert!(created < 1_000, "the disk never fills");
    };
    assert!(
        refused.message.contains("nothing was changed"),
        "{refused:?}"
    );
    let list = mounts.polis(&board, &["task", "list"]).document();
    assert_eq!(
        list["tasks"].as_array().unwrap().len(),
        created,
        "reading goes on"
    );
    let out = board.file("out");
    mounts
        .polis(&board, &["task", "export", out.to_str().unwrap()])
        .refusal(1, "store_full");
    let grown = mounts
        .command("mount")
        .args(["-o", "remount,size=8m"])
        .arg(board.path())
        .status()
        .unwrap();
    assert!(grown.success());
    let next = mounts
        .polis(&board, &["task", "create", "--subject", "after"])
        .document();
    assert_eq!(next["id"], (created + 1).to_string());
    assert_eq!(mounts.polis(&board, &["doctor"]).document()["ok"], true);
    let log = mounts.polis(&board, &["log"]);
    assert_eq!(log.stdout.lines().count(), created + 1);
}

#[test]
fn a_file_that_may_not_grow_loses_nothing() {
    let board = Board::embedded();
    board.create(&[]);
    let long = "x".repeat(100_000);
    let create = ["task", "create", "--subject", "x", "--description", &long];
    refused_for_growing(&board, &create);
    assert_eq!(board.listed("user", &["task", "list"]), ["1"]);
    assert_eq!(board.create(&[]), "2");
    assert_eq!(board.ok("user", &["doctor"])["ok"], true);
}

/// Runs a command with a file size limit of one block, and asserts that it is refused.
pub(crate) fn refused_for_growing(board: &Board, args: &[&str]) {
    // With SIGXFSZ ignored, writing beyond the limit fails with an error, like on a failing disk.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, "sh", POLIS, "--json", "--dir"])
        .arg(board.path())
        .args(args);
    command.env("POLIS_STATE_DIR", state_dir());
    let refused = Answer::of(command.output().unwrap());
    assert_eq!(
        (refused.exit, refused.stdout.as_str()),
        (Some(1), ""),
        "{refused:?}"
    );
    let document: Value = serde_json::from_str(&refused.stderr).unwrap();
    let code = document["error"]["code"].as_str().unwrap();
    assert!(
        ["store_full", "store_unavailable"].contains(&code),
        "{document}"
    );
}
