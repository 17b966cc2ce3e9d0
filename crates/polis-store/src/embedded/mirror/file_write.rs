//! Writes a board's file: prepared before the commit, brought to the committed version after it.
//!
//! A new text is written, or disk space is reserved for it, before the commit ([`prepare_write`]), so that a
//! full disk fails the change; it becomes visible after the commit ([`PostCommitAction::apply_to_file`]).
//! Whiteboards are replaced by rename; blackboard files are overwritten in place, because other programs may
//! have them open and locked. Additions are appended to either after the commit. A file that another program
//! has modified in the meantime is not overwritten: its content becomes a version of its own when the board
//! is used next, which also repairs a file whose write failed.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use polis_core::board::{BoardLogRow, BoardName};
use polis_ops::PortError;
use rusqlite::Connection;
use rustix::fs::{
    FallocateFlags, FlockOperation, OFlags, RenameFlags, fallocate, fchmod, renameat_with,
};
use rustix::io::Errno;

use super::super::boards::{self, StoredBoard};
use super::super::lock::try_flock;
use super::Mirror;
use super::backups::{remove_file, set_mtime};
use super::file_location::{
    FileFingerprint, FileLocation, StatResult, not_a_file_error, port_error_from_io,
    read_fingerprint,
};
use super::intent::{IntentFile, WriteIntent, WriteStrategy};
use crate::store_failure::StoreFailure;

/// State of a board's file before a batch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileVersion {
    /// At this version; 0 if it is absent as expected.
    Known(u64),
    /// Unreliable: its content is not known to be a version of the board.
    Unknown,
}

/// The changes that a batch makes to a board.
#[derive(Debug)]
pub(crate) struct PendingWrite {
    /// The board after the batch.
    pub(crate) board: StoredBoard,
    /// State of the file before the batch.
    pub(crate) file_version: FileVersion,
    /// Metadata of the file before the batch; `None` if it did not exist.
    pub(crate) fingerprint: Option<FileFingerprint>,
    /// Location of the file; `None` if it did not exist.
    pub(crate) location: Option<FileLocation>,
    /// The changes since the file's version, in order.
    pub(crate) changes: Vec<BoardLogRow>,
    /// Versions that were overwritten rather than appended to.
    pub(crate) overwritten: Vec<u64>,
    /// How many versions to keep copies of.
    pub(crate) max_versions: u32,
    /// Whether the caller has locked the file against other programs.
    pub(crate) is_guarded: bool,
}

/// File work left to do after the commit.
#[derive(Debug)]
pub(crate) enum PostCommitAction {
    /// The file needs no change.
    Nothing,
    /// Append the added text to the file.
    Append {
        file: File,
        text: String,
        intent: IntentFile,
        from: u64,
    },
    /// Replace the file with the prepared one.
    Replace {
        finished: FileLocation,
        text: Arc<String>,
        intent: IntentFile,
        /// The version of the old file, which is kept as a copy.
        old: Option<u64>,
    },
    /// Overwrite the file in place; other programs may have it locked and open.
    Overwrite {
        file: File,
        text: Arc<String>,
        intent: IntentFile,
        /// The file's metadata after space was allocated for the text.
        ready: FileFingerprint,
    },
    /// Leave the file as it is, because another program has written to it.
    KeepExternalEdit {
        text: Arc<String>,
        intent: IntentFile,
    },
}

impl PendingWrite {
    /// Records in the board's lock file that the file is going to be written (see `intent`).
    fn record_intent(
        &self,
        mirror: &Mirror,
        strategy: WriteStrategy,
    ) -> Result<IntentFile, PortError> {
        let head = &self.board.head;
        let version = head.version;
        let reliable = self.file_version != FileVersion::Unknown;
        mirror.record_intent(&head.name, WriteIntent { version, strategy }, reliable)
    }

    /// Opens the file for appending, if it still exists.
    fn open_to_append(&self) -> Option<File> {
        let location = self.location.as_ref()?;
        location.open(OFlags::WRONLY | OFlags::APPEND).ok()
    }

    /// Whether the file at the board's location is the one that was examined, and unmodified.
    fn is_file_unchanged(&self) -> bool {
        match (
            self.location.as_ref().map(FileLocation::stat),
            &self.fingerprint,
        ) {
            (Some(Ok(StatResult::Regular(now))), Some(before)) => before.is_unmodified(&now),
            _ => false,
        }
    }

    /// Locks a blackboard file that is going to be written, until it is closed. The operation locks an
    /// existing file before its transaction; this is for one that another program, or this transaction,
    /// created after that. Fails with `BoardLocked` if another program has locked it, or has written the
    /// first text to it: one of both texts would be lost.
    fn lock_new_file(&self, mirror: &Mirror, file: &File) -> Result<(), PortError> {
        let name = &self.board.head.name;
        if self.is_guarded || name.is_whiteboard() || mirror.is_locked_by_this_process(name) {
            return Ok(());
        }
        let is_locked = try_flock(file, FlockOperation::NonBlockingLockExclusive)?;
        if is_locked && (self.fingerprint.is_some() || read_fingerprint(file)?.bytes == 0) {
            return Ok(());
        }
        Err(PortError::from(StoreFailure::BoardFileLocked {
            name: name.to_string(),
        }))
    }

    /// Whether the file is unmodified since it was examined.
    fn is_unmodified(&self, file: &File) -> bool {
        read_fingerprint(file).is_ok_and(|now| match &self.fingerprint {
            Some(before) => before.is_unmodified(&now),
            // It was created by this transaction.
            None => now.bytes == 0,
        })
    }
}

/// Prepares the write to a board's file inside the transaction: writes the backups and the new text to disk
/// or reserves space for it. Returns the action that remains to be done after the commit.
pub(crate) fn prepare_write(
    mirror: &Mirror,
    connection: &Connection,
    pending: &PendingWrite,
) -> Result<PostCommitAction, PortError> {
    let name = &pending.board.head.name;
    if pending.board.head.version == 0 {
        return Ok(PostCommitAction::Nothing);
    }
    let only_added = pending
        .changes
        .iter()
        .all(|c| matches!(c, BoardLogRow::Added(_)));
    if let (FileVersion::Known(1..), []) = (pending.file_version, pending.changes.as_slice()) {
        return Ok(PostCommitAction::Nothing);
    }
    if let (FileVersion::Known(from @ 1..), true, Some(file)) =
        (pending.file_version, only_added, pending.open_to_append())
    {
        pending.lock_new_file(mirror, &file)?;
        if !name.is_whiteboard() {
            back_up_previous_version(mirror, connection, pending)?;
        }
        return Ok(PostCommitAction::Append {
            file,
            text: pending.changes.iter().map(BoardLogRow::text).collect(),
            intent: pending.record_intent(mirror, WriteStrategy::InPlace)?,
            from,
        });
    }
    let text = build_new_text(mirror, connection, pending)?;
    write_history_copies(mirror, connection, pending);
    if name.is_whiteboard() {
        prepare_replacement(mirror, pending, text)
    } else {
        reserve_space(mirror, connection, pending, text)
    }
}

/// Returns the complete text after the batch: from the pending changes or the cache if possible, else from
/// the log.
fn build_new_text(
    mirror: &Mirror,
    connection: &Connection,
    pending: &PendingWrite,
) -> Result<Arc<String>, PortError> {
    let head = &pending.board.head;
    let damaged = || crate::board_row::damaged_board_error(&head.name.to_string());
    let whole = pending
        .changes
        .iter()
        .rposition(|change| matches!(change, BoardLogRow::Whole(_)));
    let before = match (whole, pending.file_version) {
        (Some(_), _) => Some(Arc::default()),
        (None, FileVersion::Known(from @ 1..)) => mirror.cached_text(&head.name, from),
        (None, _) => None,
    };
    let Some(before) = before else {
        let text = boards::select_version_text(connection, &head.name, head.version)?;
        return text.map(Arc::new).ok_or_else(damaged);
    };
    let mut text = String::with_capacity(usize::try_from(head.bytes).unwrap_or(0));
    text.push_str(&before);
    for change in pending.changes.iter().skip(whole.unwrap_or(0)) {
        change.clone().apply_to(&mut text).ok_or_else(damaged)?;
    }
    Ok(Arc::new(text))
}

/// Writes copies of overwritten versions other than the one in the file.
fn write_history_copies(mirror: &Mirror, connection: &Connection, pending: &PendingWrite) {
    let name = &pending.board.head.name;
    if !name.is_whiteboard() {
        return;
    }
    let skip = pending
        .overwritten
        .len()
        .saturating_sub(pending.max_versions.max(1) as usize);
    for version in pending.overwritten.iter().skip(skip) {
        if pending.file_version == FileVersion::Known(*version) {
            continue;
        }
        if let Ok(Some(text)) = boards::select_version_text(connection, name, *version) {
            let _ = mirror.write_history_copy(name, *version, &text, pending.max_versions);
        }
    }
}

/// Writes the new text to a temporary file in the locks directory.
fn prepare_replacement(
    mirror: &Mirror,
    pending: &PendingWrite,
    text: Arc<String>,
) -> Result<PostCommitAction, PortError> {
    let name = &pending.board.head.name;
    // The target directory has to exist, and to be a directory.
    let location = mirror
        .file_location(name, true)?
        .ok_or_else(not_a_file_error)?;
    let finished = mirror
        .lock_file_location(name, "new", true)?
        .ok_or_else(not_a_file_error)?;
    let intent = pending.record_intent(mirror, WriteStrategy::AtomicReplace)?;
    // A leftover of a crash, or a symlink.
    remove_file(&finished);
    let written = finished
        .open(OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())
                .map_err(port_error_from_io)?;
            if let Some(mode) = location.permissions() {
                let _ = fchmod(&file, mode);
            }
            set_mtime(&file, pending.board.mtime_nanos)
        });
    if let Err(error) = written {
        remove_file(&finished);
        return Err(error);
    }
    let old = match pending.file_version {
        FileVersion::Known(version) if pending.overwritten.contains(&version) => Some(version),
        FileVersion::Known(_) | FileVersion::Unknown => None,
    };
    Ok(PostCommitAction::Replace {
        finished,
        text,
        intent,
        old,
    })
}

/// Reserves disk space for overwriting a blackboard file.
fn reserve_space(
    mirror: &Mirror,
    connection: &Connection,
    pending: &PendingWrite,
    text: Arc<String>,
) -> Result<PostCommitAction, PortError> {
    let name = &pending.board.head.name;
    let location = mirror
        .file_location(name, true)?
        .ok_or_else(not_a_file_error)?;
    back_up_previous_version(mirror, connection, pending)?;
    // Record the intent first: a new file is empty for a moment.
    let intent = pending.record_intent(mirror, WriteStrategy::InPlace)?;
    let is_new = matches!(location.stat()?, StatResult::Absent);
    let file = location.open(OFlags::WRONLY | OFlags::CREATE)?;
    pending.lock_new_file(mirror, &file)?;
    if !is_new && !pending.is_unmodified(&file) {
        return Ok(PostCommitAction::KeepExternalEdit { text, intent });
    }
    let room = text.len() as u64;
    if room > 0
        && let Err(error) = fallocate(&file, FallocateFlags::KEEP_SIZE, 0, room)
        && !matches!(error, Errno::OPNOTSUPP | Errno::NOSYS)
    {
        if is_new {
            remove_file(&location);
        }
        return Err(port_error_from_io(error.into()));
    }
    // The allocation may have changed the mtime.
    let ready = read_fingerprint(&file)?;
    Ok(PostCommitAction::Overwrite {
        file,
        text,
        intent,
        ready,
    })
}

/// Makes the `.bak` file a copy of the version before the last change.
fn back_up_previous_version(
    mirror: &Mirror,
    connection: &Connection,
    pending: &PendingWrite,
) -> Result<(), PortError> {
    let head = &pending.board.head;
    let previous = head.version.saturating_sub(1);
    if previous == 0 || pending.changes.is_empty() {
        return Ok(());
    }
    if pending.file_version != FileVersion::Known(previous) {
        return match boards::select_version_text(connection, &head.name, previous)? {
            Some(text) => mirror.write_backup_text(&head.name, &text),
            None => Ok(()),
        };
    }
    let from = previous;
    let StatResult::Regular(now) = mirror.stat_file(&head.name)? else {
        return Ok(());
    };
    // An older version is a prefix of this one if only additions came in between. While the pending change is
    // the last whole text, nothing is known about the versions before it.
    let base = if head.base_version > from {
        u64::MAX
    } else {
        head.base_version
    };
    mirror.update_backup_file(&head.name, now, |old| {
        let stamped = boards::find_version_by_mtime(connection, &head.name, old.mtime_nanos);
        head.splices == 0
            && stamped.is_ok_and(|s| s.is_some_and(|s| s.version >= base && s.bytes == old.bytes))
    })
}

impl PostCommitAction {
    /// Makes the commit visible in the file. Any failure here is repaired when the board is used next. A file
    /// that another program has modified is never replaced: the next use imports it as a version of its own.
    pub(crate) fn apply_to_file(self, mirror: &Mirror, pending: &PendingWrite) {
        let head = &pending.board.head;
        let (name, stamp) = (&head.name, pending.board.mtime_nanos);
        match self {
            Self::Nothing => {}
            Self::Append {
                mut file,
                text,
                intent,
                from,
            } => {
                if !pending.is_file_unchanged() {
                    // Append to the other program's file and leave our mtime unset: the version that the next
                    // use imports contains both.
                    let _ = intent.clear();
                    if let Some(mut other_file) = pending.open_to_append() {
                        let _ = other_file.write_all(text.as_bytes());
                    }
                } else if file.write_all(text.as_bytes()).is_ok() && intent.clear().is_ok() {
                    let _ = set_mtime(&file, stamp);
                } else {
                    // Probably no space left: a partial entry is useless, the previous version is complete.
                    let _ = file.set_len(head.bytes.saturating_sub(text.len() as u64));
                }
                mirror
                    .text_cache
                    .lock()
                    .append(name, from, head.version, &text);
            }
            Self::Replace {
                finished,
                text,
                intent,
                old,
            } => {
                let result = move_into_place(mirror, name, &finished, pending.fingerprint.as_ref());
                match (result, old) {
                    (ReplaceResult::Exchanged, Some(version)) => {
                        mirror.move_to_history(name, version, &finished, pending.max_versions);
                    }
                    (ReplaceResult::Exchanged, None) | (ReplaceResult::ExternallyModified, _) => {
                        remove_file(&finished);
                    }
                    (ReplaceResult::Created | ReplaceResult::Failed, _) => {}
                }
                if result != ReplaceResult::Failed {
                    let _ = intent.clear();
                }
                mirror.cache_text(name, head.version, text);
            }
            Self::Overwrite {
                file,
                text,
                intent,
                ready,
            } => {
                if !read_fingerprint(&file).is_ok_and(|now| ready.is_unmodified(&now)) {
                    let _ = intent.clear();
                } else if file.write_all_at(text.as_bytes(), 0).is_ok()
                    && file.set_len(text.len() as u64).is_ok()
                    && intent.clear().is_ok()
                {
                    let _ = set_mtime(&file, stamp);
                }
                mirror.cache_text(name, head.version, text);
            }
            Self::KeepExternalEdit { text, intent } => {
                let _ = intent.clear();
                mirror.cache_text(name, head.version, text);
            }
        }
    }
}

/// Result of moving a prepared file to a board's location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplaceResult {
    /// Moved; the old file is now where the prepared one was.
    Exchanged,
    /// Moved; there was no old file.
    Created,
    /// Another program has written to the file since it was examined; it is left unchanged.
    ExternallyModified,
    /// The rename failed; the next use of the board repairs its file.
    Failed,
}

/// Atomically moves a prepared file to a board's location, if the file there still matches `before`.
fn move_into_place(
    mirror: &Mirror,
    name: &BoardName,
    finished: &FileLocation,
    before: Option<&FileFingerprint>,
) -> ReplaceResult {
    let Ok(Some(location)) = mirror.file_location(name, true) else {
        return ReplaceResult::Failed;
    };
    let rename = |flags| {
        renameat_with(
            &finished.directory,
            &finished.name,
            &location.directory,
            &location.name,
            flags,
        )
    };
    let is_still = |location: &FileLocation| match (location.stat(), before) {
        (Ok(StatResult::Regular(now)), Some(before)) => before.is_unmodified(&now),
        (Ok(StatResult::Absent), _) => true,
        _ => false,
    };
    if before.is_some() {
        match rename(RenameFlags::EXCHANGE) {
            Ok(()) if is_still(finished) => return ReplaceResult::Exchanged,
            Ok(()) => {
                let _ = rename(RenameFlags::EXCHANGE);
                return ReplaceResult::ExternallyModified;
            }
            // The old file no longer exists, or the file system does not support RENAME_EXCHANGE.
            Err(_) => {}
        }
    }
    match rename(RenameFlags::NOREPLACE) {
        Ok(()) => ReplaceResult::Created,
        Err(_) if !is_still(&location) => ReplaceResult::ExternallyModified,
        Err(Errno::EXIST | Errno::INVAL | Errno::NOSYS) if rename(RenameFlags::empty()).is_ok() => {
            ReplaceResult::Created
        }
        Err(_) => ReplaceResult::Failed,
    }
}
