//! What an operation answers when it does not do what was asked.

use polis_core::{Code, Details, Kind, Refusal};
use serde::Serialize;

use crate::port::PortError;

/// Refused by a rule, or failed below.
#[derive(Debug, thiserror::Error)]
pub enum OpError {
    /// A rule said no; nothing was changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A store or a file failed.
    #[error(transparent)]
    Failed(#[from] PortError),
}

impl OpError {
    /// The code, the same on every surface.
    pub fn code(&self) -> Code {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Failed(failure) => failure.code,
        }
    }

    /// What class of refusal it is.
    pub fn kind(&self) -> Kind {
        self.code().kind()
    }

    /// The error as every surface's JSON shows it.
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

/// An error's code, sentence and next step.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ErrorBody<'a> {
    /// For programs.
    pub code: Code,
    /// What is wrong.
    pub message: &'a str,
    /// What to do next.
    pub hint: &'a str,
    /// What else a program may want to know.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub details: Option<&'a Details>,
}
