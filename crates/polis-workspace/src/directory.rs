//! Opening a directory of this machine by its whole path, so that no link on the way is followed.
//!
//! The directory of a workspace is recorded as text and opened anew at every use. A program that may write to a
//! directory above it could put a link in its place; such a path is refused instead of followed.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{self, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// How often `openat2` is asked again when a rename somewhere disturbed it.
const MAX_DISTURBED: usize = 16;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Which directory it is, whatever its path says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DirectoryIdentity {
    /// The file system.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

impl DirectoryIdentity {
    /// Returns the identity of an open directory.
    pub fn of(directory: BorrowedFd<'_>) -> Result<Self, Errno> {
        let found = fs::fstat(directory)?;
        Ok(Self {
            device: found.st_dev,
            inode: found.st_ino,
        })
    }
}

/// Opens the directory at an absolute path. Fails with `ELOOP` or `ENOTDIR` if any name of the path is a link.
pub(crate) fn open_without_links(path: &Path) -> Result<OwnedFd, Errno> {
    if !path.is_absolute() {
        return Err(Errno::INVAL);
    }
    for _ in 0..MAX_DISTURBED {
        match fs::openat2(
            CWD,
            path,
            DIRECTORY,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        ) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            // The call is missing, or a sandbox around us forbids it.
            Err(Errno::NOSYS | Errno::PERM) => break,
            opened => return opened,
        }
    }
    walk(path)
}

/// The same name by name.
fn walk(path: &Path) -> Result<OwnedFd, Errno> {
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut here = fs::openat(CWD, "/", step, Mode::empty())?;
    for name in path.components() {
        match name {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => {
                here = fs::openat(here.as_fd(), name.as_bytes(), step, Mode::empty())?;
            }
            Component::ParentDir | Component::Prefix(_) => return Err(Errno::INVAL),
        }
    }
    fs::openat(here.as_fd(), ".", DIRECTORY, Mode::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_on_the_way_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let place = place.path().canonicalize().unwrap();
        std::fs::create_dir_all(place.join("real/inner")).unwrap();
        std::os::unix::fs::symlink("real", place.join("link")).unwrap();
        let identity = |fd: OwnedFd| DirectoryIdentity::of(fd.as_fd()).unwrap();
        for open in [open_without_links, walk] {
            let inner = open(&place.join("real/inner")).map(identity).unwrap();
            let real = open(&place.join("real")).map(identity).unwrap();
            assert_ne!(inner, real);
            for linked in ["link", "link/inner"] {
                let refused = open(&place.join(linked)).unwrap_err();
                assert!(matches!(refused, Errno::LOOP | Errno::NOTDIR), "{refused}");
            }
            assert_eq!(open(&place.join("none")).unwrap_err(), Errno::NOENT);
        }
        assert_eq!(
            open_without_links(Path::new("real")).unwrap_err(),
            Errno::INVAL
        );
    }
}
