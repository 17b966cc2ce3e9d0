//! Tests of a database file that is damaged, missing, or of a newer version: reported, and never made worse.

use std::fs;

use rusqlite::Connection;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::board::{Board, finish, start};

/// Creates a project whose state is all in the database file, with enough data to damage.
fn settled() -> (Board, Vec<u8>) {
    let board = Board::embedded();
    let long = "x".repeat(3_000);
    for _ in 0..30 {
        board.create(&["--description", &long]);
    }
    let connection = Connection::open(board.workspace("polis.db")).unwrap();
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    drop(connection);
    forget_log(&board);
    let whole = fs::read(board.workspace("polis.db")).unwrap();
    (board, whole)
}

/// Removes SQLite's WAL and shared-memory files, which belong to one state of the database file.
fn forget_log(board: &Board) {
    for name in ["polis.db-wal", "polis.db-shm"] {
        let _ = fs::remove_file(board.workspace(name));
    }
}

const COMMANDS: [&[&str]; 5] = [
    &["task", "list"],
    &["task", "create", "--subject", "x"],
    &["task", "claim"],
    &["log"],
    &["stats"],
];

/// Asserts that `doctor` reports the damage, and names no path of the host except the project's.
fn check_doctor(board: &Board) {
    let doctor = board.run("user", &["doctor"]);
    assert_eq!(doctor.exit, Some(1), "{doctor:?}");
    let report: Value = serde_json::from_str(&doctor.stdout).unwrap();
    assert_eq!(report["ok"], false);
    let checks = report["checks"].as_array().unwrap().iter();
    for check in checks.filter(|check| check["name"] != "directory") {
        let detail = check["detail"].as_str().unwrap();
        assert!(!detail.contains(board.path().to_str().unwrap()), "{check}");
    }
}

/// Asserts that everything is present again after the file is restored.
fn check_restored(board: &Board, whole: &[u8]) {
    forget_log(board);
    fs::write(board.workspace("polis.db"), whole).unwrap();
    assert_eq!(board.listed("user", &["task", "list"]).len(), 30);
    assert_eq!(board.log().len(), 30);
    assert_eq!(board.ok("user", &["doctor"])["ok"], true);
}

fn check_corrupt(board: &Board, damaged: &[u8]) {
    fs::write(board.workspace("polis.db"), damaged).unwrap();
    for args in COMMANDS {
        let refused = board.refused("user", args, 1, "store_corrupt");
        assert!(refused.hint.contains("backup"), "{refused:?}");
    }
    check_doctor(board);
    let after = fs::read(board.workspace("polis.db")).unwrap();
    assert!(after == damaged, "a damaged file was written to");
    forget_log(board);
}

#[test]
fn garbage_is_not_a_database() {
    let (board, whole) = settled();
    let garbage: Vec<u8> = (0..whole.len())
        .map(|n| u8::try_from(n * 7 % 251).unwrap())
        .collect();
    check_corrupt(&board, &garbage);
    check_corrupt(&board, b"this is a text file\n");
    check_restored(&board, &whole);
}

#[test]
fn a_truncated_database_is_damaged() {
    let (board, whole) = settled();
    for length in [10, 100, 4_096, whole.len() / 2] {
        check_corrupt(&board, &whole[..length]);
    }
    check_restored(&board, &whole);
}

#[test]
fn damaged_pages_are_found_by_the_doctor() {
    let (board, mut damaged) = settled();
    let whole = damaged.clone();
    let middle = damaged.len() / 2 / 4_096 * 4_096;
    for byte in &mut damaged[middle..middle + 8 * 4_096] {
        *byte ^= 0x5a;
    }
    fs::write(board.workspace("polis.db"), &damaged).unwrap();
    check_doctor(&board);
    check_restored(&board, &whole);
}

#[test]
fn an_emptied_database_is_damaged() {
    let (board, whole) = settled();
    check_corrupt(&board, b"");
    check_restored(&board, &whole);
}

#[test]
fn a_database_that_is_gone_is_said_to_be() {
    let (board, whole) = settled();
    fs::remove_file(board.workspace("polis.db")).unwrap();
    for args in COMMANDS {
        let refused = board.refused("user", args, 4, "not_initialized");
        assert!(refused.hint.contains("polis init"), "{refused:?}");
    }
    assert!(!board.workspace("polis.db").exists());
    check_doctor(&board);
    check_restored(&board, &whole);
}

#[test]
fn a_directory_in_its_place_cannot_be_opened() {
    let (board, whole) = settled();
    fs::remove_file(board.workspace("polis.db")).unwrap();
    fs::create_dir(board.workspace("polis.db")).unwrap();
    for args in COMMANDS {
        board.refused("user", args, 1, "store_unavailable");
    }
    check_doctor(&board);
    fs::remove_dir(board.workspace("polis.db")).unwrap();
    check_restored(&board, &whole);
}

#[test]
fn a_newer_schema_is_left_alone() {
    let (board, whole) = settled();
    let set = |version: u32| {
        let connection = Connection::open(board.workspace("polis.db")).unwrap();
        connection
            .pragma_update(None, "user_version", version)
            .unwrap();
        connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
    };
    let known: u32 = Connection::open(board.workspace("polis.db"))
        .unwrap()
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    set(known + 98);
    let newer = fs::read(board.workspace("polis.db")).unwrap();
    for args in COMMANDS.into_iter().chain([&["init"][..]]) {
        let refused = board.refused("user", args, 5, "store_too_new");
        assert!(
            refused.message.contains("Nothing was changed"),
            "{refused:?}"
        );
    }
    check_doctor(&board);
    assert!(
        fs::read(board.workspace("polis.db")).unwrap() == newer,
        "the file was written to"
    );
    set(known);
    assert_eq!(board.listed("user", &["task", "list"]).len(), 30);
    check_restored(&board, &whole);
}

#[test]
fn a_lost_lock_file_comes_back() {
    let (board, _) = settled();
    fs::remove_file(board.workspace("polis.lock")).unwrap();
    assert_eq!(board.create(&[]), "31");
    assert_eq!(board.ok("user", &["doctor"])["ok"], true);
}

#[test]
fn another_program_that_holds_the_database_is_waited_for() {
    let (board, _) = settled();
    let holder = Connection::open(board.workspace("polis.db")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let numbers = board.listed("user", &["task", "list"]);
    assert_eq!(numbers.len(), 30, "readers do not wait");
    let create = ["task", "create", "--subject", "x"];
    let waiting = start(&mut board.json_command("user", &create));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| finish(waiting));
        holder.execute_batch("COMMIT").unwrap();
        assert_eq!(running.join().unwrap().document()["id"], "31");
    });
}

#[test]
fn a_lock_that_stays_held_is_told_when_patience_ends() {
    let (board, _) = settled();
    fs::write(board.workspace("polis.toml"), "patience = \"100ms\"\n").unwrap();
    let lock = fs::File::open(board.workspace("polis.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    assert_eq!(board.listed("user", &["task", "list"]).len(), 30);
    for args in [
        &["task", "create", "--subject", "x"][..],
        &["task", "claim"],
    ] {
        let refused = board.refused("user", args, 6, "store_busy");
        assert!(refused.hint.contains("retry"), "{refused:?}");
    }
    drop(lock);
    assert_eq!(board.create(&[]), "31");
}
