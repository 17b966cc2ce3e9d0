//! Mirrors boards as Markdown files: decides whether a file matches the store, reads verified texts, and locks
//! blackboard files against other programs.
//!
//! The store is authoritative and the file follows it: files are written after a commit, and checked for
//! external edits before a board is used. Edits are only detected here (`reconcile`); `board_batch` imports
//! them as new versions. Files are written without fsync, because a crash
//! between commit and file write is repaired from the log. Each version's file is given a specific
//! modification time, so a single stat shows which version the file has, or that another program changed it
//! (`mtime_stamp`, `reconcile`). `file_write` writes the files, `file_location` opens them without following
//! symlinks, `discovery` finds files of boards that the store does not have yet, `backups` keeps copies of
//! overwritten versions, `intent` records writes for crash recovery, and `text_cache` caches board texts.

mod backups;
mod discovery;
mod file_location;
mod file_write;
mod intent;
mod mtime_stamp;
mod reconcile;
mod text_cache;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use polis_core::board::BoardName;
use polis_ops::PortError;
use rustix::fs::{FlockOperation, OFlags};

use super::boards::StoredBoard;
use super::lock::flock_polling;
use file_location::{
    FileFingerprint, FileLocation, StatResult, open_root, port_error_from_errno, read_fingerprint,
};
use intent::LockFileCache;
use mtime_stamp::is_assigned_mtime;
use text_cache::BoardTextCache;

pub(super) use file_write::{FileVersion, PendingWrite, PostCommitAction, prepare_write};
pub(super) use mtime_stamp::version_mtime;
pub(super) use reconcile::{ExaminedFile, FileState, examine_file, now_nanos};

/// Directory of the whiteboard files, below the store's directory.
const WHITEBOARD_DIR: &str = "whiteboards";
/// Directory of the blackboard, unless it is next to the store's directory.
const BLACKBOARD_DIR: &str = "blackboard";
/// Directory of locks, intents and temporary files.
const LOCKS_DIR: &str = "whiteboards/.locks";
/// Directory of readable copies of overwritten versions.
const HISTORY_DIR: &str = "whiteboard-history";

/// Default number of versions to keep.
const DEFAULT_KEPT_VERSIONS: u32 = 10;

/// The files of a store's boards.
#[derive(Debug)]
pub(super) struct Mirror {
    /// The store's directory.
    workspace: PathBuf,
    /// An open handle of `workspace`: paths below it are resolved often, and the database inside it is held
    /// open anyway.
    root: OnceLock<OwnedFd>,
    /// Directory of the blackboard if it is outside the store's directory.
    blackboard: Option<PathBuf>,
    text_cache: Mutex<BoardTextCache>,
    lock_files: Mutex<LockFileCache>,
    /// How many versions of an externally changed board are kept.
    max_versions: AtomicU32,
    /// Boot time in nanoseconds: file writes from shortly before it may be lost.
    boot_time_nanos: i64,
    /// Boards whose files this process has locked.
    held_boards: Arc<Mutex<BTreeSet<BoardName>>>,
}

/// A file lock of this process, held until dropped.
struct FileLockGuard {
    _file: File,
    name: BoardName,
    held_boards: Arc<Mutex<BTreeSet<BoardName>>>,
}

impl Drop for FileLockGuard {
    fn drop(&mut self) {
        self.held_boards.lock().remove(&self.name);
    }
}

impl Mirror {
    pub(super) fn new(workspace: &Path, blackboard_beside: bool) -> Self {
        let beside = |home: &Path| home.join(BLACKBOARD_DIR);
        Self {
            workspace: workspace.to_owned(),
            root: OnceLock::new(),
            blackboard: workspace.parent().map(beside).filter(|_| blackboard_beside),
            text_cache: Mutex::default(),
            lock_files: Mutex::default(),
            max_versions: AtomicU32::new(DEFAULT_KEPT_VERSIONS),
            boot_time_nanos: reconcile::boot_time_nanos(),
            held_boards: Arc::default(),
        }
    }

    pub(super) fn set_kept_versions(&self, versions: u32) {
        self.max_versions.store(versions, Ordering::Relaxed);
    }

    pub(super) fn max_versions(&self) -> u32 {
        self.max_versions.load(Ordering::Relaxed)
    }

    /// Returns the location of a board's file; `None` if its directory is missing and `create` is false.
    fn file_location(
        &self,
        name: &BoardName,
        create: bool,
    ) -> Result<Option<FileLocation>, PortError> {
        match (name, &self.blackboard) {
            (BoardName::Blackboard(path), Some(root)) => {
                FileLocation::resolve(root, path.as_str(), create)
            }
            _ => self.location_below(&name.file_path(), create),
        }
    }

    /// Returns a location below the store's directory.
    fn location_below(&self, path: &str, create: bool) -> Result<Option<FileLocation>, PortError> {
        if let Some(root) = self.root.get() {
            return FileLocation::resolve_below(root, path, create);
        }
        let root = open_root(&self.workspace).map_err(port_error_from_errno)?;
        FileLocation::resolve_below(self.root.get_or_init(|| root), path, create)
    }

    fn stat_file(&self, name: &BoardName) -> Result<StatResult, PortError> {
        match self.file_location(name, false)? {
            Some(location) => location.stat(),
            None => Ok(StatResult::Absent),
        }
    }

    /// Whether a board's file matches the store, judged by its metadata alone.
    pub(super) fn is_in_sync(
        &self,
        name: &BoardName,
        stored: Option<&StoredBoard>,
    ) -> Result<bool, PortError> {
        let stored = stored.filter(|stored| stored.head.version > 0);
        Ok(match (self.stat_file(name)?, stored) {
            (StatResult::Absent, None) => true,
            (StatResult::Regular(fingerprint), Some(stored)) => {
                self.is_as_written(&fingerprint, stored)
            }
            (StatResult::Absent, Some(_)) | (StatResult::Regular(_), None) => false,
        })
    }

    /// True if size and mtime match what the store wrote and the content was verified since boot (a power
    /// loss may have dropped unsynced data).
    fn is_as_written(&self, fingerprint: &FileFingerprint, stored: &StoredBoard) -> bool {
        fingerprint.bytes == stored.head.bytes
            && is_assigned_mtime(
                fingerprint.mtime_nanos,
                stored.mtime_nanos,
                fingerprint.ctime_nanos,
            )
            && fingerprint.ctime_nanos >= self.boot_time_nanos
    }

    /// Returns the text of a board's current version from the cache, or from its file if that is in sync.
    pub(super) fn current_text(&self, stored: &StoredBoard) -> Option<Arc<String>> {
        let head = &stored.head;
        if let Some(text) = self.cached_text(&head.name, head.version) {
            return Some(text);
        }
        let text = Arc::new(self.read_verified_file(stored)?);
        self.cache_text(&head.name, head.version, Arc::clone(&text));
        Some(text)
    }

    /// Reads a board's file; `None` if it is not the one the store wrote, or changes while it is read.
    pub(super) fn read_verified_file(&self, stored: &StoredBoard) -> Option<String> {
        let location = self.file_location(&stored.head.name, false).ok()??;
        let mut file = location.open(OFlags::RDONLY).ok()?;
        let before = read_fingerprint(&file).ok()?;
        if !self.is_as_written(&before, stored) {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.bytes).ok()?);
        (&mut file)
            .take(before.bytes)
            .read_to_end(&mut bytes)
            .ok()?;
        (read_fingerprint(&file).ok()? == before && bytes.len() as u64 == before.bytes)
            .then_some(())?;
        String::from_utf8(bytes).ok()
    }

    /// Returns a text from the cache.
    pub(super) fn cached_text(&self, name: &BoardName, version: u64) -> Option<Arc<String>> {
        self.text_cache.lock().get(name, version)
    }

    pub(super) fn cache_text(&self, name: &BoardName, version: u64, text: Arc<String>) {
        self.text_cache.lock().insert(name, version, text);
    }

    /// Locks a blackboard file against other programs; `None` if another program held it for too long. A file
    /// that does not exist yet is locked by the transaction that creates it.
    pub(super) fn lock_exclusive(
        &self,
        name: &BoardName,
        timeout: Duration,
    ) -> Result<Option<Box<dyn Send + Sync>>, PortError> {
        if name.is_whiteboard() {
            return Ok(Some(Box::new(())));
        }
        match self.flock_board_file(name, FlockOperation::NonBlockingLockExclusive, timeout)? {
            FileLockResult::NoFile => Ok(Some(Box::new(()))),
            FileLockResult::Busy => Ok(None),
            FileLockResult::Acquired(file) => {
                self.held_boards.lock().insert(name.clone());
                Ok(Some(Box::new(FileLockGuard {
                    _file: file,
                    name: name.clone(),
                    held_boards: Arc::clone(&self.held_boards),
                })))
            }
        }
    }

    /// Whether this process has locked a blackboard file in order to write to it.
    fn is_locked_by_this_process(&self, name: &BoardName) -> bool {
        self.held_boards.lock().contains(name)
    }

    /// Waits until no other program is writing to a blackboard file. Returns whether that is the case, and
    /// the shared lock if one was taken.
    pub(super) fn wait_until_unlocked(
        &self,
        name: &BoardName,
        timeout: Duration,
    ) -> Result<(bool, Option<File>), PortError> {
        let is_ours = || self.is_locked_by_this_process(name);
        if name.is_whiteboard() || is_ours() {
            return Ok((true, None));
        }
        Ok(
            match self.flock_board_file(name, FlockOperation::NonBlockingLockShared, timeout)? {
                FileLockResult::NoFile => (true, None),
                FileLockResult::Acquired(file) => (true, Some(file)),
                // Another task of this process may hold the lock by now.
                FileLockResult::Busy => (is_ours(), None),
            },
        )
    }

    fn flock_board_file(
        &self,
        name: &BoardName,
        operation: FlockOperation,
        timeout: Duration,
    ) -> Result<FileLockResult, PortError> {
        loop {
            let Some(location) = self.file_location(name, false)? else {
                return Ok(FileLockResult::NoFile);
            };
            let StatResult::Regular(_) = location.stat()? else {
                return Ok(FileLockResult::NoFile);
            };
            let file = location.open(OFlags::RDONLY)?;
            let inode = read_fingerprint(&file)?.inode;
            let Some(file) = flock_polling(file, operation, timeout)? else {
                return Ok(FileLockResult::Busy);
            };
            // The file may have been replaced while we waited for its lock.
            match location.stat()? {
                StatResult::Regular(now) if now.inode == inode => {
                    return Ok(FileLockResult::Acquired(file));
                }
                StatResult::Regular(_) | StatResult::Absent => {}
            }
        }
    }
}

enum FileLockResult {
    Acquired(File),
    Busy,
    NoFile,
}
