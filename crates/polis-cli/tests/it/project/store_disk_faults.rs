//! Tests of the store on a read-only or full disk, in a mount namespace: writes are refused with a clear
//! message, and nothing is lost afterwards.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::harness::test_project::{CommandOutput, POLIS_EXE, TestProject, test_state_dir};

/// A process that holds a mount namespace; others join it.
pub(crate) struct MountNamespace(Child);

impl MountNamespace {
    /// Runs a shell line that mounts something, in a new mount namespace. `None` where that is not permitted.
    pub(crate) fn with_mount(line: &str, directory: &Path) -> Option<Self> {
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
    pub(crate) fn namespace_command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--mount", "--target", &self.0.id().to_string(), program]);
        command.stdin(Stdio::null());
        command.env("POLIS_STATE_DIR", test_state_dir());
        command
    }

    pub(crate) fn run_polis(&self, board: &TestProject, args: &[&str]) -> CommandOutput {
        let mut command = self.namespace_command(POLIS_EXE);
        command
            .arg("--dir")
            .arg(board.path())
            .arg("--json")
            .args(args);
        CommandOutput::from_output(command.output().unwrap())
    }
}

impl Drop for MountNamespace {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reports that a test could not run here.
pub(crate) fn report_skipped(why: &str) {
    // Written directly to stderr, since the test runner would capture it.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// Asserts that reads work and writes are refused.
fn assert_task_writes_refused(run: &dyn Fn(&[&str]) -> CommandOutput) {
    assert_eq!(
        run(&["task", "get", "1"]).expect_document()["subject"],
        "work"
    );
    assert_eq!(
        run(&["task", "list"]).expect_document()["tasks"]
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
        let refused = run(args).expect_refusal(3, "store_read_only");
        assert!(
            refused.message.contains("nothing was changed"),
            "{refused:?}"
        );
    }
    let doctor = run(&["doctor"]);
    assert_eq!(doctor.exit_code, Some(1));
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
fn read_only_file_system_refuses_task_writes() {
    let project = TestProject::embedded();
    project.create_task(&[]);
    let line = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    let Some(mounts) = MountNamespace::with_mount(line, project.path()) else {
        return report_skipped(
            "not permitted to mount; the test with another user's directory covers this",
        );
    };
    assert_task_writes_refused(&|args| mounts.run_polis(&project, args));
    mounts
        .run_polis(
            &project,
            &[
                "task",
                "export",
                project.project_path("out").to_str().unwrap(),
            ],
        )
        .expect_refusal(3, "store_read_only");
    drop(mounts);
    assert_eq!(project.create_task(&[]), "2");
}

#[test]
fn data_directory_of_another_user_refuses_task_writes() {
    let project = TestProject::embedded();
    project.create_task(&[]);
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    set(project.path(), 0o755);
    for entry in std::fs::read_dir(project.data_path("")).unwrap() {
        set(&entry.unwrap().path(), 0o444);
    }
    set(&project.data_path(""), 0o555);
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let works = Command::new("setpriv")
        .args(nobody)
        .args([POLIS_EXE, "--version"])
        .output();
    if works.is_ok_and(|output| output.status.success()) {
        let other = OtherUser::with_trusted_project(&project);
        assert_task_writes_refused(&|args| {
            let mut command = other.polis_command_as_user();
            command
                .arg("--dir")
                .arg(project.path())
                .arg("--json")
                .args(args);
            CommandOutput::from_output(command.output().unwrap())
        });
    } else {
        report_skipped("not permitted to switch to another user");
    }
    set(&project.data_path(""), 0o700);
    for entry in std::fs::read_dir(project.data_path("")).unwrap() {
        set(&entry.unwrap().path(), 0o600);
    }
    assert_eq!(project.create_task(&[]), "2");
}

/// The unprivileged user `nobody` (uid 65534), which trusts a project that it does not own.
pub(crate) struct OtherUser {
    state: tempfile::TempDir,
}

impl OtherUser {
    const UID: u32 = 65_534;

    pub(crate) fn with_trusted_project(board: &TestProject) -> Self {
        let state = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(state.path(), Some(Self::UID), Some(Self::UID)).unwrap();
        let other = Self { state };
        let refused = other
            .polis_command_as_user()
            .arg("--dir")
            .arg(board.path())
            .args(["--json", "stats"])
            .output();
        CommandOutput::from_output(refused.unwrap()).expect_refusal_with_paths(3, "not_trusted");
        let trusted = other
            .polis_command_as_user()
            .args(["trust", "--json"])
            .arg(board.path())
            .output();
        assert_eq!(
            CommandOutput::from_output(trusted.unwrap()).expect_document()["trusted"],
            true
        );
        other
    }

    /// Returns polis running as this user.
    pub(crate) fn polis_command_as_user(&self) -> Command {
        let mut command = Command::new("setpriv");
        let id = Self::UID.to_string();
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups", POLIS_EXE]);
        command.env("POLIS_STATE_DIR", self.state.path());
        command
    }
}

#[test]
fn full_disk_refuses_task_writes_without_loss() {
    let project = TestProject::uninitialized();
    let Some(mounts) =
        MountNamespace::with_mount("mount -t tmpfs -o size=600k tmpfs \"$1\"", project.path())
    else {
        return report_skipped(
            "not permitted to mount; the test with a file size limit covers this",
        );
    };
    mounts.run_polis(&project, &["init"]).expect_document();
    let long = "x".repeat(20_000);
    let mut created = 0;
    let refused = loop {
        let subject = format!("task {created}");
        let answer = mounts.run_polis(
            &project,
            &[
                "task",
                "create",
                "--subject",
                &subject,
                "--description",
                &long,
            ],
        );
        if answer.exit_code != Some(0) {
            break answer.expect_refusal(1, "store_full");
        }
        created += 1;
        assert!(created < 1_000, "the disk never fills");
    };
    assert!(
        refused.message.contains("nothing was changed"),
        "{refused:?}"
    );
    let list = mounts
        .run_polis(&project, &["task", "list"])
        .expect_document();
    assert_eq!(
        list["tasks"].as_array().unwrap().len(),
        created,
        "reads still work"
    );
    let out = project.project_path("out");
    mounts
        .run_polis(&project, &["task", "export", out.to_str().unwrap()])
        .expect_refusal(1, "store_full");
    let grown = mounts
        .namespace_command("mount")
        .args(["-o", "remount,size=8m"])
        .arg(project.path())
        .status()
        .unwrap();
    assert!(grown.success());
    let next = mounts
        .run_polis(&project, &["task", "create", "--subject", "after"])
        .expect_document();
    assert_eq!(next["id"], (created + 1).to_string());
    assert_eq!(
        mounts.run_polis(&project, &["doctor"]).expect_document()["ok"],
        true
    );
    let log = mounts.run_polis(&project, &["log"]);
    assert_eq!(log.stdout.lines().count(), created + 1);
}

#[test]
fn file_size_limit_refuses_task_writes_without_loss() {
    let project = TestProject::embedded();
    project.create_task(&[]);
    let long = "x".repeat(100_000);
    let create = ["task", "create", "--subject", "x", "--description", &long];
    assert_refused_by_file_size_limit(&project, &create);
    assert_eq!(project.list_task_ids("user", &["task", "list"]), ["1"]);
    assert_eq!(project.create_task(&[]), "2");
    assert_eq!(project.run_ok("user", &["doctor"])["ok"], true);
}

/// Runs a command with a file size limit of one block, and asserts that it is refused.
pub(crate) fn assert_refused_by_file_size_limit(project: &TestProject, args: &[&str]) {
    // With SIGXFSZ ignored, writing beyond the limit fails with an error, like on a failing disk.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
    let mut command = Command::new("sh");
    command
        .args(["-c", script, "sh", POLIS_EXE, "--json", "--dir"])
        .arg(project.path())
        .args(args);
    command.env("POLIS_STATE_DIR", test_state_dir());
    let refused = CommandOutput::from_output(command.output().unwrap());
    assert_eq!(
        (refused.exit_code, refused.stdout.as_str()),
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
