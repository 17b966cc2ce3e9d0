//! Opens the database file: connection settings (WAL, fsync on every commit) and automatic schema migrations.

use std::path::Path;
use std::time::Duration;

use polis_core::Code;
use polis_ops::PortError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::DATABASE;
use super::error::from_sqlite;
use super::lock::{self, WriteLock};
use crate::schema::too_new;

/// The schema migrations: each is applied once, in order. Append only.
const MIGRATIONS: &[&str] = &[
    include_str!("../../migrations/sqlite/0001_tasks_agents_log.sql"),
    include_str!("../../migrations/sqlite/0002_boards.sql"),
    include_str!("../../migrations/sqlite/0003_workspaces.sql"),
    include_str!("../../migrations/sqlite/0004_records_messages.sql"),
    include_str!("../../migrations/sqlite/0005_society.sql"),
    include_str!("../../migrations/sqlite/0006_person_mail.sql"),
    include_str!("../../migrations/sqlite/0007_over_all.sql"),
];

/// Opens a connection to a database whose schema is known to be current.
pub(super) fn open(directory: &Path, patience: Duration) -> Result<Connection, PortError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(directory.join(DATABASE), flags).map_err(from_sqlite)?;
    configure(&connection, patience).map_err(from_sqlite)?;
    Ok(connection)
}

fn configure(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    // Applies when a program other than polis holds SQLite's own lock.
    connection.busy_timeout(patience)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
    // The writer checkpoints the WAL when it is long (see `writer`). Closing must not, because it would cost
    // two more fsyncs.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // `synchronous = FULL`: SQLite calls fsync on the WAL at each commit, so an acknowledged commit is
    // durable.
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;")
}

/// Creates the database file if it is missing; [`open_current`] creates the tables.
pub(super) fn create(directory: &Path, patience: Duration) -> Result<(), PortError> {
    lock::prepare(directory)?;
    if directory.join(DATABASE).exists() {
        return Ok(());
    }
    let _lock = WriteLock::acquire(directory, patience)?;
    let connection = Connection::open(directory.join(DATABASE)).map_err(from_sqlite)?;
    use_write_ahead_log(&connection)
}

fn use_write_ahead_log(connection: &Connection) -> Result<(), PortError> {
    let mode = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0))
        .map_err(from_sqlite)?;
    if mode == "wal" {
        return Ok(());
    }
    Err(PortError::new(
        Code::StoreUnavailable,
        "This file system does not support SQLite's write-ahead log.",
        "put the directory on a local file system",
    ))
}

/// Opens a connection and applies missing migrations. A database without tables counts as new only for the
/// `Create` purposes; otherwise its tables were lost.
pub(super) fn open_current(
    directory: &Path,
    patience: Duration,
    purpose: Purpose,
) -> Result<Connection, PortError> {
    let mut connection = open(directory, patience)?;
    let version = schema_version(&connection)?;
    if version > MIGRATIONS.len() {
        return Err(too_new(version, MIGRATIONS.len()));
    }
    if version == 0 && purpose == Purpose::Open {
        return Err(PortError::new(
            Code::StoreCorrupt,
            "The store's database has no tables: it was emptied, or never finished.",
            "restore .agent-workspace/polis.db from a backup; `polis init` begins an empty one",
        ));
    }
    if version < MIGRATIONS.len() {
        let _lock = WriteLock::acquire(directory, patience)?;
        use_write_ahead_log(&connection)?;
        migrate(&mut connection)?;
    }
    Ok(connection)
}

/// The purpose for which a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Create an empty store unless one exists.
    Create,
    /// Like `Create`, with the blackboard's files next to the directory.
    CreateBeside,
    /// Use an existing store.
    Open,
}

fn schema_version(connection: &Connection) -> Result<usize, PortError> {
    let version: i64 = connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .map_err(from_sqlite)?;
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

fn migrate(connection: &mut Connection) -> Result<(), PortError> {
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Exclusive)
        .map_err(from_sqlite)?;
    // Another process may have migrated while we waited for the lock.
    let version = schema_version(&transaction)?;
    if version >= MIGRATIONS.len() {
        return if version == MIGRATIONS.len() {
            Ok(())
        } else {
            Err(too_new(version, MIGRATIONS.len()))
        };
    }
    for step in MIGRATIONS.iter().skip(version) {
        transaction.execute_batch(step).map_err(from_sqlite)?;
    }
    let current = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    transaction
        .pragma_update(None, "user_version", current)
        .map_err(from_sqlite)?;
    transaction.commit().map_err(from_sqlite)
}
