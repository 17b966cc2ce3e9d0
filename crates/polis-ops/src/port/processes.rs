//! Processes of this machine, from outside.

use polis_core::session::ProcessState;

/// Names this process, and tells whether processes that were named still run.
pub trait Processes: Send + Sync + std::fmt::Debug {
    /// Returns a name with the identity of this process, where the system gives one.
    fn with_identity(&self, name: &str) -> String;

    /// Returns whether the process of such a name still runs.
    fn state_of(&self, holder: &str) -> ProcessState;
}
