//! Maps SQLite errors to [`PortError`]s with a polis error code, a message and a hint.

use polis_ops::PortError;
use rusqlite::{Error, ErrorCode};

use crate::store_failure::StoreFailure;

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
    let failure = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreFailure::DatabaseLocked,
        Some(ErrorCode::DiskFull) => StoreFailure::DiskFull,
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreFailure::NotWritable,
        Some(ErrorCode::CannotOpen) => StoreFailure::CannotOpen,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreFailure::DatabaseDamaged,
        Some(ErrorCode::SystemIoFailure) => StoreFailure::InputOutputFailed,
        _ => return PortError::internal("The embedded store", error),
    };
    PortError::from(failure).with_source(error)
}
