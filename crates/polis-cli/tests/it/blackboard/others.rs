//! Interoperability tests of the blackboard with other programs that take `flock` on the same file.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::PM;
use crate::board::{Board, eventually, finish, start};
use crate::concurrency::together;

const PATH: &str = "shared/context.md";
const ADD: [&str; 6] = ["write", PATH, "--mode", "append", "--content", "ours"];

/// Creates a board with a blackboard file. Returns it with the file's path.
fn with_file(content: &str) -> (Board, std::path::PathBuf) {
    let board = Board::embedded();
    board.overwrite(PATH, content);
    let file = board.on_disk(PATH);
    (board, file)
}

/// Locks a file as another program, until dropped.
fn locked(path: &Path, how: FlockOperation) -> File {
    let file = File::options().read(true).write(true).open(path).unwrap();
    flock(&file, how).unwrap();
    file
}

/// Returns whether a process has this file open, as it does while it waits for the lock.
fn is_waiting(writer: &Child, path: &Path) -> bool {
    let open = std::fs::read_dir(format!("/proc/{}/fd", writer.id()));
    let open = open.into_iter().flatten().flatten();
    let path = path.canonicalize().unwrap();
    open.filter_map(|fd| std::fs::read_link(fd.path()).ok())
        .any(|file| file == path)
}

fn inode(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

#[test]
fn a_writer_waits_until_the_other_program_is_done() {
    for how in [FlockOperation::LockExclusive, FlockOperation::LockShared] {
        for mode in ["append", "overwrite"] {
            let (board, file) = with_file("before\n");
            let other = locked(&file, how);
            let write = ["write", PATH, "--mode", mode, "--content", "ours"];
            let writer = start(&mut board.blackboard_command(PM, &write));
            eventually("waiting for the lock", || is_waiting(&writer, &file));
            assert_eq!(board.black_bytes(PATH), b"before\n");
            drop(other);
            finish(writer).done();
            let expected = if mode == "append" {
                "before\nours"
            } else {
                "ours"
            };
            assert_eq!(board.printed(PATH), expected);
            assert_eq!(board.black_bytes(PATH), expected.as_bytes());
        }
    }
}

#[test]
fn what_the_other_program_writes_meanwhile_is_kept() {
    let (board, file) = with_file("before\n");
    let mut other = locked(&file, FlockOperation::LockExclusive);
    let writer = start(&mut board.blackboard_command(PM, &ADD));
    eventually("waiting for the lock", || is_waiting(&writer, &file));
    other.set_len(0).unwrap();
    other.write_all(b"theirs\n").unwrap();
    drop(other);
    finish(writer).done();
    assert_eq!(board.printed(PATH), "theirs\nours");
    let bak = std::fs::read_to_string(board.on_disk("shared/context.md.bak"));
    assert_eq!(bak.unwrap(), "theirs\n");
}

#[test]
fn a_lock_that_stays_is_told_after_three_waits() {
    let (board, file) = with_file("before\n");
    board.configure("[blackboard]\nlock_wait = \"200ms\"\nlock_tries = 3\n");
    let other = locked(&file, FlockOperation::LockExclusive);
    for args in [
        &ADD[..],
        &["write", PATH, "--mode", "overwrite", "--content", "ours"],
    ] {
        let begun = Instant::now();
        let answer = board.blackboard(PM, args);
        let took = begun.elapsed();
        let said = answer.status(6, "423 LOCKED");
        assert!(said.contains(PATH), "{said}");
        assert!(took >= Duration::from_millis(600), "{took:?}");
        // Three waits of the default length would take 15 seconds.
        assert!(took < Duration::from_secs(12), "{took:?}");
    }
    let json = board.blackboard(PM, &[&["--json"], &ADD[..]].concat());
    json.refusal(6, "board_locked");
    assert_eq!(board.black_bytes(PATH), b"before\n");
    drop(other);
    board.blackboard(PM, &ADD).done();
    assert_eq!(board.printed(PATH), "before\nours");
    // Only this file is locked.
    let _other = locked(&file, FlockOperation::LockExclusive);
    board.overwrite("shared/another.md", "free");
}

#[test]
fn reading_waits_for_no_lock() {
    let (board, file) = with_file("before\n");
    let mut other = locked(&file, FlockOperation::LockExclusive);
    assert_eq!(board.printed(PATH), "before\n");
    // A half-written text is not shown.
    other.write_all(b"aft").unwrap();
    assert_eq!(board.printed(PATH), "before\n");
    other.seek(SeekFrom::Start(0)).unwrap();
    other.write_all(b"after!\n").unwrap();
    drop(other);
    assert_eq!(board.printed(PATH), "after!\n");
}

#[test]
fn a_change_by_another_program_is_a_version_by_external() {
    let (board, file) = with_file("ours\n");
    let before = inode(&file);
    {
        let mut other = locked(&file, FlockOperation::LockExclusive);
        other.seek(SeekFrom::End(0)).unwrap();
        other.write_all("theirs, 外部\n".as_bytes()).unwrap();
    }
    let read = board.blackboard(PM, &["--json", "read", PATH]).document();
    assert_eq!(read["content"], "ours\ntheirs, 外部\n");
    assert_eq!(read["version"], 2);
    assert_eq!(read["lastModifiedBy"], "external");
    let last = board.log().pop().unwrap();
    assert_eq!(last["kind"], "board.external");
    assert_eq!(last["actor"], "external");
    board.add(PATH, "ours again");
    assert_eq!(board.printed(PATH), "ours\ntheirs, 外部\nours again");
    board.overwrite(PATH, "new");
    assert_eq!(
        inode(&file),
        before,
        "others have this file open and locked"
    );
}

#[test]
fn a_file_another_program_made_is_read_and_listed() {
    let (board, _) = with_file("ours\n");
    std::fs::create_dir_all(board.on_disk("tasks/9")).unwrap();
    std::fs::write(board.on_disk("tasks/9/status.md"), "theirs").unwrap();
    std::fs::write(board.on_disk("tasks/9/Not Ours.txt"), "no").unwrap();
    let listed = board.blackboard(PM, &["list"]);
    assert_eq!(
        listed.done().stdout,
        "shared/context.md\ntasks/9/status.md\n"
    );
    assert_eq!(board.printed("tasks/9/status.md"), "theirs");
    board.add("tasks/9/status.md", "ours");
    assert_eq!(board.printed("tasks/9/status.md"), "theirs\nours");
}

#[test]
fn an_edit_outside_costs_no_history() {
    let board = Board::embedded();
    board.configure("[whiteboards]\nmax_versions = 20\n");
    for n in 1..=15 {
        let text = format!("version {n}");
        board.ok(
            "user",
            &["board", "write", "global", "--content", &text, "--force"],
        );
    }
    std::fs::write(board.workspace("global-whiteboard.md"), "theirs").unwrap();
    assert_eq!(
        board.ok("user", &["board", "read", "global"])["version"],
        16
    );
    let history = board.ok("user", &["board", "history", "global"]);
    assert_eq!(history["versions"].as_array().unwrap().len(), 16);
    let first = board.ok("user", &["board", "show", "global", "1"]);
    assert_eq!(first["content"], "version 1");
    let copies = std::fs::read_dir(board.workspace("whiteboard-history"));
    assert_eq!(copies.unwrap().count(), 15);
}

#[test]
fn an_edit_after_a_crash_is_still_an_edit() {
    let (board, file) = with_file("a long text\n");
    // State left by a process that dies before it commits the next version.
    let lock = board.workspace("whiteboards/.locks/bb_shared_context.md.lock");
    assert!(std::fs::read_to_string(&lock).unwrap().starts_with("idle"));
    std::fs::write(lock, format!("{:<8}{:020}\n", "writing", 2)).unwrap();
    std::fs::write(&file, "a long").unwrap();
    assert_eq!(board.printed(PATH), "a long", "cut off by somebody else");
    assert_eq!(board.log().pop().unwrap()["kind"], "board.external");
}

#[test]
fn a_file_that_somebody_removed_comes_back() {
    let (board, file) = with_file("kept\n");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(board.printed(PATH), "kept\n");
    assert_eq!(board.black_bytes(PATH), b"kept\n");
    std::fs::remove_dir_all(board.on_disk("")).unwrap();
    board.add(PATH, "more");
    assert_eq!(board.black_bytes(PATH), b"kept\nmore");
}

/// Appends a line as another program does: lock, read, change, write in place.
fn add_in_place(path: &Path, line: &str) {
    let open = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    let mut file = open.unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert!(
        text.is_empty() || text.ends_with('\n'),
        "half a line: {text:?}"
    );
    text.push_str(line);
    file.set_len(0).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Four polis processes and four other programs append lines to one file.
fn all_lines_are_there(board: &Board) {
    const ROUNDS: usize = 50;
    let file = board.on_disk(PATH);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    together(8, |n| {
        for k in 0..ROUNDS {
            let line = format!("{n} {k}\n");
            if n < 4 {
                board.add(PATH, &line);
            } else {
                add_in_place(&file, &line);
            }
        }
    });
    let text = board.printed(PATH);
    assert_eq!(board.black_bytes(PATH), text.as_bytes());
    for n in 0..8 {
        let mine = text
            .lines()
            .filter_map(|l| l.strip_prefix(&format!("{n} ")));
        let mine: Vec<usize> = mine.map(|k| k.parse().unwrap()).collect();
        assert_eq!(mine, (0..ROUNDS).collect::<Vec<_>>(), "writer {n}");
    }
    assert_eq!(text.lines().count(), 8 * ROUNDS);
}

#[test]
fn no_line_is_lost_between_us_and_others() {
    let (board, file) = with_file("");
    let before = inode(&file);
    all_lines_are_there(&board);
    assert_eq!(inode(&file), before);
}

#[test]
fn no_line_is_lost_when_the_file_is_only_begun() {
    for _ in 0..3 {
        all_lines_are_there(&Board::embedded());
    }
}
