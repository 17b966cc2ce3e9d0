//! Listing directories and summing up a workspace. Links are never followed.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::rc::Rc;

use polis_core::Timestamp;
use polis_core::workspace::file::{EntryType, FileEntry, FileList, ListFiles, WorkspaceInfo};
use polis_core::workspace::path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, AtFlags, FileType, Mode};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::entries::{Met, Paths, each_below, each_shown};
use super::fault::Doing;
use super::memory::WalkMemory;
use super::place::DIRECTORY;

/// The most entries of a listing: it is held in memory.
const MAX_LISTED: usize = 200_000;

/// The most bytes that the names of a listing have together. Paths get longer the deeper a tree is, so the number of
/// entries alone bounds nothing.
const MAX_LISTED_BYTES: usize = 8 * 1024 * 1024;

/// The same of a listing by pages. Servers ask for pages, and many at once.
const MAX_PAGE_BYTES: usize = 2 * 1024 * 1024;

impl WorkspaceDir {
    /// A directory's entries by name. Names that are not UTF-8 are shown with replacements.
    pub fn list(&self, ask: &ListFiles) -> Result<FileList, PortError> {
        let path = WorkspacePath::parse_directory(ask.path.as_deref())?;
        let failed = Doing::Reading.at(&path);
        let top = self
            .resolver
            .open(self.root.as_fd(), path.as_str().as_bytes(), DIRECTORY)
            .map_err(&failed)?;
        let mut page = Page::of(ask);
        let is_complete = if ask.recursive {
            let memory = WalkMemory::of_request();
            each_below(top, self.resolver, Paths::Kept, &memory, |met| {
                page.add(met)
            })
        } else {
            let dir = top.as_fd();
            each_shown(dir, |name, kind| {
                page.add(&Met {
                    dir,
                    prefix: b"",
                    name,
                    kind,
                })
            })
            .map(|()| true)
        }
        .map_err(failed)?;
        Ok(page.finish(is_complete))
    }

    /// How much is in the workspace. Directories that may not be read count without what is in
    /// them.
    pub fn info(&self) -> Result<WorkspaceInfo, PortError> {
        self.sum_up(&WalkMemory::of_request())
    }

    /// The same with the memory of a walk.
    pub(super) fn sum_up(&self, memory: &Rc<WalkMemory>) -> Result<WorkspaceInfo, PortError> {
        let failed = Doing::Reading.at(&WorkspacePath::root());
        let top = fs::openat(&self.root, c".", DIRECTORY, Mode::empty()).map_err(&failed)?;
        let top_changed = fs::fstat(&top).map(|stat| millis(&stat)).map_err(&failed)?;
        let mut info = WorkspaceInfo::default();
        let mut changed = top_changed;
        let is_complete = each_below(top, self.resolver, Paths::Left, memory, |met| {
            let Some(stat) = met.stat()? else {
                return Ok(());
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
            Ok(())
        })
        .map_err(failed)?;
        info.truncated = !is_complete;
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

/// The part of a listing that is answered: the first entries by name after a cursor, as many as fit. The rest is let go
/// while the tree is walked, so what is held does not depend on how much there is.
#[derive(Debug)]
struct Page {
    files: Vec<FileEntry>,
    bytes: usize,
    limit: usize,
    max_bytes: usize,
    after: Option<String>,
    /// The last name that fits, once there are more entries than do.
    ceiling: Option<String>,
}

impl Page {
    fn of(ask: &ListFiles) -> Self {
        let limit = ask.limit.map_or(MAX_LISTED, |limit| {
            usize::try_from(limit.max(1)).unwrap_or(MAX_LISTED)
        });
        Self {
            files: Vec::new(),
            bytes: 0,
            limit: limit.min(MAX_LISTED),
            max_bytes: if ask.limit.is_some() {
                MAX_PAGE_BYTES
            } else {
                MAX_LISTED_BYTES
            },
            after: ask.cursor.clone(),
            ceiling: None,
        }
    }

    fn add(&mut self, met: &Met<'_>) -> Result<(), Errno> {
        let name = [met.prefix, met.name.to_bytes()].concat();
        let name = String::from_utf8(name)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let is_before = self.after.as_ref().is_some_and(|after| name <= *after);
        let is_beyond = self.ceiling.as_ref().is_some_and(|last| name > *last);
        if is_before || is_beyond {
            return Ok(());
        }
        let (kind, size) = match met.kind {
            FileType::RegularFile => match met.stat()? {
                Some(stat) => (EntryType::File, size(&stat)),
                None => return Ok(()),
            },
            FileType::Directory => (EntryType::Directory, 0),
            FileType::Symlink => (EntryType::Symlink, 0),
            _ => (EntryType::Other, 0),
        };
        self.bytes += name.len();
        self.files.push(FileEntry { name, kind, size });
        // Twice as much as is answered, so that sorting is rare.
        if self.files.len() > 2 * self.limit.max(512) || self.bytes > 2 * self.max_bytes {
            self.cut();
        }
        Ok(())
    }

    /// Sorts, and lets go of what does not fit.
    fn cut(&mut self) {
        self.files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut bytes = 0;
        let fitting = self.files.iter().take(self.limit).take_while(|file| {
            bytes += file.name.len();
            bytes <= self.max_bytes
        });
        let fitting = fitting.count();
        if fitting < self.files.len() {
            self.files.truncate(fitting);
            self.ceiling = self.files.last().map(|file| file.name.clone());
        }
        self.bytes = self.files.iter().map(|file| file.name.len()).sum();
    }

    fn finish(mut self, is_complete: bool) -> FileList {
        self.cut();
        FileList {
            truncated: self.ceiling.is_some() || !is_complete,
            next: self.ceiling,
            files: self.files,
        }
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
