//! Opening a directory by its absolute path without following symbolic links, and the identity of an open
//! directory.
//!
//! The path of a workspace is recorded, and its directory is opened anew at every use. A program that may
//! write to a directory above it could replace it with a symbolic link; such a path is refused instead of
//! followed.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{self, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Maximum number of `openat2` retries after a concurrent rename (`EAGAIN`) or a signal.
const MAX_OPENAT2_RETRIES: usize = 16;

const OPEN_DIRECTORY_FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Identity of a directory, independent of its path: device and inode number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DirectoryIdentity {
    /// Device number of the file system.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

impl DirectoryIdentity {
    /// Returns the identity of an open directory. Fails if `fstat` does.
    pub fn from_fd(directory: BorrowedFd<'_>) -> Result<Self, Errno> {
        let found = fs::fstat(directory)?;
        Ok(Self {
            device: found.st_dev,
            inode: found.st_ino,
        })
    }
}

/// Opens the directory at an absolute path. Fails with `ELOOP` or `ENOTDIR` if any component of the path is a
/// symbolic link.
pub(crate) fn open_directory_no_symlinks(path: &Path) -> Result<OwnedFd, Errno> {
    if !path.is_absolute() {
        return Err(Errno::INVAL);
    }
    for _ in 0..MAX_OPENAT2_RETRIES {
        match fs::openat2(
            CWD,
            path,
            OPEN_DIRECTORY_FLAGS,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        ) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // The kernel lacks the call, or an outer sandbox forbids it.
            Err(Errno::NOSYS | Errno::PERM) => break,
            opened => return opened,
        }
    }
    open_by_walking(path)
}

/// Fallback without `openat2`: opens one path component at a time.
fn open_by_walking(path: &Path) -> Result<OwnedFd, Errno> {
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut current = fs::openat(CWD, "/", step, Mode::empty())?;
    for name in path.components() {
        match name {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => {
                current = fs::openat(current.as_fd(), name.as_bytes(), step, Mode::empty())?;
            }
            Component::ParentDir | Component::Prefix(_) => return Err(Errno::INVAL),
        }
    }
    fs::openat(current.as_fd(), ".", OPEN_DIRECTORY_FLAGS, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symlink_in_path_is_not_followed() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/inner")).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        let identity = |fd: OwnedFd| DirectoryIdentity::from_fd(fd.as_fd()).unwrap();
        for open in [open_directory_no_symlinks, open_by_walking] {
            let inner = open(&root.join("real/inner")).map(identity).unwrap();
            let real = open(&root.join("real")).map(identity).unwrap();
            assert_ne!(inner, real);
            for linked in ["link", "link/inner"] {
                let refused = open(&root.join(linked)).unwrap_err();
                assert!(matches!(refused, Errno::LOOP | Errno::NOTDIR), "{refused}");
            }
            assert_eq!(open(&root.join("none")).unwrap_err(), Errno::NOENT);
        }
        assert_eq!(
            open_directory_no_symlinks(Path::new("real")).unwrap_err(),
            Errno::INVAL
        );
    }
}
