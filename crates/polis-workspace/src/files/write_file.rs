//! Atomic and durable file writes: temporary file, fsync, rename.
//!
//! The new content is written to a temporary file in the same directory, fsynced, and renamed over the old
//! file. A replaced file keeps its permissions, without set-user-ID bits and the like, and its owner if polis may
//! set it. But it is a new inode: hard links to the old one keep the old content, so a write never reaches a
//! file outside. If the path is a symbolic link, the link stays and its target is replaced, inside the
//! workspace only. The quota of the workspace is checked here too.

use std::borrow::Cow;
use std::io::{self, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use polis_core::number::saturating_cast;
use polis_core::workspace::file_tools::{FileEncoding, WriteFileParams, WriteFileResult};
use polis_core::workspace::workspace_path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use super::entry_location::{CreatedDirectories, DIRECTORY_FLAGS, EntryLocation};
use super::file_error::{self, FileAccess};
use super::file_lock::{LockPurpose, flock_until};
use super::memory_budget::WalkMemory;
use super::temp_file::TempFile;
use super::{WorkspaceDir, content_hash};
use crate::refusal_tables::FileRefusal;

/// Maximum number of attempts if the file is created or deleted concurrently.
const MAX_WRITE_ATTEMPTS: usize = 100;

impl WorkspaceDir {
    /// Writes a file atomically and durably; creates missing parent directories. Fails with `file_exists` if
    /// only a new file may be created, with `hash_mismatch` if the file does not have the expected content,
    /// and with `quota_exceeded`.
    pub fn write(&self, params: &WriteFileParams) -> Result<WriteFileResult, PortError> {
        let path = WorkspacePath::parse(&params.path)?;
        if path.is_directory_path() {
            return Err(file_error::is_a_directory(&path.to_string()));
        }
        let expected = content_hash::parse_expected_hash(params.expected_hash.as_deref())?;
        if expected.is_some() && params.create_only {
            return Err(FileRefusal::HashWithCreate.into());
        }
        let content = decode_content(params)?;
        let mut created = CreatedDirectories::default();
        let written = self.write_path(&path, &content, params.create_only, expected, &mut created);
        if written.is_err() {
            created.remove_unused();
        }
        written
    }

    fn write_path(
        &self,
        path: &WorkspacePath,
        content: &[u8],
        create_only: bool,
        expected: Option<String>,
        created: &mut CreatedDirectories,
    ) -> Result<WriteFileResult, PortError> {
        let failed = FileAccess::Writing.errno_mapper(path);
        for _ in 0..MAX_WRITE_ATTEMPTS {
            let location = self.locate_creating_parents(path, created)?;
            if create_only {
                // This check only avoids useless work: the rename itself never replaces a file.
                let exists = location.stat().map_err(&failed)?.is_some();
                if exists || !self.publish_bytes(path, &location, content, None, created)? {
                    return Err(file_error::already_exists(&path.to_string()));
                }
                return Ok(write_result(content, true));
            }
            let location = self.follow_final_symlinks(path, location)?;
            let purpose = if expected.is_some() {
                LockPurpose::ReadAndReplace
            } else {
                LockPurpose::Replace
            };
            let locked = self.lock_file(path, &location, purpose)?;
            if let Some(expected) = &expected {
                let Some(locked) = &locked else {
                    return Err(file_error::not_found(&path.to_string()));
                };
                let current = content_hash::sha256_hex_of_file(&locked.file)
                    .map_err(FileAccess::Reading.io_error_mapper(path))?;
                content_hash::check_expected_hash(path, expected, current)?;
            }
            let stat = locked.as_ref().map(|locked| &locked.stat);
            if self.publish_bytes(path, &location, content, stat, created)? {
                return Ok(write_result(content, locked.is_none()));
            }
            // The file was created concurrently: retry.
        }
        Err(failed(Errno::AGAIN))
    }

    /// Writes content that is in memory, like [`publish_content`](Self::publish_content).
    fn publish_bytes(
        &self,
        path: &WorkspacePath,
        location: &EntryLocation<'_>,
        content: &[u8],
        old: Option<&Stat>,
        created: &CreatedDirectories,
    ) -> Result<bool, PortError> {
        let quota = self.lock_quota(path)?;
        let new = NewFileContent {
            size: byte_count(content),
            write: &|file| file.write_all(content),
        };
        self.publish_content(path, location, &new, old, created, quota.as_ref())
    }

    /// Writes content to its location: replaces the file `old`, or, if that is `None`, creates a new one.
    /// Returns `false` if a file was created there concurrently.
    pub(super) fn publish_content(
        &self,
        path: &WorkspacePath,
        location: &EntryLocation<'_>,
        content: &NewFileContent<'_>,
        old: Option<&Stat>,
        created: &CreatedDirectories,
        quota: Option<&QuotaLock>,
    ) -> Result<bool, PortError> {
        let failed = FileAccess::Writing.errno_mapper(path);
        if let Some(quota) = quota {
            self.check_quota(quota, content.size, old)?;
        }
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let mut new = TempFile::create_for(location, Mode::from_raw_mode(mode)).map_err(&failed)?;
        match old {
            Some(old) => copy_mode_and_owner(&new, old).map_err(&failed)?,
            None => self
                .chown_to_workspace_owner(new.file.as_fd())
                .map_err(&failed)?,
        }
        new.write_and_sync(content.write)
            .map_err(FileAccess::Writing.io_error_mapper(path))?;
        created.sync_parents().map_err(&failed)?;
        let placed = match old {
            Some(_) => new.rename_over_target(),
            None => new.rename_to_new_target(),
        };
        match placed {
            Ok(()) => {}
            Err(Errno::EXIST) if old.is_none() => return Ok(false),
            Err(errno) => return Err(failed(errno)),
        }
        location.sync_directory().map_err(&failed)?;
        Ok(true)
    }

    /// Locks the quota, if there is one, so that concurrent writers cannot exceed it together. Waits for
    /// them.
    pub(super) fn lock_quota(&self, path: &WorkspacePath) -> Result<Option<QuotaLock>, PortError> {
        let Some(limit) = self.limits.quota_bytes else {
            return Ok(None);
        };
        // Opened separately, because a lock belongs to the open file description.
        let root = fs::openat(
            &self.root,
            c".",
            DIRECTORY_FLAGS | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(FileAccess::Writing.errno_mapper(path))?;
        flock_until(&root, path, Instant::now() + self.limits.lock_timeout)?;
        Ok(Some(QuotaLock {
            max_bytes: limit,
            _root: root,
        }))
    }

    /// Fails with `quota_exceeded` if the new content would not fit.
    fn check_quota(
        &self,
        quota: &QuotaLock,
        new: u64,
        old: Option<&Stat>,
    ) -> Result<(), PortError> {
        let limit = quota.max_bytes;
        let old = old.map_or(0, |old| u64::try_from(old.st_size).unwrap_or(0));
        let info = self.compute_info(&WalkMemory::for_quota())?;
        if info.truncated {
            return Err(PortError::from(FileRefusal::QuotaUncountable));
        }
        let used = info.total_size.saturating_sub(old);
        if new > old && used.saturating_add(new) > limit {
            return Err(PortError::from(FileRefusal::QuotaExceeded {
                limit,
                used,
                new,
            }));
        }
        Ok(())
    }

    /// Changes the owner of a new file to that of the workspace, if it is not ours: commands may run as
    /// another user.
    pub(super) fn chown_to_workspace_owner(
        &self,
        fd: rustix::fd::BorrowedFd<'_>,
    ) -> Result<(), Errno> {
        match self.owner {
            Some((user, group)) => fs::fchown(fd, Some(user), Some(group)),
            None => Ok(()),
        }
    }
}

/// New content of a file.
pub(super) struct NewFileContent<'a> {
    /// Size in bytes.
    pub(super) size: u64,
    /// Writes the content; large content need not be in memory.
    pub(super) write: &'a dyn Fn(&mut dyn Write) -> io::Result<()>,
}

/// Lock that serializes writes to a workspace with a quota.
#[derive(Debug)]
pub(super) struct QuotaLock {
    max_bytes: u64,
    _root: OwnedFd,
}

/// Copies permissions and owner from the replaced file to the new one.
fn copy_mode_and_owner(new: &TempFile<'_>, old: &Stat) -> Result<(), Errno> {
    let ours = fs::fstat(&new.file)?;
    if (ours.st_uid, ours.st_gid) != (old.st_uid, old.st_gid) {
        let (user, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        // Only root may change the owner; otherwise the file is ours, as if it were newly created.
        if fs::fchown(&new.file, Some(user), Some(group)).is_err() {
            let _ = fs::fchown(&new.file, None, Some(group));
        }
    }
    // Without set-user-ID bits and the like, because the content is different.
    fs::fchmod(&new.file, Mode::from_raw_mode(old.st_mode & 0o777))
}

fn write_result(content: &[u8], created: bool) -> WriteFileResult {
    WriteFileResult {
        ok: true,
        bytes: byte_count(content),
        hash: content_hash::sha256_hex(content),
        created,
    }
}

fn decode_content(params: &WriteFileParams) -> Result<Cow<'_, [u8]>, PortError> {
    match params.encoding {
        FileEncoding::Utf8 => Ok(Cow::Borrowed(params.content.as_bytes())),
        FileEncoding::Base64 => STANDARD
            .decode(params.content.trim())
            .map(Cow::Owned)
            .map_err(|_| FileRefusal::NotBase64.into()),
    }
}

fn byte_count(content: &[u8]) -> u64 {
    saturating_cast::<u64>(content.len())
}
