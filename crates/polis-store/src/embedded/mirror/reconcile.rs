//! Finding out what became of a board's file.

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

/// What a board's file turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// At the store's version, or rightly absent.
    InStep,
    /// At the store's version but for its time stamp.
    Untimely,
    /// At an older version, or half written: a crash came between commit and file.
    Behind,
    /// Gone.
    Gone,
    /// Changed by something else than polis.
    Edited {
        /// To this.
        text: String,
        /// When, in nanoseconds.
        stamp: i64,
    },
}

/// How long after a version was made its file is written, or reaches the disk, at the latest
/// (nanoseconds).
const SETTLED: i64 = 60_000_000_000;
/// How many versions a file may be behind, or be a mixture of, after one crash upon another.
const RECENT: u64 = 4;

/// What was found, and where.
#[derive(Debug)]
pub(crate) struct Examined {
    pub(crate) finding: Finding,
    /// What the file looked like just then.
    pub(crate) seen: Option<Seen>,
    /// Where it is.
    pub(crate) place: Option<Place>,
}

/// Finds out. Reads the file only if a look does not tell.
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
        // Made for a first version that was never committed.
        None if seen.bytes == 0 && mirror.unfinished(name).is_some() => Finding::InStep,
        None => edited(name, seen, read(&place, seen)?)?,
    };
    Ok(Examined {
        finding,
        seen: Some(seen),
        place: Some(place),
    })
}

/// A file that is not as it should be.
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
        // An older version that nothing interrupted was put there by somebody: from a backup, say.
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
            // By its content: a crash before that one may have left an older version without its time stamp.
            let is_older = texts.contains(&content.as_slice());
            let in_place = interrupted == Some(Way::InPlace) || lost_power;
            if is_older || in_place && is_half_written(&texts, &content) {
                return Ok(Finding::Behind);
            }
        }
        edited(name, seen, content)
    }

    /// Whether the machine was started after the file was changed last, and that was when we wrote it:
    /// then part of what we wrote may not have reached the disk.
    fn may_have_lost_power(&self) -> bool {
        let apart = self.seen.changed.saturating_sub(self.kept.stamp);
        self.seen.changed < self.mirror.booted && (-SETTLED..SETTLED).contains(&apart)
    }

    fn is_of_an_older_version(&self, connection: &Connection) -> Result<bool, PortError> {
        let found = boards::stamped(connection, self.name, self.seen.stamp)?;
        Ok(found.is_some_and(|s| s.bytes == self.seen.bytes && s.version < self.kept.head.version))
    }

    /// The texts of the newest versions, the newest first.
    fn recent_texts(&self, connection: &Connection) -> Result<Vec<String>, PortError> {
        let newest = self.kept.head.version;
        let mut texts = Vec::new();
        for version in (newest.saturating_sub(RECENT - 1).max(1)..=newest).rev() {
            texts.extend(boards::text(connection, self.name, version)?);
        }
        Ok(texts)
    }
}

/// Whether a content is what a crash leaves of writing one of these texts, the newest first, over another.
fn is_half_written(texts: &[&[u8]], content: &[u8]) -> bool {
    texts.iter().enumerate().any(|(n, newer)| {
        let mut older = texts.iter().skip(n + 1);
        half_written(content, newer, None)
            || older.any(|older| half_written(content, newer, Some(older)))
    })
}

/// Notes that a file was looked into: its time of change is now, its modification time as before.
fn touch(place: &Place, stamp: i64) -> bool {
    let file = place.open(OFlags::RDONLY);
    file.and_then(|file| set_stamp(&file, stamp)).is_ok()
}

/// Whether a content is what is there in the middle of writing `current`: a part of it from the
/// beginning, and after that nothing, or the rest of what was there before.
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

/// The time by the machine's clock, in nanoseconds: what files are stamped by.
pub(crate) fn now() -> i64 {
    nanos(ClockId::Realtime)
}

fn nanos(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec
        .saturating_mul(1_000_000_000)
        .saturating_add(time.tv_nsec)
}

/// When the machine was started, in nanoseconds by its clock.
pub(super) fn booted() -> i64 {
    now().saturating_sub(nanos(ClockId::Boottime))
}

#[cfg(test)]
mod tests;
