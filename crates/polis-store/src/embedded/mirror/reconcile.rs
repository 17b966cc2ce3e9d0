//! File reconciliation: determines whether a board's file is unchanged, outdated, torn by a crash, deleted,
//! or edited externally.
//!
//! The decision uses size, mtime and ctime first, then the intent recorded in the board's lock file, and
//! reads the content only if these do not suffice.

use std::io::Read as _;

use polis_core::board::{BoardName, MAX_BOARD_BYTES};
use polis_ops::PortError;
use rusqlite::Connection;
use rustix::fs::OFlags;
use rustix::time::{ClockId, clock_gettime};

use super::super::boards::{self, StoredBoard};
use super::Mirror;
use super::backups::set_mtime;
use super::file_location::{FileFingerprint, FileLocation, StatResult};
use super::intent::WriteStrategy;
use super::mtime_stamp::{is_assigned_mtime, may_encode_version};
use crate::store_failure::StoreFailure;

/// State of a board's file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FileState {
    /// At the store's version, or absent as expected.
    InSync,
    /// At the store's version, but without its assigned mtime.
    WrongMtime,
    /// At an older version, partially written, or not yet created: a crash happened between the commit and
    /// the write to the file.
    Outdated,
    /// Deleted by another program.
    Deleted,
    /// Changed by a program other than polis.
    Edited {
        /// The content of the edited file.
        text: String,
        /// The file's mtime, in nanoseconds.
        mtime_nanos: i64,
    },
}

/// Maximum time from the creation of a version until its file is written and has reached the disk
/// (nanoseconds).
const MAX_WRITE_DELAY_NANOS: i64 = 60_000_000_000;
/// How many versions a file may be behind, or be a mixture of, after consecutive crashes.
const MAX_VERSIONS_BEHIND: u64 = 4;

/// The state of a file, and its location.
#[derive(Debug)]
pub(crate) struct ExaminedFile {
    pub(crate) state: FileState,
    /// The file's metadata at that moment; `None` if it does not exist.
    pub(crate) fingerprint: Option<FileFingerprint>,
    /// Location of the file; `None` if it does not exist.
    pub(crate) location: Option<FileLocation>,
}

/// Determines the state of a board's file. Reads the file only if its metadata is not conclusive. Fails with
/// `NotAFile`, `NotUtf8` or `BoardTooLarge` if the file cannot be a board.
pub(crate) fn examine_file(
    mirror: &Mirror,
    connection: &Connection,
    name: &BoardName,
    stored: Option<&StoredBoard>,
) -> Result<ExaminedFile, PortError> {
    let stored = stored.filter(|stored| stored.head.version > 0);
    let location = mirror.file_location(name, false)?;
    let stat = location
        .as_ref()
        .map_or(Ok(StatResult::Absent), FileLocation::stat)?;
    let (Some(location), StatResult::Regular(fingerprint)) = (location, stat) else {
        let state = match stored {
            None => FileState::InSync,
            Some(stored)
                if mirror
                    .interrupted_strategy(name, stored.head.version)
                    .is_some() =>
            {
                FileState::Outdated
            }
            Some(_) => FileState::Deleted,
        };
        return Ok(ExaminedFile {
            state,
            fingerprint: None,
            location: None,
        });
    };
    let state = match stored {
        Some(stored) if mirror.is_as_written(&fingerprint, stored) => FileState::InSync,
        Some(stored) => SuspectFile {
            mirror,
            name,
            board: stored,
            fingerprint,
        }
        .classify(connection, &location)?,
        // Created for a first version that was never committed.
        None if fingerprint.bytes == 0 && mirror.unfinished_intent(name).is_some() => {
            FileState::InSync
        }
        None => {
            classify_external_edit(name, fingerprint, read_board_file(&location, fingerprint)?)?
        }
    };
    Ok(ExaminedFile {
        state,
        fingerprint: Some(fingerprint),
        location: Some(location),
    })
}

/// A file whose metadata does not match what the store wrote.
struct SuspectFile<'a> {
    mirror: &'a Mirror,
    name: &'a BoardName,
    board: &'a StoredBoard,
    fingerprint: FileFingerprint,
}

impl SuspectFile<'_> {
    fn classify(
        &self,
        connection: &Connection,
        location: &FileLocation,
    ) -> Result<FileState, PortError> {
        let (name, fingerprint, version) = (self.name, self.fingerprint, self.board.head.version);
        let interrupted = self.mirror.interrupted_strategy(name, version);
        let lost_power = self.may_have_lost_power();
        // If no write was interrupted, an older version was put back deliberately, for example from a backup.
        if (interrupted.is_some() || lost_power) && self.is_older_version(connection)? {
            return Ok(FileState::Outdated);
        }
        let content = read_board_file(location, fingerprint)?;
        let current = match self.mirror.cached_text(name, version) {
            Some(text) => text,
            None => boards::select_version_text(connection, name, version)?
                .ok_or_else(|| crate::board_row::damaged_board_error(&name.to_string()))?
                .into(),
        };
        if content == current.as_bytes() {
            let timely = is_assigned_mtime(
                fingerprint.mtime_nanos,
                self.board.mtime_nanos,
                fingerprint.ctime_nanos,
            );
            return Ok(
                if timely && mark_verified(location, fingerprint.mtime_nanos) {
                    FileState::InSync
                } else {
                    FileState::WrongMtime
                },
            );
        }
        if lost_power && may_encode_version(fingerprint.mtime_nanos, version) {
            return Ok(FileState::Outdated);
        }
        if interrupted.is_some() || lost_power {
            let texts = self.recent_texts(connection)?;
            let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            // Compared by content: an earlier crash may have left an older version without its mtime.
            let is_older = texts.contains(&content.as_slice());
            let in_place = interrupted == Some(WriteStrategy::InPlace) || lost_power;
            if is_older || in_place && is_partial_write_of_any(&texts, &content) {
                return Ok(FileState::Outdated);
            }
        }
        classify_external_edit(name, fingerprint, content)
    }

    /// Whether the machine booted after the file's last change and that change was our write: then part of
    /// what we wrote may not have reached the disk.
    fn may_have_lost_power(&self) -> bool {
        let delay = self
            .fingerprint
            .ctime_nanos
            .saturating_sub(self.board.mtime_nanos);
        self.fingerprint.ctime_nanos < self.mirror.boot_time_nanos
            && (-MAX_WRITE_DELAY_NANOS..MAX_WRITE_DELAY_NANOS).contains(&delay)
    }

    fn is_older_version(&self, connection: &Connection) -> Result<bool, PortError> {
        let found =
            boards::find_version_by_mtime(connection, self.name, self.fingerprint.mtime_nanos)?;
        Ok(found.is_some_and(|s| {
            s.bytes == self.fingerprint.bytes && s.version < self.board.head.version
        }))
    }

    /// Returns the texts of the most recent versions, newest first.
    fn recent_texts(&self, connection: &Connection) -> Result<Vec<String>, PortError> {
        let newest = self.board.head.version;
        let mut texts = Vec::new();
        for version in (newest.saturating_sub(MAX_VERSIONS_BEHIND - 1).max(1)..=newest).rev() {
            texts.extend(boards::select_version_text(connection, self.name, version)?);
        }
        Ok(texts)
    }
}

/// Whether `content` is what a crash leaves when one of these texts (newest first) is written over another.
fn is_partial_write_of_any(texts: &[&[u8]], content: &[u8]) -> bool {
    texts.iter().enumerate().any(|(n, newer)| {
        let mut older = texts.iter().skip(n + 1);
        is_partial_write(content, newer, None)
            || older.any(|older| is_partial_write(content, newer, Some(older)))
    })
}

/// Records that a file's content was verified: updates its ctime to now and keeps its mtime.
fn mark_verified(location: &FileLocation, stamp: i64) -> bool {
    let file = location.open(OFlags::RDONLY);
    file.and_then(|file| set_mtime(&file, stamp)).is_ok()
}

/// Whether `content` is a snapshot taken while `current` was being written: a prefix of it, followed by
/// nothing or by the rest of the previous text.
fn is_partial_write(content: &[u8], current: &[u8], previous: Option<&[u8]>) -> bool {
    let prefix_length = content
        .iter()
        .zip(current)
        .take_while(|(a, b)| a == b)
        .count();
    let rest = content.get(prefix_length..).unwrap_or_default();
    rest.is_empty() || previous.and_then(|p| p.get(prefix_length..)) == Some(rest)
}

fn read_board_file(
    location: &FileLocation,
    fingerprint: FileFingerprint,
) -> Result<Vec<u8>, PortError> {
    if fingerprint.bytes > MAX_BOARD_BYTES {
        return Err(StoreFailure::BoardFileTooLarge {
            bytes: fingerprint.bytes,
            max_board_bytes: MAX_BOARD_BYTES,
        }
        .into());
    }
    let mut content = Vec::new();
    let mut file = location.open(OFlags::RDONLY)?;
    (&mut file)
        .take(MAX_BOARD_BYTES + 1)
        .read_to_end(&mut content)
        .map_err(super::file_location::port_error_from_io)?;
    Ok(content)
}

fn classify_external_edit(
    name: &BoardName,
    fingerprint: FileFingerprint,
    content: Vec<u8>,
) -> Result<FileState, PortError> {
    let board = name.to_string();
    match String::from_utf8(content) {
        Err(_) => Err(StoreFailure::BoardFileNotUtf8 { board }.into()),
        Ok(text) if text.contains('\0') => Err(StoreFailure::BoardFileHasNul { board }.into()),
        Ok(text) if text.len() as u64 > MAX_BOARD_BYTES => {
            Err(StoreFailure::BoardFileGrew { board }.into())
        }
        Ok(text) => Ok(FileState::Edited {
            text,
            mtime_nanos: fingerprint.mtime_nanos,
        }),
    }
}

/// Returns the current time of the system clock, in nanoseconds; file timestamps use the same clock.
pub(crate) fn now_nanos() -> i64 {
    clock_nanos(ClockId::Realtime)
}

fn clock_nanos(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec)
}

/// Returns the boot time by the system clock, in nanoseconds.
pub(super) fn boot_time_nanos() -> i64 {
    now_nanos().saturating_sub(clock_nanos(ClockId::Boottime))
}

#[cfg(test)]
mod tests;
