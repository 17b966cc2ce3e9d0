//! Boards as Markdown files: written through after a commit, looked at before a board is used.
//!
//! The store is the truth, and the file follows it: written without synchronisation of its own,
//! because a crash between commit and file is repaired from the log. A file carries the
//! modification time that its version was given, so one look says which version it is at, or
//! that something else has changed it ([`mod@reconcile`]). [`mod@write`] writes, [`file_location`] finds files
//! without following links, [`backups`] keeps what was overwritten, [`intent`] says what a crash
//! interrupted.

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

/// The directory of whiteboards.
const WHITEBOARDS: &str = "whiteboards";
/// The directory of the blackboard, unless it is elsewhere.
const BLACKBOARD: &str = "blackboard";
/// Where locks, intents and half-written files are.
const LOCKS: &str = "whiteboards/.locks";
/// Where overwritten versions are kept to be read.
const HISTORY: &str = "whiteboard-history";

/// How many versions are kept, unless it is set.
const KEEP: u32 = 10;

/// The files of a store's boards.
#[derive(Debug)]
pub(super) struct Mirror {
    workspace: PathBuf,
    /// The same, open: it is looked below often, and the database in it is held open too.
    root: OnceLock<OwnedFd>,
    /// Where the blackboard is, if not in the workspace.
    blackboard: Option<PathBuf>,
    texts: Mutex<Texts>,
    locks: Mutex<LockFiles>,
    /// How many versions are kept of a board that was changed outside.
    keep: AtomicU32,
    /// When the machine was started, in nanoseconds: what was written to files shortly before may be lost.
    booted: i64,
    /// Files that somebody in this process has locked.
    held: Arc<Mutex<BTreeSet<BoardName>>>,
}

/// A file locked for this process, until dropped.
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

    /// The place of a board's file; `None` if its directory is missing and not to be made.
    fn place(&self, name: &BoardName, make: bool) -> Result<Option<Place>, PortError> {
        match (name, &self.blackboard) {
            (BoardName::Blackboard(path), Some(root)) => Place::find(root, path.as_str(), make),
            _ => self.below(&name.file(), make),
        }
    }

    /// A place in the workspace.
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

    /// Whether a board's file is as the store says, by a look at it alone.
    pub(super) fn in_step(&self, name: &BoardName, kept: Option<&Kept>) -> Result<bool, PortError> {
        let kept = kept.filter(|kept| kept.head.version > 0);
        Ok(match (self.look(name)?, kept) {
            (Sight::Absent, None) => true,
            (Sight::Regular(seen), Some(kept)) => self.is_as_written(&seen, kept),
            (Sight::Absent, Some(_)) | (Sight::Regular(_), None) => false,
        })
    }

    /// Whether a file is, by the look of it, the one the store wrote, and surely has its content: not
    /// before it was looked into once since the machine was started.
    fn is_as_written(&self, seen: &Seen, kept: &Kept) -> bool {
        seen.bytes == kept.head.bytes
            && is_given(seen.stamp, kept.stamp, seen.changed)
            && seen.changed >= self.booted
    }

    /// The text of the version a board is at, from memory or from its file, if that is in step.
    pub(super) fn text(&self, kept: &Kept) -> Option<Arc<String>> {
        let head = &kept.head;
        if let Some(text) = self.remembered(&head.name, head.version) {
            return Some(text);
        }
        let text = Arc::new(self.read_file(kept)?);
        self.remember(&head.name, head.version, Arc::clone(&text));
        Some(text)
    }

    /// Reads a file that is, and stays while it is read, the one the store wrote.
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

    /// A text this process has read or written lately.
    pub(super) fn remembered(&self, name: &BoardName, version: u64) -> Option<Arc<String>> {
        self.texts().get(name, version)
    }

    pub(super) fn remember(&self, name: &BoardName, version: u64, text: Arc<String>) {
        self.texts().put(name, version, text);
    }

    /// Locks a blackboard file against other programs; `None` if one of them kept it too long. A
    /// file that does not exist yet is locked by the transaction that creates it.
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

    /// Whether this process has locked a blackboard file to write to it.
    fn is_held(&self, name: &BoardName) -> bool {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(name)
    }

    /// Waits until no other program is writing to a blackboard file; whether it is so.
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
                // It may be another part of this process that has it by now.
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
            // Somebody may have put another file there while we waited for this one.
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
