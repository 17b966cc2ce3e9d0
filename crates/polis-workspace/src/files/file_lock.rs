//! File locks (`flock`) that serialize changes of one file, so that no update is lost.
//!
//! Writing, editing, moving or deleting an existing file locks the file itself first, so no lock files
//! remain. It then checks that the name still refers to the locked file, and keeps the lock until the change
//! is complete. A waiter finds that the name refers to a new file, and locks that one. An edit therefore
//! always sees the result of the previous one, also across processes, and the kernel releases the lock of a
//! killed process. A file that polis may not open is moved or deleted without a lock. Programs that do not
//! lock are not blocked; `expectedHash` is compared once, after the lock is taken, and does not detect what they
//! write while the new content is published.
//!
//! Waiting has a timeout, because a command in the workspace may hold a lock indefinitely.

use std::fs::File;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use polis_core::id::quote_untrusted;
use polis_core::workspace::workspace_path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::beneath::{file_type, is_same_file};
use super::entry_location::EntryLocation;
use super::file_error::{self, FileAccess};
use crate::refusal_tables::FileRefusal;

/// Flags for opening a file without blocking, for instance on a pipe without a writer.
pub(super) const NONBLOCKING_FLAGS: OFlags = OFlags::NONBLOCK
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Why a file is locked; determines the access with which it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockPurpose {
    /// To read the content and replace it.
    ReadAndReplace,
    /// Only to replace the content.
    Replace,
    /// Only to rename or delete it, which needs no permission on the file itself.
    RenameOrDelete,
}

/// A file that stays locked until this is dropped.
#[derive(Debug)]
pub(super) struct LockedFile {
    pub(super) file: File,
    pub(super) stat: Stat,
}

impl WorkspaceDir {
    /// Locks the file at a location. Returns `None` if it does not exist, or if it is to be renamed or
    /// deleted and may not be opened.
    pub(super) fn lock_file(
        &self,
        path: &WorkspacePath,
        location: &EntryLocation<'_>,
        purpose: LockPurpose,
    ) -> Result<Option<LockedFile>, PortError> {
        let failed = FileAccess::Writing.errno_mapper(path);
        let until = Instant::now() + self.limits.lock_timeout;
        loop {
            let Some(initial_stat) = location.stat().map_err(&failed)? else {
                return Ok(None);
            };
            match file_type(&initial_stat) {
                FileType::RegularFile => {}
                FileType::Directory => return Err(file_error::is_a_directory(&path.to_string())),
                _ => return Err(file_error::not_a_file(&path.to_string())),
            }
            let file = match open_for_lock(location, purpose) {
                Ok(file) => file,
                Err(Errno::NOENT) => continue,
                // Renaming and deleting need no permission on the file, so they proceed without the lock.
                Err(Errno::ACCESS | Errno::PERM) if purpose == LockPurpose::RenameOrDelete => {
                    return Ok(None);
                }
                Err(errno) => return Err(failed(errno)),
            };
            let stat = fs::fstat(&file).map_err(&failed)?;
            if file_type(&stat) != FileType::RegularFile {
                return Err(file_error::not_a_file(&path.to_string()));
            }
            flock_until(&file, path, until)?;
            match location.stat().map_err(&failed)? {
                Some(now) if is_same_file(&now, &stat) => {
                    return Ok(Some(LockedFile { file, stat: now }));
                }
                Some(_) if Instant::now() < until => {}
                Some(_) => return Err(file_busy_error(path)),
                None => return Ok(None),
            }
        }
    }
}

fn open_for_lock(location: &EntryLocation<'_>, purpose: LockPurpose) -> Result<File, Errno> {
    let access = match purpose {
        LockPurpose::ReadAndReplace => OFlags::RDWR,
        LockPurpose::Replace => OFlags::WRONLY,
        LockPurpose::RenameOrDelete => OFlags::RDONLY,
    };
    let open = |access: OFlags| {
        let flags = access | NONBLOCKING_FLAGS | OFlags::NOFOLLOW;
        fs::openat(
            &location.dir,
            location.name.as_slice(),
            flags,
            Mode::empty(),
        )
        .map(File::from)
    };
    match open(access) {
        // A running program can be replaced, but not opened for writing.
        Err(Errno::TXTBSY) => open(OFlags::RDONLY),
        answer => answer,
    }
}

/// Waits for an exclusive lock, polling with exponential backoff. Fails with `file_busy` after `until`.
pub(super) fn flock_until(
    file: &impl AsFd,
    path: &WorkspacePath,
    until: Instant,
) -> Result<(), PortError> {
    let mut pause = Duration::from_micros(100);
    loop {
        match fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => {}
            Err(Errno::WOULDBLOCK) => return Err(file_busy_error(path)),
            Err(Errno::INTR) => continue,
            // A file system without locks: the atomic rename has to suffice.
            Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::INVAL) => return Ok(()),
            Err(errno) => return Err(FileAccess::Writing.errno_mapper(path)(errno)),
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

fn file_busy_error(path: &WorkspacePath) -> PortError {
    PortError::from(FileRefusal::Locked {
        path: quote_untrusted(&path.to_string()),
    })
}
