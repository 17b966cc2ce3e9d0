//! Processes that run a command: polis clones a warden, which sets up the sandbox and runs the command in it.
//! polis reads the output, stops the command on a timeout, and reaps the processes.

pub(in crate::sandbox) mod child_process;
pub(in crate::sandbox) mod clone_thread;
pub(in crate::sandbox) mod command_execution;
pub(in crate::sandbox) mod warden;
pub(in crate::sandbox) mod warden_report;
