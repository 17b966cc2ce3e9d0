//! Where something is put or taken away: a directory held open, and a name in it.
//!
//! What is done at a place cannot leave it: the directory was found beneath the workspace, and the
//! name is a single one. Directories on the way are made here, and taken back when what they were
//! made for is refused.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use polis_core::workspace::path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::beneath::{is_reserved, kind, look, read_link};
use super::fault::{self, Doing};

/// For a directory in which something is changed: it is synchronised afterwards.
pub(super) const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// The most links at the end of a path that are followed.
const MAX_LINKS: usize = 40;

/// A directory: the workspace itself, or one below it.
#[derive(Debug)]
pub(super) enum Dir<'a> {
    Root(BorrowedFd<'a>),
    Below(OwnedFd),
}

impl AsFd for Dir<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Root(fd) => *fd,
            Self::Below(fd) => fd.as_fd(),
        }
    }
}

/// A directory and a name in it.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) dir: Dir<'a>,
    pub(super) name: Vec<u8>,
}

impl Place<'_> {
    /// What is there.
    pub(super) fn look(&self) -> Result<Option<fs::Stat>, Errno> {
        look(self.dir.as_fd(), &self.name)
    }

    /// Makes the directory's entries durable.
    pub(super) fn sync(&self) -> Result<(), Errno> {
        sync_directory(self.dir.as_fd())
    }
}

/// Directories that were made on the way.
#[derive(Debug, Default)]
pub(super) struct Made(Vec<(OwnedFd, Vec<u8>)>);

impl Made {
    /// Makes them durable.
    pub(super) fn sync(&self) -> Result<(), Errno> {
        self.0
            .iter()
            .try_for_each(|(above, _)| sync_directory(above.as_fd()))
    }

    /// Takes back those that nobody has put anything into.
    pub(super) fn undo(&self) {
        for (above, name) in self.0.iter().rev() {
            let _ = fs::unlinkat(above, name.as_slice(), AtFlags::REMOVEDIR);
        }
    }
}

impl WorkspaceDir {
    /// The workspace itself.
    pub(super) fn top(&self) -> Dir<'_> {
        Dir::Root(self.root.as_fd())
    }

    /// Opens a directory below the workspace.
    pub(super) fn directory(&self, path: &[u8]) -> Result<Dir<'_>, Errno> {
        if path.is_empty() {
            return Ok(self.top());
        }
        let fd = self.resolver.open(self.root.as_fd(), path, DIRECTORY)?;
        Ok(Dir::Below(fd))
    }

    /// The same, and makes what is missing on the way.
    pub(super) fn directory_made(
        &self,
        path: &WorkspacePath,
        directory: &str,
        made: &mut Made,
    ) -> Result<Dir<'_>, PortError> {
        let failed = Doing::Writing.at(path);
        match self.directory(directory.as_bytes()) {
            Err(Errno::NOENT) => {}
            answer => return answer.map_err(failed),
        }
        let mut above = self.top();
        let mut end = 0;
        for name in directory.split('/') {
            end += name.len();
            let so_far = directory.get(..end).unwrap_or(directory).as_bytes();
            end += 1;
            above = match self.directory(so_far) {
                Ok(next) => next,
                Err(Errno::NOENT) => self.make_directory(&above, name, so_far, made).map_err(
                    // A link that leads nowhere is in the way.
                    |errno| match errno {
                        Errno::NOENT => fault::not_a_directory(&path.to_string()),
                        errno => failed(errno),
                    },
                )?,
                Err(errno) => return Err(failed(errno)),
            };
        }
        Ok(above)
    }

    /// Makes one directory; one that came up meanwhile is fine.
    fn make_directory(
        &self,
        above: &Dir<'_>,
        name: &str,
        path: &[u8],
        made: &mut Made,
    ) -> Result<Dir<'_>, Errno> {
        match fs::mkdirat(above, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {}
            Err(Errno::EXIST) => return self.directory(path),
            Err(errno) => return Err(errno),
        }
        let held = rustix::io::fcntl_dupfd_cloexec(above, 0)?;
        made.0.push((held, name.as_bytes().to_vec()));
        let fd = fs::openat(above, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
        self.give_to_owner(fd.as_fd())?;
        Ok(Dir::Below(fd))
    }

    /// The place a path means. A link at its end is the place itself.
    pub(super) fn place(&self, path: &WorkspacePath, doing: Doing) -> Result<Place<'_>, PortError> {
        let (directory, name) = split(path)?;
        Ok(Place {
            dir: self
                .directory(directory.as_bytes())
                .map_err(doing.at(path))?,
            name: name.as_bytes().to_vec(),
        })
    }

    /// The same, and makes the directories on the way.
    pub(super) fn place_made(
        &self,
        path: &WorkspacePath,
        made: &mut Made,
    ) -> Result<Place<'_>, PortError> {
        let (directory, name) = split(path)?;
        Ok(Place {
            dir: self.directory_made(path, directory, made)?,
            name: name.as_bytes().to_vec(),
        })
    }

    /// Where the link leads that may be at a place; the place itself if there is none. So a file
    /// is replaced where it is, and the link to it stays.
    pub(super) fn behind_links<'a>(
        &'a self,
        path: &WorkspacePath,
        mut place: Place<'a>,
    ) -> Result<Place<'a>, PortError> {
        let failed = Doing::Writing.at(path);
        let mut at = split(path)?.0.as_bytes().to_vec();
        for _ in 0..MAX_LINKS {
            match place.look().map_err(&failed)? {
                Some(stat) if kind(&stat) == FileType::Symlink => {}
                _ => return Ok(place),
            }
            let link = match read_link(place.dir.as_fd(), &place.name) {
                Ok(link) => link,
                // It is gone again.
                Err(Errno::INVAL | Errno::NOENT) => continue,
                Err(errno) => return Err(failed(errno)),
            };
            if link.starts_with(b"/") {
                return Err(fault::leads_out(&path.to_string()));
            }
            if !at.is_empty() {
                at.push(b'/');
            }
            at.extend_from_slice(&link);
            let (directory, name) = match at.iter().rposition(|byte| *byte == b'/') {
                Some(slash) => (
                    at.get(..slash).unwrap_or_default(),
                    at.get(slash + 1..).unwrap_or_default(),
                ),
                None => (&[][..], at.as_slice()),
            };
            if matches!(name, b"" | b"." | b"..") {
                self.directory(&at).map_err(&failed)?;
                return Err(fault::is_a_directory(&path.to_string()));
            }
            place = Place {
                dir: self.directory(directory).map_err(&failed)?,
                name: name.to_vec(),
            };
            if is_reserved(name) {
                return Err(fault::reserved(&path.to_string()));
            }
            at = directory.to_vec();
        }
        Err(failed(Errno::LOOP))
    }
}

/// Makes a directory's entries durable, as far as its file system can.
pub(super) fn sync_directory(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    match fs::fsync(fd) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(()),
        answer => answer,
    }
}

fn split(path: &WorkspacePath) -> Result<(&str, &str), PortError> {
    path.split().ok_or_else(|| {
        fault::invalid(
            "The workspace itself cannot be deleted, moved or replaced.",
            "name a file or directory in it",
        )
    })
}
