//! Reads a client's configuration file, and replaces it atomically unless another process has changed it.
//!
//! Every replacement leaves a numbered backup of the previous text next to it. Backups are never overwritten
//! or removed; one with the same text is reused. Symlinks, owner and mode are kept.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use polis_ops::PortError;
use tempfile::NamedTempFile;

use super::config_location::ConfigFile;
use crate::error::CliError;
use crate::refusal_tables::InstallRefusal;

/// Maximum file size, in bytes. Claude Code's own file grows to some megabytes.
const MAX_CONFIG_BYTES: u64 = 64 << 20;
/// Maximum number of symlinks that are followed, as in the kernel.
const MAX_SYMLINKS: usize = 40;
/// Maximum number of backups; after that the user has to remove some.
const MAX_BACKUPS: usize = 1_000;

/// Result of replacing a file.
#[derive(Debug)]
pub(super) enum ReplaceOutcome {
    /// Replaced; the path of the backup, if there was a previous text.
    Replaced(Option<PathBuf>),
    /// Another process changed the file in the meantime.
    ConcurrentChange,
}

impl ConfigFile {
    /// Reads the file, if it exists.
    pub(super) fn read_text(&self) -> Result<Option<String>, CliError> {
        let metadata = match fs::metadata(&self.path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.read_error(&error)),
        };
        if !metadata.is_file() {
            return Err(CliError::from(InstallRefusal::FileIsNoFile {
                file: self.name(),
            }));
        }
        if metadata.len() > MAX_CONFIG_BYTES {
            return Err(CliError::from(InstallRefusal::FileTooLarge {
                file: self.name(),
                mebibytes: MAX_CONFIG_BYTES >> 20,
            }));
        }
        let mut bytes = Vec::new();
        File::open(&self.path)
            .and_then(|file| file.take(MAX_CONFIG_BYTES).read_to_end(&mut bytes))
            .map_err(|error| self.read_error(&error))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| CliError::from(InstallRefusal::FileNotText { file: self.name() }))?;
        Ok(Some(text))
    }

    /// Replaces the text of the file atomically if it still is `before`. A symlink is kept and its target is
    /// written. The file keeps its owner and permissions.
    pub(super) fn replace_text(
        &self,
        before: Option<&str>,
        after: &str,
        private: bool,
    ) -> Result<ReplaceOutcome, CliError> {
        let target = self.resolve_target()?;
        let directory = target.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(directory).map_err(|error| self.write_error(&error))?;
        let existing = fs::metadata(&target).ok();
        if existing
            .as_ref()
            .is_some_and(|found| found.mode() & 0o222 == 0)
        {
            return Err(CliError::from(InstallRefusal::FileReadOnly {
                file: self.name(),
            }));
        }
        let mode = match &existing {
            Some(found) => found.mode() & 0o7777,
            None if private => 0o600,
            None => 0o666,
        };
        let file =
            create_temp_file(directory, mode, after).map_err(|error| self.write_error(&error))?;
        let result = match &existing {
            Some(found) => copy_owner_and_mode(file.as_file(), found),
            None => Ok(()),
        };
        result
            .and_then(|()| file.as_file().sync_all())
            .map_err(|error| self.write_error(&error))?;
        if self.read_text()?.as_deref() != before {
            return Ok(ReplaceOutcome::ConcurrentChange);
        }
        let copy = match before {
            Some(before) => Some(self.create_backup(before, mode)?),
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
                return Ok(ReplaceOutcome::ConcurrentChange);
            }
            Err(error) => return Err(self.write_error(&error.error)),
        }
        // Syncs the directory too (fsync). If that fails, a crash may bring back the old file, which is valid
        // too.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
        Ok(ReplaceOutcome::Replaced(copy))
    }

    /// Resolves symlinks to the path that is written, which need not exist.
    fn resolve_target(&self) -> Result<PathBuf, CliError> {
        let mut path = self.path.clone();
        for _ in 0..MAX_SYMLINKS {
            match fs::read_link(&path) {
                Ok(next) => path = path.parent().unwrap_or(Path::new("/")).join(next),
                Err(_) => return Ok(path),
            }
        }
        Err(CliError::from(InstallRefusal::FileSymlinkLoop {
            file: self.name(),
        }))
    }

    /// Creates a backup next to the file. An existing backup with the same text is reused, and none is ever
    /// overwritten. The backup is renamed into place when it is complete, so that a concurrent process with
    /// the same text can reuse it.
    fn create_backup(&self, text: &str, mode: u32) -> Result<PathBuf, CliError> {
        let directory = self.path.parent().unwrap_or(Path::new("/"));
        let mut temp_file =
            create_temp_file(directory, mode, text).map_err(|error| self.write_error(&error))?;
        // The mode of a new file is reduced by the umask; a backup gets the mode of the original.
        let result = temp_file
            .as_file()
            .set_permissions(fs::Permissions::from_mode(mode));
        result
            .and_then(|()| temp_file.as_file().sync_all())
            .map_err(|error| self.write_error(&error))?;
        let mut name = self.path.clone().into_os_string();
        name.push(".polis-backup");
        for number in 0..MAX_BACKUPS {
            let mut path = name.clone();
            if number > 0 {
                path.push(format!(".{number}"));
            }
            let path = PathBuf::from(path);
            match temp_file.persist_noclobber(&path) {
                Ok(_) => return Ok(path),
                Err(error) if error.error.kind() == ErrorKind::AlreadyExists => {
                    temp_file = error.file;
                    let same_size = fs::symlink_metadata(&path).is_ok_and(|m| {
                        m.is_file() && usize::try_from(m.len()).is_ok_and(|len| len == text.len())
                    });
                    if same_size && fs::read(&path).is_ok_and(|backup| backup == text.as_bytes()) {
                        return Ok(path);
                    }
                }
                Err(error) => return Err(self.write_error(&error.error)),
            }
        }
        Err(CliError::from(InstallRefusal::TooManyBackups {
            file: self.name(),
        }))
    }

    fn name(&self) -> String {
        self.display_name.to_string()
    }

    fn read_error(&self, error: &std::io::Error) -> CliError {
        PortError::from(InstallRefusal::FileUnreadable {
            file: self.display_name.to_string(),
        })
        .with_source(error.to_string())
        .into()
    }

    fn write_error(&self, error: &std::io::Error) -> CliError {
        let file = self.name();
        PortError::from(match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => InstallRefusal::DiskFull { file },
            _ => InstallRefusal::FileNotWritable { file },
        })
        .with_source(error.to_string())
        .into()
    }
}

/// Creates a temporary file with this text.
fn create_temp_file(directory: &Path, mode: u32, text: &str) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix(".polis-")
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

/// Copies owner and mode of the old file to the new one, as far as permitted.
fn copy_owner_and_mode(file: &File, found: &fs::Metadata) -> std::io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (found.uid(), found.gid()) {
        // Changing the owner clears the set-id bits, so the mode is set afterwards.
        let _ = std::os::unix::fs::fchown(file, Some(found.uid()), Some(found.gid()));
    }
    file.set_permissions(fs::Permissions::from_mode(found.mode() & 0o7777))
}
