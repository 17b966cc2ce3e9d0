//! A command to run, and what ends it early.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use polis_core::workspace::policy::CommandPolicy;
use polis_ops::port::Stream;

use crate::directory::DirectoryIdentity;

/// Sees a piece of output.
pub type Watcher<'a> = dyn Fn(Stream, &[u8]) + Sync + 'a;

/// A command to run.
pub struct Job<'a> {
    /// The directory it works in: an absolute path without links.
    pub workspace: &'a Path,
    /// Which directory that has to be, if it is known; another one at the same path is refused.
    pub identity: Option<DirectoryIdentity>,
    /// The line of shell.
    pub command: &'a str,
    /// What it may do.
    pub policy: &'a CommandPolicy,
    /// How long it may run.
    pub timeout: Duration,
    /// A directory that no command may see, whatever else is granted, except for the workspace in
    /// it: polis's own data.
    pub private: Option<&'a Path>,
    /// Where the whole output of commands is kept when it is long, if anywhere.
    pub output: Option<&'a Path>,
    /// Whether the workspace is polis's own, so that its files may be given to the commands' user
    /// where owners cannot be mapped. The two directories above it are opened to be passed then.
    pub hand_over: bool,
    /// Ends the command when it is triggered.
    pub cancel: Option<&'a Cancel>,
    /// Sees output as it comes.
    pub watch: Option<&'a Watcher<'a>>,
}

impl std::fmt::Debug for Job<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

impl<'a> Job<'a> {
    /// A command with the policy's own timeout, and nobody who watches.
    pub fn new(workspace: &'a Path, command: &'a str, policy: &'a CommandPolicy) -> Self {
        Self {
            workspace,
            identity: None,
            command,
            policy,
            timeout: Duration::from_millis(policy.timeout_ms),
            private: None,
            output: None,
            hand_over: false,
            cancel: None,
            watch: None,
        }
    }
}

/// Ends a running command from another thread.
#[derive(Debug)]
pub struct Cancel(OwnedFd);

impl Cancel {
    /// Not triggered yet.
    pub fn new() -> std::io::Result<Self> {
        let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
        Ok(Self(rustix::event::eventfd(0, flags)?))
    }

    /// Ends the command now, or as soon as it starts.
    pub fn trigger(&self) {
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Readable once it was triggered.
    pub(crate) fn seen_by(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
