//! Directory walk: visits the entries of a directory, or of a whole tree, in no particular order.
//!
//! Project data and temporary files of unfinished writes are left out, except by [`for_each_entry`].
//! Directories that vanish or may not be read are skipped, and the walk still counts as complete. Entries
//! beyond the bounds on memory and open directories (`memory_budget`) are skipped too, and the caller learns
//! that the walk is incomplete. A directory that was swapped for a link is not entered.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use polis_core::workspace::workspace_path::{MAX_PATH_BYTES, is_unfinished_write};
use rustix::fs::{FileType, OFlags, RawDir};
use rustix::io::Errno;

use super::beneath::{PathResolver, file_type, is_reserved_name, stat_no_follow};
use super::memory_budget::{BytesReservation, OpenDirReservation, WalkMemory};

/// Size of the buffer for `getdents64`.
const DIRENT_BUFFER_BYTES: usize = 32 * 1024;

/// From this number of open directories on, directories are reached through an open ancestor instead of being
/// kept open.
const MAX_SEPARATE_ANCHORS: usize = 64;

/// Maximum length of a path below an open ancestor, so that the kernel accepts it in one call.
const MAX_PATH_FROM_ANCHOR_BYTES: usize = 3_500;

/// Memory of an entry besides its name: the struct, its slot in a list that grows by doubling, and allocator
/// overhead.
const ENTRY_OVERHEAD_BYTES: usize = 160;

/// Memory of a shared path besides its text.
const SHARED_PATH_OVERHEAD_BYTES: usize = 96;

/// Calls `visit` for every entry of a directory except `.` and `..`, in the kernel's order. This moves the
/// directory's read position, so a directory can be read once per descriptor.
pub(super) fn for_each_entry(
    dir: BorrowedFd<'_>,
    mut visit: impl FnMut(&CStr, FileType) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut buffer = [MaybeUninit::uninit(); DIRENT_BUFFER_BYTES];
    let mut entries = RawDir::new(dir, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            // The directory was deleted.
            Err(Errno::NOENT) => return Ok(()),
            Err(errno) => return Err(errno),
        };
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        visit(name, entry.file_type())?;
    }
    Ok(())
}

/// Like [`for_each_entry`], without temporary files of unfinished writes and without project data. Determines
/// the file type if the file system does not report it.
pub(super) fn for_each_visible_entry(
    dir: BorrowedFd<'_>,
    mut visit: impl FnMut(&CStr, FileType) -> Result<(), Errno>,
) -> Result<(), Errno> {
    for_each_entry(dir, |name, entry_type| {
        let found = match entry_type {
            FileType::Unknown => match stat_no_follow(dir, name.to_bytes())? {
                Some(stat) => file_type(&stat),
                None => return Ok(()),
            },
            known_type => known_type,
        };
        // Temporary files are regular files; anything else with such a name belongs to the agent.
        if found == FileType::RegularFile && is_unfinished_write(name.to_bytes()) {
            return Ok(());
        }
        if is_reserved_name(name.to_bytes()) {
            return Ok(());
        }
        visit(name, found)
    })
}

/// An open directory through which entries below it are reached.
#[derive(Debug)]
struct AnchorDirectory {
    fd: OwnedFd,
    counted: OpenDirReservation,
}

/// Path of a directory, with a trailing slash unless empty. Shared by all entries of the directory: there may
/// be many, and it may be long.
#[derive(Debug, Clone)]
pub(super) struct SharedPath(Rc<(Box<[u8]>, BytesReservation)>);

impl SharedPath {
    /// Returns the path of a subdirectory, or `None` if the memory budget is exhausted. An empty name adds
    /// nothing to the parent's path.
    pub(super) fn join(memory: &Rc<WalkMemory>, above: &[u8], name: &[u8]) -> Option<Self> {
        let slash: &[u8] = if name.is_empty() { b"" } else { b"/" };
        let length = above.len() + name.len() + slash.len();
        let counted = memory.reserve_bytes(length + SHARED_PATH_OVERHEAD_BYTES)?;
        let path = [above, name, slash].concat().into_boxed_slice();
        Some(Self(Rc::new((path, counted))))
    }
}

impl Deref for SharedPath {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0.0
    }
}

/// An entry below an open directory, to be opened later.
#[derive(Debug)]
pub(super) struct PendingEntry {
    anchor: Rc<AnchorDirectory>,
    /// Path from the anchor to the entry's directory.
    directory: SharedPath,
    name: Box<[u8]>,
    _counted: BytesReservation,
}

impl PendingEntry {
    /// Creates the entry of the directory where a walk starts. Returns `None` if the memory budget is
    /// exhausted.
    pub(super) fn from_root(fd: OwnedFd, memory: &Rc<WalkMemory>) -> Option<Self> {
        let counted = memory.reserve_open_dir()?;
        Some(Self {
            anchor: Rc::new(AnchorDirectory { fd, counted }),
            directory: SharedPath::join(memory, b"", b"")?,
            name: Box::default(),
            _counted: memory.reserve_bytes(ENTRY_OVERHEAD_BYTES)?,
        })
    }

    /// Returns the entry's name in its directory; empty for the root of a walk.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// Opens the entry; a link is not followed.
    pub(super) fn open(&self, resolver: PathResolver, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = [&self.directory, &*self.name].concat();
        let path = if path.is_empty() {
            b"."
        } else {
            path.as_slice()
        };
        resolver.open_no_symlinks(self.anchor.fd.as_fd(), path, flags)
    }

    /// Returns this directory, now open, as the source of further entries. Returns `None` if too many
    /// directories would have to stay open, or their paths would take too much memory.
    pub(super) fn to_open_dir(&self, fd: OwnedFd) -> Option<OpenDirectory> {
        let memory = self.anchor.counted.memory();
        let length = self.directory.len() + self.name.len();
        if memory.open_dir_count() >= MAX_SEPARATE_ANCHORS && length < MAX_PATH_FROM_ANCHOR_BYTES {
            return Some(OpenDirectory {
                fd: Ok(fd),
                anchor: Rc::clone(&self.anchor),
                directory: SharedPath::join(memory, &self.directory, &self.name)?,
            });
        }
        let counted = memory.reserve_open_dir()?;
        let directory = SharedPath::join(memory, b"", b"")?;
        let anchor = Rc::new(AnchorDirectory { fd, counted });
        Some(OpenDirectory {
            fd: Err(Rc::clone(&anchor)),
            anchor,
            directory,
        })
    }
}

/// An open directory that is being read.
#[derive(Debug)]
pub(super) struct OpenDirectory {
    /// Open for itself, or as the anchor of the entries below.
    fd: Result<OwnedFd, Rc<AnchorDirectory>>,
    anchor: Rc<AnchorDirectory>,
    directory: SharedPath,
}

impl OpenDirectory {
    /// Returns an entry of this directory, or `None` if the memory budget is exhausted.
    pub(super) fn pending_entry(&self, name: &[u8]) -> Option<PendingEntry> {
        let memory = self.anchor.counted.memory();
        let counted = memory.reserve_bytes(name.len() + ENTRY_OVERHEAD_BYTES)?;
        Some(PendingEntry {
            anchor: Rc::clone(&self.anchor),
            directory: self.directory.clone(),
            name: name.into(),
            _counted: counted,
        })
    }
}

impl AsFd for OpenDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.fd {
            Ok(fd) => fd.as_fd(),
            Err(anchor) => anchor.fd.as_fd(),
        }
    }
}

/// An entry visited by a walk.
#[derive(Debug)]
pub(super) struct WalkEntry<'a> {
    /// The directory that contains it.
    pub(super) dir: BorrowedFd<'a>,
    /// Path of that directory from the root of the walk, with a trailing slash unless empty; always empty if
    /// paths are not recorded.
    pub(super) prefix: &'a [u8],
    pub(super) name: &'a CStr,
    pub(super) kind: FileType,
}

/// Whether a walk records the paths of entries. If so, entries with a path longer than [`MAX_PATH_BYTES`] are
/// skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathRecording {
    Recorded,
    Omitted,
}

/// Visits everything below a directory, in no particular order. Skips directories that vanish or may not be
/// read. Returns whether all others were entered: a tree may be deeper or wider than the memory budget
/// allows.
pub(super) fn walk_tree(
    top: OwnedFd,
    resolver: PathResolver,
    paths: PathRecording,
    memory: &Rc<WalkMemory>,
    mut visit: impl FnMut(&WalkEntry<'_>) -> Result<(), Errno>,
) -> Result<bool, Errno> {
    let top = PendingEntry::from_root(top, memory).zip(SharedPath::join(memory, b"", b""));
    let mut ahead = Vec::from_iter(top);
    let mut is_complete = true;
    while let Some((below, above)) = ahead.pop() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = match below.open(resolver, flags) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::XDEV) => {
                continue;
            }
            Err(errno) => return Err(errno),
        };
        let prefix = match paths {
            PathRecording::Recorded => SharedPath::join(memory, &above, below.name()),
            // Always empty.
            PathRecording::Omitted => Some(above),
        };
        let Some((inside, prefix)) = below.to_open_dir(fd).zip(prefix) else {
            is_complete = false;
            continue;
        };
        let dir = inside.as_fd();
        for_each_visible_entry(dir, |name, kind| {
            let length = prefix.len() + name.count_bytes();
            if length > MAX_PATH_BYTES {
                is_complete = false;
                return Ok(());
            }
            visit(&WalkEntry {
                dir,
                prefix: &prefix,
                name,
                kind,
            })?;
            if kind == FileType::Directory {
                match inside.pending_entry(name.to_bytes()) {
                    Some(entry) => ahead.push((entry, prefix.clone())),
                    None => is_complete = false,
                }
            }
            Ok(())
        })?;
    }
    Ok(is_complete)
}
