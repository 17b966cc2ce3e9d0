//! Confined file operations in a workspace: no path and no symbolic link leads out of it.
//!
//! [`WorkspaceDir`] is an open directory; every operation on it takes parameters from
//! `polis_core::workspace::file_tools` and returns a result from there. [`WorkspaceFiles`] implements the
//! port (trait) [`polis_ops::port::WorkspaceFileAccess`] for all workspaces of a data directory.
//!
//! # Guarantees
//!
//! - **Confinement.** A path is refused by its text if it is absolute or contains a `..` (see
//!   [`polis_core::workspace::workspace_path`]). Then it is opened beneath the workspace, so links
//!   stay inside or are refused, even if they are swapped during the lookup (`beneath.rs`). Changes are made
//!   through an open directory and a single name (`entry_location.rs`). The workspace itself is opened
//!   without following any link, and must be the directory that was bound (`machine_registry.rs`).
//! - **No blocking.** Pipes, sockets and devices are refused without waiting for them.
//! - **Atomic writes.** A write becomes visible as a whole or not at all, and is durable (fsync) when the
//!   call returns (`write_file.rs`). A refused request has changed nothing, except for a recursive deletion
//!   that fails half-way; its message says so.
//! - **No lost updates.** Concurrent edits of one file, from any number of processes, all take effect
//!   (`file_lock.rs`).
//! - **No leftovers.** Temporary files of a killed writer are never shown, and a later writer removes them
//!   (`temp_file.rs`).
//! - **No absolute path** in any message. Only the cause of a refused binding names the paths that overlap, for
//!   the person at this machine (`workspace_binding.rs`).
//!
//! # Not guaranteed
//!
//! Access control lists and extended attributes of a replaced file are lost. Other programs that change the
//! same files do not wait for us, nor do we wait for them unless they `flock` the file.

mod beneath;
mod content_hash;
mod delete_file;
mod edit_file;
mod entry_location;
mod file_error;
mod file_lock;
mod files_port;
mod gitignore;
mod list_files;
mod memory_budget;
mod move_file;
mod read_file;
mod search_files;
mod temp_file;
mod tree_walk;
mod workspace_binding;
mod write_file;

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::Duration;

pub use beneath::PathResolver;
pub use files_port::WorkspaceFiles;
use polis_core::workspace::workspace_path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, Gid, Uid};
use rustix::io::Errno;
pub use workspace_binding::{bind_directory, resolve_directory};

use crate::directory::{DirectoryIdentity, open_directory_no_symlinks};

use file_error::FileAccess;

/// Limits of file operations in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    /// Maximum number of bytes returned by one read; a larger file is read in parts.
    pub max_read_bytes: u64,
    /// Maximum total size of all files in bytes; `None`: unlimited. With a quota, each write sums up the
    /// workspace.
    pub quota_bytes: Option<u64>,
    /// Maximum wait for a file that another process has locked.
    pub lock_timeout: Duration,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self {
            max_read_bytes: 10 * 1024 * 1024,
            quota_bytes: None,
            lock_timeout: Duration::from_secs(10),
        }
    }
}

/// The open directory of a workspace. It stays the same directory even if it is moved.
#[derive(Debug)]
pub struct WorkspaceDir {
    root: OwnedFd,
    /// User and group that own new files, if not our own.
    owner: Option<(Uid, Gid)>,
    resolver: PathResolver,
    limits: FileLimits,
}

impl WorkspaceDir {
    /// Opens a directory by its absolute path. Below it, links must stay inside. Fails with
    /// `invalid_workspace` if a component of the path is a link, and with `file_not_found` if the directory
    /// does not exist.
    pub fn open(path: &Path) -> Result<Self, PortError> {
        let failed = FileAccess::Reading.errno_mapper(&WorkspacePath::root());
        let root = open_directory_no_symlinks(path).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOTDIR => file_error::workspace_replaced(),
            errno => failed(errno),
        })?;
        let stat = fs::fstat(&root).map_err(failed)?;
        let (user, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        // Only root can change the owner of files.
        let ours = rustix::process::geteuid();
        let owner = (ours.is_root() && (ours != user)).then_some((user, group));
        Ok(Self {
            root,
            owner,
            resolver: PathResolver::detect(),
            limits: FileLimits::default(),
        })
    }

    /// Returns the identity (device and inode) of the directory. Fails with `read_failed` if the system does
    /// not provide it.
    pub fn identity(&self) -> Result<DirectoryIdentity, PortError> {
        let failed = FileAccess::Reading.errno_mapper(&WorkspacePath::root());
        DirectoryIdentity::from_fd(self.root.as_fd()).map_err(failed)
    }

    /// Sets the limits of reads, of the total size, and of waiting for locks.
    #[must_use]
    pub fn with_limits(mut self, limits: FileLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Replaces the path resolver, for systems without `openat2` and for tests of that case.
    #[must_use]
    pub fn with_resolver(mut self, resolver: PathResolver) -> Self {
        self.resolver = resolver;
        self
    }
}
