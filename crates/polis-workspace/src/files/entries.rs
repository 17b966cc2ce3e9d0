//! The entries of a directory, and of all directories below it.
//!
//! Everything goes by open directories and single names, so a directory that is swapped for a link
//! meanwhile is not entered. Whatever a tree looks like, the directories that are open at once and the
//! memory for those still to be entered are bounded (`memory.rs`); what does not fit is left out, and the
//! caller learns that something was.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use polis_core::workspace::path::{MAX_PATH_BYTES, is_unfinished};
use rustix::fs::{FileType, OFlags, RawDir};
use rustix::io::Errno;

use super::beneath::{Resolver, is_reserved, kind, look};
use super::memory::{CountedBytes, CountedOpen, WalkMemory};

/// As many entries as the kernel gives at once.
const BUFFER_BYTES: usize = 32 * 1024;

/// From so many open directories on, those below are reached through the ones that are open.
const MANY_OPEN: usize = 64;

/// Paths of at most this many bytes are given to the kernel in one piece.
const LONG_PATH: usize = 3_500;

/// What an entry takes beside its name: itself, its place in a list that grows by doubling, and what the allocator adds.
const ENTRY_BYTES: usize = 160;

/// What a path that entries share takes beside its text.
const SHARED_PATH_BYTES: usize = 96;

/// Every entry of a directory but `.` and `..`, as the kernel gives them. The position in the
/// directory moves with it, so it is read once.
pub(super) fn each(
    dir: BorrowedFd<'_>,
    mut visit: impl FnMut(&CStr, FileType) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
    let mut entries = RawDir::new(dir, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = match entry {
            Ok(entry) => entry,
            // The directory is gone.
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

/// The same without unfinished writes and data of projects, and with the kind found out where the file
/// system does not tell it.
pub(super) fn each_shown(
    dir: BorrowedFd<'_>,
    mut visit: impl FnMut(&CStr, FileType) -> Result<(), Errno>,
) -> Result<(), Errno> {
    each(dir, |name, told| {
        let found = match told {
            FileType::Unknown => match look(dir, name.to_bytes())? {
                Some(stat) => kind(&stat),
                None => return Ok(()),
            },
            known => known,
        };
        // Unfinished writes are files; anything else of such a name is the agent's own.
        if found == FileType::RegularFile && is_unfinished(name.to_bytes()) {
            return Ok(());
        }
        if is_reserved(name.to_bytes()) {
            return Ok(());
        }
        visit(name, found)
    })
}

/// An open directory that others below it are reached from.
#[derive(Debug)]
struct Anchor {
    fd: OwnedFd,
    counted: CountedOpen,
}

/// The path of a directory, with a slash at its end unless empty. The entries of the directory share it: there may be many,
/// and it may be long.
#[derive(Debug, Clone)]
pub(super) struct SharedPath(Rc<(Box<[u8]>, CountedBytes)>);

impl SharedPath {
    /// The path of a directory in another one; none if there is no memory for it. Empty names add nothing.
    pub(super) fn of(memory: &Rc<WalkMemory>, above: &[u8], name: &[u8]) -> Option<Self> {
        let slash: &[u8] = if name.is_empty() { b"" } else { b"/" };
        let length = above.len() + name.len() + slash.len();
        let counted = memory.count(length + SHARED_PATH_BYTES)?;
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

/// Something below an open directory, to be opened later.
#[derive(Debug)]
pub(super) struct Below {
    anchor: Rc<Anchor>,
    /// From the anchor to the directory it is in.
    directory: SharedPath,
    name: Box<[u8]>,
    _counted: CountedBytes,
}

impl Below {
    /// The directory that a walk begins in; none if the walk has no memory left.
    pub(super) fn top(fd: OwnedFd, memory: &Rc<WalkMemory>) -> Option<Self> {
        let counted = memory.count_open()?;
        Some(Self {
            anchor: Rc::new(Anchor { fd, counted }),
            directory: SharedPath::of(memory, b"", b"")?,
            name: Box::default(),
            _counted: memory.count(ENTRY_BYTES)?,
        })
    }

    /// Its name in its directory; empty for the one that a walk begins in.
    pub(super) fn name(&self) -> &[u8] {
        &self.name
    }

    /// Opens it; a link is not followed.
    pub(super) fn open(&self, resolver: Resolver, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = [&self.directory, &*self.name].concat();
        let path = if path.is_empty() {
            b"."
        } else {
            path.as_slice()
        };
        resolver.open_plain(self.anchor.fd.as_fd(), path, flags)
    }

    /// What makes `Below`s of the entries of this directory, which is open now; none if too many directories would have
    /// to stay open, or their paths would take too much memory.
    pub(super) fn opened(&self, fd: OwnedFd) -> Option<Inside> {
        let memory = self.anchor.counted.memory();
        let length = self.directory.len() + self.name.len();
        if memory.open_count() >= MANY_OPEN && length < LONG_PATH {
            return Some(Inside {
                fd: Ok(fd),
                anchor: Rc::clone(&self.anchor),
                directory: SharedPath::of(memory, &self.directory, &self.name)?,
            });
        }
        let counted = memory.count_open()?;
        let directory = SharedPath::of(memory, b"", b"")?;
        let anchor = Rc::new(Anchor { fd, counted });
        Some(Inside {
            fd: Err(Rc::clone(&anchor)),
            anchor,
            directory,
        })
    }
}

/// A directory that is open and being read.
#[derive(Debug)]
pub(super) struct Inside {
    /// Open by itself, or as the anchor of what is below.
    fd: Result<OwnedFd, Rc<Anchor>>,
    anchor: Rc<Anchor>,
    directory: SharedPath,
}

impl Inside {
    /// An entry of it; none if there is no memory for it.
    pub(super) fn entry(&self, name: &[u8]) -> Option<Below> {
        let memory = self.anchor.counted.memory();
        let counted = memory.count(name.len() + ENTRY_BYTES)?;
        Some(Below {
            anchor: Rc::clone(&self.anchor),
            directory: self.directory.clone(),
            name: name.into(),
            _counted: counted,
        })
    }
}

impl AsFd for Inside {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.fd {
            Ok(fd) => fd.as_fd(),
            Err(anchor) => anchor.fd.as_fd(),
        }
    }
}

/// An entry met on a walk.
#[derive(Debug)]
pub(super) struct Met<'a> {
    /// The directory it is in.
    pub(super) dir: BorrowedFd<'a>,
    /// That directory's path from where the walk began, with a slash at its end unless empty; left
    /// empty if paths are not wanted.
    pub(super) prefix: &'a [u8],
    pub(super) name: &'a CStr,
    pub(super) kind: FileType,
}

/// Whether a walk keeps the paths of what it meets. One that does leaves out what has a path that is longer than paths
/// may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paths {
    Kept,
    Left,
}

/// Visits everything below a directory, in no order. Directories that vanish or may not be read are left out. Returns
/// whether all others were entered: a tree may be deeper or wider than is kept in memory.
pub(super) fn each_below(
    top: OwnedFd,
    resolver: Resolver,
    paths: Paths,
    memory: &Rc<WalkMemory>,
    mut visit: impl FnMut(&Met<'_>) -> Result<(), Errno>,
) -> Result<bool, Errno> {
    let top = Below::top(top, memory).zip(SharedPath::of(memory, b"", b""));
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
            Paths::Kept => SharedPath::of(memory, &above, below.name()),
            // Always empty.
            Paths::Left => Some(above),
        };
        let Some((inside, prefix)) = below.opened(fd).zip(prefix) else {
            is_complete = false;
            continue;
        };
        let dir = inside.as_fd();
        each_shown(dir, |name, kind| {
            let length = prefix.len() + name.count_bytes();
            if length > MAX_PATH_BYTES {
                is_complete = false;
                return Ok(());
            }
            visit(&Met {
                dir,
                prefix: &prefix,
                name,
                kind,
            })?;
            if kind == FileType::Directory {
                match inside.entry(name.to_bytes()) {
                    Some(entry) => ahead.push((entry, prefix.clone())),
                    None => is_complete = false,
                }
            }
            Ok(())
        })?;
    }
    Ok(is_complete)
}
