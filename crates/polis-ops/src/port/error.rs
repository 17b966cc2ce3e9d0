//! A failure below the rules: the store, the disk, the network.

use polis_core::{Code, Details, Refusal};

/// Why a port could not do its work.
///
/// The message is for whoever called; the source, with its paths and addresses, is for the
/// operator's log only.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct PortError {
    /// For programs.
    pub code: Code,
    /// For people: what failed.
    pub message: String,
    /// For people: what to do next.
    pub hint: String,
    /// What else a program may want to know.
    pub details: Option<Box<Details>>,
    /// For the operator.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl PortError {
    /// A failure with its sentence and next step.
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: hint.into(),
            details: None,
            source: None,
        }
    }

    /// The same, with the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// A failure nobody foresaw.
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
