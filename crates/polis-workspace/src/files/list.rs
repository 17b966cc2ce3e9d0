//! Listing directories and summing up a workspace. Links are never followed.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd};

use polis_core::Timestamp;
use polis_core::workspace::file::{EntryType, FileEntry, FileList, ListFiles, WorkspaceInfo};
use polis_core::workspace::path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, AtFlags, FileType, Mode};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::entries::{Met, Paths, each_below, each_shown};
use super::fault::Doing;
use super::place::DIRECTORY;

/// The most entries of a listing: it is held in memory.
const MAX_LISTED: usize = 200_000;

impl WorkspaceDir {
    /// A directory's entries by name. Names that are not UTF-8 are shown with replacements.
    pub fn list(&self, ask: &ListFiles) -> Result<FileList, PortError> {
        let path = WorkspacePath::parse_directory(ask.path.as_deref())?;
        let failed = Doing::Reading.at(&path);
        let top = self
            .resolver
            .open(self.root.as_fd(), path.as_str().as_bytes(), DIRECTORY)
            .map_err(&failed)?;
        let mut list = FileList::default();
        if ask.recursive {
            each_below(top, self.resolver, Paths::Kept, |met| list.add(met))
        } else {
            let dir = top.as_fd();
            each_shown(dir, |name, kind| {
                let met = Met {
                    dir,
                    prefix: b"",
                    name,
                    kind,
                };
                list.add(&met).map(|_| ())
            })
        }
        .map_err(failed)?;
        list.files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(list)
    }

    /// How much is in the workspace. Directories that may not be read count without what is in
    /// them.
    pub fn info(&self) -> Result<WorkspaceInfo, PortError> {
        let failed = Doing::Reading.at(&WorkspacePath::root());
        let top = fs::openat(&self.root, c".", DIRECTORY, Mode::empty()).map_err(&failed)?;
        let top_changed = fs::fstat(&top).map(|stat| millis(&stat)).map_err(&failed)?;
        let mut info = WorkspaceInfo::default();
        let mut changed = top_changed;
        each_below(top, self.resolver, Paths::Left, |met| {
            let Some(stat) = met.stat()? else {
                return Ok(true);
            };
            match met.kind {
                FileType::Directory => info.dir_count += 1,
                FileType::RegularFile => {
                    info.file_count += 1;
                    info.total_size = info.total_size.saturating_add(size(&stat));
                }
                _ => info.file_count += 1,
            }
            changed = changed.max(millis(&stat));
            Ok(true)
        })
        .map_err(failed)?;
        if info.file_count + info.dir_count > 0 {
            info.last_modified = Some(Timestamp::from_millis(changed));
        }
        Ok(info)
    }
}

impl Met<'_> {
    /// What it is like; none if it is gone.
    fn stat(&self) -> Result<Option<fs::Stat>, Errno> {
        stat(self.dir, self.name)
    }
}

fn stat(dir: BorrowedFd<'_>, name: &CStr) -> Result<Option<fs::Stat>, Errno> {
    match fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

trait Add {
    fn add(&mut self, met: &Met<'_>) -> Result<bool, Errno>;
}

impl Add for FileList {
    /// Adds an entry; answers whether there is room for more.
    fn add(&mut self, met: &Met<'_>) -> Result<bool, Errno> {
        if self.files.len() >= MAX_LISTED {
            self.truncated = true;
            return Ok(false);
        }
        let (kind, size) = match met.kind {
            FileType::RegularFile => match met.stat()? {
                Some(stat) => (EntryType::File, size(&stat)),
                None => return Ok(true),
            },
            FileType::Directory => (EntryType::Directory, 0),
            FileType::Symlink => (EntryType::Symlink, 0),
            _ => (EntryType::Other, 0),
        };
        let name = [met.prefix, met.name.to_bytes()].concat();
        let name = String::from_utf8(name)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        self.files.push(FileEntry { name, kind, size });
        Ok(true)
    }
}

fn size(stat: &fs::Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

fn millis(stat: &fs::Stat) -> i64 {
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    stat.st_mtime
        .saturating_mul(1_000)
        .saturating_add(nanos / 1_000_000)
}
