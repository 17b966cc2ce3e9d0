//! Where a command runs and how it is observed, and the handle that cancels it.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use polis_core::workspace::command_outcome::OutputStream;

use crate::directory::DirectoryIdentity;

/// Callback for each piece of output.
pub type OutputCallback<'a> = dyn Fn(OutputStream, &[u8]) + Sync + 'a;

/// Where a command runs, who receives its output and who cancels it: all that its request does not say.
pub struct SandboxContext<'a> {
    /// Working directory: an absolute path without symbolic links.
    pub workspace: &'a Path,
    /// Expected identity of that directory, if known; another directory at the same path is refused.
    pub identity: Option<DirectoryIdentity>,
    /// Directory that no command may see, regardless of other grants, except for the workspace inside it:
    /// polis's data directory.
    pub private_data: Option<&'a Path>,
    /// Directory for the complete output of commands with long output; `None`: not stored.
    pub output_directory: Option<&'a Path>,
    /// Whether the workspace is polis's own, so that its files may be given to the commands' user where
    /// owners cannot be mapped. The two directories above it are then made traversable.
    pub may_chown: bool,
    /// Cancels the command when triggered.
    pub cancel: Option<&'a CancelHandle>,
    /// Receives output while the command runs.
    pub on_output: Option<&'a OutputCallback<'a>>,
}

impl std::fmt::Debug for SandboxContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SandboxContext")
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}

impl<'a> SandboxContext<'a> {
    /// Creates a context without callbacks.
    pub fn new(workspace: &'a Path) -> Self {
        Self {
            workspace,
            identity: None,
            private_data: None,
            output_directory: None,
            may_chown: false,
            cancel: None,
            on_output: None,
        }
    }
}

/// Cancels a running command from another thread.
#[derive(Debug)]
pub struct CancelHandle(OwnedFd);

impl CancelHandle {
    /// Creates a handle that is not triggered. Fails if the system cannot create an eventfd.
    pub fn new() -> std::io::Result<Self> {
        let flags = rustix::event::EventfdFlags::CLOEXEC | rustix::event::EventfdFlags::NONBLOCK;
        Ok(Self(rustix::event::eventfd(0, flags)?))
    }

    /// Cancels the command now, or as soon as it starts.
    pub fn cancel(&self) {
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }

    /// Returns a descriptor that is readable once the handle was triggered.
    pub(crate) fn readable_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
