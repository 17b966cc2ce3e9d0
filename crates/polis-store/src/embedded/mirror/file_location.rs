//! Opens a board's file without following symlinks.
//!
//! Agents can write below the workspace with other tools, so a symlink may have been planted in place of a
//! directory or a board file. Each path component from the root is opened separately with `O_NOFOLLOW` and
//! must have the expected file type.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use polis_core::Code;
use polis_ops::PortError;
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Location of a file: an open directory handle and the file name in it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(super) directory: OwnedFd,
    pub(super) name: String,
}

/// Result of a stat at a location.
#[derive(Debug)]
pub(super) enum Sight {
    /// There is no file.
    Absent,
    /// A regular file.
    Regular(Seen),
}

/// Metadata that shows whether a file is the one we wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(super) bytes: u64,
    /// Modification time (mtime) in nanoseconds.
    pub(super) stamp: i64,
    pub(super) inode: u64,
    /// Time of the last inode change (ctime) in nanoseconds; programs cannot set it.
    pub(super) changed: i64,
}

impl Seen {
    fn of(stat: &Stat) -> Self {
        let time = |seconds: i64, nanos| {
            let nanos = i64::try_from(nanos).unwrap_or(0);
            seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
        };
        Self {
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            stamp: time(stat.st_mtime, stat.st_mtime_nsec),
            inode: stat.st_ino,
            changed: time(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Whether the content is unmodified since this metadata was read. Changes of permissions or of the link
    /// count do not count.
    pub(super) fn is_still(&self, now: &Self) -> bool {
        (self.bytes, self.stamp, self.inode) == (now.bytes, now.stamp, now.inode)
    }
}

impl Place {
    /// Resolves `path` (components separated by `/`) below `root`; `None` if a directory on the way is
    /// missing and `make` is false.
    pub(super) fn find(root: &Path, path: &str, make: bool) -> Result<Option<Self>, PortError> {
        match open_root(root) {
            Ok(root) => Self::below(&root, path, make),
            Err(Errno::NOENT) if make => {
                std::fs::create_dir_all(root).map_err(failed)?;
                Self::below(&open_root(root).map_err(errno)?, path, make)
            }
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(errno(error)),
        }
    }

    /// Like [`Place::find`], below a directory that is already open.
    pub(super) fn below(root: &OwnedFd, path: &str, make: bool) -> Result<Option<Self>, PortError> {
        let (directories, name) = match path.rsplit_once('/') {
            Some((directories, name)) => (Some(directories), name),
            None => (None, path),
        };
        let mut directory = None;
        for part in directories.into_iter().flat_map(|d| d.split('/')) {
            let above = directory.as_ref().unwrap_or(root);
            directory = match open_directory(above, part) {
                Ok(next) => Some(next),
                Err(Errno::NOENT) if make => {
                    match fs::mkdirat(above, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(errno(error)),
                    }
                    Some(open_directory(above, part).map_err(errno)?)
                }
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(errno(error)),
            };
        }
        let directory = match directory {
            Some(directory) => directory,
            None => root.try_clone().map_err(failed)?,
        };
        Ok(Some(Self {
            directory,
            name: name.to_owned(),
        }))
    }

    /// Stats the file without opening it.
    pub(super) fn look(&self) -> Result<Sight, PortError> {
        match fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                Ok(Sight::Regular(Seen::of(&stat)))
            }
            Ok(_) => Err(not_a_file()),
            Err(Errno::NOENT) => Ok(Sight::Absent),
            Err(error) => Err(errno(error)),
        }
    }

    /// Returns the permissions of the existing file, so that a replacement gets the same.
    pub(super) fn mode(&self) -> Option<Mode> {
        let stat = fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Mode::from_raw_mode(stat.st_mode & 0o777))
    }

    /// Opens the file; fails if it is not a regular file.
    pub(super) fn open(&self, flags: OFlags) -> Result<File, PortError> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(
            &self.directory,
            &self.name,
            flags,
            Mode::from_raw_mode(0o666),
        )
        .map_err(errno)?;
        let stat = fs::fstat(&file).map_err(errno)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(not_a_file());
        }
        Ok(File::from(file))
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Opens the root directory; the root itself may be reached through a symlink.
pub(super) fn open_root(root: &Path) -> Result<OwnedFd, Errno> {
    fs::openat(CWD, root, DIRECTORY, Mode::empty())
}

fn open_directory(above: &OwnedFd, part: &str) -> Result<OwnedFd, Errno> {
    fs::openat(above, part, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
}

/// Returns the current metadata of an open file.
pub(super) fn seen(file: &File) -> Result<Seen, PortError> {
    fs::fstat(file).map(|stat| Seen::of(&stat)).map_err(errno)
}

pub(super) fn errno(error: Errno) -> PortError {
    failed(io::Error::from(error))
}

/// Maps an I/O error to a [`PortError`].
pub(super) fn failed(error: io::Error) -> PortError {
    use io::ErrorKind as K;
    // Errors for a symlink, for a file or a directory in the wrong place, and for a FIFO.
    let other_kind = [
        Errno::LOOP,
        Errno::NOTDIR,
        Errno::ISDIR,
        Errno::NXIO,
        Errno::EXIST,
    ];
    if other_kind
        .map(|errno| Some(errno.raw_os_error()))
        .contains(&error.raw_os_error())
    {
        return not_a_file().because(error);
    }
    let (code, message, hint) = match error.kind() {
        K::PermissionDenied | K::ReadOnlyFilesystem => (
            Code::StoreReadOnly,
            "The board's file cannot be written; nothing was changed.",
            "check the permissions of the boards' directories and who owns them",
        ),
        K::StorageFull | K::QuotaExceeded | K::FileTooLarge => (
            Code::StoreFull,
            "The disk is full; nothing was changed.",
            "free some space and retry",
        ),
        _ => (
            Code::StoreUnavailable,
            "The board's file cannot be read or written.",
            "check the disk; with --verbose the cause is shown",
        ),
    };
    PortError::new(code, message, hint).because(error)
}

/// Returns the error for something other than a regular file at the location of a board's file.
pub(super) fn not_a_file() -> PortError {
    PortError::new(
        Code::NotAFile,
        "A link, a directory or a device stands where the board's file or its directory should be; polis does not \
         follow it.",
        "remove it: the file is then written again from the store",
    )
}
