//! Human-readable backups of overwritten board versions: `whiteboard-history/` and `.bak` files.
//!
//! A convenience in addition to the log, which holds the versions themselves: failing to write a copy never
//! fails a change.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use polis_core::board::BoardName;
use polis_ops::PortError;
use rustix::fs::{
    AtFlags, Dir, OFlags, RenameFlags, Timespec, Timestamps, futimens, renameat_with, unlinkat,
};

use super::file_location::{Place, Seen, Sight, errno, failed};
use super::{HISTORY, Mirror};

/// Sets a file's modification time to the one assigned to its version.
pub(super) fn set_stamp(file: &File, stamp: i64) -> Result<(), PortError> {
    let omit = Timespec {
        tv_sec: 0,
        tv_nsec: rustix::fs::UTIME_OMIT,
    };
    let modified = Timespec {
        tv_sec: stamp.div_euclid(1_000_000_000),
        tv_nsec: stamp.rem_euclid(1_000_000_000),
    };
    let times = Timestamps {
        last_access: omit,
        last_modification: modified,
    };
    futimens(file, &times).map_err(errno)
}

impl Mirror {
    fn copy_place(&self, name: &BoardName, version: u64) -> Result<Place, PortError> {
        let path = format!("{HISTORY}/{}-v{version}.md", name.stem());
        self.below(&path, true)?
            .ok_or_else(super::file_location::not_a_file)
    }

    /// Writes a text as the readable copy of a version.
    pub(super) fn keep_copy(
        &self,
        name: &BoardName,
        version: u64,
        text: &str,
        keep: u32,
    ) -> Result<(), PortError> {
        let place = self.copy_place(name, version)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let mut file = place.open(flags)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        drop_old_copies(&place, name, keep);
        Ok(())
    }

    /// Keeps a copy of a whiteboard as it was before an external edit.
    pub(crate) fn keep_before(&self, name: &BoardName, version: u64, text: &str, keep: u32) {
        if name.is_whiteboard() {
            let _ = self.keep_copy(name, version, text, keep);
        }
    }

    /// Moves a file that is no longer needed to the history as the readable copy of a version.
    pub(super) fn keep_file(&self, name: &BoardName, version: u64, file: &Place, keep: u32) {
        let moved = self.copy_place(name, version).and_then(|to| {
            renameat_with(
                &file.directory,
                &file.name,
                &to.directory,
                &to.name,
                RenameFlags::empty(),
            )
            .map_err(errno)?;
            Ok(to)
        });
        match moved {
            Ok(copy) => drop_old_copies(&copy, name, keep),
            Err(_) => remove(file),
        }
    }

    /// Makes `FILE.bak` a copy of `FILE`. `same_beginning` says whether the old `.bak` is known to be a
    /// prefix of the file, so that only the rest has to be copied.
    pub(super) fn back_up(
        &self,
        name: &BoardName,
        now: Seen,
        same_beginning: impl FnOnce(Seen) -> bool,
    ) -> Result<(), PortError> {
        let Some(place) = self.place(name, false)? else {
            return Ok(());
        };
        let backup = backup_of(&place)?;
        let from = match backup.look()? {
            Sight::Regular(old) if old.bytes <= now.bytes && same_beginning(old) => old.bytes,
            Sight::Regular(_) | Sight::Absent => 0,
        };
        let mut source = place.open(OFlags::RDONLY)?;
        let mut target = backup.open(OFlags::WRONLY | OFlags::CREATE)?;
        target.set_len(from).map_err(failed)?;
        source.seek(SeekFrom::Start(from)).map_err(failed)?;
        target.seek(SeekFrom::Start(from)).map_err(failed)?;
        let mut rest = source.take(now.bytes.saturating_sub(from));
        std::io::copy(&mut rest, &mut target).map_err(failed)?;
        set_stamp(&target, now.stamp)
    }

    /// Writes this text to `FILE.bak`.
    pub(super) fn back_up_text(&self, name: &BoardName, text: &str) -> Result<(), PortError> {
        let Some(place) = self.place(name, true)? else {
            return Ok(());
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let mut target = backup_of(&place)?.open(flags)?;
        target.write_all(text.as_bytes()).map_err(failed)
    }
}

/// Removes the oldest copies of a board from the directory that contains `copy`.
fn drop_old_copies(copy: &Place, name: &BoardName, keep: u32) {
    let prefix = format!("{}-v", name.stem());
    let Ok(entries) = Dir::read_from(&copy.directory) else {
        return;
    };
    let mut versions: Vec<u64> = entries
        .flatten()
        .filter_map(|entry| {
            let file = entry.file_name().to_str().ok()?;
            let number = file.strip_prefix(&prefix)?.strip_suffix(".md")?;
            number.parse().ok()
        })
        .collect();
    versions.sort_unstable_by(|a, b| b.cmp(a));
    for version in versions.into_iter().skip(keep.max(1) as usize) {
        let old = format!("{prefix}{version}.md");
        let _ = unlinkat(&copy.directory, old, AtFlags::empty());
    }
}

fn backup_of(place: &Place) -> Result<Place, PortError> {
    Ok(Place {
        directory: place.directory.try_clone().map_err(failed)?,
        name: format!("{}.bak", place.name),
    })
}

/// Removes a file that is no longer needed; errors are ignored.
pub(super) fn remove(place: &Place) {
    let _ = unlinkat(&place.directory, &place.name, AtFlags::empty());
}
