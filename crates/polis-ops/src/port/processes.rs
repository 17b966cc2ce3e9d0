//! Port for the processes of this machine.

use polis_core::session::ProcessState;

/// Identifies this process, and reports whether identified processes still run.
pub trait Processes: Send + Sync + std::fmt::Debug {
    /// Returns a name with the identity of this process, if the system provides one.
    fn with_identity(&self, name: &str) -> String;

    /// Returns whether the process with such a name still runs.
    fn state_of(&self, holder: &str) -> ProcessState;
}
