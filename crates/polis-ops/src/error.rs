//! Error type of all operations, and its JSON form.
//!
//! An operation is either refused by a rule of `polis-core` or fails in a port (store, file system). Both carry a code,
//! a message, a hint and optional details, which every surface renders in the same way.

use polis_core::{Code, Details, Kind, Refusal};
use serde::Serialize;

use crate::port::PortError;

/// An operation was refused by a rule, or a port failed.
#[derive(Debug, thiserror::Error)]
pub enum OpError {
    /// A rule refused the operation; nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A store or a file operation failed.
    #[error(transparent)]
    Failed(#[from] PortError),
}

impl OpError {
    /// Returns the error code, which is the same on every surface.
    pub fn code(&self) -> Code {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Failed(failure) => failure.code,
        }
    }

    /// Returns the class of the error code.
    pub fn kind(&self) -> Kind {
        self.code().kind()
    }

    /// Returns the error in the JSON form that all surfaces use.
    pub fn document(&self) -> ErrorDocument<'_> {
        let (message, hint, details) = match self {
            Self::Refused(refusal) => (&refusal.message, &refusal.hint, refusal.details.as_deref()),
            Self::Failed(failure) => (&failure.message, &failure.hint, failure.details.as_deref()),
        };
        ErrorDocument {
            error: ErrorBody {
                code: self.code(),
                message,
                hint,
                details,
            },
        }
    }
}

/// `{"error":{"code","message","hint"}}`.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ErrorDocument<'a> {
    /// The error.
    pub error: ErrorBody<'a>,
}

/// Error code, message and suggested next step.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ErrorBody<'a> {
    /// Machine-readable error code.
    pub code: Code,
    /// Error message.
    pub message: &'a str,
    /// Suggested next step.
    pub hint: &'a str,
    /// Further machine-readable details.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub details: Option<&'a Details>,
}
