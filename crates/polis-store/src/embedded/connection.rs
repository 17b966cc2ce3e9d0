//! Opens the database file: connection settings (WAL, fsync on every commit) and automatic schema migrations.

use std::path::Path;
use std::time::Duration;

use polis_core::number::saturating_cast;
use polis_ops::PortError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::DATABASE_FILE;
use super::error::from_sqlite;
use super::lock::{self, WriteLock};
use crate::schema_version::schema_too_new_error;
use crate::store_failure::StoreFailure;

/// The schema migrations: each is applied once, in order. Append only.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_tasks_agents_log.sql"),
    include_str!("../../migrations/sqlite/0002_boards.sql"),
    include_str!("../../migrations/sqlite/0003_workspaces.sql"),
    include_str!("../../migrations/sqlite/0004_records_messages.sql"),
    include_str!("../../migrations/sqlite/0005_society.sql"),
    include_str!("../../migrations/sqlite/0006_person_mail.sql"),
    include_str!("../../migrations/sqlite/0007_person_and_command_indexes.sql"),
    include_str!("../../migrations/sqlite/0008_task_priority.sql"),
];

/// Opens a connection to a database whose schema is known to be current.
pub(super) fn open_connection(
    directory: &Path,
    timeout: Duration,
) -> Result<Connection, PortError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(directory.join(DATABASE_FILE), flags).map_err(from_sqlite)?;
    configure_connection(&connection, timeout).map_err(from_sqlite)?;
    Ok(connection)
}

fn configure_connection(connection: &Connection, timeout: Duration) -> rusqlite::Result<()> {
    // Applies when a program other than polis holds SQLite's own lock.
    connection.busy_timeout(timeout)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    // The writer checkpoints the WAL when it is long (see `writer`). Closing must not, because it would cost
    // two more fsyncs.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // `synchronous = FULL` is the line that makes "acknowledged means durable" true: SQLite calls fsync on
    // the write-ahead log (WAL) at each commit, before the commit returns. With NORMAL, a power failure could
    // lose acknowledged commits.
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;")
}

/// Creates the database file if it is missing; [`open_and_migrate`] creates the tables.
pub(super) fn create_database(directory: &Path, timeout: Duration) -> Result<(), PortError> {
    lock::create_lock_file(directory)?;
    if directory.join(DATABASE_FILE).exists() {
        return Ok(());
    }
    let _lock = WriteLock::acquire(directory, timeout)?;
    let connection = Connection::open(directory.join(DATABASE_FILE)).map_err(from_sqlite)?;
    enable_write_ahead_log(&connection)
}

fn enable_write_ahead_log(connection: &Connection) -> Result<(), PortError> {
    let mode = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0))
        .map_err(from_sqlite)?;
    if mode == "wal" {
        return Ok(());
    }
    Err(PortError::from(StoreFailure::NoWriteAheadLog))
}

/// Opens a connection and applies missing migrations. A database without tables counts as new only for the
/// `Create` purposes; otherwise its tables were lost.
pub(super) fn open_and_migrate(
    directory: &Path,
    timeout: Duration,
    purpose: OpenPurpose,
) -> Result<Connection, PortError> {
    let mut connection = open_connection(directory, timeout)?;
    let version = schema_version(&connection)?;
    if version > MIGRATIONS.len() {
        return Err(schema_too_new_error(version, MIGRATIONS.len()));
    }
    if version == 0 && purpose == OpenPurpose::Open {
        return Err(PortError::from(StoreFailure::NoTables));
    }
    if version < MIGRATIONS.len() {
        let _lock = WriteLock::acquire(directory, timeout)?;
        enable_write_ahead_log(&connection)?;
        apply_migrations(&mut connection)?;
    }
    Ok(connection)
}

/// The purpose for which a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpenPurpose {
    /// Create an empty store unless one exists.
    Create,
    /// Like `Create`, with the blackboard's files next to the directory.
    CreateWithAdjacentBlackboard,
    /// Open an existing store; fails if its database has no tables.
    Open,
}

fn schema_version(connection: &Connection) -> Result<usize, PortError> {
    let version: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(from_sqlite)?;
    Ok(saturating_cast::<usize>(version))
}

fn apply_migrations(connection: &mut Connection) -> Result<(), PortError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Exclusive)
        .map_err(from_sqlite)?;
    // Another process may have migrated while we waited for the lock.
    let version = schema_version(&transaction)?;
    if version >= MIGRATIONS.len() {
        return if version == MIGRATIONS.len() {
            Ok(())
        } else {
            Err(schema_too_new_error(version, MIGRATIONS.len()))
        };
    }
    for step in MIGRATIONS.iter().skip(version) {
        transaction.execute_batch(step).map_err(from_sqlite)?;
    }
    let current = saturating_cast::<i64>(MIGRATIONS.len());
    transaction
        .pragma_update(None, "user_version", current)
        .map_err(from_sqlite)?;
    transaction.commit().map_err(from_sqlite)
}
