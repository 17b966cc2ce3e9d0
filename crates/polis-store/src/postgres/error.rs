//! Maps PostgreSQL errors to [`PortError`]s with a polis error code, a message and a hint.

use std::error::Error as _;
use std::io;

use polis_core::Code;
use polis_ops::PortError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Converts an error. The cause is kept as the error source; neither contains the connection's address.
pub(super) fn from_postgres(error: Error) -> PortError {
    if is_broken(&error) {
        return unreachable().because(error);
    }
    let new = |code, message: &str, hint: &str| PortError::new(code, message, hint);
    let failure = match error.code() {
        Some(&SqlState::DISK_FULL) => new(
            Code::StoreFull,
            "The disk of the PostgreSQL server is full; nothing was changed.",
            "free some space there and retry",
        ),
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::INSUFFICIENT_PRIVILEGE) => new(
            Code::StoreReadOnly,
            "The store cannot be written; nothing was changed.",
            "check the rights of the PostgreSQL role, and that the server is not a standby",
        ),
        Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::QUERY_CANCELED) => new(
            Code::StoreBusy,
            "The store stayed locked by another program until the time was up; nothing was changed.",
            "retry; if it persists, look at pg_stat_activity for a transaction that stays open",
        ),
        Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => new(
            Code::StoreCorrupt,
            "The PostgreSQL server found damaged data.",
            "restore the database from a backup",
        ),
        Some(
            &SqlState::INVALID_PASSWORD
            | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION
            | &SqlState::INVALID_CATALOG_NAME,
        ) => new(
            Code::StoreUnavailable,
            "The PostgreSQL server does not let this role into this database.",
            "check user, password and database name of the store's address",
        ),
        Some(&SqlState::TOO_MANY_CONNECTIONS) => new(
            Code::StoreUnavailable,
            "The PostgreSQL server takes no more connections.",
            "raise max_connections, or run fewer processes",
        ),
        _ => return PortError::internal("The PostgreSQL store", error),
    };
    failure.because(error)
}

/// Whether the error means that the connection is lost, as opposed to a rejected statement.
pub(super) fn is_broken(error: &Error) -> bool {
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
pub(super) fn unreachable() -> PortError {
    PortError::new(
        Code::StoreUnavailable,
        "The PostgreSQL server cannot be reached.",
        "check that it runs and that the store's address is right; polis reconnects by itself",
    )
}

/// Returns the error for a server that does not answer in time.
pub(super) fn silent() -> PortError {
    PortError::new(
        Code::StoreBusy,
        "The PostgreSQL server did not answer in time.",
        "check the server's load and the network, and retry",
    )
}

/// Returns the error for a connection that broke before anything was committed.
pub(super) fn not_committed(error: PortError) -> PortError {
    PortError {
        message: "The connection to the PostgreSQL server broke. Nothing was changed.".to_owned(),
        hint: "retry; polis reconnects by itself".to_owned(),
        ..error
    }
}

/// Returns the error for a connection that broke during the commit, so that its outcome is unknown.
pub(super) fn unknown() -> PortError {
    PortError::new(
        Code::CommitUnknown,
        "The connection to the PostgreSQL server broke while committing; whether the change was \
         made could not be learned.",
        "read the state before you try again",
    )
}

/// Returns the error for a row that polis cannot have written.
pub(super) fn damaged() -> PortError {
    PortError::new(
        Code::StoreCorrupt,
        "A row of the store is damaged.",
        "restore the database from a backup",
    )
}

/// Clones an error, for each further request that it affects.
pub(super) fn copy(error: &PortError) -> PortError {
    let copied = PortError::new(error.code, error.message.clone(), error.hint.clone());
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
        copied.because(causes.join(": "))
    }
}
