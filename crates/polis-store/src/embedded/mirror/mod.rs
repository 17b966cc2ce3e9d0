//! Mirrors boards as Markdown files: written after a commit, checked for external edits before a board is
//! used.
//!
//! The store is authoritative and the file follows it. Files are written without fsync, because a crash
//! between commit and file write is repaired from the log. Each version's file is given a specific
//! modification time, so a single stat shows which version the file has, or that another program changed it
//! ([`mod@examine`]). [`mod@write`] writes files, [`place`] opens them without following symlinks, [`copies`]
//! keeps backups of overwritten versions, [`intent`] records writes for crash recovery.

mod backups;
mod discovery;
mod file_location;
mod intent;
mod mtime_stamp;
mod reconcile;
mod text_cache;
mod write;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use polis_core::board::BoardName;
use polis_ops::PortError;
use rustix::fs::{FlockOperation, OFlags};

use super::boards::Kept;
use super::lock::flock_polling;
use file_location::{Place, Seen, Sight, errno, open_root, seen};
use intent::LockFiles;
use mtime_stamp::is_given;
use text_cache::Texts;

pub(super) use mtime_stamp::stamp;
pub(super) use reconcile::{Examined, Finding, examine, now};
pub(super) use write::{Disk, Pending, Work, prepare};

/// Directory of the whiteboards.
const WHITEBOARDS: &str = "whiteboards";
/// Directory of the blackboard, unless it is next to the store's directory.
const BLACKBOARD: &str = "blackboard";
/// Directory of locks, intents and temporary files.
const LOCKS: &str = "whiteboards/.locks";
/// Directory of readable copies of overwritten versions.
const HISTORY: &str = "whiteboard-history";

/// Default number of versions to keep.
const KEEP: u32 = 10;

/// The files of a store's boards.
#[derive(Debug)]
pub(super) struct Mirror {
    workspace: PathBuf,
    /// An open handle of `workspace`: paths below it are resolved often, and the database inside it is held
    /// open anyway.
    root: OnceLock<OwnedFd>,
    /// Directory of the blackboard if it is outside the workspace.
    blackboard: Option<PathBuf>,
    texts: Mutex<Texts>,
    locks: Mutex<LockFiles>,
    /// How many versions of an externally changed board are kept.
    keep: AtomicU32,
    /// Boot time in nanoseconds: file writes from shortly before it may be lost.
    booted: i64,
    /// Boards whose files this process has locked.
    held: Arc<Mutex<BTreeSet<BoardName>>>,
}

/// A file lock of this process, held until dropped.
struct Holding {
    _file: File,
    name: BoardName,
    held: Arc<Mutex<BTreeSet<BoardName>>>,
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&self.name);
    }
}

impl Mirror {
    pub(super) fn new(workspace: &Path, blackboard_beside: bool) -> Self {
        let beside = |home: &Path| home.join(BLACKBOARD);
        Self {
            workspace: workspace.to_owned(),
            root: OnceLock::new(),
            blackboard: workspace.parent().map(beside).filter(|_| blackboard_beside),
            texts: Mutex::default(),
            locks: Mutex::default(),
            keep: AtomicU32::new(KEEP),
            booted: reconcile::booted(),
            held: Arc::default(),
        }
    }

    pub(super) fn set_keep(&self, versions: u32) {
        self.keep.store(versions, Ordering::Relaxed);
    }

    pub(super) fn keep(&self) -> u32 {
        self.keep.load(Ordering::Relaxed)
    }

    /// Returns the location of a board's file; `None` if its directory is missing and `make` is false.
    fn place(&self, name: &BoardName, make: bool) -> Result<Option<Place>, PortError> {
        match (name, &self.blackboard) {
            (BoardName::Blackboard(path), Some(root)) => Place::find(root, path.as_str(), make),
            _ => self.below(&name.file(), make),
        }
    }

    /// Returns a location below the workspace.
    fn below(&self, path: &str, make: bool) -> Result<Option<Place>, PortError> {
        if let Some(root) = self.root.get() {
            return Place::below(root, path, make);
        }
        let root = open_root(&self.workspace).map_err(errno)?;
        Place::below(self.root.get_or_init(|| root), path, make)
    }

    fn look(&self, name: &BoardName) -> Result<Sight, PortError> {
        match self.place(name, false)? {
            Some(place) => place.look(),
            None => Ok(Sight::Absent),
        }
    }

    /// Whether a board's file matches the store, judged by its metadata alone.
    pub(super) fn in_step(&self, name: &BoardName, kept: Option<&Kept>) -> Result<bool, PortError> {
        let kept = kept.filter(|kept| kept.head.version > 0);
        Ok(match (self.look(name)?, kept) {
            (Sight::Absent, None) => true,
            (Sight::Regular(seen), Some(kept)) => self.is_as_written(&seen, kept),
            (Sight::Absent, Some(_)) | (Sight::Regular(_), None) => false,
        })
    }

    /// True if size and mtime match what the store wrote and the content was verified since boot (a power
    /// loss may have dropped unsynced data).
    fn is_as_written(&self, seen: &Seen, kept: &Kept) -> bool {
        seen.bytes == kept.head.bytes
            && is_given(seen.stamp, kept.stamp, seen.changed)
            && seen.changed >= self.booted
    }

    /// Returns the text of a board's current version from the cache, or from its file if that is in step.
    pub(super) fn text(&self, kept: &Kept) -> Option<Arc<String>> {
        let head = &kept.head;
        if let Some(text) = self.remembered(&head.name, head.version) {
            return Some(text);
        }
        let text = Arc::new(self.read_file(kept)?);
        self.remember(&head.name, head.version, Arc::clone(&text));
        Some(text)
    }

    /// Reads a file if it is the one the store wrote and does not change while it is read.
    pub(super) fn read_file(&self, kept: &Kept) -> Option<String> {
        let place = self.place(&kept.head.name, false).ok()??;
        let mut file = place.open(OFlags::RDONLY).ok()?;
        let before = seen(&file).ok()?;
        if !self.is_as_written(&before, kept) {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.bytes).ok()?);
        (&mut file)
            .take(before.bytes)
            .read_to_end(&mut bytes)
            .ok()?;
        (seen(&file).ok()? == before && bytes.len() as u64 == before.bytes).then_some(())?;
        String::from_utf8(bytes).ok()
    }

    fn texts(&self) -> std::sync::MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a text from the cache.
    pub(super) fn remembered(&self, name: &BoardName, version: u64) -> Option<Arc<String>> {
        self.texts().get(name, version)
    }

    pub(super) fn remember(&self, name: &BoardName, version: u64, text: Arc<String>) {
        self.texts().put(name, version, text);
    }

    /// Locks a blackboard file against other programs; `None` if another program held it for too long. A file
    /// that does not exist yet is locked by the transaction that creates it.
    pub(super) fn hold(
        &self,
        name: &BoardName,
        at_most: Duration,
    ) -> Result<Option<Box<dyn Send + Sync>>, PortError> {
        if name.is_whiteboard() {
            return Ok(Some(Box::new(())));
        }
        match self.lock_file(name, FlockOperation::NonBlockingLockExclusive, at_most)? {
            Locked::NoFile => Ok(Some(Box::new(()))),
            Locked::Busy => Ok(None),
            Locked::Yes(file) => {
                self.held
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(name.clone());
                Ok(Some(Box::new(Holding {
                    _file: file,
                    name: name.clone(),
                    held: Arc::clone(&self.held),
                })))
            }
        }
    }

    /// Whether this process has locked a blackboard file in order to write to it.
    fn is_held(&self, name: &BoardName) -> bool {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(name)
    }

    /// Waits until no other program is writing to a blackboard file. Returns whether that is the case, and
    /// the shared lock if one was taken.
    pub(super) fn quiet(
        &self,
        name: &BoardName,
        at_most: Duration,
    ) -> Result<(bool, Option<File>), PortError> {
        let ours = || self.is_held(name);
        if name.is_whiteboard() || ours() {
            return Ok((true, None));
        }
        Ok(
            match self.lock_file(name, FlockOperation::NonBlockingLockShared, at_most)? {
                Locked::NoFile => (true, None),
                Locked::Yes(file) => (true, Some(file)),
                // Another task of this process may hold the lock by now.
                Locked::Busy => (ours(), None),
            },
        )
    }

    fn lock_file(
        &self,
        name: &BoardName,
        how: FlockOperation,
        at_most: Duration,
    ) -> Result<Locked, PortError> {
        loop {
            let Some(place) = self.place(name, false)? else {
                return Ok(Locked::NoFile);
            };
            let Sight::Regular(_) = place.look()? else {
                return Ok(Locked::NoFile);
            };
            let file = place.open(OFlags::RDONLY)?;
            let inode = seen(&file)?.inode;
            let Some(file) = flock_polling(file, how, at_most)? else {
                return Ok(Locked::Busy);
            };
            // The file may have been replaced while we waited for its lock.
            match place.look()? {
                Sight::Regular(now) if now.inode == inode => return Ok(Locked::Yes(file)),
                Sight::Regular(_) | Sight::Absent => {}
            }
        }
    }
}

enum Locked {
    Yes(File),
    Busy,
    NoFile,
}
