//! The entries of a directory, and of all directories below it.
//!
//! Everything goes by open directories and single names, so a directory that is swapped for a link
//! meanwhile is not entered. However deep a tree is, only so many directories are open at once.

use std::cell::Cell;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use polis_core::workspace::path::is_unfinished;
use rustix::fs::{FileType, OFlags, RawDir};
use rustix::io::Errno;

use super::beneath::{Resolver, kind, look};

/// As many entries as the kernel gives at once.
const BUFFER_BYTES: usize = 32 * 1024;

/// From so many open directories on, those below are reached through the ones that are open.
const MANY_OPEN: usize = 64;

/// Paths of at most this many bytes are given to the kernel in one piece.
const LONG_PATH: usize = 3_500;

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

/// The same without unfinished writes, and with the kind found out where the file system does not
/// tell it.
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
        // Ours are files; what else somebody calls so is no secret.
        if found == FileType::RegularFile && is_unfinished(name.to_bytes()) {
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

/// Something below an open directory, to be opened later.
#[derive(Debug, Clone)]
pub(super) struct Below {
    anchor: Rc<Anchor>,
    path: Vec<u8>,
}

impl Below {
    /// The directory that a walk begins in.
    pub(super) fn top(fd: OwnedFd) -> Self {
        Self {
            anchor: Rc::new(Anchor {
                fd,
                open: Rc::new(Cell::new(1)),
            }),
            path: Vec::new(),
        }
    }

    /// Opens it; a link is not followed.
    pub(super) fn open(&self, resolver: Resolver, flags: OFlags) -> Result<OwnedFd, Errno> {
        let from = self.anchor.fd.as_fd();
        let path = if self.path.is_empty() {
            b"."
        } else {
            self.path.as_slice()
        };
        resolver.open_plain(from, path, flags)
    }

    /// What makes `Below`s of the entries of this directory, which is open now.
    pub(super) fn opened(&self, fd: OwnedFd) -> Inside {
        let many = self.anchor.open.get() >= MANY_OPEN && self.path.len() < LONG_PATH;
        if many {
            return Inside {
                fd: Ok(fd),
                above: self.clone(),
            };
        }
        let open = Rc::clone(&self.anchor.open);
        open.set(open.get() + 1);
        let anchor = Rc::new(Anchor { fd, open });
        Inside {
            fd: Err(Rc::clone(&anchor)),
            above: Self {
                anchor,
                path: Vec::new(),
            },
        }
    }
}

/// A directory that is open and being read.
#[derive(Debug)]
pub(super) struct Inside {
    /// Open by itself, or as the anchor of what is below.
    fd: Result<OwnedFd, Rc<Anchor>>,
    above: Below,
}

impl Inside {
    /// An entry of it.
    pub(super) fn entry(&self, name: &[u8]) -> Below {
        let mut path = Vec::with_capacity(self.above.path.len() + 1 + name.len());
        path.extend_from_slice(&self.above.path);
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        Below {
            anchor: Rc::clone(&self.above.anchor),
            path,
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

/// Whether a walk keeps the paths of what it meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paths {
    Kept,
    Left,
}

/// Visits everything below a directory, in no order, until the visitor says `false`. Directories
/// that vanish or may not be read are left out.
pub(super) fn each_below(
    top: OwnedFd,
    resolver: Resolver,
    paths: Paths,
    mut visit: impl FnMut(&Met<'_>) -> Result<bool, Errno>,
) -> Result<(), Errno> {
    let mut ahead = vec![(Below::top(top), Vec::new())];
    let mut more = true;
    while let Some((below, prefix)) = ahead.pop() {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = match below.open(resolver, flags) {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS | Errno::XDEV) => {
                continue;
            }
            Err(errno) => return Err(errno),
        };
        let inside = below.opened(fd);
        let dir = inside.as_fd();
        each_shown(dir, |name, kind| {
            if !more {
                return Ok(());
            }
            more = visit(&Met {
                dir,
                prefix: &prefix,
                name,
                kind,
            })?;
            if kind == FileType::Directory {
                let mut path = Vec::new();
                if paths == Paths::Kept {
                    path.reserve_exact(prefix.len() + name.count_bytes() + 1);
                    path.extend_from_slice(&prefix);
                    path.extend_from_slice(name.to_bytes());
                    path.push(b'/');
                }
                ahead.push((inside.entry(name.to_bytes()), path));
            }
            Ok(())
        })?;
        if !more {
            return Ok(());
        }
    }
    Ok(())
}
