//! Reads and atomically replaces a client's configuration file, and keeps a backup of the previous text.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use polis_core::{Code, Refusal};
use polis_ops::PortError;
use tempfile::NamedTempFile;

use super::config_location::Named;
use crate::error::Failure;

/// Maximum file size, in bytes. Claude Code's own file grows to some megabytes.
const MAX_BYTES: u64 = 64 << 20;
/// Maximum number of symlinks that are followed, as in the kernel.
const MAX_LINKS: usize = 40;
/// Maximum number of backups; after that the user has to remove some.
const MAX_COPIES: usize = 1_000;

/// Result of replacing a file.
#[derive(Debug)]
pub(super) enum Written {
    /// Replaced; the path of the backup, if there was a previous text.
    Done(Option<PathBuf>),
    /// Another process changed the file in the meantime.
    Overtaken,
}

impl Named {
    /// Reads the file, if it exists.
    pub(super) fn read(&self) -> Result<Option<String>, Failure> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unreadable(&error)),
        };
        if !metadata.is_file() {
            return Err(self.refuse(Code::NotAFile, "is not a file", "move it out of the way"));
        }
        if metadata.len() > MAX_BYTES {
            let why = format!("is larger than {} MiB", MAX_BYTES >> 20);
            return Err(self.refuse(
                Code::FileTooLarge,
                &why,
                "add the entry by hand: --print shows it",
            ));
        }
        let mut bytes = Vec::new();
        File::open(&self.path)
            .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes))
            .map_err(|error| self.unreadable(&error))?;
        let text = String::from_utf8(bytes).map_err(|_| {
            self.refuse(Code::NotText, "is not text in UTF-8", "convert it to UTF-8")
        })?;
        Ok(Some(text))
    }

    /// Replaces the text of the file atomically if it still is `before`. A symlink is kept and its target is written.
    /// The file keeps its owner and permissions.
    pub(super) fn replace(
        &self,
        before: Option<&str>,
        after: &str,
        private: bool,
    ) -> Result<Written, Failure> {
        let target = self.target()?;
        let directory = target.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory).map_err(|error| self.unwritable(&error))?;
        let existing = fs::metadata(&target).ok();
        if existing
            .as_ref()
            .is_some_and(|found| found.mode() & 0o222 == 0)
        {
            let hint = "make it writable, or add the entry by hand: --print shows it";
            return Err(self.refuse(Code::WriteFailed, "is read-only", hint));
        }
        let mode = match &existing {
            Some(found) => found.mode() & 0o7777,
            None if private => 0o600,
            None => 0o666,
        };
        let file = new_file(directory, mode, after).map_err(|error| self.unwritable(&error))?;
        let kept = match &existing {
            Some(found) => keep_owner_and_mode(file.as_file(), found),
            None => Ok(()),
        };
        kept.and_then(|()| file.as_file().sync_all())
            .map_err(|error| self.unwritable(&error))?;
        if self.read()?.as_deref() != before {
            return Ok(Written::Overtaken);
        }
        let copy = match before {
            Some(before) => Some(self.copy(before, mode)?),
            None => None,
        };
        let placed = if before.is_some() {
            file.persist(&target)
        } else {
            file.persist_noclobber(&target)
        };
        match placed {
            Ok(_) => {}
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
                return Ok(Written::Overtaken);
            }
            Err(error) => return Err(self.unwritable(&error.error)),
        }
        // Syncs the directory too. If that fails, a crash may bring back the old file, which is valid as well.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(Written::Done(copy))
    }

    /// Resolves symlinks to the path that is written, which need not exist.
    fn target(&self) -> Result<PathBuf, Failure> {
        let mut path = self.path.clone();
        for _ in 0..MAX_LINKS {
            match fs::read_link(&path) {
                Ok(next) => path = path.parent().unwrap_or(Path::new("/")).join(next),
                Err(_) => return Ok(path),
            }
        }
        Err(self.refuse(
            Code::NotAFile,
            "is a link that leads in a circle",
            "remove it",
        ))
    }

    /// Creates a backup next to the file. An existing backup with the same text is reused, and none is ever
    /// overwritten. The backup is renamed into place when it is complete, so that a concurrent process with the same
    /// text can reuse it.
    fn copy(&self, text: &str, mode: u32) -> Result<PathBuf, Failure> {
        let beside = self.path.parent().unwrap_or(Path::new("/"));
        let mut whole = new_file(beside, mode, text).map_err(|error| self.unwritable(&error))?;
        // The mode of a new file is reduced by the umask; a backup gets the mode of the original.
        let kept = whole
            .as_file()
            .set_permissions(fs::Permissions::from_mode(mode));
        kept.and_then(|()| whole.as_file().sync_all())
            .map_err(|error| self.unwritable(&error))?;
        let mut name = self.path.clone().into_os_string();
        name.push(".polis-backup");
        for number in 0..MAX_COPIES {
            let mut path = name.clone();
            if number > 0 {
                path.push(format!(".{number}"));
            }
            let path = PathBuf::from(path);
            match whole.persist_noclobber(&path) {
                Ok(_) => return Ok(path),
                Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
                    whole = error.file;
                    let kept = fs::symlink_metadata(&path).is_ok_and(|m| {
                        m.is_file() && usize::try_from(m.len()).is_ok_and(|len| len == text.len())
                    });
                    if kept && fs::read(&path).is_ok_and(|kept| kept == text.as_bytes()) {
                        return Ok(path);
                    }
                }
                Err(error) => return Err(self.unwritable(&error.error)),
            }
        }
        Err(self.refuse(
            Code::FileExists,
            "has too many copies beside it",
            "remove the .polis-backup files that you do not need",
        ))
    }

    fn refuse(&self, code: Code, what: &str, hint: &str) -> Failure {
        Refusal::new(
            code,
            format!("{} {what}; nothing was changed.", self.shown),
            hint,
        )
        .into()
    }

    fn unreadable(&self, error: &std::io::Error) -> Failure {
        PortError::new(
            Code::ReadFailed,
            format!("{} could not be read.", self.shown),
            "look whether you may read it; with --verbose the cause is shown",
        )
        .because(error.to_string())
        .into()
    }

    fn unwritable(&self, error: &std::io::Error) -> Failure {
        let (code, why) = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                (Code::StoreFull, "the disk is full")
            }
            _ => (
                Code::WriteFailed,
                "it, or its directory, may not be written",
            ),
        };
        PortError::new(
            code,
            format!("{} was not changed: {why}.", self.shown),
            "mend that and run the command again, or add the entry by hand: --print shows it",
        )
        .because(error.to_string())
        .into()
    }
}

/// Creates a temporary file with this text.
fn new_file(directory: &Path, mode: u32, text: &str) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".polis-")
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// Copies owner and mode of the old file to the new one, as far as permitted.
fn keep_owner_and_mode(file: &File, found: &fs::Metadata) -> std::io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (found.uid(), found.gid()) {
        // Changing the owner clears the set-id bits, so the mode is set afterwards.
        let _ = std::os::unix::fs::fchown(file, Some(found.uid()), Some(found.gid()));
    }
    file.set_permissions(fs::Permissions::from_mode(found.mode() & 0o7777))
}
