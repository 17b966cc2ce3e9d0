//! Running commands in workspaces.

use std::sync::Arc;

use polis_core::workspace::command::CommandRun;
use polis_core::workspace::policy::CommandPolicy;

use super::{PortFuture, Site};

/// Which stream a piece of output is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// What the command writes.
    Stdout,
    /// What it complains.
    Stderr,
}

/// Somebody who watches a command's output as it comes. Must not block.
pub trait OutputWatcher: Send + Sync + std::fmt::Debug {
    /// A piece of output, in the order it was read.
    fn output(&self, stream: Stream, bytes: &[u8]);
}

/// What is to be run.
#[derive(Debug, Clone)]
pub struct CommandOrder {
    /// The line of shell.
    pub command: String,
    /// How long it may run.
    pub timeout_ms: u64,
    /// What it may do.
    pub policy: CommandPolicy,
    /// Who watches.
    pub watcher: Option<Arc<dyn OutputWatcher>>,
}

/// A part of the sandbox, and whether this system has it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SandboxLayer {
    /// Its name.
    pub name: &'static str,
    /// Whether it is there.
    pub active: bool,
    /// What it does, or why it is missing.
    pub detail: String,
}

/// What this system's sandbox consists of.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SandboxReport {
    /// How strong it is, with everything that is there.
    pub tier: polis_core::workspace::policy::Tier,
    /// Its layers.
    pub layers: Vec<SandboxLayer>,
}

/// A terminal that is a sandbox.
///
/// Whatever a command starts is gone when it has ended, was ended, or polis itself died. A sandbox
/// weaker than the policy's weakest is refused, never used.
pub trait Terminal: Send + Sync + std::fmt::Debug {
    /// Runs a command in a workspace to its end. Dropping the future ends the command.
    fn run<'a>(&'a self, site: &'a Site, order: CommandOrder) -> PortFuture<'a, CommandRun>;

    /// What the sandbox consists of here, found by trying.
    fn report(&self) -> PortFuture<'_, SandboxReport>;
}
