//! A disk that is full or read-only, and files of other users.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use polis_core::Code;
use polis_core::workspace::file::{DeleteFile, ReadFile};
use polis_workspace::files::WorkspaceDir;

use crate::files_crash::{part, part_workspace};
use crate::ground::{Ground, code, edit, is_root, skipped, write};

/// What the mount line ends with if there is no right to mount.
const NO_RIGHT: i32 = 77;

/// Runs a part with something mounted on the workspace; false if that is not allowed here.
fn with_mount(line: &str, name: &str, workspace: &Path) -> bool {
    let inner = part(name, workspace);
    let script = format!("{{ {line}; }} || exit {NO_RIGHT}; shift; exec \"$@\"");
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script, "sh"])
        .arg(workspace)
        .arg(inner.get_program())
        .args(inner.get_args())
        .env("POLIS_TEST_WORKSPACE", workspace)
        .output();
    match output {
        Ok(output) if output.status.success() => true,
        Ok(output) if output.status.code() == Some(NO_RIGHT) => false,
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("unshare") => false,
        Ok(output) => panic!("{}", String::from_utf8_lossy(&output.stderr)),
        Err(_) => false,
    }
}

#[test]
#[ignore = "a part of another test"]
fn part_on_a_small_disk() {
    let Some(path) = part_workspace() else { return };
    let dir = WorkspaceDir::open(&path).unwrap();
    dir.write(&write("f", "old")).unwrap();
    let large = "x".repeat(2_000_000);
    for refused in [
        dir.write(&write("f", &large)).unwrap_err(),
        dir.write(&write("new/g", &large)).unwrap_err(),
        dir.edit(&edit("f", "old", &large)).unwrap_err(),
    ] {
        assert_eq!(refused.code, Code::WriteFailed);
        assert!(refused.message.contains("full"), "{refused}");
    }
    let names: Vec<_> = std::fs::read_dir(&path).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let ask = ReadFile {
        path: "f".to_owned(),
        ..ReadFile::default()
    };
    assert_eq!(dir.read(&ask).unwrap().content, "old");
    dir.write(&write("f", "new")).unwrap();
}

#[test]
fn a_full_disk_is_told_and_nothing_is_changed() {
    let ground = Ground::new();
    let line = "mount -t tmpfs -o size=1m tmpfs \"$1\"";
    if !with_mount(line, "files_disk::part_on_a_small_disk", &ground.at("")) {
        skipped("no right to mount");
    }
}

#[test]
#[ignore = "a part of another test"]
fn part_on_a_read_only_disk() {
    let Some(path) = part_workspace() else { return };
    let dir = WorkspaceDir::open(&path).unwrap();
    check_no_right(&dir, true);
}

#[test]
fn a_read_only_disk_is_told() {
    let ground = Ground::new();
    ground.write("d/f", "old").unwrap();
    let line = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\"";
    if !with_mount(line, "files_disk::part_on_a_read_only_disk", &ground.at("")) {
        skipped("no right to mount");
    }
}

/// Nothing can be written, and that is told.
fn check_no_right(dir: &WorkspaceDir, readable: bool) {
    for refused in [
        code(dir.write(&write("d/f", "new"))),
        code(dir.write(&write("d/g", "new"))),
        code(dir.write(&write("d/new/g", "new"))),
        code(dir.edit(&edit("d/f", "old", "new"))),
        code(dir.delete(&DeleteFile {
            path: "d".to_owned(),
            recursive: true,
        })),
    ] {
        assert_eq!(refused, Code::PermissionDenied);
    }
    let ask = ReadFile {
        path: "d/f".to_owned(),
        ..ReadFile::default()
    };
    if readable {
        assert_eq!(dir.read(&ask).unwrap().content, "old");
    } else {
        assert_eq!(code(dir.read(&ask)), Code::PermissionDenied);
    }
}

#[test]
#[ignore = "a part of another test"]
fn part_without_rights() {
    let Some(path) = part_workspace() else { return };
    check_no_right(&WorkspaceDir::open(&path.join("open")).unwrap(), true);
    check_no_right(&WorkspaceDir::open(&path.join("closed")).unwrap(), false);
    // In a directory of ours, a file that may not be written is not replaced either.
    let own = WorkspaceDir::open(&path.join("own")).unwrap();
    assert_eq!(code(own.write(&write("f", "new"))), Code::PermissionDenied);
    own.write(&write("g", "new")).unwrap();
    let bound = polis_workspace::files::bind(&path.join("open/d"), Path::new("/nowhere"), None);
    assert_eq!(code(bound), Code::PermissionDenied);
    let below = path.join("open/d/new");
    let bound = polis_workspace::files::bind(&below, Path::new("/nowhere"), None);
    assert_eq!(code(bound), Code::PermissionDenied);
}

#[test]
fn what_the_system_does_not_allow_is_told() {
    let ground = Ground::new();
    for path in ["open/d/f", "closed/d/f", "own/f"] {
        ground.write(path, "old").unwrap();
    }
    let set = |path: &str, mode| {
        let rights = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(ground.at(path), rights).unwrap();
    };
    std::fs::set_permissions(
        ground.at("..").canonicalize().unwrap(),
        std::fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    set("open/d/f", 0o444);
    set("open/d", 0o555);
    set("closed/d/f", 0o000);
    set("closed/d", 0o555);
    set("own/f", 0o444);
    set("own", 0o777);
    let name = "files_disk::part_without_rights";
    let inner = part(name, &ground.at(""));
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(inner.get_program())
            .args(inner.get_args())
            .env("POLIS_TEST_WORKSPACE", ground.at(""));
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
        skipped("no right to become another user");
    }
    for path in ["open/d", "closed/d"] {
        set(path, 0o755);
    }
}
