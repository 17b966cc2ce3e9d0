//! Files of a workspace that no path leads out of.
//!
//! [`WorkspaceDir`] is a directory, held open; every operation on it takes a request of
//! `polis_core::workspace::file` and answers with the type beside it. [`WorkspaceFiles`] is the
//! same as the port [`polis_ops::port::Files`], for many workspaces, each found by its agent.
//!
//! # What is promised
//!
//! - **Confinement.** A path is refused by its text if it is absolute or has a `..` (see
//!   [`polis_core::workspace::path`]). Then the kernel opens it beneath the workspace, so links lead
//!   inside or are refused, also when they are swapped while we look (`beneath.rs`). What changes
//!   directories does so through a directory held open and a single name (`place.rs`). The workspace itself is opened
//!   without following any link, and has to be the directory that was bound (`registry`).
//! - **Nothing waits.** Pipes, sockets and devices are refused without being waited for.
//! - **Whole or not at all.** A write is visible at once or never, and durable when it is answered
//!   (`write.rs`). A refused request has changed nothing, but for a recursive deletion that the
//!   system stops half-way; its message says so.
//! - **No lost update.** Edits of one file, from any number of processes, all count (`hold.rs`).
//! - **No trace.** What a killed writer leaves is never shown, and removed by a later one
//!   (`unfinished.rs`).
//! - **No absolute path** in any message. The causes hold none either.
//!
//! # What is not
//!
//! Access control lists and extended attributes of a file that is replaced are not kept. Other
//! programs that change the same files do not wait for us, nor do we for them unless they `flock`
//! the file.

mod adapter;
mod beneath;
mod bind;
mod edit;
mod entries;
mod fault;
mod gitignore;
mod hash;
mod hold;
mod list;
mod memory;
mod place;
mod read;
mod relocate;
mod remove;
mod search;
mod unfinished;
mod write;

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::time::Duration;

pub use adapter::WorkspaceFiles;
pub use beneath::Resolver;
pub use bind::{bind, resolve};
use polis_core::workspace::path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, Gid, Uid};
use rustix::io::Errno;

use crate::directory::{DirectoryIdentity, open_without_links};

use fault::Doing;

/// How much a workspace takes and gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    /// The most bytes answered at once; a larger file is read in parts.
    pub max_read: u64,
    /// The most bytes that all files together may have; no limit without one. With a limit, each
    /// write sums up the workspace.
    pub quota: Option<u64>,
    /// How long a file that somebody else holds locked is waited for.
    pub lock_wait: Duration,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self {
            max_read: 10 * 1024 * 1024,
            quota: None,
            lock_wait: Duration::from_secs(10),
        }
    }
}

/// The directory of a workspace, held open. Stays the same directory wherever it is moved.
#[derive(Debug)]
pub struct WorkspaceDir {
    root: OwnedFd,
    /// Who new files are given to, if not us.
    owner: Option<(Uid, Gid)>,
    resolver: Resolver,
    limits: FileLimits,
}

impl WorkspaceDir {
    /// Opens a directory by its absolute path. No name of the path may be a link; below the directory, links have to stay
    /// inside.
    pub fn open(path: &Path) -> Result<Self, PortError> {
        let failed = Doing::Reading.at(&WorkspacePath::root());
        let root = open_without_links(path).map_err(|errno| match errno {
            Errno::LOOP | Errno::NOTDIR => fault::replaced(),
            errno => failed(errno),
        })?;
        let stat = fs::fstat(&root).map_err(failed)?;
        let (user, group) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        // Only root can give files away.
        let ours = rustix::process::geteuid();
        let owner = (ours.is_root() && (ours != user)).then_some((user, group));
        Ok(Self {
            root,
            owner,
            resolver: Resolver::detect(),
            limits: FileLimits::default(),
        })
    }

    /// Returns which directory it is.
    pub fn identity(&self) -> Result<DirectoryIdentity, PortError> {
        let failed = Doing::Reading.at(&WorkspacePath::root());
        DirectoryIdentity::of(self.root.as_fd()).map_err(failed)
    }

    /// The same with other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: FileLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The same with another way to keep paths inside; for systems without `openat2`, and for
    /// tests of what happens there.
    #[must_use]
    pub fn with_resolver(mut self, resolver: Resolver) -> Self {
        self.resolver = resolver;
        self
    }
}
