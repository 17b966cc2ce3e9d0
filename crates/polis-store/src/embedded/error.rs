//! Maps SQLite errors to [`PortError`]s with a polis error code, a message and a hint.

use polis_core::Code;
use polis_ops::PortError;
use rusqlite::{Error, ErrorCode};

/// Converts an SQLite error. The cause, which may contain paths, is kept only as the error source.
pub(super) fn from_sqlite(error: Error) -> PortError {
    // A `PortError` that was passed through rusqlite as a conversion failure.
    let error = match error {
        Error::ToSqlConversionFailure(inner) => match inner.downcast::<PortError>() {
            Ok(ours) => return *ours,
            Err(other) => Error::ToSqlConversionFailure(other),
        },
        other => other,
    };
    let new = |code, message: &str, hint: &str| PortError::new(code, message, hint);
    let failure = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => new(
            Code::StoreBusy,
            "The store stayed locked by another program until the time was up.",
            "retry; if it persists, find the program that keeps the database open",
        ),
        Some(ErrorCode::DiskFull) => new(
            Code::StoreFull,
            "The disk is full; nothing was changed.",
            "free some space and retry",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => new(
            Code::StoreReadOnly,
            "The store cannot be written; nothing was changed.",
            "check the permissions of .agent-workspace and who owns it",
        ),
        Some(ErrorCode::CannotOpen) => new(
            Code::StoreUnavailable,
            "The store cannot be opened.",
            "check that .agent-workspace/polis.db exists and may be read and written",
        ),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => new(
            Code::StoreCorrupt,
            "The store's database file is damaged or not a database.",
            "restore .agent-workspace/polis.db from a backup; `polis doctor` checks it",
        ),
        Some(ErrorCode::SystemIoFailure) => new(
            Code::StoreUnavailable,
            "Reading or writing the store failed.",
            "check the disk; `polis doctor` checks the database",
        ),
        _ => return PortError::internal("The embedded store", error),
    };
    failure.because(error)
}
