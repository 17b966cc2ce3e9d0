//! Spool file with the complete output of a command whose output is long.
//!
//! It is created only when output is omitted from the result, so short commands create no file. It is in
//! polis's data directory, which commands cannot write to, except in tier T2. The oldest files are removed when
//! the directory exceeds its quota.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use polis_core::number::saturating_cast;

const SPOOL_PREFIX: &str = "output-";
const SPOOL_SUFFIX: &str = ".txt";

/// Directory of spool files, with quotas.
#[derive(Debug, Clone)]
pub(crate) struct SpoolDirectory {
    /// Path of the directory; created when needed.
    pub(crate) directory: PathBuf,
    /// Maximum size of a file in bytes.
    pub(crate) file_quota: u64,
    /// Maximum total size in bytes. The oldest files are removed; files being written and the newest one
    /// stay.
    pub(crate) directory_quota: u64,
}

/// A finished spool file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpoolFile {
    /// Name in the directory.
    pub(crate) name: String,
    /// Size in bytes.
    pub(crate) bytes: u64,
    /// Whether output is missing because it exceeded the quota or could not be written.
    pub(crate) is_truncated: bool,
}

/// Spools the output of both streams in the order it was read.
#[derive(Debug)]
pub(crate) struct OutputSpool {
    directory: SpoolDirectory,
    state: SpoolState,
}

#[derive(Debug)]
enum SpoolState {
    /// No file yet: all output so far.
    Buffering(Vec<u8>),
    /// The file, locked while it is written, so that it is not removed as an old one.
    Writing { file: File, spooled: SpoolFile },
    /// No file could be created.
    Failed,
}

impl OutputSpool {
    /// Creates an empty spool without a file.
    pub(crate) fn new(spool_directory: SpoolDirectory) -> Self {
        Self {
            directory: spool_directory,
            state: SpoolState::Buffering(Vec::new()),
        }
    }

    /// Adds a piece of output. Before [`start_file`](Self::start_file) it is kept in memory: the caller
    /// starts the file as soon as it has more output than it keeps itself.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        match &mut self.state {
            SpoolState::Buffering(buffer) => buffer.extend_from_slice(bytes),
            SpoolState::Writing { file, spooled } => {
                append_within_quota(file, spooled, bytes, self.directory.file_quota);
            }
            SpoolState::Failed => {}
        }
    }

    /// Creates the file and writes the output so far to it. If the file cannot be created, the spool is
    /// disabled.
    pub(crate) fn start_file(&mut self) {
        let SpoolState::Buffering(buffer) = &mut self.state else {
            return;
        };
        let buffer = std::mem::take(buffer);
        remove_oldest_files(&self.directory, None);
        self.state = match create_spool_file(&self.directory.directory) {
            Ok((mut file, name)) => {
                let mut spooled = SpoolFile {
                    name,
                    bytes: 0,
                    is_truncated: false,
                };
                append_within_quota(&mut file, &mut spooled, &buffer, self.directory.file_quota);
                SpoolState::Writing { file, spooled }
            }
            Err(_) => SpoolState::Failed,
        };
    }

    /// Finishes the file and returns it, if there is one.
    pub(crate) fn finish(self) -> Option<SpoolFile> {
        let SpoolState::Writing { file, spooled } = self.state else {
            return None;
        };
        if spooled.bytes == 0 {
            // An empty file is of no use. If it cannot be removed, it is small.
            drop(fs::remove_file(
                self.directory.directory.join(&spooled.name),
            ));
            return None;
        }
        remove_oldest_files(&self.directory, Some(&spooled.name));
        drop(file);
        Some(spooled)
    }
}

/// Writes up to the quota. Stops at the first failure: a file with a gap would be misleading.
fn append_within_quota(file: &mut File, spooled: &mut SpoolFile, bytes: &[u8], quota: u64) {
    if spooled.is_truncated {
        return;
    }
    let left = saturating_cast::<usize>(quota.saturating_sub(spooled.bytes));
    let mut rest = bytes.get(..left).unwrap_or(bytes);
    spooled.is_truncated = rest.len() < bytes.len();
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(written) if written > 0 => {
                spooled.bytes += u64::try_from(written).unwrap_or_default();
                rest = rest.get(written..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => {
                spooled.is_truncated = true;
                return;
            }
        }
    }
}

/// Creates a file that only its owner can read.
fn create_spool_file(directory: &Path) -> io::Result<(File, String)> {
    /// Distinguishes the files of this process; the process ID distinguishes processes.
    static NEXT: AtomicU64 = AtomicU64::new(1);
    /// Names of files left by a process with the same ID are skipped.
    const MAX_SPOOL_NAME_ATTEMPTS: usize = 10_000;

    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let mut last_error = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..MAX_SPOOL_NAME_ATTEMPTS {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{SPOOL_PREFIX}{}-{number}{SPOOL_SUFFIX}", process::id());
        let result = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(directory.join(&name));
        match result {
            Ok(file) => {
                // Without lock support a file may be removed while it is written; its writer does not notice.
                drop(file.try_lock());
                return Ok((file, name));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last_error = error,
            Err(error) => return Err(error),
        }
    }
    Err(last_error)
}

/// Removes the oldest files until the directory is within its quota. Keeps `newest`.
fn remove_oldest_files(spool_directory: &SpoolDirectory, newest: Option<&str>) {
    let Ok(entries) = fs::read_dir(&spool_directory.directory) else {
        return;
    };
    let mut total = 0_u64;
    let mut old = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name
            .to_str()
            .is_some_and(|name| name.starts_with(SPOOL_PREFIX) && name.ends_with(SPOOL_SUFFIX));
        // Metadata of the entry itself: links are not followed.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if !ours || !metadata.is_file() {
            continue;
        }
        total = total.saturating_add(metadata.len());
        if newest.is_none_or(|newest| name != newest) {
            old.push((metadata.modified().ok(), name, metadata.len()));
        }
    }
    if total <= spool_directory.directory_quota {
        return;
    }
    old.sort();
    for (_, name, bytes) in old {
        if total <= spool_directory.directory_quota {
            return;
        }
        let path = spool_directory.directory.join(name);
        let in_use = File::open(&path)
            .is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)));
        if !in_use && fs::remove_file(path).is_ok() {
            total = total.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
