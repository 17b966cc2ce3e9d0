//! Writers that are killed, and writers in other processes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use polis_workspace::files::WorkspaceDir;

use crate::ground::{Ground, edit, limits, write};

/// Where a part that runs in a process of its own works.
const WHERE: &str = "POLIS_TEST_WORKSPACE";

/// This test binary, about to run one part of a test.
pub(crate) fn part(name: &str, workspace: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            name,
            "--include-ignored",
            "--nocapture",
            "--quiet",
        ])
        .env(WHERE, workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
}

/// The workspace of a part; none if the part was not started by its test.
pub(crate) fn part_workspace() -> Option<PathBuf> {
    std::env::var_os(WHERE).map(PathBuf::from)
}

fn content(letter: char) -> String {
    letter.to_string().repeat(200_000)
}

#[test]
#[ignore = "a part of another test"]
fn part_writes_for_ever() {
    let Some(path) = part_workspace() else { return };
    let dir = WorkspaceDir::open(&path).unwrap();
    for letter in ['b', 'c'].into_iter().cycle() {
        dir.write(&write("d/f.txt", &content(letter))).unwrap();
        dir.write(&write("d/again.txt", &content(letter))).unwrap();
    }
}

/// Killed at any moment, a write has happened whole or not at all, and a later one cleans up.
#[test]
fn a_killed_writer_leaves_the_old_or_the_new() {
    let ground = Ground::on_disk();
    ground.write("d/f.txt", &content('a')).unwrap();
    let wholes = ['a', 'b', 'c'].map(content);
    let mut left_behind = 0;
    for round in 0..40_u64 {
        let mut child = part("files_crash::part_writes_for_ever", &ground.at(""))
            .spawn()
            .unwrap();
        wait_for_change(&ground, &mut child);
        // A different moment of the write each time.
        let until = Instant::now() + Duration::from_micros(round * 173);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let found = ground.read("d/f.txt").unwrap().content;
        assert!(wholes.contains(&found), "{} bytes", found.len());
        let files = std::fs::read_dir(ground.at("d")).unwrap().count();
        left_behind += usize::from(files > 2);
        assert!(ground.names("d").iter().all(|name| !name.contains("tmp")));
        assert_eq!(
            ground.dir.info().unwrap().file_count as usize,
            ground.names("d").len()
        );
    }
    assert!(left_behind > 0, "no writer was killed in the middle");
    ground.write("d/f.txt", "end").unwrap();
    ground.write("d/again.txt", "end").unwrap();
    assert_eq!(std::fs::read_dir(ground.at("d")).unwrap().count(), 2);
}

/// Until the child has written: the file's inode is another.
fn wait_for_change(ground: &Ground, child: &mut Child) {
    use std::os::unix::fs::MetadataExt as _;
    let inode = || {
        ground
            .at("d/f.txt")
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
fn part_appends() {
    let Some(path) = part_workspace() else { return };
    let dir = WorkspaceDir::open(&path).unwrap().with_limits(limits());
    for number in 0..25 {
        let line = format!("{}.{number}\nEND", std::process::id());
        dir.edit(&edit("list", "END", &line)).unwrap();
    }
}

/// Edits from several processes all count.
#[test]
fn no_edit_of_another_process_is_lost() {
    let ground = Ground::on_disk();
    ground.write("list", "END").unwrap();
    let children: Vec<_> = (0..3)
        .map(|_| {
            part("files_crash::part_appends", &ground.at(""))
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(ground.read("list").unwrap().content.lines().count(), 76);
    assert_eq!(std::fs::read_dir(ground.at("")).unwrap().count(), 1);
}
