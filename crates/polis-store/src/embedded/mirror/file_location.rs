//! Opens a board's file without following symlinks (`openat` with `O_NOFOLLOW`), and maps I/O errors.
//!
//! Agents can write to the directories of the boards with tools of their own, so a symlink may have been
//! planted in place of a directory or a board file. Each path component from the root is opened separately
//! with `O_NOFOLLOW` and must have the expected file type; otherwise the access fails with `NotAFile`.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use polis_ops::PortError;
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::store_failure::StoreFailure;

/// Location of a file: an open directory handle and the file name in it.
#[derive(Debug)]
pub(crate) struct FileLocation {
    pub(super) directory: OwnedFd,
    pub(super) name: String,
}

/// Result of a stat at a location.
#[derive(Debug)]
pub(super) enum StatResult {
    /// There is no file at the location.
    Absent,
    /// A regular file, with its metadata.
    Regular(FileFingerprint),
}

/// Metadata that shows whether a file is the one we wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileFingerprint {
    pub(super) bytes: u64,
    /// Modification time (mtime) in nanoseconds.
    pub(super) mtime_nanos: i64,
    pub(super) inode: u64,
    /// Time of the last inode change (ctime) in nanoseconds; programs cannot set it.
    pub(super) ctime_nanos: i64,
}

impl FileFingerprint {
    fn from_stat(stat: &Stat) -> Self {
        let time = |seconds: i64, nanos| {
            let nanos = i64::try_from(nanos).unwrap_or(0);
            seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
        };
        Self {
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            mtime_nanos: time(stat.st_mtime, stat.st_mtime_nsec),
            inode: stat.st_ino,
            ctime_nanos: time(stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Whether the content is unmodified since this metadata was read. Changes of permissions or of the link
    /// count do not count.
    pub(super) fn is_unmodified(&self, now: &Self) -> bool {
        (self.bytes, self.mtime_nanos, self.inode) == (now.bytes, now.mtime_nanos, now.inode)
    }
}

impl FileLocation {
    /// Resolves `path` (components separated by `/`) below `root`; `None` if a directory on the way is
    /// missing and `create` is false.
    pub(super) fn resolve(
        root: &Path,
        path: &str,
        create: bool,
    ) -> Result<Option<Self>, PortError> {
        match open_root(root) {
            Ok(root) => Self::resolve_below(&root, path, create),
            Err(Errno::NOENT) if create => {
                std::fs::create_dir_all(root).map_err(port_error_from_io)?;
                Self::resolve_below(
                    &open_root(root).map_err(port_error_from_errno)?,
                    path,
                    create,
                )
            }
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(port_error_from_errno(error)),
        }
    }

    /// Like [`FileLocation::resolve`], below a directory that is already open.
    pub(super) fn resolve_below(
        root: &OwnedFd,
        path: &str,
        create: bool,
    ) -> Result<Option<Self>, PortError> {
        let (directories, name) = match path.rsplit_once('/') {
            Some((directories, name)) => (Some(directories), name),
            None => (None, path),
        };
        let mut directory = None;
        for part in directories.into_iter().flat_map(|d| d.split('/')) {
            let parent = directory.as_ref().unwrap_or(root);
            directory = match open_directory(parent, part) {
                Ok(next) => Some(next),
                Err(Errno::NOENT) if create => {
                    match fs::mkdirat(parent, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(port_error_from_errno(error)),
                    }
                    Some(open_directory(parent, part).map_err(port_error_from_errno)?)
                }
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(port_error_from_errno(error)),
            };
        }
        let directory = match directory {
            Some(directory) => directory,
            None => root.try_clone().map_err(port_error_from_io)?,
        };
        Ok(Some(Self {
            directory,
            name: name.to_owned(),
        }))
    }

    /// Stats the file without opening it.
    pub(super) fn stat(&self) -> Result<StatResult, PortError> {
        match fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                Ok(StatResult::Regular(FileFingerprint::from_stat(&stat)))
            }
            Ok(_) => Err(not_a_file_error()),
            Err(Errno::NOENT) => Ok(StatResult::Absent),
            Err(error) => Err(port_error_from_errno(error)),
        }
    }

    /// Returns the permissions of the existing file, so that a replacement gets the same.
    pub(super) fn permissions(&self) -> Option<Mode> {
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
        .map_err(port_error_from_errno)?;
        let stat = fs::fstat(&file).map_err(port_error_from_errno)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(not_a_file_error());
        }
        Ok(File::from(file))
    }
}

const DIRECTORY_FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Opens the root directory; the root itself may be reached through a symlink.
pub(super) fn open_root(root: &Path) -> Result<OwnedFd, Errno> {
    fs::openat(CWD, root, DIRECTORY_FLAGS, Mode::empty())
}

fn open_directory(parent: &OwnedFd, part: &str) -> Result<OwnedFd, Errno> {
    fs::openat(
        parent,
        part,
        DIRECTORY_FLAGS | OFlags::NOFOLLOW,
        Mode::empty(),
    )
}

/// Returns the current metadata of an open file.
pub(super) fn read_fingerprint(file: &File) -> Result<FileFingerprint, PortError> {
    fs::fstat(file)
        .map(|stat| FileFingerprint::from_stat(&stat))
        .map_err(port_error_from_errno)
}

pub(super) fn port_error_from_errno(error: Errno) -> PortError {
    port_error_from_io(io::Error::from(error))
}

/// Maps an I/O error to a [`PortError`].
pub(super) fn port_error_from_io(error: io::Error) -> PortError {
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
        return not_a_file_error().with_source(error);
    }
    let failure = match error.kind() {
        K::PermissionDenied | K::ReadOnlyFilesystem => StoreFailure::BoardFileNotWritable,
        K::StorageFull | K::QuotaExceeded | K::FileTooLarge => StoreFailure::DiskFull,
        _ => StoreFailure::BoardFileUnavailable,
    };
    PortError::from(failure).with_source(error)
}

/// Returns the error for something other than a regular file at the location of a board's file.
pub(super) fn not_a_file_error() -> PortError {
    PortError::from(StoreFailure::BoardFileIsNoFile)
}
