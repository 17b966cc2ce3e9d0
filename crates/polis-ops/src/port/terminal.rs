//! Port for running commands in workspaces, in a sandbox.

use std::sync::Arc;

use polis_core::workspace::command::CommandRun;
use polis_core::workspace::policy::CommandPolicy;

use super::{PortFuture, Site};

/// Output stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Callback that receives a command's output as it is written. Must not block.
pub trait OutputWatcher: Send + Sync + std::fmt::Debug {
    /// Receives a chunk of output, in the order in which it was read.
    fn output(&self, stream: Stream, bytes: &[u8]);
}

/// A command to run.
#[derive(Debug, Clone)]
pub struct CommandOrder {
    /// The shell command line.
    pub command: String,
    /// The timeout.
    pub timeout_ms: u64,
    /// The policy: its permissions and limits.
    pub policy: CommandPolicy,
    /// Receiver of the output.
    pub watcher: Option<Arc<dyn OutputWatcher>>,
}

/// A layer of the sandbox, and whether it is available on this system.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SandboxLayer {
    /// Its name.
    pub name: &'static str,
    /// Whether it is available.
    pub active: bool,
    /// What it does, or why it is missing.
    pub detail: String,
}

/// Description of this system's sandbox.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SandboxReport {
    /// The tier reached with all available layers.
    pub tier: polis_core::workspace::policy::Tier,
    /// Its layers.
    pub layers: Vec<SandboxLayer>,
}

/// Sandboxed terminal.
///
/// All processes that a command starts are gone when the command has ended, was killed, or polis itself died. If the
/// available sandbox is weaker than the policy's minimum, the command is refused and never run.
pub trait Terminal: Send + Sync + std::fmt::Debug {
    /// Runs a command in a workspace and waits until it ends. Dropping the future kills the command.
    fn run<'a>(&'a self, site: &'a Site, order: CommandOrder) -> PortFuture<'a, CommandRun>;

    /// Reports the layers of the sandbox on this system, determined by probing.
    fn report(&self) -> PortFuture<'_, SandboxReport>;
}
