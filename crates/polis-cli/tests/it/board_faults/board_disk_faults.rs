//! Tests of boards on a full or read-only disk, in a mount namespace: writes are refused with a clear
//! message, the old content is intact, and writing works again afterwards.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::Value;

use crate::harness::test_project::{CommandOutput, POLIS_EXE, TestProject};
use crate::project::store_disk_faults::assert_refused_by_file_size_limit;
use crate::project::store_disk_faults::{MountNamespace, OtherUser, report_skipped};

/// One write of each kind.
const BOARD_WRITES: [&[&str]; 6] = [
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
fn assert_board_writes_refused(project: &TestProject, run: &dyn Fn(&[&str]) -> CommandOutput) {
    let file = project.data_file_bytes("global-whiteboard.md");
    for args in BOARD_WRITES {
        let refused = run(args).expect_refusal(3, "store_read_only");
        assert!(
            refused.message.contains("nothing was changed"),
            "{refused:?}"
        );
    }
    let view = run(&["board", "read", "global"]).expect_document();
    assert_eq!(
        (&view["version"], &view["content"]),
        (&2.into(), &"two\n".into())
    );
    let history = run(&["board", "history", "global"]).expect_document();
    assert_eq!(history["versions"].as_array().unwrap().len(), 2);
    assert_eq!(
        run(&["board", "show", "global", "1"]).expect_document()["content"],
        "one\n"
    );
    assert_eq!(
        run(&["board", "read", "mid/architect"]).expect_document()["version"],
        0
    );
    run(&["board", "list"]).expect_document();
    assert_eq!(project.data_file_bytes("global-whiteboard.md"), file);
}

fn assert_board_writes_work(project: &TestProject) {
    assert_eq!(project.board_text("global"), "two\n");
    assert_eq!(project.board_versions("global"), [2, 1]);
    for args in BOARD_WRITES {
        project.run_ok("user", args);
    }
    assert_eq!(project.board_text("global"), "one\n");
    assert_eq!(project.data_file_bytes("global-whiteboard.md"), b"one\n");
    let told = project.read_log();
    assert!(
        told.iter().all(|event| event["kind"] != "board.external"),
        "{told:?}"
    );
    assert_eq!(project.run_ok("user", &["doctor"])["ok"], true);
}

fn project_with_boards() -> TestProject {
    let project = TestProject::embedded();
    project.write_board("global", "one\n");
    project.write_board("global", "two\n");
    project.write_board("top", "top\n");
    project
}

#[test]
fn read_only_file_system_refuses_board_writes() {
    let project = project_with_boards();
    let line = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    let Some(mounts) = MountNamespace::with_mount(line, project.path()) else {
        return report_skipped(
            "not permitted to mount; the test with another user's directory covers this",
        );
    };
    assert_board_writes_refused(&project, &|args| mounts.run_polis(&project, args));
    drop(mounts);
    assert_board_writes_work(&project);
}

/// Only the boards' directory is read-only; the database is writable.
#[test]
fn read_only_board_directory_refuses_board_writes() {
    let project = project_with_boards();
    let line = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    let Some(mounts) = MountNamespace::with_mount(line, &project.data_path("whiteboards")) else {
        return report_skipped(
            "not permitted to mount; the test with another user's directory covers this",
        );
    };
    assert_board_writes_refused(&project, &|args| mounts.run_polis(&project, args));
    mounts
        .run_polis(&project, &["task", "create", "--subject", "works"])
        .expect_document();
    drop(mounts);
    assert_board_writes_work(&project);
}

#[test]
fn board_directory_of_another_user_refuses_board_writes() {
    let project = project_with_boards();
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let works = Command::new("setpriv")
        .args(nobody)
        .args([POLIS_EXE, "--version"])
        .output();
    if !works.is_ok_and(|output| output.status.success()) {
        return report_skipped("not permitted to switch to another user");
    }
    // The other user owns everything except the boards' files and directories.
    let own = "chmod 755 . && chown -R 65534 .agent-workspace && cd .agent-workspace && \
               chown -R 0 whiteboards whiteboard-history global-whiteboard.md && \
               chmod -R a+rX . && chmod a-w global-whiteboard.md";
    let status = Command::new("sh")
        .args(["-ec", own])
        .current_dir(project.path())
        .status();
    assert!(status.unwrap().success());
    let other = OtherUser::with_trusted_project(&project);
    assert_board_writes_refused(&project, &|args| {
        let mut command = other.polis_command_as_user();
        command.arg("--dir").arg(project.path());
        CommandOutput::from_output(command.arg("--json").args(args).output().unwrap())
    });
    fs::set_permissions(
        project.data_path("global-whiteboard.md"),
        PermissionsExt::from_mode(0o644),
    )
    .unwrap();
    assert_board_writes_work(&project);
}

/// A small tmpfs that is filled by one kind of board write.
struct SmallDisk<'a> {
    project: &'a TestProject,
    mounts: MountNamespace,
    /// Texts of all versions so far.
    texts: Vec<String>,
}

impl SmallDisk<'_> {
    fn run_args(&self, args: &[String]) -> CommandOutput {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.mounts.run_polis(self.project, &args)
    }

    fn read_board(&self) -> Value {
        let args = ["board", "read", "global"].map(String::from);
        self.run_args(&args).expect_document()
    }

    fn read_board_file(&self) -> Vec<u8> {
        let file = self.project.data_path("global-whiteboard.md");
        self.mounts
            .namespace_command("cat")
            .arg(file)
            .output()
            .unwrap()
            .stdout
    }

    /// Asserts that the store has the last version, and the file a complete one: an older one if there is no
    /// room for the newest.
    fn assert_intact(&self) {
        let view = self.read_board();
        assert_eq!(view["version"], self.texts.len() - 1);
        assert!(
            view["content"] == **self.texts.last().unwrap(),
            "the content changed"
        );
        let file = self.read_board_file();
        assert!(
            self.texts.iter().any(|text| text.as_bytes() == file),
            "the file is torn"
        );
    }
}

/// Fills a disk, then enlarges it.
fn fill_disk(size: &str, step: &dyn Fn(usize) -> Vec<String>) {
    let board = TestProject::uninitialized();
    let line = format!("mount -t tmpfs -o size={size} tmpfs \"$1\"");
    let Some(mounts) = MountNamespace::with_mount(&line, board.path()) else {
        return report_skipped(
            "not permitted to mount; the test with a file size limit covers this",
        );
    };
    let mut small = SmallDisk {
        project: &board,
        mounts,
        texts: Vec::new(),
    };
    small
        .run_args(&["init", "--lang", "en"].map(String::from))
        .expect_document();
    let refused = loop {
        let text = small.read_board()["content"].as_str().unwrap().to_owned();
        small.texts.push(text);
        if small.texts.len() > 1 {
            small.assert_intact();
        }
        let answer = small.run_args(&step(small.texts.len()));
        if answer.exit_code != Some(0) {
            break answer.expect_refusal(1, "store_full");
        }
        assert!(small.texts.len() < 200, "the disk never fills");
    };
    assert!(
        refused.message.contains("nothing was changed"),
        "{refused:?}"
    );
    assert!(small.texts.len() > 1, "the disk was full from the start");
    small.assert_intact();
    let again = step(small.texts.len());
    small.run_args(&again).expect_refusal(1, "store_full");
    small.assert_intact();
    let grow = ["-o", "remount,size=32m"];
    let grown = small
        .mounts
        .namespace_command("mount")
        .args(grow)
        .arg(board.path())
        .status();
    assert!(grown.unwrap().success());
    small.assert_intact();
    assert!(
        small.read_board_file() == small.texts.last().unwrap().as_bytes(),
        "the file was not updated to the last version"
    );
    assert_eq!(
        small.run_args(&again).expect_document()["version"],
        small.texts.len()
    );
    let text = small.read_board()["content"].as_str().unwrap().to_owned();
    assert!(small.read_board_file() == text.as_bytes());
    assert_eq!(
        small.run_args(&["doctor".to_owned()]).expect_document()["ok"],
        true
    );
    let log = small.run_args(&["log".to_owned()]);
    assert_eq!(log.stdout.lines().count(), small.texts.len());
}

#[test]
fn full_disk_during_appends_loses_nothing() {
    // With some of these sizes the disk is full between the store's commit and the file write.
    for size in ["680k", "700k", "760k", "780k"] {
        fill_disk(size, &|n| {
            let text = format!("{n} {}", "x".repeat(30_000));
            ["board", "append", "global", "--content", &text]
                .map(String::from)
                .to_vec()
        });
    }
}

#[test]
fn full_disk_during_writes_loses_nothing() {
    fill_disk("900k", &|n| {
        let text = format!("{n} {}\n", "x".repeat(10_000 + n * 2_000));
        ["board", "write", "global", "--content", &text, "--force"]
            .map(String::from)
            .to_vec()
    });
}

#[test]
fn full_disk_during_section_writes_loses_nothing() {
    fill_disk("900k", &|n| {
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
fn file_size_limit_refuses_board_writes_without_loss() {
    let project = project_with_boards();
    let long = "x".repeat(100_000);
    for verb in ["write", "append"] {
        assert_refused_by_file_size_limit(&project, &["board", verb, "global", "--content", &long]);
        assert_eq!(project.board_text("global"), "two\n");
        assert_eq!(project.data_file_bytes("global-whiteboard.md"), b"two\n");
    }
    assert_board_writes_work(&project);
}

/// A blackboard file is created before the commit; if the commit is refused, the file must not remain.
#[test]
fn refused_blackboard_write_leaves_no_file() {
    let project = TestProject::uninitialized();
    let Some(mounts) =
        MountNamespace::with_mount("mount -t tmpfs -o size=700k tmpfs \"$1\"", project.path())
    else {
        return report_skipped("not permitted to mount");
    };
    let run = |args: &[&str]| mounts.run_polis(&project, args);
    run(&["init"]).expect_document();
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
        run(&args).exit_code == Some(0)
    };
    let written = (0..20).take_while(|n| write(*n)).count();
    assert!((1..20).contains(&written), "{written}");
    let path = format!("note-{written}.md");
    assert_eq!(run(&["blackboard", "read", &path]).exit_code, Some(4));
    assert!(
        run(&["log"]).stdout.lines().count() == written,
        "nothing was changed"
    );
    let file = project.data_path("blackboard").join(&path);
    let found = mounts.namespace_command("ls").arg(file).output().unwrap();
    assert!(!found.status.success(), "an empty file remains");
}
