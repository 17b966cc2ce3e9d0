//! Location of a directory entry: an open parent directory and a single name in it, where entries are
//! created, replaced or deleted.
//!
//! An operation at such a location cannot leave the workspace: the directory was opened beneath it, and the
//! name is a single component. Missing parent directories are created here; callers remove them again with
//! `remove_unused` if the request is refused. A symlink in the last component is the entry itself, unless the
//! caller follows it with `follow_final_symlinks`, as writes and edits do.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use polis_core::workspace::workspace_path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::beneath::{file_type, is_reserved_name, read_link_target, stat_no_follow};
use super::file_error::{self, FileAccess};
use crate::refusal_tables::FileRefusal;

/// Flags for opening a directory for changes; readable, so that it can be fsynced afterwards.
pub(super) const DIRECTORY_FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Maximum number of links followed in the last component of a path.
const MAX_FINAL_SYMLINKS: usize = 40;

/// An open directory: the workspace's root, or one below it.
#[derive(Debug)]
pub(super) enum DirectoryHandle<'a> {
    Root(BorrowedFd<'a>),
    Below(OwnedFd),
}

impl AsFd for DirectoryHandle<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Root(fd) => *fd,
            Self::Below(fd) => fd.as_fd(),
        }
    }
}

/// An open directory and the name of an entry in it.
#[derive(Debug)]
pub(super) struct EntryLocation<'a> {
    pub(super) dir: DirectoryHandle<'a>,
    pub(super) name: Vec<u8>,
}

impl EntryLocation<'_> {
    /// Returns the entry's `stat` without following a link, or `None` if it does not exist.
    pub(super) fn stat(&self) -> Result<Option<fs::Stat>, Errno> {
        stat_no_follow(self.dir.as_fd(), &self.name)
    }

    /// Makes the directory's entries durable (fsync).
    pub(super) fn sync_directory(&self) -> Result<(), Errno> {
        fsync_directory(self.dir.as_fd())
    }
}

/// Parent directories that an operation created.
#[derive(Debug, Default)]
pub(super) struct CreatedDirectories(Vec<(OwnedFd, Vec<u8>)>);

impl CreatedDirectories {
    /// Makes the created directories durable (fsync of their parents).
    pub(super) fn sync_parents(&self) -> Result<(), Errno> {
        self.0
            .iter()
            .try_for_each(|(above, _)| fsync_directory(above.as_fd()))
    }

    /// Removes the created directories that are still empty.
    pub(super) fn remove_unused(&self) {
        for (above, name) in self.0.iter().rev() {
            let _ = fs::unlinkat(above, name.as_slice(), AtFlags::REMOVEDIR);
        }
    }
}

impl WorkspaceDir {
    /// Returns the root directory of the workspace.
    pub(super) fn root_dir(&self) -> DirectoryHandle<'_> {
        DirectoryHandle::Root(self.root.as_fd())
    }

    /// Opens a directory below the workspace.
    pub(super) fn open_directory(&self, path: &[u8]) -> Result<DirectoryHandle<'_>, Errno> {
        if path.is_empty() {
            return Ok(self.root_dir());
        }
        let fd = self
            .resolver
            .open(self.root.as_fd(), path, DIRECTORY_FLAGS)?;
        Ok(DirectoryHandle::Below(fd))
    }

    /// Like [`open_directory`](Self::open_directory), and creates missing directories.
    pub(super) fn open_or_create_directory(
        &self,
        path: &WorkspacePath,
        directory: &str,
        created: &mut CreatedDirectories,
    ) -> Result<DirectoryHandle<'_>, PortError> {
        let failed = FileAccess::Writing.errno_mapper(path);
        match self.open_directory(directory.as_bytes()) {
            Err(Errno::NOENT) => {}
            answer => return answer.map_err(failed),
        }
        let mut above = self.root_dir();
        let mut end = 0;
        for name in directory.split('/') {
            end += name.len();
            let so_far = directory.get(..end).unwrap_or(directory).as_bytes();
            end += 1;
            above = match self.open_directory(so_far) {
                Ok(next) => next,
                Err(Errno::NOENT) => self
                    .create_directory(&above, name, so_far, created)
                    .map_err(
                        // A dangling link has the name.
                        |errno| match errno {
                            Errno::NOENT => file_error::not_a_directory(&path.to_string()),
                            errno => failed(errno),
                        },
                    )?,
                Err(errno) => return Err(failed(errno)),
            };
        }
        Ok(above)
    }

    /// Creates one directory; a directory created concurrently is used.
    fn create_directory(
        &self,
        above: &DirectoryHandle<'_>,
        name: &str,
        path: &[u8],
        created: &mut CreatedDirectories,
    ) -> Result<DirectoryHandle<'_>, Errno> {
        match fs::mkdirat(above, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {}
            Err(Errno::EXIST) => return self.open_directory(path),
            Err(errno) => return Err(errno),
        }
        let parent = rustix::io::fcntl_dupfd_cloexec(above, 0)?;
        created.0.push((parent, name.as_bytes().to_vec()));
        let fd = fs::openat(
            above,
            name,
            DIRECTORY_FLAGS | OFlags::NOFOLLOW,
            Mode::empty(),
        )?;
        self.chown_to_workspace_owner(fd.as_fd())?;
        Ok(DirectoryHandle::Below(fd))
    }

    /// Returns the location of a path. A link in the last component is not followed.
    pub(super) fn locate(
        &self,
        path: &WorkspacePath,
        access: FileAccess,
    ) -> Result<EntryLocation<'_>, PortError> {
        let (directory, name) = split_parent_and_name(path)?;
        Ok(EntryLocation {
            dir: self
                .open_directory(directory.as_bytes())
                .map_err(access.errno_mapper(path))?,
            name: name.as_bytes().to_vec(),
        })
    }

    /// Like [`locate`](Self::locate), and creates missing parent directories.
    pub(super) fn locate_creating_parents(
        &self,
        path: &WorkspacePath,
        created: &mut CreatedDirectories,
    ) -> Result<EntryLocation<'_>, PortError> {
        let (directory, name) = split_parent_and_name(path)?;
        Ok(EntryLocation {
            dir: self.open_or_create_directory(path, directory, created)?,
            name: name.as_bytes().to_vec(),
        })
    }

    /// Follows links in the last component, and returns the location of the final target. A write thus
    /// replaces the target and keeps the link.
    pub(super) fn follow_final_symlinks<'a>(
        &'a self,
        path: &WorkspacePath,
        mut location: EntryLocation<'a>,
    ) -> Result<EntryLocation<'a>, PortError> {
        let failed = FileAccess::Writing.errno_mapper(path);
        let mut at = split_parent_and_name(path)?.0.as_bytes().to_vec();
        for _ in 0..MAX_FINAL_SYMLINKS {
            match location.stat().map_err(&failed)? {
                Some(stat) if file_type(&stat) == FileType::Symlink => {}
                _ => return Ok(location),
            }
            let link = match read_link_target(location.dir.as_fd(), &location.name) {
                Ok(link) => link,
                // No longer a link, or deleted: look again.
                Err(Errno::INVAL | Errno::NOENT) => continue,
                Err(errno) => return Err(failed(errno)),
            };
            if link.starts_with(b"/") {
                return Err(file_error::leaves_workspace(&path.to_string()));
            }
            if !at.is_empty() {
                at.push(b'/');
            }
            at.extend_from_slice(&link);
            let (directory, name) = match at.iter().rposition(|byte| *byte == b'/') {
                Some(slash) => (
                    at.get(..slash).unwrap_or_default(),
                    at.get(slash + 1..).unwrap_or_default(),
                ),
                None => (&[][..], at.as_slice()),
            };
            if matches!(name, b"" | b"." | b"..") {
                self.open_directory(&at).map_err(&failed)?;
                return Err(file_error::is_a_directory(&path.to_string()));
            }
            location = EntryLocation {
                dir: self.open_directory(directory).map_err(&failed)?,
                name: name.to_vec(),
            };
            if is_reserved_name(name) {
                return Err(file_error::reserved_name(&path.to_string()));
            }
            at = directory.to_vec();
        }
        Err(failed(Errno::LOOP))
    }
}

/// Makes a directory's entries durable (fsync), if the file system supports that.
pub(super) fn fsync_directory(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    match fs::fsync(fd) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(()),
        answer => answer,
    }
}

fn split_parent_and_name(path: &WorkspacePath) -> Result<(&str, &str), PortError> {
    path.split_parent()
        .ok_or_else(|| FileRefusal::WorkspaceItself.into())
}
