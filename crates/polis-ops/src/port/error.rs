//! Error type of the ports: a failure of the store, the disk or the network.

use polis_core::{Code, Details, Refusal};

/// Failure of a port.
///
/// The message is for the caller. The source, with its paths and addresses, is only for the operator's log.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct PortError {
    /// Machine-readable error code.
    pub code: Code,
    /// Message for people.
    pub message: String,
    /// Suggested next step.
    pub hint: String,
    /// Further machine-readable details.
    pub details: Option<Box<Details>>,
    /// Cause, for the operator.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl PortError {
    /// Creates an error with a message and a next step.
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: hint.into(),
            details: None,
            source: None,
        }
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Creates an unexpected internal error.
    pub fn internal(
        what: &str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::new(
            Code::Internal,
            format!("{what} failed."),
            "run `polis doctor`; with --verbose the cause is shown",
        )
        .because(source)
    }
}

impl From<Refusal> for PortError {
    fn from(refusal: Refusal) -> Self {
        let mut error = Self::new(refusal.code, refusal.message, refusal.hint);
        error.details = refusal.details;
        error
    }
}
