//! Crash tests of the blackboard: writers are killed at any moment. Acknowledged writes are present, the file matches
//! the store, and it keeps its inode, so that other programs keep their lock on it.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Mutex;

use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::PM;
use crate::board::{Board, on_both_stores, start};
use crate::kill::{AT_ONCE, Dice, Pace, rounds};

/// Runs a write and kills it after a delay. Returns whether it was acknowledged.
fn killed_after(board: &Board, args: &[&str], delay: Duration) -> bool {
    let mut child = start(&mut board.blackboard_command(PM, args));
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
fn text_of(board: &Board, path: &str) -> String {
    let begun = Instant::now();
    let text = board.printed(path);
    assert!(
        begun.elapsed() < AT_ONCE,
        "the next command waited for the dead"
    );
    if board.is_embedded() {
        assert_eq!(
            board.black_bytes(path),
            text.as_bytes(),
            "file and store disagree"
        );
        let file = std::fs::File::open(board.on_disk(path)).unwrap();
        flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    }
    text
}

fn acknowledged_lines_survive_kills(board: &Board) {
    let pace = Pace::of_micros(10_000);
    let mut all_told = 0;
    for file in 0..rounds().div_ceil(10) {
        let path = &*format!("tasks/{file}/status.md");
        board.overwrite(path, "begin\n");
        let inode = || std::fs::metadata(board.on_disk(path)).unwrap().ino();
        let before = board.is_embedded().then(inode);
        let told = Mutex::new(BTreeSet::new());
        let asked = Mutex::new(BTreeSet::from(["begin".to_owned()]));
        for round in 0..rounds().min(10) {
            std::thread::scope(|scope| {
                for worker in 0..4_u64 {
                    let (told, asked, pace) = (&told, &asked, &pace);
                    let seed = file * 1_000 + round * 10 + worker;
                    scope.spawn(move || add_lines(board, path, seed, pace, told, asked));
                }
            });
            let text = text_of(board, path);
            let mut seen = BTreeSet::new();
            for line in text.lines() {
                assert!(seen.insert(line.to_owned()), "twice: {line:.20}");
            }
            let (told, asked) = (told.lock().unwrap(), asked.lock().unwrap());
            assert!(told.is_subset(&seen), "an acknowledged line is lost");
            assert!(seen.is_subset(&asked), "half a line");
            assert_eq!(board.is_embedded().then(inode), before, "another file");
        }
        all_told += told.lock().unwrap().len();
    }
    assert!(all_told > 0, "nothing was ever acknowledged");
    nobody_else_wrote(board);
}

/// Appends a few lines, each by a process that may be killed.
fn add_lines(
    board: &Board,
    path: &str,
    seed: u64,
    pace: &Pace,
    told: &Mutex<BTreeSet<String>>,
    asked: &Mutex<BTreeSet<String>>,
) {
    let mut dice = Dice(seed);
    for n in 0..6 {
        // Long, so that writing takes noticeable time.
        let line = format!("{seed}/{n} {}", "x".repeat(20_000));
        let add = ["write", path, "--mode", "append", "--content", &line];
        asked.lock().unwrap().insert(line.clone());
        let through = killed_after(board, &add, pace.delay(&mut dice));
        pace.learn(through);
        if through {
            told.lock().unwrap().insert(line);
        }
    }
}

/// Checks that no crash was recorded as an external edit.
fn nobody_else_wrote(board: &Board) {
    let external = board
        .log()
        .into_iter()
        .find(|e| e["kind"] == "board.external");
    assert_eq!(external, None);
}

fn an_overwritten_file_is_the_old_or_the_new(board: &Board) {
    let path = "tasks/1/status.md";
    let pace = Pace::of_micros(10_000);
    let mut dice = Dice(11);
    let mut current = "begin".to_owned();
    board.overwrite(path, &current);
    // A server may execute a killed client's request after the file was read.
    let mut late = BTreeSet::new();
    for round in 0..rounds() * 6 {
        let size = usize::try_from(dice.below(100_000)).unwrap();
        let next = format!("{round} {}", "y".repeat(size));
        let write = ["write", path, "--mode", "overwrite", "--content", &next];
        let through = killed_after(board, &write, pace.delay(&mut dice));
        pace.learn(through);
        let text = text_of(board, path);
        assert!(
            text == next || (!through && (text == current || late.contains(&text))),
            "neither: {text:.40}"
        );
        if text != next && !board.is_embedded() {
            late.insert(next);
        }
        current = text;
    }
    nobody_else_wrote(board);
}

fn a_file_is_begun_whole_or_not_at_all(board: &Board) {
    let pace = Pace::of_micros(10_000);
    let mut dice = Dice(12);
    for round in 1..=rounds() * 6 {
        let path = format!("tasks/{round}/status.md");
        let content = format!("{round} {}", "z".repeat(50_000));
        let mode = if round % 2 == 0 {
            "append"
        } else {
            "overwrite"
        };
        let write = ["write", &path, "--mode", mode, "--content", &content];
        let through = killed_after(board, &write, pace.delay(&mut dice));
        pace.learn(through);
        let answer = board.blackboard(PM, &["read", &path]);
        if through || answer.exit == Some(0) {
            assert!(
                answer.done().stdout == content,
                "half a file: {:.40}",
                answer.stdout
            );
            text_of(board, &path);
        } else {
            answer.status(4, "404 NOT_FOUND");
            board.overwrite(&path, "later");
            assert_eq!(text_of(board, &path), "later");
        }
    }
    nobody_else_wrote(board);
}

on_both_stores!(
    acknowledged_lines_survive_kills,
    an_overwritten_file_is_the_old_or_the_new,
    a_file_is_begun_whole_or_not_at_all,
);
