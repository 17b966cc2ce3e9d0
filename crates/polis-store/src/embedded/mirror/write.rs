//! Brings a board's file to the committed version.
//!
//! Everything that needs disk space happens before the commit ([`prepare`]), so that a full disk fails the
//! change; making it visible happens after ([`Work::finish`]). Whiteboards are replaced by rename, blackboard
//! files are overwritten in place because other programs may have them open and locked, and additions are
//! appended.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use polis_core::Code;
use polis_core::board::{BoardName, Logged};
use polis_ops::PortError;
use rusqlite::Connection;
use rustix::fs::{
    FallocateFlags, FlockOperation, OFlags, RenameFlags, fallocate, fchmod, renameat_with,
};
use rustix::io::Errno;

use super::super::boards::{self, Kept};
use super::super::lock::try_flock;
use super::Mirror;
use super::backups::{remove, set_stamp};
use super::file_location::{Place, Seen, Sight, failed, not_a_file, seen};
use super::intent::{Begun, Intent, Way};

/// State of a board's file before a batch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    /// At this version; 0 if it is absent as expected.
    At(u64),
    /// Unreliable: its content is not known to be a version of the board.
    Unknown,
}

/// The changes that a batch makes to a board.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The board after the batch.
    pub(crate) kept: Kept,
    /// State of the file before the batch.
    pub(crate) disk: Disk,
    /// Metadata of the file before the batch; `None` if it did not exist.
    pub(crate) seen: Option<Seen>,
    /// Location of the file.
    pub(crate) place: Option<Place>,
    /// The changes since the file's version, in order.
    pub(crate) changes: Vec<Logged>,
    /// Versions that were overwritten rather than appended to.
    pub(crate) overwritten: Vec<u64>,
    /// How many versions to keep copies of.
    pub(crate) keep: u32,
    /// Whether the caller has locked the file against other programs.
    pub(crate) is_guarded: bool,
}

/// File work left to do after the commit.
#[derive(Debug)]
pub(crate) enum Work {
    /// No work.
    Nothing,
    /// Append to the file.
    Append {
        file: File,
        text: String,
        intent: Intent,
        from: u64,
    },
    /// Replace the file with the prepared one.
    Replace {
        finished: Place,
        text: Arc<String>,
        intent: Intent,
        /// The version of the old file, which is kept as a copy.
        old: Option<u64>,
    },
    /// Overwrite the file in place; other programs may have it locked and open.
    Overwrite {
        file: File,
        text: Arc<String>,
        intent: Intent,
        /// The file's metadata after space was allocated for the text.
        ready: Seen,
    },
    /// Leave the file as it is, because another program has written to it.
    Leave { text: Arc<String>, intent: Intent },
}

impl Pending {
    /// Records the intent to write to the file.
    fn begin(&self, mirror: &Mirror, way: Way) -> Result<Intent, PortError> {
        let head = &self.kept.head;
        let version = head.version;
        let reliable = self.disk != Disk::Unknown;
        mirror.begin_writing(&head.name, Begun { version, way }, reliable)
    }

    /// Opens the file for appending, if it still exists.
    fn open_to_append(&self) -> Option<File> {
        let place = self.place.as_ref()?;
        place.open(OFlags::WRONLY | OFlags::APPEND).ok()
    }

    /// Whether the file at the board's location is the one that was examined, and unmodified.
    fn is_in_place(&self) -> bool {
        match (self.place.as_ref().map(Place::look), &self.seen) {
            (Some(Ok(Sight::Regular(now))), Some(before)) => before.is_still(&now),
            _ => false,
        }
    }

    /// Locks a blackboard file that is going to be written, until it is closed. The operation locks an existing file before
    /// its transaction; this is for one that another program, or this transaction, created after that. Fails with
    /// `board_locked` if another program has locked it, or has written the first text to it: one of both texts would be
    /// lost.
    fn lock_created(&self, mirror: &Mirror, file: &File) -> Result<(), PortError> {
        let name = &self.kept.head.name;
        if self.is_guarded || name.is_whiteboard() || mirror.is_held(name) {
            return Ok(());
        }
        let is_locked = try_flock(file, FlockOperation::NonBlockingLockExclusive)?;
        if is_locked && (self.seen.is_some() || seen(file)?.bytes == 0) {
            return Ok(());
        }
        Err(PortError::new(
            Code::BoardLocked,
            format!("Another program has the file of {name} locked."),
            "retry later; see who has it open",
        ))
    }

    /// Whether the file is unmodified since it was examined.
    fn is_untouched(&self, file: &File) -> bool {
        seen(file).is_ok_and(|now| match &self.seen {
            Some(before) => before.is_still(&now),
            // It was created by this transaction.
            None => now.bytes == 0,
        })
    }
}

/// Does everything that needs disk space, inside the transaction.
pub(crate) fn prepare(
    mirror: &Mirror,
    connection: &Connection,
    pending: &Pending,
) -> Result<Work, PortError> {
    let name = &pending.kept.head.name;
    if pending.kept.head.version == 0 {
        return Ok(Work::Nothing);
    }
    let only_added = pending
        .changes
        .iter()
        .all(|c| matches!(c, Logged::Added(_)));
    if let (Disk::At(1..), []) = (pending.disk, pending.changes.as_slice()) {
        return Ok(Work::Nothing);
    }
    if let (Disk::At(from @ 1..), true, Some(file)) =
        (pending.disk, only_added, pending.open_to_append())
    {
        pending.lock_created(mirror, &file)?;
        if !name.is_whiteboard() {
            back_up(mirror, connection, pending)?;
        }
        return Ok(Work::Append {
            file,
            text: pending.changes.iter().map(Logged::text).collect(),
            intent: pending.begin(mirror, Way::InPlace)?,
            from,
        });
    }
    let text = new_text(mirror, connection, pending)?;
    copy_overwritten(mirror, connection, pending);
    if name.is_whiteboard() {
        finish_beside(mirror, pending, text)
    } else {
        reserve(mirror, connection, pending, text)
    }
}

/// Returns the complete text after the batch: from the pending changes or the cache if possible, else from
/// the log.
fn new_text(
    mirror: &Mirror,
    connection: &Connection,
    pending: &Pending,
) -> Result<Arc<String>, PortError> {
    let head = &pending.kept.head;
    let damaged = || crate::board_row::damaged(&head.name.to_string());
    let whole = pending
        .changes
        .iter()
        .rposition(|change| matches!(change, Logged::Whole(_)));
    let before = match (whole, pending.disk) {
        (Some(_), _) => Some(Arc::default()),
        (None, Disk::At(from @ 1..)) => mirror.remembered(&head.name, from),
        (None, _) => None,
    };
    let Some(before) = before else {
        let text = boards::text(connection, &head.name, head.version)?;
        return text.map(Arc::new).ok_or_else(damaged);
    };
    let mut text = String::with_capacity(usize::try_from(head.bytes).unwrap_or(0));
    text.push_str(&before);
    for change in pending.changes.iter().skip(whole.unwrap_or(0)) {
        change.clone().apply(&mut text).ok_or_else(damaged)?;
    }
    Ok(Arc::new(text))
}

/// Writes copies of overwritten versions other than the one in the file.
fn copy_overwritten(mirror: &Mirror, connection: &Connection, pending: &Pending) {
    let name = &pending.kept.head.name;
    if !name.is_whiteboard() {
        return;
    }
    let skip = pending
        .overwritten
        .len()
        .saturating_sub(pending.keep.max(1) as usize);
    for version in pending.overwritten.iter().skip(skip) {
        if pending.disk == Disk::At(*version) {
            continue;
        }
        if let Ok(Some(text)) = boards::text(connection, name, *version) {
            let _ = mirror.keep_copy(name, *version, &text, pending.keep);
        }
    }
}

/// Writes the new text to a temporary file in the locks directory.
fn finish_beside(mirror: &Mirror, pending: &Pending, text: Arc<String>) -> Result<Work, PortError> {
    let name = &pending.kept.head.name;
    // The target directory has to exist, and to be a directory.
    let place = mirror.place(name, true)?.ok_or_else(not_a_file)?;
    let finished = mirror
        .lock_place(name, "new", true)?
        .ok_or_else(not_a_file)?;
    let intent = pending.begin(mirror, Way::AtOnce)?;
    // A leftover of a crash, or a symlink.
    remove(&finished);
    let written = finished
        .open(OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
        .and_then(|mut file| {
            file.write_all(text.as_bytes()).map_err(failed)?;
            if let Some(mode) = place.mode() {
                let _ = fchmod(&file, mode);
            }
            set_stamp(&file, pending.kept.stamp)
        });
    if let Err(error) = written {
        remove(&finished);
        return Err(error);
    }
    let old = match pending.disk {
        Disk::At(version) if pending.overwritten.contains(&version) => Some(version),
        Disk::At(_) | Disk::Unknown => None,
    };
    Ok(Work::Replace {
        finished,
        text,
        intent,
        old,
    })
}

/// Reserves disk space for overwriting a blackboard file.
fn reserve(
    mirror: &Mirror,
    connection: &Connection,
    pending: &Pending,
    text: Arc<String>,
) -> Result<Work, PortError> {
    let name = &pending.kept.head.name;
    let place = mirror.place(name, true)?.ok_or_else(not_a_file)?;
    back_up(mirror, connection, pending)?;
    // Record the intent first: a new file is empty for a moment.
    let intent = pending.begin(mirror, Way::InPlace)?;
    let is_new = matches!(place.look()?, Sight::Absent);
    let file = place.open(OFlags::WRONLY | OFlags::CREATE)?;
    pending.lock_created(mirror, &file)?;
    if !is_new && !pending.is_untouched(&file) {
        return Ok(Work::Leave { text, intent });
    }
    let room = text.len() as u64;
    if room > 0
        && let Err(error) = fallocate(&file, FallocateFlags::KEEP_SIZE, 0, room)
        && !matches!(error, Errno::OPNOTSUPP | Errno::NOSYS)
    {
        if is_new {
            remove(&place);
        }
        return Err(failed(error.into()));
    }
    // The allocation may have changed the mtime.
    let ready = seen(&file)?;
    Ok(Work::Overwrite {
        file,
        text,
        intent,
        ready,
    })
}

/// Makes the `.bak` file a copy of the version before the last change.
fn back_up(mirror: &Mirror, connection: &Connection, pending: &Pending) -> Result<(), PortError> {
    let head = &pending.kept.head;
    let previous = head.version.saturating_sub(1);
    if previous == 0 || pending.changes.is_empty() {
        return Ok(());
    }
    if pending.disk != Disk::At(previous) {
        return match boards::text(connection, &head.name, previous)? {
            Some(text) => mirror.back_up_text(&head.name, &text),
            None => Ok(()),
        };
    }
    let from = previous;
    let Sight::Regular(now) = mirror.look(&head.name)? else {
        return Ok(());
    };
    // An older version is a prefix of this one if only additions came in between. While the pending change is
    // the last whole text, nothing is known about the versions before it.
    let base = if head.base > from {
        u64::MAX
    } else {
        head.base
    };
    mirror.back_up(&head.name, now, |old| {
        let stamped = boards::stamped(connection, &head.name, old.stamp);
        head.splices == 0
            && stamped.is_ok_and(|s| s.is_some_and(|s| s.version >= base && s.bytes == old.bytes))
    })
}

impl Work {
    /// Makes the commit visible in the file. Any failure here is repaired when the board is used next. A file
    /// that another program has modified is never replaced: the next use imports it as a version of its own.
    pub(crate) fn finish(self, mirror: &Mirror, pending: &Pending) {
        let head = &pending.kept.head;
        let (name, stamp) = (&head.name, pending.kept.stamp);
        match self {
            Self::Nothing => {}
            Self::Append {
                mut file,
                text,
                intent,
                from,
            } => {
                if !pending.is_in_place() {
                    // Append to the other program's file and leave our mtime unset: the version that the next
                    // use imports contains both.
                    let _ = intent.end();
                    if let Some(mut theirs) = pending.open_to_append() {
                        let _ = theirs.write_all(text.as_bytes());
                    }
                } else if file.write_all(text.as_bytes()).is_ok() && intent.end().is_ok() {
                    let _ = set_stamp(&file, stamp);
                } else {
                    // Probably no space left: a partial entry is useless, the previous version is complete.
                    let _ = file.set_len(head.bytes.saturating_sub(text.len() as u64));
                }
                mirror.texts().extend(name, from, head.version, &text);
            }
            Self::Replace {
                finished,
                text,
                intent,
                old,
            } => {
                let put = put_in_place(mirror, name, &finished, pending.seen.as_ref());
                match (put, old) {
                    (Put::Exchanged, Some(version)) => {
                        mirror.keep_file(name, version, &finished, pending.keep);
                    }
                    (Put::Exchanged, None) | (Put::NotOurs, _) => remove(&finished),
                    (Put::Alone | Put::Failed, _) => {}
                }
                if put != Put::Failed {
                    let _ = intent.end();
                }
                mirror.remember(name, head.version, text);
            }
            Self::Overwrite {
                file,
                text,
                intent,
                ready,
            } => {
                if !seen(&file).is_ok_and(|now| ready.is_still(&now)) {
                    let _ = intent.end();
                } else if file.write_all_at(text.as_bytes(), 0).is_ok()
                    && file.set_len(text.len() as u64).is_ok()
                    && intent.end().is_ok()
                {
                    let _ = set_stamp(&file, stamp);
                }
                mirror.remember(name, head.version, text);
            }
            Self::Leave { text, intent } => {
                let _ = intent.end();
                mirror.remember(name, head.version, text);
            }
        }
    }
}

/// Result of moving a prepared file to a board's location.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Put {
    /// Moved; the old file is now where the prepared one was.
    Exchanged,
    /// Moved; there was no old file.
    Alone,
    /// Another program has written to the file since it was examined; it is left unchanged.
    NotOurs,
    /// The move failed.
    Failed,
}

/// Atomically moves a prepared file to a board's location, if the file there still matches `before`.
fn put_in_place(mirror: &Mirror, name: &BoardName, finished: &Place, before: Option<&Seen>) -> Put {
    let Ok(Some(place)) = mirror.place(name, true) else {
        return Put::Failed;
    };
    let rename = |flags| {
        renameat_with(
            &finished.directory,
            &finished.name,
            &place.directory,
            &place.name,
            flags,
        )
    };
    let is_still = |place: &Place| match (place.look(), before) {
        (Ok(Sight::Regular(now)), Some(before)) => before.is_still(&now),
        (Ok(Sight::Absent), _) => true,
        _ => false,
    };
    if before.is_some() {
        match rename(RenameFlags::EXCHANGE) {
            Ok(()) if is_still(finished) => return Put::Exchanged,
            Ok(()) => {
                let _ = rename(RenameFlags::EXCHANGE);
                return Put::NotOurs;
            }
            // The old file no longer exists, or the file system does not support RENAME_EXCHANGE.
            Err(_) => {}
        }
    }
    match rename(RenameFlags::NOREPLACE) {
        Ok(()) => Put::Alone,
        Err(_) if !is_still(&place) => Put::NotOurs,
        Err(Errno::EXIST | Errno::INVAL | Errno::NOSYS) if rename(RenameFlags::empty()).is_ok() => {
            Put::Alone
        }
        Err(_) => Put::Failed,
    }
}
