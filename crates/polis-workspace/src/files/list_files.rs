//! Lists directories with pagination, and counts the files and bytes of a workspace. Only the path of the
//! request may lead through symbolic links; links in the tree are listed and counted themselves.
//!
//! A listing is limited by the number and length of names, and a walk by the memory budget; the result says
//! if it is incomplete (`truncated`).

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::rc::Rc;

use polis_core::Timestamp;
use polis_core::workspace::file_tools::{
    FileEntry, FileEntryType, FileList, ListFilesParams, WorkspaceInfo,
};
use polis_core::workspace::workspace_path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, AtFlags, FileType, Mode};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::entry_location::DIRECTORY_FLAGS;
use super::file_error::FileAccess;
use super::memory_budget::WalkMemory;
use super::tree_walk::{PathRecording, WalkEntry, for_each_visible_entry, walk_tree};

/// Maximum number of entries in a listing, which is held in memory.
const MAX_LISTED_ENTRIES: usize = 200_000;

/// Maximum total length of the names in a listing. Paths grow with the depth of a tree, so the number of
/// entries alone is no bound on memory.
const MAX_LISTED_BYTES: usize = 8 * 1024 * 1024;

/// Maximum total length of the names in a page. Lower, because servers request pages, and many concurrently.
const MAX_LISTING_PAGE_BYTES: usize = 2 * 1024 * 1024;

impl WorkspaceDir {
    /// Lists a directory, sorted by name. Invalid UTF-8 in names is replaced. Fails with
    /// `path_traversal_blocked` if the path leads out of the workspace, and with `file_not_found` or
    /// `not_a_directory` if there is no such directory.
    pub fn list(&self, params: &ListFilesParams) -> Result<FileList, PortError> {
        let path = WorkspacePath::parse_directory(params.path.as_deref())?;
        let failed = FileAccess::Reading.errno_mapper(&path);
        let top = self
            .resolver
            .open(self.root.as_fd(), path.as_str().as_bytes(), DIRECTORY_FLAGS)
            .map_err(&failed)?;
        let mut page = ListingPage::new(params);
        let is_complete = if params.recursive {
            let memory = WalkMemory::for_request();
            walk_tree(
                top,
                self.resolver,
                PathRecording::Recorded,
                &memory,
                |entry| page.push_entry(entry),
            )
        } else {
            let dir = top.as_fd();
            for_each_visible_entry(dir, |name, kind| {
                page.push_entry(&WalkEntry {
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

    /// Returns the number and total size of the files in the workspace. Directories that may not be read
    /// count without their contents. Fails with `permission_denied` or `read_failed` if the workspace itself
    /// cannot be read.
    pub fn info(&self) -> Result<WorkspaceInfo, PortError> {
        self.compute_info(&WalkMemory::for_request())
    }

    /// Like [`info`](Self::info), with the given memory budget for the walk.
    pub(super) fn compute_info(&self, memory: &Rc<WalkMemory>) -> Result<WorkspaceInfo, PortError> {
        let failed = FileAccess::Reading.errno_mapper(&WorkspacePath::root());
        let top = fs::openat(&self.root, c".", DIRECTORY_FLAGS, Mode::empty()).map_err(&failed)?;
        let top_changed = fs::fstat(&top)
            .map(|stat| mtime_millis(&stat))
            .map_err(&failed)?;
        let mut info = WorkspaceInfo::default();
        let mut changed = top_changed;
        let is_complete = walk_tree(
            top,
            self.resolver,
            PathRecording::Omitted,
            memory,
            |entry| {
                let Some(stat) = entry.stat()? else {
                    return Ok(());
                };
                match entry.kind {
                    FileType::Directory => info.dir_count += 1,
                    FileType::RegularFile => {
                        info.file_count += 1;
                        info.total_size = info.total_size.saturating_add(stat_size(&stat));
                    }
                    _ => info.file_count += 1,
                }
                changed = changed.max(mtime_millis(&stat));
                Ok(())
            },
        )
        .map_err(failed)?;
        info.truncated = !is_complete;
        if info.file_count + info.dir_count > 0 {
            info.last_modified = Some(Timestamp::from_millis(changed));
        }
        Ok(info)
    }
}

impl WalkEntry<'_> {
    /// Returns the entry's `stat`, or `None` if it was deleted.
    fn stat(&self) -> Result<Option<fs::Stat>, Errno> {
        stat_entry(self.dir, self.name)
    }
}

fn stat_entry(dir: BorrowedFd<'_>, name: &CStr) -> Result<Option<fs::Stat>, Errno> {
    match fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// The requested page of a listing: the first entries by name after a cursor, as many as fit. The rest is
/// discarded during the walk, so memory does not depend on the size of the tree.
#[derive(Debug)]
struct ListingPage {
    files: Vec<FileEntry>,
    bytes: usize,
    limit: usize,
    max_bytes: usize,
    cursor: Option<String>,
    /// The last name on the page, once there are more entries than fit; the cursor of the next page.
    ceiling: Option<String>,
}

impl ListingPage {
    fn new(params: &ListFilesParams) -> Self {
        let limit = params.limit.map_or(MAX_LISTED_ENTRIES, |limit| {
            usize::try_from(limit.max(1)).unwrap_or(MAX_LISTED_ENTRIES)
        });
        Self {
            files: Vec::new(),
            bytes: 0,
            limit: limit.min(MAX_LISTED_ENTRIES),
            max_bytes: if params.limit.is_some() {
                MAX_LISTING_PAGE_BYTES
            } else {
                MAX_LISTED_BYTES
            },
            cursor: params.cursor.clone(),
            ceiling: None,
        }
    }

    fn push_entry(&mut self, entry: &WalkEntry<'_>) -> Result<(), Errno> {
        let name = [entry.prefix, entry.name.to_bytes()].concat();
        let name = String::from_utf8(name)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let is_before = self.cursor.as_ref().is_some_and(|after| name <= *after);
        let is_beyond = self.ceiling.as_ref().is_some_and(|last| name > *last);
        if is_before || is_beyond {
            return Ok(());
        }
        let (kind, size) = match entry.kind {
            FileType::RegularFile => match entry.stat()? {
                Some(stat) => (FileEntryType::File, stat_size(&stat)),
                None => return Ok(()),
            },
            FileType::Directory => (FileEntryType::Directory, 0),
            FileType::Symlink => (FileEntryType::Symlink, 0),
            _ => (FileEntryType::Other, 0),
        };
        self.bytes += name.len();
        self.files.push(FileEntry { name, kind, size });
        // Collects twice the page size before sorting, so that sorting is rare.
        if self.files.len() > 2 * self.limit.max(512) || self.bytes > 2 * self.max_bytes {
            self.truncate_to_limit();
        }
        Ok(())
    }

    /// Sorts, and discards entries that do not fit.
    fn truncate_to_limit(&mut self) {
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
        self.truncate_to_limit();
        FileList {
            truncated: self.ceiling.is_some() || !is_complete,
            next: self.ceiling,
            files: self.files,
        }
    }
}

fn stat_size(stat: &fs::Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

fn mtime_millis(stat: &fs::Stat) -> i64 {
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    stat.st_mtime
        .saturating_mul(1_000)
        .saturating_add(nanos / 1_000_000)
}
