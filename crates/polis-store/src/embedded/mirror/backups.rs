//! Human-readable backups of overwritten board versions: copies of whiteboards in `whiteboard-history/`, and
//! a `.bak` file with the previous version next to each blackboard file.
//!
//! They are only a convenience: the log holds the versions themselves. A history copy that cannot be
//! written is left out. A `.bak` file is written before the commit; failing to write it fails the change.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use polis_core::board::BoardName;
use polis_ops::PortError;
use rustix::fs::{
    AtFlags, Dir, OFlags, RenameFlags, Timespec, Timestamps, futimens, renameat_with, unlinkat,
};

use super::file_location::{
    FileFingerprint, FileLocation, StatResult, port_error_from_errno, port_error_from_io,
};
use super::{HISTORY_DIR, Mirror};

/// Sets a file's modification time to the one assigned to its version.
pub(super) fn set_mtime(file: &File, stamp: i64) -> Result<(), PortError> {
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
    futimens(file, &times).map_err(port_error_from_errno)
}

impl Mirror {
    fn history_copy_location(
        &self,
        name: &BoardName,
        version: u64,
    ) -> Result<FileLocation, PortError> {
        let path = format!("{HISTORY_DIR}/{}-v{version}.md", name.file_stem());
        self.location_below(&path, true)?
            .ok_or_else(super::file_location::not_a_file_error)
    }

    /// Writes a text as the readable copy of a version.
    pub(super) fn write_history_copy(
        &self,
        name: &BoardName,
        version: u64,
        text: &str,
        keep: u32,
    ) -> Result<(), PortError> {
        let location = self.history_copy_location(name, version)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let mut file = location.open(flags)?;
        file.write_all(text.as_bytes())
            .map_err(port_error_from_io)?;
        prune_history_copies(&location, name, keep);
        Ok(())
    }

    /// Keeps a copy of a whiteboard as it was before an external edit.
    pub(crate) fn back_up_before_external_edit(
        &self,
        name: &BoardName,
        version: u64,
        text: &str,
        keep: u32,
    ) {
        if name.is_whiteboard() {
            let _ = self.write_history_copy(name, version, text, keep);
        }
    }

    /// Moves a file that is no longer needed to the history as the readable copy of a version.
    pub(super) fn move_to_history(
        &self,
        name: &BoardName,
        version: u64,
        file: &FileLocation,
        keep: u32,
    ) {
        let moved = self.history_copy_location(name, version).and_then(|to| {
            renameat_with(
                &file.directory,
                &file.name,
                &to.directory,
                &to.name,
                RenameFlags::empty(),
            )
            .map_err(port_error_from_errno)?;
            Ok(to)
        });
        match moved {
            Ok(copy) => prune_history_copies(&copy, name, keep),
            Err(_) => remove_file(file),
        }
    }

    /// Makes `FILE.bak` a copy of `FILE`. `same_beginning` says whether the old `.bak` is known to be a
    /// prefix of the file, so that only the rest has to be copied.
    pub(super) fn update_backup_file(
        &self,
        name: &BoardName,
        now: FileFingerprint,
        same_beginning: impl FnOnce(FileFingerprint) -> bool,
    ) -> Result<(), PortError> {
        let Some(location) = self.file_location(name, false)? else {
            return Ok(());
        };
        let backup = backup_location(&location)?;
        let from = match backup.stat()? {
            StatResult::Regular(old) if old.bytes <= now.bytes && same_beginning(old) => old.bytes,
            StatResult::Regular(_) | StatResult::Absent => 0,
        };
        let mut source = location.open(OFlags::RDONLY)?;
        let mut target = backup.open(OFlags::WRONLY | OFlags::CREATE)?;
        target.set_len(from).map_err(port_error_from_io)?;
        source
            .seek(SeekFrom::Start(from))
            .map_err(port_error_from_io)?;
        target
            .seek(SeekFrom::Start(from))
            .map_err(port_error_from_io)?;
        let mut rest = source.take(now.bytes.saturating_sub(from));
        std::io::copy(&mut rest, &mut target).map_err(port_error_from_io)?;
        set_mtime(&target, now.mtime_nanos)
    }

    /// Writes this text to `FILE.bak`.
    pub(super) fn write_backup_text(&self, name: &BoardName, text: &str) -> Result<(), PortError> {
        let Some(location) = self.file_location(name, true)? else {
            return Ok(());
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let mut target = backup_location(&location)?.open(flags)?;
        target
            .write_all(text.as_bytes())
            .map_err(port_error_from_io)
    }
}

/// Removes the oldest copies of a board from the directory that contains `copy`.
fn prune_history_copies(copy: &FileLocation, name: &BoardName, keep: u32) {
    let prefix = format!("{}-v", name.file_stem());
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

fn backup_location(location: &FileLocation) -> Result<FileLocation, PortError> {
    Ok(FileLocation {
        directory: location.directory.try_clone().map_err(port_error_from_io)?,
        name: format!("{}.bak", location.name),
    })
}

/// Removes a file that is no longer needed; errors are ignored.
pub(super) fn remove_file(location: &FileLocation) {
    let _ = unlinkat(&location.directory, &location.name, AtFlags::empty());
}
