//! Error for a schema version that this build does not know.

use polis_core::Code;
use polis_ops::PortError;

/// Returns the error for a store that a newer polis has written.
pub(crate) fn too_new(found: usize, known: usize) -> PortError {
    PortError::new(
        Code::StoreTooNew,
        format!(
            "The store has schema {found}; this polis knows up to {known}. Nothing was changed."
        ),
        "use the newer polis that wrote it",
    )
}
