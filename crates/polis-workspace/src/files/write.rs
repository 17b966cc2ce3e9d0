//! Writing files: whole or not at all, and durably.
//!
//! The new content goes into a file beside the old one, is synchronised, and takes its place in one
//! step. A file that is replaced keeps its permissions and its owner, but is a new file: hard links
//! to the old one, wherever they are, keep the old content, so a write never reaches a file
//! outside. A link at the path stays, and what it leads to is replaced, inside only.

use std::borrow::Cow;
use std::io::{self, Write};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use polis_core::Code;
use polis_core::workspace::file::{Encoding, WriteFile, Written};
use polis_core::workspace::path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use super::fault::{self, Doing};
use super::hold::{Wants, lock};
use super::memory::WalkMemory;
use super::place::{DIRECTORY, Made, Place};
use super::unfinished::Unfinished;
use super::{WorkspaceDir, hash};

/// How often a write begins anew because the file came or went meanwhile.
const TRIES: usize = 100;

impl WorkspaceDir {
    /// Writes a file whole or not at all, durably; makes the directories on the way.
    pub fn write(&self, ask: &WriteFile) -> Result<Written, PortError> {
        let path = WorkspacePath::parse(&ask.path)?;
        if path.names_directory() {
            return Err(fault::is_a_directory(&path.to_string()));
        }
        let expected = hash::expected(ask.expected_hash.as_deref())?;
        if expected.is_some() && ask.create_only {
            return Err(fault::invalid(
                "A file that has to be new cannot have an expected hash.",
                "give either expectedHash or createOnly",
            ));
        }
        let content = decode(ask)?;
        let mut made = Made::default();
        let written = self.write_at(&path, &content, ask.create_only, expected, &mut made);
        if written.is_err() {
            made.undo();
        }
        written
    }

    fn write_at(
        &self,
        path: &WorkspacePath,
        content: &[u8],
        create_only: bool,
        expected: Option<String>,
        made: &mut Made,
    ) -> Result<Written, PortError> {
        let failed = Doing::Writing.at(path);
        for _ in 0..TRIES {
            let place = self.place_made(path, made)?;
            if create_only {
                // Looked first only to spare the work: what counts is that nothing is replaced.
                let there = place.look().map_err(&failed)?.is_some();
                if there || !self.put_whole(path, &place, content, None, made)? {
                    return Err(fault::exists(&path.to_string()));
                }
                return Ok(written(content, true));
            }
            let place = self.behind_links(path, place)?;
            let wants = if expected.is_some() {
                Wants::Content
            } else {
                Wants::Replace
            };
            let held = self.hold(path, &place, wants)?;
            if let Some(expected) = &expected {
                let Some(held) = &held else {
                    return Err(fault::not_found(&path.to_string()));
                };
                let current = hash::of_file(&held.file).map_err(Doing::Reading.io_at(path))?;
                hash::compare(path, expected, current)?;
            }
            let stat = held.as_ref().map(|held| &held.stat);
            if self.put_whole(path, &place, content, stat, made)? {
                return Ok(written(content, held.is_none()));
            }
            // It came up meanwhile.
        }
        Err(failed(Errno::AGAIN))
    }

    /// Puts content that is in memory in its place, as [`put`](Self::put) does.
    fn put_whole(
        &self,
        path: &WorkspacePath,
        place: &Place<'_>,
        content: &[u8],
        old: Option<&Stat>,
        made: &Made,
    ) -> Result<bool, PortError> {
        let quota = self.lock_quota(path)?;
        let new = NewContent {
            size: bytes(content),
            write: &|file| file.write_all(content),
        };
        self.put(path, place, &new, old, made, quota.as_ref())
    }

    /// Puts content in its place: instead of the file that was seen there, or, if none was, unless
    /// there is one now; then the answer is `false`.
    pub(super) fn put(
        &self,
        path: &WorkspacePath,
        place: &Place<'_>,
        content: &NewContent<'_>,
        old: Option<&Stat>,
        made: &Made,
        quota: Option<&QuotaLock>,
    ) -> Result<bool, PortError> {
        let failed = Doing::Writing.at(path);
        if let Some(quota) = quota {
            self.check_quota(quota, content.size, old)?;
        }
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let mut new = Unfinished::begin(place, Mode::from_raw_mode(mode)).map_err(&failed)?;
        match old {
            Some(old) => keep_rights(&new, old).map_err(&failed)?,
            None => self.give_to_owner(new.file.as_fd()).map_err(&failed)?,
        }
        new.fill(content.write)
            .map_err(Doing::Writing.io_at(path))?;
        made.sync().map_err(&failed)?;
        let placed = match old {
            Some(_) => new.replace(),
            None => new.create(),
        };
        match placed {
            Ok(()) => {}
            Err(Errno::EXIST) if old.is_none() => return Ok(false),
            Err(errno) => return Err(failed(errno)),
        }
        place.sync().map_err(&failed)?;
        Ok(true)
    }

    /// Keeps others from filling up the room that a quota leaves, if there is one. Waits for them.
    pub(super) fn lock_quota(&self, path: &WorkspacePath) -> Result<Option<QuotaLock>, PortError> {
        let Some(most) = self.limits.quota else {
            return Ok(None);
        };
        // Opened by itself, for a lock belongs to whoever opened.
        let root = fs::openat(&self.root, c".", DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(Doing::Writing.at(path))?;
        lock(&root, path, Instant::now() + self.limits.lock_wait)?;
        Ok(Some(QuotaLock { most, _root: root }))
    }

    /// Refuses what would not fit.
    fn check_quota(
        &self,
        quota: &QuotaLock,
        new: u64,
        old: Option<&Stat>,
    ) -> Result<(), PortError> {
        let most = quota.most;
        let old = old.map_or(0, |old| u64::try_from(old.st_size).unwrap_or(0));
        let info = self.sum_up(&WalkMemory::of_quota())?;
        if info.truncated {
            return Err(PortError::new(
                Code::QuotaExceeded,
                "The workspace has a quota, and its directories are too many or too deep to be counted.",
                "delete directories that are not needed",
            ));
        }
        let used = info.total_size.saturating_sub(old);
        if new > old && used.saturating_add(new) > most {
            return Err(PortError::new(
                Code::QuotaExceeded,
                format!(
                    "The workspace may hold {most} bytes; {used} are in other files, so {new} more do not fit."
                ),
                "delete what is not needed, or have the quota raised",
            ));
        }
        Ok(())
    }

    /// Gives something new to the owner of the workspace, if that is not us: commands may run as
    /// another user.
    pub(super) fn give_to_owner(&self, fd: rustix::fd::BorrowedFd<'_>) -> Result<(), Errno> {
        match self.owner {
            Some((user, group)) => fs::fchown(fd, Some(user), Some(group)),
            None => Ok(()),
        }
    }
}

/// What a file is to hold.
pub(super) struct NewContent<'a> {
    /// How long it is.
    pub(super) size: u64,
    /// Writes it; a large one need not be in memory.
    pub(super) write: &'a dyn Fn(&mut dyn Write) -> io::Result<()>,
}

/// Held while a file is put in its place in a workspace with a quota.
#[derive(Debug)]
pub(super) struct QuotaLock {
    most: u64,
    _root: OwnedFd,
}

/// Gives a new file the permissions and the owner of the one it replaces.
fn keep_rights(new: &Unfinished<'_>, old: &Stat) -> Result<(), Errno> {
    let ours = fs::fstat(&new.file)?;
    if (ours.st_uid, ours.st_gid) != (old.st_uid, old.st_gid) {
        let (user, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        // Only root may; otherwise the file is ours, as if it had been made anew.
        if fs::fchown(&new.file, Some(user), Some(group)).is_err() {
            let _ = fs::fchown(&new.file, None, Some(group));
        }
    }
    // Without set-user-id and the like: the content is another one.
    fs::fchmod(&new.file, Mode::from_raw_mode(old.st_mode & 0o777))
}

fn written(content: &[u8], created: bool) -> Written {
    Written {
        ok: true,
        bytes: bytes(content),
        hash: hash::of(content),
        created,
    }
}

fn decode(ask: &WriteFile) -> Result<Cow<'_, [u8]>, PortError> {
    match ask.encoding {
        Encoding::Utf8 => Ok(Cow::Borrowed(ask.content.as_bytes())),
        Encoding::Base64 => STANDARD
            .decode(ask.content.trim())
            .map(Cow::Owned)
            .map_err(|_| {
                fault::invalid(
                    "The content is not base64.",
                    "encode the bytes in base64 with padding, or leave encoding out",
                )
            }),
    }
}

fn bytes(content: &[u8]) -> u64 {
    u64::try_from(content.len()).unwrap_or(u64::MAX)
}
