//! Error type of the ports: a failure of the store, the disk or the network, or the refusal of a request by a
//! port, such as `file_not_found` or `sandbox_unavailable`.

use polis_core::refusal::Reason;
use polis_core::{Refusal, RefusalCode, RefusalDetails};
use polis_i18n::{RefusalText, Surface, UiLanguage, render_reason};

use crate::refusal_tables::PortFailure;

/// Failure of a port.
///
/// The reason is for the caller. The source, with its paths and addresses, is only for the operator's log.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct PortError {
    /// Machine-readable error code.
    pub code: RefusalCode,
    /// What failed and the next step, as data.
    pub reason: Reason,
    /// Further machine-readable details.
    pub details: Option<Box<RefusalDetails>>,
    /// Cause, for the operator.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl PortError {
    /// Adds the cause.
    #[must_use]
    pub fn with_source(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Creates an unexpected internal error. `activity` is what failed.
    pub fn internal(
        activity: &str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::from(PortFailure::InternalError {
            activity: activity.to_owned(),
        })
        .with_source(source)
    }

    /// Renders the message and the hint for a surface.
    pub fn render(&self, surface: Surface, lang: UiLanguage) -> RefusalText {
        render_reason(&self.reason, surface, lang)
    }

    /// Returns the same error without its cause, for each further request that it affects.
    #[must_use]
    pub fn without_source(&self) -> Self {
        Self {
            code: self.code,
            reason: self.reason.clone(),
            details: self.details.clone(),
            source: None,
        }
    }
}

/// Refusals, and variants of the tables of refusals, are failures if a port reports them.
impl<T> From<T> for PortError
where
    Refusal: From<T>,
{
    fn from(refusal: T) -> Self {
        let refusal = Refusal::from(refusal);
        Self {
            code: refusal.code,
            reason: refusal.reason,
            details: refusal.details,
            source: None,
        }
    }
}
