//! Tests of file system errors: a full disk, a read-only disk and missing permissions are reported and change
//! nothing. Each runs in a separate process with its own mount or user.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use polis_core::RefusalCode;
use polis_core::workspace::file_tools::{DeleteFileParams, ReadFileParams};
use polis_workspace::files::WorkspaceDir;

use crate::file_crash::{subprocess_command, subprocess_workspace};
use crate::test_workspace::{
    TestWorkspace, edit_params, is_root, refusal_code, rendered, report_skipped, write_params,
};

/// Exit code of the mount script without permission to mount.
const EXIT_NO_PERMISSION: i32 = 77;

/// Runs a part with a file system mounted on the workspace. Returns false if mounting is not permitted here.
fn run_with_mount(line: &str, name: &str, workspace: &Path) -> bool {
    let inner = subprocess_command(name, workspace);
    let script = format!("{{ {line}; }} || exit {EXIT_NO_PERMISSION}; shift; exec \"$@\"");
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script, "sh"])
        .arg(workspace)
        .arg(inner.get_program())
        .args(inner.get_args())
        .env("POLIS_TEST_WORKSPACE", workspace)
        .output();
    match output {
        Ok(output) if output.status.success() => true,
        Ok(output) if output.status.code() == Some(EXIT_NO_PERMISSION) => false,
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("unshare") => false,
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => false,
    }
}

#[test]
#[ignore = "a part of another test"]
fn subprocess_on_a_full_disk() {
    let Some(path) = subprocess_workspace() else {
        return;
    };
    let dir = WorkspaceDir::open(&path).unwrap();
    dir.write(&write_params("f", "old")).unwrap();
    let large = "x".repeat(2_000_000);
    for refused in [
        dir.write(&write_params("f", &large)).unwrap_err(),
        dir.write(&write_params("new/g", &large)).unwrap_err(),
        dir.edit(&edit_params("f", "old", &large)).unwrap_err(),
    ] {
        assert_eq!(refused.code, RefusalCode::WRITE_FAILED);
        assert!(rendered(&refused).message.contains("full"), "{refused}");
    }
    let names: Vec<_> = std::fs::read_dir(&path).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let ask = ReadFileParams {
        path: "f".to_owned(),
        ..ReadFileParams::default()
    };
    assert_eq!(dir.read(&ask).unwrap().content, "old");
    dir.write(&write_params("f", "new")).unwrap();
}

#[test]
fn full_disk_is_reported_and_changes_nothing() {
    let ground = TestWorkspace::new();
    let line = "mount -t tmpfs -o size=1m tmpfs \"$1\"";
    if !run_with_mount(
        line,
        "file_system_errors::subprocess_on_a_full_disk",
        &ground.host_path(""),
    ) {
        report_skipped("no right to mount");
    }
}

#[test]
#[ignore = "a part of another test"]
fn subprocess_on_a_read_only_disk() {
    let Some(path) = subprocess_workspace() else {
        return;
    };
    let dir = WorkspaceDir::open(&path).unwrap();
    check_permission_denied(&dir, true);
}

#[test]
fn read_only_disk_is_reported() {
    let ground = TestWorkspace::new();
    ground.write("d/f", "old").unwrap();
    let line = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    if !run_with_mount(
        line,
        "file_system_errors::subprocess_on_a_read_only_disk",
        &ground.host_path(""),
    ) {
        report_skipped("no right to mount");
    }
}

/// Checks that every write fails with `permission_denied`.
fn check_permission_denied(dir: &WorkspaceDir, readable: bool) {
    for refused in [
        refusal_code(dir.write(&write_params("d/f", "new"))),
        refusal_code(dir.write(&write_params("d/g", "new"))),
        refusal_code(dir.write(&write_params("d/new/g", "new"))),
        refusal_code(dir.edit(&edit_params("d/f", "old", "new"))),
        refusal_code(dir.delete(&DeleteFileParams {
            path: "d".to_owned(),
            recursive: true,
        })),
    ] {
        assert_eq!(refused, RefusalCode::PERMISSION_DENIED);
    }
    let ask = ReadFileParams {
        path: "d/f".to_owned(),
        ..ReadFileParams::default()
    };
    if readable {
        assert_eq!(dir.read(&ask).unwrap().content, "old");
    } else {
        assert_eq!(refusal_code(dir.read(&ask)), RefusalCode::PERMISSION_DENIED);
    }
}

#[test]
#[ignore = "a part of another test"]
fn subprocess_without_permissions() {
    let Some(path) = subprocess_workspace() else {
        return;
    };
    check_permission_denied(&WorkspaceDir::open(&path.join("open")).unwrap(), true);
    check_permission_denied(&WorkspaceDir::open(&path.join("closed")).unwrap(), false);
    // A file that may not be written is not replaced either, even in a writable directory.
    let own = WorkspaceDir::open(&path.join("own")).unwrap();
    assert_eq!(
        refusal_code(own.write(&write_params("f", "new"))),
        RefusalCode::PERMISSION_DENIED
    );
    own.write(&write_params("g", "new")).unwrap();
    let bound =
        polis_workspace::files::bind_directory(&path.join("open/d"), Path::new("/nowhere"), None);
    assert_eq!(refusal_code(bound), RefusalCode::PERMISSION_DENIED);
    let below = path.join("open/d/new");
    let bound = polis_workspace::files::bind_directory(&below, Path::new("/nowhere"), None);
    assert_eq!(refusal_code(bound), RefusalCode::PERMISSION_DENIED);
}

#[test]
fn missing_permission_is_reported() {
    let ground = TestWorkspace::new();
    for path in ["open/d/f", "closed/d/f", "own/f"] {
        ground.write(path, "old").unwrap();
    }
    let set = |path: &str, mode| {
        let rights = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(ground.host_path(path), rights).unwrap();
    };
    std::fs::set_permissions(
        ground.host_path("..").canonicalize().unwrap(),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    set("open/d/f", 0o444);
    set("open/d", 0o555);
    set("closed/d/f", 0o000);
    set("closed/d", 0o555);
    set("own/f", 0o444);
    set("own", 0o777);
    let name = "file_system_errors::subprocess_without_permissions";
    let inner = subprocess_command(name, &ground.host_path(""));
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(inner.get_program())
            .args(inner.get_args())
            .env("POLIS_TEST_WORKSPACE", ground.host_path(""));
        command
    } else {
        inner
    };
    let works = !is_root()
        || Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(std::env::current_exe().unwrap())
            .arg("--list")
            .output()
            .is_ok_and(|output| output.status.success());
    if works {
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    } else {
        report_skipped("no permission to become another user");
    }
    for path in ["open/d", "closed/d"] {
        set(path, 0o755);
    }
}
