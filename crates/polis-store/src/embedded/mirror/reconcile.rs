//! Determines the state of a board's file: unchanged, outdated or torn by a crash, deleted, or edited
//! externally.
//!
//! The decision uses size, mtime and ctime first, then the intent recorded in the board's lock file, and
//! reads the content only if these do not suffice.

use std::io::Read as _;

use polis_core::Code;
use polis_core::board::{BoardName, MAX_BYTES};
use polis_ops::PortError;
use rusqlite::Connection;
use rustix::fs::OFlags;
use rustix::time::{ClockId, clock_gettime};

use super::super::boards::{self, Kept, unfit};
use super::Mirror;
use super::backups::set_stamp;
use super::file_location::{Place, Seen, Sight};
use super::intent::Way;
use super::mtime_stamp::{is_given, is_like};

/// State of a board's file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// At the store's version, or absent as expected.
    InStep,
    /// At the store's version, but without its assigned mtime.
    Untimely,
    /// At an older version, partially written, or not yet created: a crash happened between the commit and
    /// the write to the file.
    Behind,
    /// Deleted.
    Gone,
    /// Changed by a program other than polis.
    Edited {
        /// The new content.
        text: String,
        /// The file's mtime, in nanoseconds.
        stamp: i64,
    },
}

/// Maximum time from the creation of a version until its file is written and has reached the disk
/// (nanoseconds).
const SETTLED: i64 = 60_000_000_000;
/// How many versions a file may be behind, or be a mixture of, after consecutive crashes.
const RECENT: u64 = 4;

/// The state of a file, and its location.
#[derive(Debug)]
pub(crate) struct Examined {
    pub(crate) finding: Finding,
    /// The file's metadata at that moment.
    pub(crate) seen: Option<Seen>,
    /// Location of the file.
    pub(crate) place: Option<Place>,
}

/// Determines the state of a board's file. Reads the file only if its metadata is not conclusive.
pub(crate) fn examine(
    mirror: &Mirror,
    connection: &Connection,
    name: &BoardName,
    kept: Option<&Kept>,
) -> Result<Examined, PortError> {
    let kept = kept.filter(|kept| kept.head.version > 0);
    let place = mirror.place(name, false)?;
    let sight = place.as_ref().map_or(Ok(Sight::Absent), Place::look)?;
    let (Some(place), Sight::Regular(seen)) = (place, sight) else {
        let finding = match kept {
            None => Finding::InStep,
            Some(kept) if mirror.interrupted(name, kept.head.version).is_some() => Finding::Behind,
            Some(_) => Finding::Gone,
        };
        return Ok(Examined {
            finding,
            seen: None,
            place: None,
        });
    };
    let finding = match kept {
        Some(kept) if mirror.is_as_written(&seen, kept) => Finding::InStep,
        Some(kept) => File {
            mirror,
            name,
            kept,
            seen,
        }
        .examine(connection, &place)?,
        // Created for a first version that was never committed.
        None if seen.bytes == 0 && mirror.unfinished(name).is_some() => Finding::InStep,
        None => edited(name, seen, read(&place, seen)?)?,
    };
    Ok(Examined {
        finding,
        seen: Some(seen),
        place: Some(place),
    })
}

/// A file whose metadata does not match what the store wrote.
struct File<'a> {
    mirror: &'a Mirror,
    name: &'a BoardName,
    kept: &'a Kept,
    seen: Seen,
}

impl File<'_> {
    fn examine(&self, connection: &Connection, place: &Place) -> Result<Finding, PortError> {
        let (name, seen, version) = (self.name, self.seen, self.kept.head.version);
        let interrupted = self.mirror.interrupted(name, version);
        let lost_power = self.may_have_lost_power();
        // If no write was interrupted, an older version was put back deliberately, for example from a backup.
        if (interrupted.is_some() || lost_power) && self.is_of_an_older_version(connection)? {
            return Ok(Finding::Behind);
        }
        let content = read(place, seen)?;
        let current = match self.mirror.remembered(name, version) {
            Some(text) => text,
            None => boards::text(connection, name, version)?
                .ok_or_else(|| crate::board_row::damaged(&name.to_string()))?
                .into(),
        };
        if content == current.as_bytes() {
            let timely = is_given(seen.stamp, self.kept.stamp, seen.changed);
            return Ok(if timely && touch(place, seen.stamp) {
                Finding::InStep
            } else {
                Finding::Untimely
            });
        }
        if lost_power && is_like(seen.stamp, version) {
            return Ok(Finding::Behind);
        }
        if interrupted.is_some() || lost_power {
            let texts = self.recent_texts(connection)?;
            let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
            // Compared by content: an earlier crash may have left an older version without its mtime.
            let is_older = texts.contains(&content.as_slice());
            let in_place = interrupted == Some(Way::InPlace) || lost_power;
            if is_older || in_place && is_half_written(&texts, &content) {
                return Ok(Finding::Behind);
            }
        }
        edited(name, seen, content)
    }

    /// Whether the machine booted after the file's last change and that change was our write: then part of
    /// what we wrote may not have reached the disk.
    fn may_have_lost_power(&self) -> bool {
        let apart = self.seen.changed.saturating_sub(self.kept.stamp);
        self.seen.changed < self.mirror.booted && (-SETTLED..SETTLED).contains(&apart)
    }

    fn is_of_an_older_version(&self, connection: &Connection) -> Result<bool, PortError> {
        let found = boards::stamped(connection, self.name, self.seen.stamp)?;
        Ok(found.is_some_and(|s| s.bytes == self.seen.bytes && s.version < self.kept.head.version))
    }

    /// Returns the texts of the most recent versions, newest first.
    fn recent_texts(&self, connection: &Connection) -> Result<Vec<String>, PortError> {
        let newest = self.kept.head.version;
        let mut texts = Vec::new();
        for version in (newest.saturating_sub(RECENT - 1).max(1)..=newest).rev() {
            texts.extend(boards::text(connection, self.name, version)?);
        }
        Ok(texts)
    }
}

/// Whether `content` is what a crash leaves when one of these texts (newest first) is written over another.
fn is_half_written(texts: &[&[u8]], content: &[u8]) -> bool {
    texts.iter().enumerate().any(|(n, newer)| {
        let mut older = texts.iter().skip(n + 1);
        half_written(content, newer, None)
            || older.any(|older| half_written(content, newer, Some(older)))
    })
}

/// Records that a file's content was verified: updates its ctime to now and keeps its mtime.
fn touch(place: &Place, stamp: i64) -> bool {
    let file = place.open(OFlags::RDONLY);
    file.and_then(|file| set_stamp(&file, stamp)).is_ok()
}

/// Whether `content` is a snapshot taken while `current` was being written: a prefix of it, followed by
/// nothing or by the rest of the previous text.
fn half_written(content: &[u8], current: &[u8], previous: Option<&[u8]>) -> bool {
    let same = content
        .iter()
        .zip(current)
        .take_while(|(a, b)| a == b)
        .count();
    let rest = content.get(same..).unwrap_or_default();
    rest.is_empty() || previous.and_then(|p| p.get(same..)) == Some(rest)
}

fn read(place: &Place, seen: Seen) -> Result<Vec<u8>, PortError> {
    if seen.bytes > MAX_BYTES {
        return Err(unfit(
            Code::BoardTooLarge,
            format!(
                "The board's file was changed outside and has {} bytes; at most {MAX_BYTES} are accepted.",
                seen.bytes
            ),
        ));
    }
    let mut content = Vec::new();
    let mut file = place.open(OFlags::RDONLY)?;
    (&mut file)
        .take(MAX_BYTES + 1)
        .read_to_end(&mut content)
        .map_err(super::file_location::failed)?;
    Ok(content)
}

fn edited(name: &BoardName, seen: Seen, content: Vec<u8>) -> Result<Finding, PortError> {
    let refuse = |code, what: &str| {
        Err(unfit(
            code,
            format!("The file of board {name} was changed outside and {what}."),
        ))
    };
    match String::from_utf8(content) {
        Err(_) => refuse(Code::NotUtf8, "is not UTF-8"),
        Ok(text) if text.contains('\0') => refuse(Code::NotUtf8, "contains NUL characters"),
        Ok(text) if text.len() as u64 > MAX_BYTES => refuse(Code::BoardTooLarge, "is too large"),
        Ok(text) => Ok(Finding::Edited {
            text,
            stamp: seen.stamp,
        }),
    }
}

/// Returns the current time of the system clock, in nanoseconds; file timestamps use the same clock.
pub(crate) fn now() -> i64 {
    nanos(ClockId::Realtime)
}

fn nanos(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec)
}

/// Returns the boot time by the system clock, in nanoseconds.
pub(super) fn booted() -> i64 {
    now().saturating_sub(nanos(ClockId::Boottime))
}

#[cfg(test)]
mod tests;
