//! Crash tests of the blackboard: writer processes are killed (SIGKILL) at random moments. Acknowledged
//! writes are present, the file matches the store, and it keeps its inode, so that other programs keep their
//! lock on it.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Mutex;

use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::PRODUCT_MANAGER;
use crate::harness::random_kill::{KillDelay, RECOVERY_TIMEOUT, SeededRng, crash_rounds};
use crate::harness::test_project::{TestProject, on_both_stores, spawn_captured};

/// Runs a write and kills it after a delay. Returns whether it was acknowledged.
fn write_and_kill_after(project: &TestProject, args: &[&str], delay: Duration) -> bool {
    let mut child = spawn_captured(&mut project.blackboard_command(PRODUCT_MANAGER, args));
    let begun = Instant::now();
    while begun.elapsed() < delay && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(100));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.is_empty(), "{stderr}");
    output.stdout.ends_with(b"\n")
}

/// Returns the file as the next command reads it.
fn read_recovered_file(project: &TestProject, path: &str) -> String {
    let begun = Instant::now();
    let text = project.read_blackboard_file(path);
    assert!(
        begun.elapsed() < RECOVERY_TIMEOUT,
        "the next command waited for a killed process"
    );
    if project.is_embedded() {
        assert_eq!(
            project.blackboard_file_bytes(path),
            text.as_bytes(),
            "file and store disagree"
        );
        let file = std::fs::File::open(project.blackboard_file_path(path)).unwrap();
        flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    }
    text
}

fn acknowledged_blackboard_lines_survive_kills(project: &TestProject) {
    let pace = KillDelay::from_micros(10_000);
    let mut all_told = 0;
    for file in 0..crash_rounds().div_ceil(10) {
        let path = &*format!("tasks/{file}/status.md");
        project.overwrite_blackboard_file(path, "begin\n");
        let inode = || {
            std::fs::metadata(project.blackboard_file_path(path))
                .unwrap()
                .ino()
        };
        let before = project.is_embedded().then(inode);
        let told = Mutex::new(BTreeSet::new());
        let asked = Mutex::new(BTreeSet::from(["begin".to_owned()]));
        for round in 0..crash_rounds().min(10) {
            std::thread::scope(|scope| {
                for worker in 0..4_u64 {
                    let (told, asked, pace) = (&told, &asked, &pace);
                    let seed = file * 1_000 + round * 10 + worker;
                    scope
                        .spawn(move || append_killed_lines(project, path, seed, pace, told, asked));
                }
            });
            let text = read_recovered_file(project, path);
            let mut seen = BTreeSet::new();
            for line in text.lines() {
                assert!(seen.insert(line.to_owned()), "twice: {line:.20}");
            }
            let (told, asked) = (told.lock().unwrap(), asked.lock().unwrap());
            assert!(told.is_subset(&seen), "an acknowledged line is lost");
            assert!(seen.is_subset(&asked), "an incomplete line is present");
            assert_eq!(
                project.is_embedded().then(inode),
                before,
                "the inode changed"
            );
        }
        all_told += told.lock().unwrap().len();
    }
    assert!(all_told > 0, "nothing was ever acknowledged");
    assert_no_external_edit(project);
}

/// Appends a few lines, each by a process that may be killed.
fn append_killed_lines(
    project: &TestProject,
    path: &str,
    seed: u64,
    pace: &KillDelay,
    told: &Mutex<BTreeSet<String>>,
    asked: &Mutex<BTreeSet<String>>,
) {
    let mut dice = SeededRng(seed);
    for n in 0..6 {
        // Long, so that writing takes noticeable time.
        let line = format!("{seed}/{n} {}", "x".repeat(20_000));
        let add = ["write", path, "--mode", "append", "--content", &line];
        asked.lock().unwrap().insert(line.clone());
        let through = write_and_kill_after(project, &add, pace.random_delay(&mut dice));
        pace.adjust(through);
        if through {
            told.lock().unwrap().insert(line);
        }
    }
}

/// Checks that no crash was recorded as an external edit.
fn assert_no_external_edit(project: &TestProject) {
    let external = project
        .read_log()
        .into_iter()
        .find(|e| e["kind"] == "board.external");
    assert_eq!(external, None);
}

fn killed_overwrite_leaves_the_old_or_new_text(project: &TestProject) {
    let path = "tasks/1/status.md";
    let pace = KillDelay::from_micros(10_000);
    let mut dice = SeededRng(11);
    let mut current = "begin".to_owned();
    project.overwrite_blackboard_file(path, &current);
    // A server may execute a killed client's request after the file was read.
    let mut late = BTreeSet::new();
    for round in 0..crash_rounds() * 6 {
        let size = usize::try_from(dice.next_below(100_000)).unwrap();
        let next = format!("{round} {}", "y".repeat(size));
        let write = ["write", path, "--mode", "overwrite", "--content", &next];
        let through = write_and_kill_after(project, &write, pace.random_delay(&mut dice));
        pace.adjust(through);
        let text = read_recovered_file(project, path);
        assert!(
            text == next || (!through && (text == current || late.contains(&text))),
            "neither: {text:.40}"
        );
        if text != next && !project.is_embedded() {
            late.insert(next);
        }
        current = text;
    }
    assert_no_external_edit(project);
}

fn killed_first_write_leaves_a_complete_file_or_none(project: &TestProject) {
    let pace = KillDelay::from_micros(10_000);
    let mut dice = SeededRng(12);
    for round in 1..=crash_rounds() * 6 {
        let path = format!("tasks/{round}/status.md");
        let content = format!("{round} {}", "z".repeat(50_000));
        let mode = if round % 2 == 0 {
            "append"
        } else {
            "overwrite"
        };
        let write = ["write", &path, "--mode", mode, "--content", &content];
        let through = write_and_kill_after(project, &write, pace.random_delay(&mut dice));
        pace.adjust(through);
        let answer = project.run_blackboard(PRODUCT_MANAGER, &["read", &path]);
        if through || answer.exit_code == Some(0) {
            assert!(
                answer.expect_success().stdout == content,
                "an incomplete file: {:.40}",
                answer.stdout
            );
            read_recovered_file(project, &path);
        } else {
            answer.expect_status(4, "404 NOT_FOUND");
            project.overwrite_blackboard_file(&path, "later");
            assert_eq!(read_recovered_file(project, &path), "later");
        }
    }
    assert_no_external_edit(project);
}

on_both_stores!(
    acknowledged_blackboard_lines_survive_kills,
    killed_overwrite_leaves_the_old_or_new_text,
    killed_first_write_leaves_a_complete_file_or_none,
);
