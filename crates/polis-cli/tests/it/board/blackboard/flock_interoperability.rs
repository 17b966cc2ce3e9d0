//! Interoperability tests of the blackboard: other programs take `flock` on the same file and edit it in
//! place.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::PRODUCT_MANAGER;
use crate::harness::test_project::{TestProject, spawn_captured, wait_for_output, wait_until};
use crate::task::task_concurrency::run_concurrently;

const CONTEXT_PATH: &str = "shared/context.md";
const APPEND_ARGS: [&str; 6] = [
    "write",
    CONTEXT_PATH,
    "--mode",
    "append",
    "--content",
    "ours",
];

/// Creates a project with a blackboard file. Returns it with the file's path.
fn project_with_file(content: &str) -> (TestProject, std::path::PathBuf) {
    let project = TestProject::embedded();
    project.overwrite_blackboard_file(CONTEXT_PATH, content);
    let file = project.blackboard_file_path(CONTEXT_PATH);
    (project, file)
}

/// Locks a file as another program, until dropped.
fn flock_file(path: &Path, how: FlockOperation) -> File {
    let file = File::options().read(true).write(true).open(path).unwrap();
    flock(&file, how).unwrap();
    file
}

/// Returns whether a process has this file open, as it does while it waits for the lock.
fn is_waiting_for_lock(writer: &Child, path: &Path) -> bool {
    let open = std::fs::read_dir(format!("/proc/{}/fd", writer.id()));
    let open = open.into_iter().flatten().flatten();
    let path = path.canonicalize().unwrap();
    open.filter_map(|fd| std::fs::read_link(fd.path()).ok())
        .any(|file| file == path)
}

fn file_inode(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

#[test]
fn writer_waits_for_lock_of_another_program() {
    for how in [FlockOperation::LockExclusive, FlockOperation::LockShared] {
        for mode in ["append", "overwrite"] {
            let (project, file) = project_with_file("before\n");
            let other = flock_file(&file, how);
            let write = ["write", CONTEXT_PATH, "--mode", mode, "--content", "ours"];
            let writer = spawn_captured(&mut project.blackboard_command(PRODUCT_MANAGER, &write));
            wait_until("waiting for the lock", || {
                is_waiting_for_lock(&writer, &file)
            });
            assert_eq!(project.blackboard_file_bytes(CONTEXT_PATH), b"before\n");
            drop(other);
            wait_for_output(writer).expect_success();
            let expected = if mode == "append" {
                "before\nours"
            } else {
                "ours"
            };
            assert_eq!(project.read_blackboard_file(CONTEXT_PATH), expected);
            assert_eq!(
                project.blackboard_file_bytes(CONTEXT_PATH),
                expected.as_bytes()
            );
        }
    }
}

#[test]
fn append_after_waiting_keeps_text_of_another_program() {
    let (project, file) = project_with_file("before\n");
    let mut other = flock_file(&file, FlockOperation::LockExclusive);
    let writer = spawn_captured(&mut project.blackboard_command(PRODUCT_MANAGER, &APPEND_ARGS));
    wait_until("waiting for the lock", || {
        is_waiting_for_lock(&writer, &file)
    });
    other.set_len(0).unwrap();
    other.write_all(b"theirs\n").unwrap();
    drop(other);
    wait_for_output(writer).expect_success();
    assert_eq!(project.read_blackboard_file(CONTEXT_PATH), "theirs\nours");
    let bak = std::fs::read_to_string(project.blackboard_file_path("shared/context.md.bak"));
    assert_eq!(bak.unwrap(), "theirs\n");
}

#[test]
fn lock_held_by_another_program_is_reported_after_three_waits() {
    let (project, file) = project_with_file("before\n");
    project.write_polis_toml("[blackboard]\nlock_wait = \"200ms\"\nlock_tries = 3\n");
    let other = flock_file(&file, FlockOperation::LockExclusive);
    for args in [
        &APPEND_ARGS[..],
        &[
            "write",
            CONTEXT_PATH,
            "--mode",
            "overwrite",
            "--content",
            "ours",
        ],
    ] {
        let begun = Instant::now();
        let answer = project.run_blackboard(PRODUCT_MANAGER, args);
        let took = begun.elapsed();
        let said = answer.expect_status(6, "423 LOCKED");
        assert!(said.contains(CONTEXT_PATH), "{said}");
        assert!(took >= Duration::from_millis(600), "{took:?}");
        // Three waits of the default length would take 15 seconds.
        assert!(took < Duration::from_secs(12), "{took:?}");
    }
    let json = project.run_blackboard(PRODUCT_MANAGER, &[&["--json"], &APPEND_ARGS[..]].concat());
    json.expect_refusal(6, "board_locked");
    assert_eq!(project.blackboard_file_bytes(CONTEXT_PATH), b"before\n");
    drop(other);
    project
        .run_blackboard(PRODUCT_MANAGER, &APPEND_ARGS)
        .expect_success();
    assert_eq!(project.read_blackboard_file(CONTEXT_PATH), "before\nours");
    // Only this file is locked.
    let _other = flock_file(&file, FlockOperation::LockExclusive);
    project.overwrite_blackboard_file("shared/another.md", "free");
}

#[test]
fn reader_does_not_wait_for_a_lock() {
    let (project, file) = project_with_file("before\n");
    let mut other = flock_file(&file, FlockOperation::LockExclusive);
    assert_eq!(project.read_blackboard_file(CONTEXT_PATH), "before\n");
    // A half-written text is not shown.
    other.write_all(b"aft").unwrap();
    assert_eq!(project.read_blackboard_file(CONTEXT_PATH), "before\n");
    other.seek(SeekFrom::Start(0)).unwrap();
    other.write_all(b"after!\n").unwrap();
    drop(other);
    assert_eq!(project.read_blackboard_file(CONTEXT_PATH), "after!\n");
}

#[test]
fn change_by_another_program_becomes_an_external_version() {
    let (project, file) = project_with_file("ours\n");
    let before = file_inode(&file);
    {
        let mut other = flock_file(&file, FlockOperation::LockExclusive);
        other.seek(SeekFrom::End(0)).unwrap();
        other.write_all("theirs, 外部\n".as_bytes()).unwrap();
    }
    let read = project
        .run_blackboard(PRODUCT_MANAGER, &["--json", "read", CONTEXT_PATH])
        .expect_document();
    assert_eq!(read["content"], "ours\ntheirs, 外部\n");
    assert_eq!(read["version"], 2);
    assert_eq!(read["lastModifiedBy"], "external");
    let last = project.read_log().pop().unwrap();
    assert_eq!(last["kind"], "board.external");
    assert_eq!(last["actor"], "external");
    project.append_blackboard_file(CONTEXT_PATH, "ours again");
    assert_eq!(
        project.read_blackboard_file(CONTEXT_PATH),
        "ours\ntheirs, 外部\nours again"
    );
    project.overwrite_blackboard_file(CONTEXT_PATH, "new");
    assert_eq!(
        file_inode(&file),
        before,
        "others have this file open and locked"
    );
}

#[test]
fn file_created_by_another_program_is_read_and_listed() {
    let (project, _) = project_with_file("ours\n");
    std::fs::create_dir_all(project.blackboard_file_path("tasks/9")).unwrap();
    std::fs::write(project.blackboard_file_path("tasks/9/status.md"), "theirs").unwrap();
    std::fs::write(project.blackboard_file_path("tasks/9/Not Ours.txt"), "no").unwrap();
    let listed = project.run_blackboard(PRODUCT_MANAGER, &["list"]);
    assert_eq!(
        listed.expect_success().stdout,
        "shared/context.md\ntasks/9/status.md\n"
    );
    assert_eq!(project.read_blackboard_file("tasks/9/status.md"), "theirs");
    project.append_blackboard_file("tasks/9/status.md", "ours");
    assert_eq!(
        project.read_blackboard_file("tasks/9/status.md"),
        "theirs\nours"
    );
}

#[test]
fn external_edit_keeps_the_history() {
    let project = TestProject::embedded();
    project.write_polis_toml("[whiteboards]\nmax_versions = 20\n");
    for n in 1..=15 {
        let text = format!("version {n}");
        project.run_ok(
            "user",
            &["board", "write", "global", "--content", &text, "--force"],
        );
    }
    std::fs::write(project.data_path("global-whiteboard.md"), "theirs").unwrap();
    assert_eq!(
        project.run_ok("user", &["board", "read", "global"])["version"],
        16
    );
    let history = project.run_ok("user", &["board", "history", "global"]);
    assert_eq!(history["versions"].as_array().unwrap().len(), 16);
    let first = project.run_ok("user", &["board", "show", "global", "1"]);
    assert_eq!(first["content"], "version 1");
    let copies = std::fs::read_dir(project.data_path("whiteboard-history"));
    assert_eq!(copies.unwrap().count(), 15);
}

#[test]
fn edit_after_a_crash_is_an_external_edit() {
    let (project, file) = project_with_file("a long text\n");
    // State left by a process that dies before it commits the next version.
    let lock = project.data_path("whiteboards/.locks/bb_shared_context.md.lock");
    assert!(std::fs::read_to_string(&lock).unwrap().starts_with("idle"));
    std::fs::write(lock, format!("{:<8}{:020}\n", "writing", 2)).unwrap();
    std::fs::write(&file, "a long").unwrap();
    assert_eq!(
        project.read_blackboard_file(CONTEXT_PATH),
        "a long",
        "truncated by another program"
    );
    assert_eq!(project.read_log().pop().unwrap()["kind"], "board.external");
}

#[test]
fn removed_blackboard_file_is_restored() {
    let (project, file) = project_with_file("kept\n");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(project.read_blackboard_file(CONTEXT_PATH), "kept\n");
    assert_eq!(project.blackboard_file_bytes(CONTEXT_PATH), b"kept\n");
    std::fs::remove_dir_all(project.blackboard_file_path("")).unwrap();
    project.append_blackboard_file(CONTEXT_PATH, "more");
    assert_eq!(project.blackboard_file_bytes(CONTEXT_PATH), b"kept\nmore");
}

/// Appends a line as another program does: lock, read, change, write in place.
fn append_as_other_program(path: &Path, line: &str) {
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
        "an incomplete line: {text:?}"
    );
    text.push_str(line);
    file.set_len(0).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Four polis processes and four other programs append lines to one file.
fn assert_all_appended_lines_present(project: &TestProject) {
    const ROUNDS: usize = 50;
    let file = project.blackboard_file_path(CONTEXT_PATH);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    run_concurrently(8, |n| {
        for k in 0..ROUNDS {
            let line = format!("{n} {k}\n");
            if n < 4 {
                project.append_blackboard_file(CONTEXT_PATH, &line);
            } else {
                append_as_other_program(&file, &line);
            }
        }
    });
    let text = project.read_blackboard_file(CONTEXT_PATH);
    assert_eq!(project.blackboard_file_bytes(CONTEXT_PATH), text.as_bytes());
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
fn concurrent_appends_with_other_programs_lose_no_line() {
    let (project, file) = project_with_file("");
    let before = file_inode(&file);
    assert_all_appended_lines_present(&project);
    assert_eq!(file_inode(&file), before);
}

#[test]
fn concurrent_appends_to_a_new_file_lose_no_line() {
    for _ in 0..3 {
        assert_all_appended_lines_present(&TestProject::embedded());
    }
}
