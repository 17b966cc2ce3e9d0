//! Opening a path so that it cannot leave a directory, whatever links are planted on the way and
//! however fast they are swapped.
//!
//! The kernel does it in one call (`openat2`). Where that call is missing, or a sandbox around us
//! forbids it, the path is walked name by name, and links are resolved here. Both refuse absolute
//! links (`EXDEV`), also those that would lead inside: where the workspace is, is not known inside.
//!
//! A path through the data of a project ([`PROJECT_DATA`]) is refused with [`RESERVED`]. The kernel does not tell which
//! names a link has led through, so it is asked for the path without links first; only if there are any the path is
//! walked, and each name on the way is looked at.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use polis_core::workspace::path::PROJECT_DATA;
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// The most links followed for one path, as in the kernel.
const MAX_LINKS: usize = 40;

/// The answer for a path that leads through the data of a project. No file system gives this number, and so it goes the
/// way of all answers of the kernel.
pub(super) const RESERVED: Errno = Errno::NOTNAM;

/// The most directories that are kept open while a path with links is walked. Each takes a descriptor, of which a process
/// has not many.
const MAX_WALKED: usize = 256;

/// How often a walk looks again at a name that was a link at one moment and none at the next.
const MAX_SWAPPED: usize = 8;

/// How often `openat2` is asked again when a rename somewhere disturbed it.
const MAX_DISTURBED: usize = 16;

/// For a directory that is only a step on the way.
const STEP: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Who makes sure that a path stays inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolver {
    /// The kernel, by `openat2`.
    Kernel,
    /// We, name by name.
    Walk,
}

impl Resolver {
    /// The kernel if it can, found out once by asking.
    pub fn detect() -> Self {
        static KERNEL: OnceLock<bool> = OnceLock::new();
        let kernel = *KERNEL.get_or_init(|| {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            fs::openat2(CWD, c".", flags, Mode::empty(), ResolveFlags::BENEATH).is_ok()
        });
        if kernel { Self::Kernel } else { Self::Walk }
    }

    /// Opens what `path` means below `root`; an empty path is `root` itself. With `NOFOLLOW` a
    /// link at the very end is not followed. Never creates anything. Fails with [`RESERVED`] if the path or a link leads
    /// through the data of a project.
    pub(super) fn open(
        self,
        root: BorrowedFd<'_>,
        path: &[u8],
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        if names_reserved(path) {
            return walk(root, path, flags, MAX_LINKS);
        }
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let plain = self.resolve(root, path, flags, inside);
        match plain.unwrap_or_else(|| walk(root, path, flags, 0)) {
            Err(Errno::LOOP) => walk(root, path, flags, MAX_LINKS),
            answer => answer,
        }
    }

    /// The same for a path none of whose names may be a link.
    pub(super) fn open_plain(
        self,
        from: BorrowedFd<'_>,
        path: &[u8],
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW;
        if !path.contains(&b'/') {
            return open_here(from, path, flags);
        }
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        self.resolve(from, path, flags, inside)
            .unwrap_or_else(|| walk(from, path, flags, 0))
    }

    /// Asks the kernel; `None` if it is not to be asked, or keeps being disturbed.
    fn resolve(
        self,
        root: BorrowedFd<'_>,
        path: &[u8],
        flags: OFlags,
        inside: ResolveFlags,
    ) -> Option<Result<OwnedFd, Errno>> {
        if self == Self::Walk {
            return None;
        }
        let path = if path.is_empty() { b"." } else { path };
        for _ in 0..MAX_DISTURBED {
            match fs::openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), inside) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                answer => return Some(answer),
            }
        }
        None
    }
}

/// Opens a single name, or `.`.
fn open_here(from: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    loop {
        match fs::openat(from, name, flags | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::INTR) => {}
            answer => return answer,
        }
    }
}

/// Whether a name is that of the data of a project.
pub(super) fn is_reserved(name: &[u8]) -> bool {
    name == PROJECT_DATA.as_bytes()
}

fn names_reserved(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(is_reserved)
}

/// Walks a path name by name. The directories gone through stay open where a `..` may be met, so that it leads back to
/// where we really came from, and never above `root`. Fails with [`RESERVED`] at the data of a project.
fn walk(
    root: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    most_links: usize,
) -> Result<OwnedFd, Errno> {
    let mut gone: Vec<OwnedFd> = Vec::new();
    let mut ahead: Vec<Vec<u8>> = Vec::new();
    let (mut links, mut swapped) = (0, 0);
    push_names(&mut ahead, path);
    let may_go_back = most_links > 0 || ahead.iter().any(|name| name == b"..");
    while let Some(name) = ahead.pop() {
        if name == b".." {
            gone.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        if is_reserved(&name) {
            return Err(RESERVED);
        }
        let here = gone.last().map_or(root, AsFd::as_fd);
        let last = ahead.is_empty();
        let wanted = if last { flags | OFlags::NOFOLLOW } else { STEP };
        let link = match open_here(here, &name, wanted) {
            Ok(fd) if last => {
                let follow = !flags.contains(OFlags::NOFOLLOW);
                // Only `O_PATH` opens a link itself.
                if !(follow && flags.contains(OFlags::PATH) && is_link(&fd)?) {
                    return Ok(fd);
                }
                read_link(here, &name)?
            }
            Ok(fd) => {
                if !may_go_back {
                    gone.clear();
                }
                if gone.len() >= MAX_WALKED {
                    return Err(Errno::NAMETOOLONG);
                }
                gone.push(fd);
                continue;
            }
            Err(errno @ (Errno::LOOP | Errno::NOTDIR)) => {
                if last && flags.contains(OFlags::NOFOLLOW) {
                    return Err(errno);
                }
                match read_link(here, &name) {
                    Ok(link) => link,
                    // Not a link any more: another look finds what it is now.
                    Err(Errno::INVAL) if swapped < MAX_SWAPPED => {
                        swapped += 1;
                        ahead.push(name);
                        continue;
                    }
                    Err(Errno::INVAL) => return Err(errno),
                    Err(other) => return Err(other),
                }
            }
            Err(errno) => return Err(errno),
        };
        links += 1;
        if links > most_links {
            return Err(Errno::LOOP);
        }
        if link.starts_with(b"/") {
            return Err(Errno::XDEV);
        }
        push_names(&mut ahead, &link);
    }
    open_here(
        gone.last().map_or(root, AsFd::as_fd),
        b".",
        flags - OFlags::NOFOLLOW,
    )
}

/// Puts the names of a path where they are met next.
fn push_names(ahead: &mut Vec<Vec<u8>>, path: &[u8]) {
    let names = path.split(|byte| *byte == b'/');
    let names = names.filter(|name| !name.is_empty() && *name != b".");
    ahead.extend(names.rev().map(<[u8]>::to_vec));
}

fn is_link(fd: &OwnedFd) -> Result<bool, Errno> {
    let stat = fs::fstat(fd)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Where a link leads, as it is written in it.
pub(super) fn read_link(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Vec<u8>, Errno> {
    Ok(fs::readlinkat(directory, name, Vec::new())?.into_bytes())
}

/// What is at a name, a link itself and not where it leads; `None` if nothing.
pub(super) fn look(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Option<fs::Stat>, Errno> {
    match fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// What kind of thing a look found.
pub(super) fn kind(stat: &fs::Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Whether two looks found the same thing.
pub(super) fn same(a: &fs::Stat, b: &fs::Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}
