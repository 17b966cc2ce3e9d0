//! Bringing a board's file to the version that was committed.
//!
//! What needs space is done before the commit, so that a full disk refuses the change; what makes
//! it visible is done after.

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

/// What a board's file is before a batch is written through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disk {
    /// At this version; 0 if it is rightly absent.
    At(u64),
    /// Not to be relied on.
    Unknown,
}

/// What a batch did to a board.
#[derive(Debug)]
pub(crate) struct Pending {
    /// The board after it.
    pub(crate) kept: Kept,
    /// The file before it.
    pub(crate) disk: Disk,
    /// What the file looked like before it; `None` if there was none.
    pub(crate) seen: Option<Seen>,
    /// Where the file was found.
    pub(crate) place: Option<Place>,
    /// The changes since the version the file is at, in order.
    pub(crate) changes: Vec<Logged>,
    /// Versions that were overwritten, not only added to.
    pub(crate) overwritten: Vec<u64>,
    /// How many versions to keep copies of.
    pub(crate) keep: u32,
    /// Whether the caller keeps other programs from writing to the file.
    pub(crate) is_guarded: bool,
}

/// What is left to do after the commit.
#[derive(Debug)]
pub(crate) enum Work {
    /// Nothing.
    Nothing,
    /// Adding to the file.
    Append {
        file: File,
        text: String,
        intent: Intent,
        from: u64,
    },
    /// Putting a finished file in its place.
    Replace {
        finished: Place,
        text: Arc<String>,
        intent: Intent,
        /// The version the old file is at, to be kept as a copy.
        old: Option<u64>,
    },
    /// Writing over the file, which others may have locked and open.
    Overwrite {
        file: File,
        text: Arc<String>,
        intent: Intent,
        /// What the file looks like, with room for the text.
        ready: Seen,
    },
    /// Leaving the file to the one who has written to it meanwhile.
    Leave { text: Arc<String>, intent: Intent },
}

impl Pending {
    /// Says what is going to be written to the file.
    fn begin(&self, mirror: &Mirror, way: Way) -> Result<Intent, PortError> {
        let head = &self.kept.head;
        let version = head.version;
        let reliable = self.disk != Disk::Unknown;
        mirror.begin_writing(&head.name, Begun { version, way }, reliable)
    }

    /// The file, if it is still there.
    fn open_to_append(&self) -> Option<File> {
        let place = self.place.as_ref()?;
        place.open(OFlags::WRONLY | OFlags::APPEND).ok()
    }

    /// Whether the file at the board's place is the one that was looked at, and nobody has written to it.
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

    /// Whether nobody else has written to the file since it was looked at.
    fn is_untouched(&self, file: &File) -> bool {
        seen(file).is_ok_and(|now| match &self.seen {
            Some(before) => before.is_still(&now),
            // It was made for this.
            None => now.bytes == 0,
        })
    }
}

/// Does what needs space, inside the transaction.
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

/// The whole text after the batch: from what is in hand if possible, else from the log.
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

/// Copies of overwritten versions that are not the file itself.
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

/// Writes the new file beside the old one.
fn finish_beside(mirror: &Mirror, pending: &Pending, text: Arc<String>) -> Result<Work, PortError> {
    let name = &pending.kept.head.name;
    // The directory the file goes to has to be there, and to be one.
    let place = mirror.place(name, true)?.ok_or_else(not_a_file)?;
    let finished = mirror
        .lock_place(name, "new", true)?
        .ok_or_else(not_a_file)?;
    let intent = pending.begin(mirror, Way::AtOnce)?;
    // What a crash left there, or a link.
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

/// Makes sure that there is room for what is written over a blackboard file.
fn reserve(
    mirror: &Mirror,
    connection: &Connection,
    pending: &Pending,
    text: Arc<String>,
) -> Result<Work, PortError> {
    let name = &pending.kept.head.name;
    let place = mirror.place(name, true)?.ok_or_else(not_a_file)?;
    back_up(mirror, connection, pending)?;
    // Said first: the file is empty for a moment, if it is new.
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
    // Making room may have changed the time.
    let ready = seen(&file)?;
    Ok(Work::Overwrite {
        file,
        text,
        intent,
        ready,
    })
}

/// Makes the `.bak` file the version before the last change.
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
    // An older version is the beginning of this one if only additions came in between. While
    // the last whole text is the change under way, nothing is known of what came before it.
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
    /// Makes the commit visible in the file. Whatever fails here is repaired by the next one who uses
    /// the board. A file that somebody else has written to meanwhile is never replaced: the next one
    /// makes it a version of its own.
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
                    // Added to theirs, without our time stamp: the version the next one makes has both.
                    let _ = intent.end();
                    if let Some(mut theirs) = pending.open_to_append() {
                        let _ = theirs.write_all(text.as_bytes());
                    }
                } else if file.write_all(text.as_bytes()).is_ok() && intent.end().is_ok() {
                    let _ = set_stamp(&file, stamp);
                } else {
                    // No room, probably: half an entry is of no use, the version before is whole.
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

/// What came of putting a finished file in a board's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Put {
    /// It is there, and the old file is where the finished one was.
    Exchanged,
    /// It is there, and no file is where it was.
    Alone,
    /// Somebody else has written to the file since it was looked at; it is left as it is.
    NotOurs,
    /// Nothing.
    Failed,
}

/// Puts a finished file in the place of a board's, in one step, if that is still as it was seen.
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
            // There is no old file any more, or the file system cannot exchange.
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
