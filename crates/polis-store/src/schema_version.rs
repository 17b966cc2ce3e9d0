//! The error that both stores return when they open a database that a newer polis has migrated. The schema
//! version is checked in `embedded::connection` and `postgres::connection`.

use polis_ops::PortError;

use crate::store_failure::StoreFailure;

/// Returns the error `StoreTooNew` for a store whose schema is newer than this polis supports.
pub(crate) fn schema_too_new_error(found: usize, supported: usize) -> PortError {
    PortError::from(StoreFailure::SchemaTooNew { found, supported })
}
