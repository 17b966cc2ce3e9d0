//! Errors of file operations in a workspace: chooses the `FileRefusal` for an errno value, and creates the errors
//! that several operations share. Their codes are in `refusal_tables`, their texts in `polis-i18n`. An error
//! contains no absolute path; the operating system's error is attached as the cause, for the operator.

use std::io;

use polis_core::id::quote_untrusted;
use polis_core::workspace::workspace_path::{PROJECT_DATA_DIR, WorkspacePath};
use polis_ops::PortError;
use rustix::io::Errno;

use super::beneath::RESERVED_NAME_ERRNO;
use crate::refusal_tables::FileRefusal;

/// Whether the failed operation was reading or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAccess {
    Reading,
    Writing,
}

impl FileAccess {
    /// Returns a function that maps an errno at `path` to a port error.
    pub(super) fn errno_mapper(self, path: &WorkspacePath) -> impl Fn(Errno) -> PortError + use<> {
        let path = path.to_string();
        move |errno| self.error_for_errno(errno, &path)
    }

    /// Returns a function that maps a `std::io::Error` at `path` to a port error.
    pub(super) fn io_error_mapper(
        self,
        path: &WorkspacePath,
    ) -> impl Fn(io::Error) -> PortError + use<> {
        let path = path.to_string();
        move |error| match Errno::from_io_error(&error) {
            Some(errno) => self.error_for_errno(errno, &path),
            None => self.unexpected_error(&path).with_source(error),
        }
    }

    fn error_for_errno(self, errno: Errno, path: &str) -> PortError {
        let named = quote_untrusted(path);
        let error = match errno {
            Errno::NOENT => return not_found(path),
            RESERVED_NAME_ERRNO => return reserved_name(path),
            Errno::XDEV => leaves_workspace(path),
            Errno::LOOP => PortError::from(FileRefusal::LinkLoop { named }),
            Errno::NOTDIR => not_a_directory(path),
            Errno::ISDIR => is_a_directory(path),
            Errno::ACCESS | Errno::PERM => PortError::from(FileRefusal::AccessDenied { named }),
            Errno::ROFS => PortError::from(FileRefusal::ReadOnlyFileSystem { named }),
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => not_a_file(path),
            Errno::NAMETOOLONG => PortError::from(FileRefusal::PathTooLong),
            Errno::NOSPC => PortError::from(FileRefusal::DiskFull { named }),
            Errno::DQUOT => PortError::from(FileRefusal::DiskQuotaExhausted { named }),
            Errno::FBIG => PortError::from(FileRefusal::MaximumFileSize { named }),
            Errno::MFILE | Errno::NFILE => PortError::from(match self {
                Self::Reading => FileRefusal::TooManyOpenForReading,
                Self::Writing => FileRefusal::TooManyOpenForWriting,
            }),
            _ => self.unexpected_error(path),
        };
        error.with_source(io::Error::from(errno))
    }

    fn unexpected_error(self, path: &str) -> PortError {
        let path = quote_untrusted(path);
        PortError::from(match self {
            Self::Reading => FileRefusal::NotRead { path },
            Self::Writing => FileRefusal::NotWritten { path },
        })
    }
}

pub(super) fn not_found(path: &str) -> PortError {
    PortError::from(FileRefusal::NotFound {
        path: quote_untrusted(path),
    })
}

pub(super) fn leaves_workspace(path: &str) -> PortError {
    PortError::from(FileRefusal::LinkLeavesWorkspace {
        path: quote_untrusted(path),
    })
}

/// Returns the error for a path that leads through the data of a project.
pub(super) fn reserved_name(path: &str) -> PortError {
    PortError::from(FileRefusal::LinkToReservedName {
        path: quote_untrusted(path),
        project_data_dir: PROJECT_DATA_DIR.to_string(),
    })
}

/// Returns the error for a workspace whose directory is not the one that was bound.
pub(super) fn workspace_replaced() -> PortError {
    PortError::from(FileRefusal::WorkspaceReplaced)
}

pub(super) fn is_a_directory(path: &str) -> PortError {
    PortError::from(FileRefusal::IsADirectory {
        path: quote_untrusted(path),
    })
}

pub(super) fn not_a_directory(path: &str) -> PortError {
    PortError::from(FileRefusal::NotADirectory {
        path: quote_untrusted(path),
    })
}

pub(super) fn not_a_file(path: &str) -> PortError {
    PortError::from(FileRefusal::NotAFile {
        path: quote_untrusted(path),
    })
}

pub(super) fn already_exists(path: &str) -> PortError {
    PortError::from(FileRefusal::AlreadyExists {
        path: quote_untrusted(path),
    })
}
