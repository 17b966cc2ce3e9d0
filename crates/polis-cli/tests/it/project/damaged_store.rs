//! Tests of a database file that is damaged, missing, locked, or of a newer schema version: the fault is
//! reported, and the file is never made worse.

use std::fs;

use rusqlite::Connection;
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::harness::test_project::{TestProject, spawn_captured, wait_for_output};

/// Creates a project whose state is all in the database file, with enough data to damage.
fn project_with_checkpointed_database() -> (TestProject, Vec<u8>) {
    let project = TestProject::embedded();
    let long = "x".repeat(3_000);
    for _ in 0..30 {
        project.create_task(&["--description", &long]);
    }
    let connection = Connection::open(project.data_path("polis.db")).unwrap();
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    drop(connection);
    remove_wal_files(&project);
    let whole = fs::read(project.data_path("polis.db")).unwrap();
    (project, whole)
}

/// Removes SQLite's WAL and shared-memory files, which belong to one state of the database file.
fn remove_wal_files(project: &TestProject) {
    for name in ["polis.db-wal", "polis.db-shm"] {
        let _ = fs::remove_file(project.data_path(name));
    }
}

const STORE_COMMANDS: [&[&str]; 5] = [
    &["task", "list"],
    &["task", "create", "--subject", "x"],
    &["task", "claim"],
    &["log"],
    &["stats"],
];

/// Asserts that `doctor` reports the damage, and names no path of the host except the project's.
fn assert_doctor_reports_damage(project: &TestProject) {
    let doctor = project.run_json("user", &["doctor"]);
    assert_eq!(doctor.exit_code, Some(1), "{doctor:?}");
    let report: Value = serde_json::from_str(&doctor.stdout).unwrap();
    assert_eq!(report["ok"], false);
    let checks = report["checks"].as_array().unwrap().iter();
    for check in checks.filter(|check| check["name"] != "directory") {
        let detail = check["detail"].as_str().unwrap();
        assert!(
            !detail.contains(project.path().to_str().unwrap()),
            "{check}"
        );
    }
}

/// Asserts that everything is present again after the file is restored.
fn assert_restored(project: &TestProject, whole: &[u8]) {
    remove_wal_files(project);
    fs::write(project.data_path("polis.db"), whole).unwrap();
    assert_eq!(project.list_task_ids("user", &["task", "list"]).len(), 30);
    assert_eq!(project.read_log().len(), 30);
    assert_eq!(project.run_ok("user", &["doctor"])["ok"], true);
}

fn assert_reported_corrupt(project: &TestProject, damaged: &[u8]) {
    fs::write(project.data_path("polis.db"), damaged).unwrap();
    for args in STORE_COMMANDS {
        let refused = project.run_refused("user", args, 1, "store_corrupt");
        assert!(refused.hint.contains("backup"), "{refused:?}");
    }
    assert_doctor_reports_damage(project);
    let after = fs::read(project.data_path("polis.db")).unwrap();
    assert!(after == damaged, "a damaged file was written to");
    remove_wal_files(project);
}

#[test]
fn database_of_garbage_is_reported_corrupt() {
    let (project, whole) = project_with_checkpointed_database();
    let garbage: Vec<u8> = (0..whole.len())
        .map(|n| u8::try_from(n * 7 % 251).unwrap())
        .collect();
    assert_reported_corrupt(&project, &garbage);
    assert_reported_corrupt(&project, b"this is a text file\n");
    assert_restored(&project, &whole);
}

#[test]
fn truncated_database_is_reported_corrupt() {
    let (project, whole) = project_with_checkpointed_database();
    for length in [10, 100, 4_096, whole.len() / 2] {
        assert_reported_corrupt(&project, &whole[..length]);
    }
    assert_restored(&project, &whole);
}

#[test]
fn damaged_pages_are_found_by_doctor() {
    let (project, mut damaged) = project_with_checkpointed_database();
    let whole = damaged.clone();
    let middle = damaged.len() / 2 / 4_096 * 4_096;
    for byte in &mut damaged[middle..middle + 8 * 4_096] {
        *byte ^= 0x5a;
    }
    fs::write(project.data_path("polis.db"), &damaged).unwrap();
    assert_doctor_reports_damage(&project);
    assert_restored(&project, &whole);
}

#[test]
fn empty_database_is_reported_corrupt() {
    let (project, whole) = project_with_checkpointed_database();
    assert_reported_corrupt(&project, b"");
    assert_restored(&project, &whole);
}

#[test]
fn missing_database_is_reported_as_not_initialized() {
    let (project, whole) = project_with_checkpointed_database();
    fs::remove_file(project.data_path("polis.db")).unwrap();
    for args in STORE_COMMANDS {
        let refused = project.run_refused("user", args, 4, "not_initialized");
        assert!(refused.hint.contains("polis init"), "{refused:?}");
    }
    assert!(!project.data_path("polis.db").exists());
    assert_doctor_reports_damage(&project);
    assert_restored(&project, &whole);
}

#[test]
fn directory_in_place_of_database_is_unavailable() {
    let (project, whole) = project_with_checkpointed_database();
    fs::remove_file(project.data_path("polis.db")).unwrap();
    fs::create_dir(project.data_path("polis.db")).unwrap();
    for args in STORE_COMMANDS {
        project.run_refused("user", args, 1, "store_unavailable");
    }
    assert_doctor_reports_damage(&project);
    fs::remove_dir(project.data_path("polis.db")).unwrap();
    assert_restored(&project, &whole);
}

#[test]
fn database_with_newer_schema_is_refused_and_unchanged() {
    let (project, whole) = project_with_checkpointed_database();
    let set = |version: u32| {
        let connection = Connection::open(project.data_path("polis.db")).unwrap();
        connection
            .pragma_update(None, "user_version", version)
            .unwrap();
        connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
    };
    let known: u32 = Connection::open(project.data_path("polis.db"))
        .unwrap()
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap();
    set(known + 98);
    let newer = fs::read(project.data_path("polis.db")).unwrap();
    for args in STORE_COMMANDS.into_iter().chain([&["init"][..]]) {
        let refused = project.run_refused("user", args, 5, "store_too_new");
        assert!(
            refused.message.contains("Nothing was changed"),
            "{refused:?}"
        );
    }
    assert_doctor_reports_damage(&project);
    assert!(
        fs::read(project.data_path("polis.db")).unwrap() == newer,
        "the file was written to"
    );
    set(known);
    assert_eq!(project.list_task_ids("user", &["task", "list"]).len(), 30);
    assert_restored(&project, &whole);
}

#[test]
fn missing_lock_file_is_recreated() {
    let (project, _) = project_with_checkpointed_database();
    fs::remove_file(project.data_path("polis.lock")).unwrap();
    assert_eq!(project.create_task(&[]), "31");
    assert_eq!(project.run_ok("user", &["doctor"])["ok"], true);
}

#[test]
fn writer_waits_for_database_locked_by_another_program() {
    let (project, _) = project_with_checkpointed_database();
    let holder = Connection::open(project.data_path("polis.db")).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let numbers = project.list_task_ids("user", &["task", "list"]);
    assert_eq!(numbers.len(), 30, "readers do not wait");
    let create = ["task", "create", "--subject", "x"];
    let waiting = spawn_captured(&mut project.json_command("user", &create));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| wait_for_output(waiting));
        holder.execute_batch("COMMIT").unwrap();
        assert_eq!(running.join().unwrap().expect_document()["id"], "31");
    });
}

#[test]
fn store_lock_held_beyond_patience_is_reported_busy() {
    let (project, _) = project_with_checkpointed_database();
    fs::write(project.data_path("polis.toml"), "patience = \"100ms\"\n").unwrap();
    let lock = fs::File::open(project.data_path("polis.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    assert_eq!(project.list_task_ids("user", &["task", "list"]).len(), 30);
    for args in [
        &["task", "create", "--subject", "x"][..],
        &["task", "claim"],
    ] {
        let refused = project.run_refused("user", args, 6, "store_busy");
        assert!(refused.hint.contains("retry"), "{refused:?}");
    }
    drop(lock);
    assert_eq!(project.create_task(&[]), "31");
}
