//! Port [`ProcessInspector`]: identifies this process, and reports whether the holder of a session still
//! runs.

use polis_core::agent_session::ProcessState;

/// Identifies this process, and reports whether identified processes still run.
pub trait ProcessInspector: Send + Sync + std::fmt::Debug {
    /// Returns a name with the identity of this process, if the system provides one.
    fn with_identity(&self, name: &str) -> String;

    /// Returns whether the process with such a name still runs.
    fn process_state(&self, holder: &str) -> ProcessState;
}
