//! Opening paths beneath the workspace (`RESOLVE_BENEATH`): no symbolic link leads out, even if links are
//! swapped during the lookup.
//!
//! The kernel opens a path without links in one call (`openat2`). If the path contains links, the kernel
//! lacks that call or an outer sandbox forbids it, the path is walked one component at a time and links are
//! resolved here. Absolute links are refused (`EXDEV`), even those that point inside: commands see the
//! workspace at another path.
//!
//! A path through the data of a project ([`PROJECT_DATA_DIR`]) is refused with [`RESERVED_NAME_ERRNO`]. That
//! is why the kernel is not asked to follow links: it does not report the names through which they have led,
//! while the walk checks each of them.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use polis_core::workspace::workspace_path::PROJECT_DATA_DIR;
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Maximum number of symbolic links followed for one path, as in the kernel.
const MAX_SYMLINKS: usize = 40;

/// Error for a path that leads through the data of a project. No file system returns this errno, so it can
/// share the error path of the system calls.
pub(super) const RESERVED_NAME_ERRNO: Errno = Errno::NOTNAM;

/// Maximum number of directories kept open while a path with links is walked. Each takes a file descriptor,
/// and a process has few of them.
const MAX_OPEN_ANCESTORS: usize = 256;

/// Maximum number of retries for a name that was a link at one moment and not at the next.
const MAX_SWAPPED_LINK_RETRIES: usize = 8;

/// Maximum number of `openat2` retries after a concurrent rename (`EAGAIN`) or a signal.
const MAX_OPENAT2_RETRIES: usize = 16;

/// Flags for opening an intermediate directory of a path.
const PATH_STEP_FLAGS: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// How paths are kept inside the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathResolver {
    /// By the kernel, with `openat2`; a path that contains links is walked.
    Openat2,
    /// In user space, one path component at a time.
    ComponentWalk,
}

impl PathResolver {
    /// Returns [`PathResolver::Openat2`] if `openat2` works here. Tried once per process.
    pub fn detect() -> Self {
        static OPENAT2_AVAILABLE: OnceLock<bool> = OnceLock::new();
        let kernel = *OPENAT2_AVAILABLE.get_or_init(|| {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            fs::openat2(CWD, c".", flags, Mode::empty(), ResolveFlags::BENEATH).is_ok()
        });
        if kernel {
            Self::Openat2
        } else {
            Self::ComponentWalk
        }
    }

    /// Opens `path` below `root`; an empty path is `root` itself. With `NOFOLLOW`, a link in the last
    /// component is not followed. Never creates anything. Fails with [`RESERVED_NAME_ERRNO`] if the path or a
    /// link leads through the data of a project, and with `EXDEV` if it leads out of `root`.
    pub(super) fn open(
        self,
        root: BorrowedFd<'_>,
        path: &[u8],
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        if contains_reserved_name(path) {
            return walk_path(root, path, flags, MAX_SYMLINKS);
        }
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let plain = self.try_openat2(root, path, flags, inside);
        match plain.unwrap_or_else(|| walk_path(root, path, flags, 0)) {
            Err(Errno::LOOP) => walk_path(root, path, flags, MAX_SYMLINKS),
            answer => answer,
        }
    }

    /// Like [`open`](Self::open), but fails with `ELOOP` if any component is a link.
    pub(super) fn open_no_symlinks(
        self,
        from: BorrowedFd<'_>,
        path: &[u8],
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW;
        if !path.contains(&b'/') {
            return open_single_name(from, path, flags);
        }
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        self.try_openat2(from, path, flags, inside)
            .unwrap_or_else(|| walk_path(from, path, flags, 0))
    }

    /// Calls `openat2`. Returns `None` if it is not available, or concurrent renames keep disturbing it.
    fn try_openat2(
        self,
        root: BorrowedFd<'_>,
        path: &[u8],
        flags: OFlags,
        inside: ResolveFlags,
    ) -> Option<Result<OwnedFd, Errno>> {
        if self == Self::ComponentWalk {
            return None;
        }
        let path = if path.is_empty() { b"." } else { path };
        for _ in 0..MAX_OPENAT2_RETRIES {
            match fs::openat2(root, path, flags | OFlags::CLOEXEC, Mode::empty(), inside) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                answer => return Some(answer),
            }
        }
        None
    }
}

/// Opens a single path component, or `.`.
fn open_single_name(from: BorrowedFd<'_>, name: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    loop {
        match fs::openat(from, name, flags | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::INTR) => {}
            answer => return answer,
        }
    }
}

/// Returns whether a name is the reserved name of project data.
pub(super) fn is_reserved_name(name: &[u8]) -> bool {
    name == PROJECT_DATA_DIR.as_bytes()
}

fn contains_reserved_name(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(is_reserved_name)
}

/// Walks a path one component at a time. If a `..` may occur, the directories on the path stay open, so that
/// it leads back to the directory the walk came from and never above `root`. Fails with
/// [`RESERVED_NAME_ERRNO`] at the data of a project, and with `ELOOP` after `max_links` links.
fn walk_path(
    root: BorrowedFd<'_>,
    path: &[u8],
    flags: OFlags,
    max_links: usize,
) -> Result<OwnedFd, Errno> {
    let mut ancestors: Vec<OwnedFd> = Vec::new();
    let mut ahead: Vec<Vec<u8>> = Vec::new();
    let (mut links, mut swapped) = (0, 0);
    push_names(&mut ahead, path);
    let may_go_back = max_links > 0 || ahead.iter().any(|name| name == b"..");
    while let Some(name) = ahead.pop() {
        if name == b".." {
            ancestors.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        if is_reserved_name(&name) {
            return Err(RESERVED_NAME_ERRNO);
        }
        let parent = ancestors.last().map_or(root, AsFd::as_fd);
        let last = ahead.is_empty();
        let open_flags = if last {
            flags | OFlags::NOFOLLOW
        } else {
            PATH_STEP_FLAGS
        };
        let link = match open_single_name(parent, &name, open_flags) {
            Ok(fd) if last => {
                let follow = !flags.contains(OFlags::NOFOLLOW);
                // Only `O_PATH` can open a link itself.
                if !(follow && flags.contains(OFlags::PATH) && is_link(&fd)?) {
                    return Ok(fd);
                }
                read_link_target(parent, &name)?
            }
            Ok(fd) => {
                if !may_go_back {
                    ancestors.clear();
                }
                if ancestors.len() >= MAX_OPEN_ANCESTORS {
                    return Err(Errno::NAMETOOLONG);
                }
                ancestors.push(fd);
                continue;
            }
            Err(errno @ (Errno::LOOP | Errno::NOTDIR)) => {
                if last && flags.contains(OFlags::NOFOLLOW) {
                    return Err(errno);
                }
                match read_link_target(parent, &name) {
                    Ok(link) => link,
                    // No longer a link: try again.
                    Err(Errno::INVAL) if swapped < MAX_SWAPPED_LINK_RETRIES => {
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
        if links > max_links {
            return Err(Errno::LOOP);
        }
        if link.starts_with(b"/") {
            return Err(Errno::XDEV);
        }
        push_names(&mut ahead, &link);
    }
    open_single_name(
        ancestors.last().map_or(root, AsFd::as_fd),
        b".",
        flags - OFlags::NOFOLLOW,
    )
}

/// Pushes the components of a path onto the stack of pending names, the first one on top.
fn push_names(ahead: &mut Vec<Vec<u8>>, path: &[u8]) {
    let names = path.split(|byte| *byte == b'/');
    let names = names.filter(|name| !name.is_empty() && *name != b".");
    ahead.extend(names.rev().map(<[u8]>::to_vec));
}

fn is_link(fd: &OwnedFd) -> Result<bool, Errno> {
    let stat = fs::fstat(fd)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
}

/// Returns the target of a symbolic link, unresolved.
pub(super) fn read_link_target(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Vec<u8>, Errno> {
    Ok(fs::readlinkat(directory, name, Vec::new())?.into_bytes())
}

/// Returns the `stat` of a name without following a link, or `None` if it does not exist.
pub(super) fn stat_no_follow(
    directory: BorrowedFd<'_>,
    name: &[u8],
) -> Result<Option<fs::Stat>, Errno> {
    match fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Returns the file type from a `stat`.
pub(super) fn file_type(stat: &fs::Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Returns whether two `stat` results describe the same file (device and inode).
pub(super) fn is_same_file(a: &fs::Stat, b: &fs::Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}
