//! Crash tests of file writes: a writer killed with SIGKILL leaves the old or the new content, and concurrent
//! writers in other processes lose no edit.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use polis_workspace::files::WorkspaceDir;

use crate::test_workspace::{TestWorkspace, edit_params, test_limits, write_params};

/// Environment variable with the workspace of a test part that runs in a separate process.
const WORKSPACE_VAR: &str = "POLIS_TEST_WORKSPACE";

/// Returns the command that runs one part of a test in a new process of this test binary.
pub(crate) fn subprocess_command(name: &str, workspace: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            name,
            "--include-ignored",
            "--nocapture",
            "--quiet",
        ])
        .env(WORKSPACE_VAR, workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// Returns the workspace of a part, or `None` if the part was not started by its test.
pub(crate) fn subprocess_workspace() -> Option<PathBuf> {
    std::env::var_os(WORKSPACE_VAR).map(PathBuf::from)
}

fn repeated_letter(letter: char) -> String {
    letter.to_string().repeat(200_000)
}

#[test]
#[ignore = "a part of another test"]
fn subprocess_writes_until_killed() {
    let Some(path) = subprocess_workspace() else {
        return;
    };
    let dir = WorkspaceDir::open(&path).unwrap();
    for letter in ['b', 'c'].into_iter().cycle() {
        dir.write(&write_params("d/f.txt", &repeated_letter(letter)))
            .unwrap();
        dir.write(&write_params("d/again.txt", &repeated_letter(letter)))
            .unwrap();
    }
}

/// A write that is killed at any moment has taken effect completely or not at all, and a later write cleans
/// up.
#[test]
fn killed_writer_leaves_old_or_new_content() {
    let ground = TestWorkspace::on_disk();
    ground.write("d/f.txt", &repeated_letter('a')).unwrap();
    let wholes = ['a', 'b', 'c'].map(repeated_letter);
    let mut left_behind = 0;
    for round in 0..40_u64 {
        let mut child = subprocess_command(
            "file_crash::subprocess_writes_until_killed",
            &ground.host_path(""),
        )
        .spawn()
        .unwrap();
        wait_for_new_inode(&ground, &mut child);
        // A different moment of the write each time.
        let until = Instant::now() + Duration::from_micros(round * 173);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let found = ground.read("d/f.txt").unwrap().content;
        assert!(wholes.contains(&found), "{} bytes", found.len());
        let files = std::fs::read_dir(ground.host_path("d")).unwrap().count();
        left_behind += usize::from(files > 2);
        assert!(
            ground
                .file_names("d")
                .iter()
                .all(|name| !name.contains("tmp"))
        );
        assert_eq!(
            ground.dir.info().unwrap().file_count as usize,
            ground.file_names("d").len()
        );
    }
    assert!(left_behind > 0, "no writer was killed in the middle");
    ground.write("d/f.txt", "end").unwrap();
    ground.write("d/again.txt", "end").unwrap();
    assert_eq!(std::fs::read_dir(ground.host_path("d")).unwrap().count(), 2);
}

/// Waits until the child has written: the file has another inode.
fn wait_for_new_inode(ground: &TestWorkspace, child: &mut Child) {
    use std::os::unix::fs::MetadataExt as _;
    let inode = || {
        ground
            .host_path("d/f.txt")
            .metadata()
            .map_or(0, |found| found.ino())
    };
    let (before, began) = (inode(), Instant::now());
    while inode() == before {
        assert!(child.try_wait().unwrap().is_none(), "the child ended");
        assert!(began.elapsed() < Duration::from_secs(30));
        std::thread::yield_now();
    }
}

#[test]
#[ignore = "a part of another test"]
fn subprocess_appends_lines() {
    let Some(path) = subprocess_workspace() else {
        return;
    };
    let dir = WorkspaceDir::open(&path)
        .unwrap()
        .with_limits(test_limits());
    for number in 0..25 {
        let line = format!("{}.{number}\nEND", std::process::id());
        dir.edit(&edit_params("list", "END", &line)).unwrap();
    }
}

/// Concurrent edits from several processes all take effect.
#[test]
fn edits_from_several_processes_all_take_effect() {
    let ground = TestWorkspace::on_disk();
    ground.write("list", "END").unwrap();
    let children: Vec<_> = (0..3)
        .map(|_| {
            subprocess_command(
                "file_crash::subprocess_appends_lines",
                &ground.host_path(""),
            )
            .spawn()
            .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(ground.read("list").unwrap().content.lines().count(), 76);
    assert_eq!(std::fs::read_dir(ground.host_path("")).unwrap().count(), 1);
}
