//! Error type of all operations, and its JSON form.
//!
//! An operation is either refused, by a rule of `polis-core` or a check of its own (`OperationRefusal`), or fails in a
//! port (store, file system). Both carry a code, a reason and optional details. Surfaces render the reason, each with
//! its own names for the next step and in the language of its reader.

use polis_core::refusal::Reason;
use polis_core::{Refusal, RefusalCode, RefusalDetails, RefusalKind};
use polis_i18n::{RefusalText, Surface, UiLanguage, render_reason};
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
    pub fn code(&self) -> RefusalCode {
        match self {
            Self::Refused(refusal) => refusal.code,
            Self::Failed(failure) => failure.code,
        }
    }

    /// Returns the class of the error code.
    pub fn kind(&self) -> RefusalKind {
        self.code().kind()
    }

    /// Returns the reason.
    pub fn reason(&self) -> &Reason {
        match self {
            Self::Refused(refusal) => &refusal.reason,
            Self::Failed(failure) => &failure.reason,
        }
    }

    /// Returns the structured data for programs.
    pub fn details(&self) -> Option<&RefusalDetails> {
        match self {
            Self::Refused(refusal) => refusal.details.as_deref(),
            Self::Failed(failure) => failure.details.as_deref(),
        }
    }

    /// Records that a tool was called that only reads: the hint must not name that tool.
    #[must_use]
    pub(crate) fn with_called_tool(mut self, tool: &'static str) -> Self {
        let reason = match &mut self {
            Self::Refused(refusal) => &mut refusal.reason,
            Self::Failed(failure) => &mut failure.reason,
        };
        *reason = reason.clone().with_called_tool(tool);
        self
    }

    /// Renders the message and the hint for a surface.
    pub fn render(&self, surface: Surface, lang: UiLanguage) -> RefusalText {
        render_reason(self.reason(), surface, lang)
    }

    /// Returns the error in the JSON form that all surfaces use.
    pub fn error_document(&self, surface: Surface, lang: UiLanguage) -> ErrorDocument<'_> {
        let RefusalText { message, hint } = self.render(surface, lang);
        ErrorDocument {
            error: ErrorBody {
                code: self.code(),
                message,
                hint,
                details: self.details(),
            },
        }
    }
}

/// JSON form of an error on every surface: `{"error":{"code","message","hint"}}`.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorDocument<'a> {
    /// Code, message, hint and details.
    pub error: ErrorBody<'a>,
}

/// Error code, message and suggested next step.
#[derive(Debug, Clone, Serialize)]
pub struct ErrorBody<'a> {
    /// Machine-readable error code.
    pub code: RefusalCode,
    /// Error message.
    pub message: String,
    /// Suggested next step.
    pub hint: String,
    /// Further machine-readable details.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub details: Option<&'a RefusalDetails>,
}

/// Error of a stored response: it is rendered when it is replayed, for the surface and the language of the
/// retry.
#[derive(Debug, Serialize)]
pub(crate) struct StoredErrorDocument<'a> {
    pub(crate) error: StoredErrorBody<'a>,
}

/// Code, reason and details of a stored error.
#[derive(Debug, Serialize)]
pub(crate) struct StoredErrorBody<'a> {
    code: RefusalCode,
    reason: &'a Reason,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    details: Option<&'a RefusalDetails>,
}

impl<'a> StoredErrorDocument<'a> {
    pub(crate) fn from_error(error: &'a OpError) -> Self {
        Self {
            error: StoredErrorBody {
                code: error.code(),
                reason: error.reason(),
                details: error.details(),
            },
        }
    }
}
