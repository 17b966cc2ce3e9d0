//! What the kernel says, in our words: a code, a sentence and a next step, without a path of this
//! machine. The kernel's own words go along as the cause, for the operator.

use std::io;

use polis_core::Code;
use polis_core::id::quoted;
use polis_core::workspace::path::{PROJECT_DATA, WorkspacePath};
use polis_ops::PortError;
use rustix::io::Errno;

use super::beneath::RESERVED;

/// What was being done when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    Reading,
    Writing,
}

impl Doing {
    /// Turns an answer of the kernel about `path` into ours.
    pub(super) fn at(self, path: &WorkspacePath) -> impl Fn(Errno) -> PortError + use<> {
        let path = path.to_string();
        move |errno| self.failed(errno, &path)
    }

    /// The same for failures of `std`.
    pub(super) fn io_at(self, path: &WorkspacePath) -> impl Fn(io::Error) -> PortError + use<> {
        let path = path.to_string();
        move |error| match Errno::from_io_error(&error) {
            Some(errno) => self.failed(errno, &path),
            None => self.unforeseen(&path).because(error),
        }
    }

    fn failed(self, errno: Errno, path: &str) -> PortError {
        let named = quoted(path);
        let error = match errno {
            Errno::NOENT => return not_found(path),
            RESERVED => return reserved(path),
            Errno::XDEV => leads_out(path),
            Errno::LOOP => PortError::new(
                Code::NotAFile,
                format!("The links at {named} lead nowhere, or must not be followed."),
                "remove the link, or use the path it was meant to lead to",
            ),
            Errno::NOTDIR => not_a_directory(path),
            Errno::ISDIR => is_a_directory(path),
            Errno::ACCESS | Errno::PERM => PortError::new(
                Code::PermissionDenied,
                format!("The system does not allow this at {named}; nothing was changed."),
                "check who owns the file and its directory, and their permissions",
            ),
            Errno::ROFS => PortError::new(
                Code::PermissionDenied,
                format!("{named} is on a file system that is read-only; nothing was changed."),
                "write elsewhere, or have the file system mounted for writing",
            ),
            Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => not_a_file(path),
            Errno::NAMETOOLONG => PortError::new(
                Code::InvalidInput,
                "The path, or a name in it, is too long for this file system.",
                "use shorter names or fewer directories",
            ),
            Errno::NOSPC => PortError::new(
                Code::WriteFailed,
                format!("The disk is full: {named} was not written; nothing was changed."),
                "free some space and retry",
            ),
            Errno::DQUOT => PortError::new(
                Code::QuotaExceeded,
                format!("The disk quota is used up: {named} was not written."),
                "delete what is not needed, or have the quota raised",
            ),
            Errno::FBIG => PortError::new(
                Code::WriteFailed,
                format!("{named} would be larger than a file may be here; nothing was changed."),
                "write less, or have the limit raised",
            ),
            Errno::MFILE | Errno::NFILE => PortError::new(
                self.code(),
                "Too many files are open at once.",
                "retry; if it lasts, have the limit of open files raised",
            ),
            _ => self.unforeseen(path),
        };
        error.because(io::Error::from(errno))
    }

    fn code(self) -> Code {
        match self {
            Self::Reading => Code::ReadFailed,
            Self::Writing => Code::WriteFailed,
        }
    }

    fn unforeseen(self, path: &str) -> PortError {
        let what = match self {
            Self::Reading => "read",
            Self::Writing => "written",
        };
        PortError::new(
            self.code(),
            format!("{} could not be {what}.", quoted(path)),
            "retry; if it lasts, check the disk",
        )
    }
}

pub(super) fn not_found(path: &str) -> PortError {
    PortError::new(
        Code::FileNotFound,
        format!("There is no file {}.", quoted(path)),
        "list the directory to see what is there",
    )
}

pub(super) fn leads_out(path: &str) -> PortError {
    PortError::new(
        Code::PathTraversalBlocked,
        format!(
            "A link on the way to {} leads out of the workspace.",
            quoted(path)
        ),
        "use a path inside the workspace; links inside have to be relative",
    )
}

/// The refusal for a path that leads through the data of a project.
pub(super) fn reserved(path: &str) -> PortError {
    PortError::new(
        Code::InvalidInput,
        format!(
            "A link on the way to {} leads to {PROJECT_DATA}, which is reserved for the data of a polis project.",
            quoted(path)
        ),
        "use another path; delete the link if nothing else needs it",
    )
}

/// The refusal for a workspace whose directory is not the one that was bound.
pub(super) fn replaced() -> PortError {
    PortError::new(
        Code::InvalidWorkspace,
        "The directory of the workspace was replaced by another one or by a link since it was bound; nothing was done.",
        "look at the directory; have the person bind the workspace again: `polis ws bind`",
    )
}

pub(super) fn is_a_directory(path: &str) -> PortError {
    PortError::new(
        Code::IsADirectory,
        format!("{} is a directory.", quoted(path)),
        "name a file in it, or list the directory",
    )
}

pub(super) fn not_a_directory(path: &str) -> PortError {
    PortError::new(
        Code::NotADirectory,
        format!(
            "{} is not a directory, or something on the way there is none.",
            quoted(path)
        ),
        "list the directories above to see what is there",
    )
}

pub(super) fn not_a_file(path: &str) -> PortError {
    PortError::new(
        Code::NotAFile,
        format!(
            "{} is neither a file nor a directory, but a pipe, a socket, a device or a link.",
            quoted(path)
        ),
        "use another path",
    )
}

pub(super) fn exists(path: &str) -> PortError {
    PortError::new(
        Code::FileExists,
        format!(
            "There is a file {} already; nothing was changed.",
            quoted(path)
        ),
        "use another name, or ask for the file to be replaced",
    )
}

pub(super) fn invalid(message: impl Into<String>, hint: impl Into<String>) -> PortError {
    PortError::new(Code::InvalidInput, message, hint)
}
