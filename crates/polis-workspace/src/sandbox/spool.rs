//! The file that holds the whole output of a command whose output is long.
//!
//! It exists only once some output is left out of the answer, so short commands make no file. It
//! lies in polis's own data, where commands cannot reach it. Old files go when their directory is
//! full.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

const PREFIX: &str = "output-";
const SUFFIX: &str = ".txt";

/// Where such files are, and how large they may get.
#[derive(Debug, Clone)]
pub(crate) struct SpoolPlace {
    /// Their directory; made when it is needed.
    pub(crate) directory: PathBuf,
    /// The largest a file may get, in bytes.
    pub(crate) file_quota: u64,
    /// What all of them may take together, in bytes. The oldest ones make room; one that is being
    /// written, and the newest, stay.
    pub(crate) directory_quota: u64,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spooled {
    /// Its name in the directory.
    pub(crate) name: String,
    /// How many bytes it holds.
    pub(crate) bytes: u64,
    /// Whether there was more, which did not fit or could not be written.
    pub(crate) cut: bool,
}

/// Takes the output of both streams in the order it was read.
#[derive(Debug)]
pub(crate) struct Spool {
    place: SpoolPlace,
    state: State,
}

#[derive(Debug)]
enum State {
    /// No file yet: all output so far.
    Waiting(Vec<u8>),
    /// The file, locked as long as it is written, so that nobody takes it for an old one.
    Writing { file: File, spooled: Spooled },
    /// No file could be made.
    Failed,
}

impl Spool {
    /// Nothing yet, and no file.
    pub(crate) fn new(place: SpoolPlace) -> Self {
        Self {
            place,
            state: State::Waiting(Vec::new()),
        }
    }

    /// Takes a piece of output. Before [`start`](Self::start) it is kept in memory: the caller
    /// starts the file as soon as it has more than it keeps itself.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        match &mut self.state {
            State::Waiting(kept) => kept.extend_from_slice(bytes),
            State::Writing { file, spooled } => {
                append(file, spooled, bytes, self.place.file_quota);
            }
            State::Failed => {}
        }
    }

    /// From now on output goes to the file, which begins with what was kept. A file that cannot be
    /// made is done without.
    pub(crate) fn start(&mut self) {
        let State::Waiting(kept) = &mut self.state else {
            return;
        };
        let kept = std::mem::take(kept);
        make_room(&self.place, None);
        self.state = match create(&self.place.directory) {
            Ok((mut file, name)) => {
                let mut spooled = Spooled {
                    name,
                    bytes: 0,
                    cut: false,
                };
                append(&mut file, &mut spooled, &kept, self.place.file_quota);
                State::Writing { file, spooled }
            }
            Err(_) => State::Failed,
        };
    }

    /// The file, if there is one.
    pub(crate) fn finish(self) -> Option<Spooled> {
        let State::Writing { file, spooled } = self.state else {
            return None;
        };
        if spooled.bytes == 0 {
            // A name that holds nothing helps nobody. If it cannot be removed, it is small.
            drop(fs::remove_file(self.place.directory.join(&spooled.name)));
            return None;
        }
        make_room(&self.place, Some(&spooled.name));
        drop(file);
        Some(spooled)
    }
}

/// Writes what fits. After the first failure nothing more is tried: a file with a hole would lie.
fn append(file: &mut File, spooled: &mut Spooled, bytes: &[u8], quota: u64) {
    if spooled.cut {
        return;
    }
    let left = usize::try_from(quota.saturating_sub(spooled.bytes)).unwrap_or(usize::MAX);
    let mut rest = bytes.get(..left).unwrap_or(bytes);
    spooled.cut = rest.len() < bytes.len();
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(written) if written > 0 => {
                spooled.bytes += u64::try_from(written).unwrap_or_default();
                rest = rest.get(written..).unwrap_or_default();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => {
                spooled.cut = true;
                return;
            }
        }
    }
}

/// A new file, for its owner alone.
fn create(directory: &Path) -> io::Result<(File, String)> {
    /// Distinguishes the files of this process; the process's number those of others.
    static NEXT: AtomicU64 = AtomicU64::new(1);
    /// A process of the same number may have left files before: those names are passed over.
    const TRIES: usize = 10_000;

    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..TRIES {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}{SUFFIX}", process::id());
        let made = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(directory.join(&name));
        match made {
            Ok(file) => {
                // Without locks on this file system a file may be removed while it is written;
                // its writer does not notice.
                drop(file.try_lock());
                return Ok((file, name));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

/// Removes the oldest files until the directory is within its quota. `newest` stays.
fn make_room(place: &SpoolPlace, newest: Option<&str>) {
    let Ok(entries) = fs::read_dir(&place.directory) else {
        return;
    };
    let mut total = 0_u64;
    let mut old = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let ours = name
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        // Of the entry itself: a link is not followed.
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
    if total <= place.directory_quota {
        return;
    }
    old.sort();
    for (_, name, bytes) in old {
        if total <= place.directory_quota {
            return;
        }
        let path = place.directory.join(name);
        let in_use = File::open(&path)
            .is_ok_and(|file| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)));
        if !in_use && fs::remove_file(path).is_ok() {
            total = total.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
