//! The entries of a directory, and of all directories below it.
//!
//! Everything goes by open directories and single names, so a directory that is swapped for a link
//! meanwhile is not entered. Whatever a tree looks like, the directories that are open at once and the
//! memory for those still to be entered are bounded; what does not fit is left out, and the caller
//! learns that something was.

use std::cell::Cell;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use polis_core::workspace::path::{MAX_PATH_BYTES, PROJECT_DATA, is_unfinished};
use rustix::fs::{FileType, OFlags, RawDir};
use rustix::io::Errno;

use super::beneath::{Resolver, kind, look};

/// As many entries as the kernel gives at once.
const BUFFER_BYTES: usize = 32 * 1024;

/// From so many open directories on, those below are reached through the ones that are open.
const MANY_OPEN: usize = 64;

/// Paths of at most this many bytes are given to the kernel in one piece.
const LONG_PATH: usize = 3_500;

/// The most directories a walk keeps open. More are needed only for a tree that branches at every level and is deeper
/// than paths can be long.
const MAX_OPEN: usize = 256;

/// The most memory for entries that a walk has still to visit, in bytes.
const MAX_PENDING_BYTES: usize = 16 * 1024 * 1024;

/// What an entry takes beside its name.
const PENDING_ENTRY_BYTES: usize = 96;

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
        if name.to_bytes() == PROJECT_DATA.as_bytes() {
            return Ok(());
        }
        visit(name, found)
    })
}

/// An open directory that others below it are reached from.
#[derive(Debug)]
struct Anchor {
    fd: OwnedFd,
    open: Rc<Cell<usize>>,
}

impl Drop for Anchor {
    fn drop(&mut self) {
        self.open.set(self.open.get().saturating_sub(1));
    }
}

/// The memory that the entries still to be visited take, which a walk bounds.
#[derive(Debug, Default)]
pub(super) struct PendingBytes(usize);

impl PendingBytes {
    /// Counts one more entry; `false` if there is no room for it.
    pub(super) fn add(&mut self, name: &[u8]) -> bool {
        let with_it = self.0 + PENDING_ENTRY_BYTES + name.len();
        if with_it > MAX_PENDING_BYTES {
            return false;
        }
        self.0 = with_it;
        true
    }

    /// Counts an entry that is visited now.
    pub(super) fn remove(&mut self, name: &[u8]) {
        self.0 = self.0.saturating_sub(PENDING_ENTRY_BYTES + name.len());
    }
}

/// Something below an open directory, to be opened later. What entries of one directory have in common they share: a
/// directory may have many, and its path may be long.
#[derive(Debug, Clone)]
pub(super) struct Below {
    anchor: Rc<Anchor>,
    /// From the anchor to the directory it is in, with a slash at its end unless empty.
    directory: Rc<[u8]>,
    name: Box<[u8]>,
}

impl Below {
    /// The directory that a walk begins in.
    pub(super) fn top(fd: OwnedFd) -> Self {
        Self {
            anchor: Rc::new(Anchor {
                fd,
                open: Rc::new(Cell::new(1)),
            }),
            directory: Rc::default(),
            name: Box::default(),
        }
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
    /// to stay open.
    pub(super) fn opened(&self, fd: OwnedFd) -> Option<Inside> {
        let open = self.anchor.open.get();
        let length = self.directory.len() + self.name.len();
        if open >= MANY_OPEN && length < LONG_PATH {
            return Some(Inside {
                fd: Ok(fd),
                anchor: Rc::clone(&self.anchor),
                directory: with_slash(&self.directory, &self.name),
            });
        }
        if open >= MAX_OPEN {
            return None;
        }
        self.anchor.open.set(open + 1);
        let anchor = Rc::new(Anchor {
            fd,
            open: Rc::clone(&self.anchor.open),
        });
        Some(Inside {
            fd: Err(Rc::clone(&anchor)),
            anchor,
            directory: Rc::default(),
        })
    }
}

/// The path of a directory, with a slash at its end unless empty.
pub(super) fn with_slash(above: &[u8], name: &[u8]) -> Rc<[u8]> {
    if name.is_empty() {
        return above.into();
    }
    [above, name, b"/"].concat().into()
}

/// A directory that is open and being read.
#[derive(Debug)]
pub(super) struct Inside {
    /// Open by itself, or as the anchor of what is below.
    fd: Result<OwnedFd, Rc<Anchor>>,
    anchor: Rc<Anchor>,
    directory: Rc<[u8]>,
}

impl Inside {
    /// An entry of it.
    pub(super) fn entry(&self, name: &[u8]) -> Below {
        Below {
            anchor: Rc::clone(&self.anchor),
            directory: Rc::clone(&self.directory),
            name: name.into(),
        }
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
    mut visit: impl FnMut(&Met<'_>) -> Result<(), Errno>,
) -> Result<bool, Errno> {
    let mut ahead = vec![(Below::top(top), Rc::<[u8]>::default())];
    let mut pending = PendingBytes::default();
    let mut is_complete = true;
    while let Some((below, above)) = ahead.pop() {
        pending.remove(below.name());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = match below.open(resolver, flags) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::XDEV) => {
                continue;
            }
            Err(errno) => return Err(errno),
        };
        let prefix = match paths {
            Paths::Kept => with_slash(&above, below.name()),
            Paths::Left => Rc::default(),
        };
        let Some(inside) = below.opened(fd) else {
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
                if pending.add(name.to_bytes()) {
                    ahead.push((inside.entry(name.to_bytes()), Rc::clone(&prefix)));
                } else {
                    is_complete = false;
                }
            }
            Ok(())
        })?;
    }
    Ok(is_complete)
}
