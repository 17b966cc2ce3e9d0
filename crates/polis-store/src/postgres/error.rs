//! Errors of the PostgreSQL store: maps driver errors to [`PortError`]s, distinguishes a lost connection from a
//! refused statement, and builds the store's own errors (timeout, not committed, outcome of a commit unknown,
//! damaged row). Callers decide about retries.

use std::error::Error as _;
use std::io;

use polis_core::Refusal;
use polis_ops::PortError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::store_failure::StoreFailure;

/// Converts an error. The cause is kept as the error source; neither contains the connection's address.
pub(super) fn from_postgres(error: Error) -> PortError {
    if is_connection_lost(&error) {
        return server_unreachable_error().with_source(error);
    }
    let failure = match error.code() {
        Some(&SqlState::DISK_FULL) => StoreFailure::ServerDiskFull,
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::INSUFFICIENT_PRIVILEGE) => {
            StoreFailure::RoleCannotWrite
        }
        Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::QUERY_CANCELED) => {
            StoreFailure::TransactionHoldsLock
        }
        Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => {
            StoreFailure::ServerDataDamaged
        }
        Some(
            &SqlState::INVALID_PASSWORD
            | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION
            | &SqlState::INVALID_CATALOG_NAME,
        ) => StoreFailure::AccessRefused,
        Some(&SqlState::TOO_MANY_CONNECTIONS) => StoreFailure::TooManyConnections,
        _ => return PortError::internal("The PostgreSQL store", error),
    };
    PortError::from(failure).with_source(error)
}

/// Whether the error means that the connection is lost, as opposed to a rejected statement.
pub(super) fn is_connection_lost(error: &Error) -> bool {
    match error.code() {
        Some(code) => {
            matches!(
                *code,
                SqlState::ADMIN_SHUTDOWN
                    | SqlState::CRASH_SHUTDOWN
                    | SqlState::CANNOT_CONNECT_NOW
                    | SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
            ) || code.code().starts_with("08")
        }
        None => error.source().is_none_or(|cause| {
            cause
                .downcast_ref::<io::Error>()
                // Sending a message that is too large fails with this kind.
                .is_some_and(|e| e.kind() != io::ErrorKind::InvalidInput)
        }),
    }
}

/// Returns the error for a server that cannot be reached.
pub(super) fn server_unreachable_error() -> PortError {
    PortError::from(StoreFailure::ServerUnreachable)
}

/// Returns the error for a server that does not answer in time.
pub(super) fn server_timeout_error() -> PortError {
    PortError::from(StoreFailure::ServerTimeout)
}

/// Returns the error for a connection that broke before anything was committed.
pub(super) fn not_committed_error(error: PortError) -> PortError {
    PortError {
        reason: Refusal::from(StoreFailure::ConnectionBroke).reason,
        ..error
    }
}

/// Returns the error for a connection that broke during the commit, so that its outcome is unknown.
pub(super) fn commit_unknown_error() -> PortError {
    PortError::from(StoreFailure::CommitUnknown)
}

/// Returns the error for a row that polis cannot have written.
pub(super) fn damaged_row_error() -> PortError {
    PortError::from(StoreFailure::PostgresRowDamaged)
}

/// Clones an error, for each further request that it affects.
pub(super) fn clone_error(error: &PortError) -> PortError {
    let copied = error.without_source();
    let mut causes = Vec::new();
    let mut next: Option<&(dyn std::error::Error + 'static)> =
        error.source.as_deref().map(|e| e as _);
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    if causes.is_empty() {
        copied
    } else {
        copied.with_source(causes.join(": "))
    }
}
