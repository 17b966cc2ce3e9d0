//! Write intents: a crash recovery record of the version that is being written to a board's file, stored in
//! the board's lock file.
//!
//! Before a commit, the lock file records the version that will be written to the board's file; after the
//! write the intent is cleared. A file that is written in place gets its mtime only after that, so while the
//! intent exists the file is out of sync and is examined. A crash leaves the intent behind, and the next
//! reader of the board knows that the file may be outdated or partially written rather than edited
//! externally. If the commit did not happen, the intent names a version that does not exist and is ignored.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use polis_core::board::BoardName;
use polis_ops::PortError;
use rustix::fs::{OFlags, fstat};

use super::file_location::{FileLocation, port_error_from_io};
use super::{LOCKS_DIR, Mirror};

/// Keywords of the intent line, each followed by a version, and the length of that line.
const WRITING_KEYWORD: &str = "writing";
const PLACING_KEYWORD: &str = "placing";
const IDLE_KEYWORD: &str = "idle";
const INTENT_LINE_BYTES: usize = 29;

/// How a file is brought to a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteStrategy {
    /// Overwritten in place: partially written for a moment.
    InPlace,
    /// Atomically replaced by another file.
    AtomicReplace,
}

/// A write that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WriteIntent {
    /// The version that is being written; after several abandoned writes, that of the first.
    pub(super) version: u64,
    pub(super) strategy: WriteStrategy,
}

fn format_intent_line(keyword: &str, version: u64) -> String {
    format!("{keyword:<8}{version:020}\n")
}

/// Parses the intent in a lock file; `None` if it is idle or unreadable.
fn parse_intent(file: &File) -> Option<WriteIntent> {
    let mut line = [0; INTENT_LINE_BYTES];
    file.read_exact_at(&mut line, 0).ok()?;
    let (keyword, version) = std::str::from_utf8(&line).ok()?.split_at_checked(8)?;
    let strategy = match keyword.trim_end() {
        WRITING_KEYWORD => WriteStrategy::InPlace,
        PLACING_KEYWORD => WriteStrategy::AtomicReplace,
        _ => return None,
    };
    let version = version.trim_end().parse().ok()?;
    Some(WriteIntent { version, strategy })
}

/// An open lock file of a board, with its intent.
#[derive(Debug)]
pub(crate) struct IntentFile(Arc<File>);

/// Cache of open lock files: a server writes to the same boards repeatedly.
#[derive(Debug, Default)]
pub(super) struct LockFileCache(HashMap<BoardName, Arc<File>>);

/// Maximum number of lock files kept open.
const MAX_OPEN_LOCK_FILES: usize = 64;

impl LockFileCache {
    /// Returns the open lock file of a board, unless it was deleted in the meantime.
    fn get(&self, name: &BoardName) -> Option<Arc<File>> {
        let file = self.0.get(name)?;
        let exists = fstat(file).is_ok_and(|stat| stat.st_nlink > 0);
        exists.then(|| Arc::clone(file))
    }

    fn insert(&mut self, name: &BoardName, file: &Arc<File>) {
        if self.0.len() >= MAX_OPEN_LOCK_FILES {
            self.0.clear();
        }
        self.0.insert(name.clone(), Arc::clone(file));
    }
}

impl Mirror {
    /// Returns the location of a board's file in the locks directory.
    pub(super) fn lock_file_location(
        &self,
        name: &BoardName,
        extension: &str,
        create: bool,
    ) -> Result<Option<FileLocation>, PortError> {
        let stem = match name {
            // `_` cannot occur in such a path, so the names are unique. The prefix is short because the
            // longest path has to fit into one file name.
            BoardName::Blackboard(path) => format!("bb_{}", path.as_str().replace('/', "_")),
            _ => name.file_stem(),
        };
        self.location_below(&format!("{LOCKS_DIR}/{stem}.{extension}"), create)
    }

    /// Records the intent to write a version to a board's file. If the file is already unreliable, an earlier
    /// intent is kept, so that the file stays suspect from the version at which that write was abandoned.
    pub(super) fn record_intent(
        &self,
        name: &BoardName,
        goal: WriteIntent,
        reliable: bool,
    ) -> Result<IntentFile, PortError> {
        let file = self.open_lock_file_to_write(name)?;
        if reliable || parse_intent(&file).is_none_or(|intent| intent.version > goal.version) {
            let keyword = match goal.strategy {
                WriteStrategy::InPlace => WRITING_KEYWORD,
                WriteStrategy::AtomicReplace => PLACING_KEYWORD,
            };
            file.write_all_at(format_intent_line(keyword, goal.version).as_bytes(), 0)
                .map_err(port_error_from_io)?;
        }
        Ok(IntentFile(file))
    }

    fn open_lock_file_to_write(&self, name: &BoardName) -> Result<Arc<File>, PortError> {
        let mut open = self.lock_files.lock();
        if let Some(file) = open.get(name) {
            return Ok(file);
        }
        let location = self.lock_file_location(name, "lock", true)?;
        let location = location.ok_or_else(super::file_location::not_a_file_error)?;
        let file = Arc::new(location.open(OFlags::RDWR | OFlags::CREATE)?);
        open.insert(name, &file);
        Ok(file)
    }

    /// Returns the intent of an unfinished write to a board's file.
    pub(super) fn unfinished_intent(&self, name: &BoardName) -> Option<WriteIntent> {
        parse_intent(&self.open_lock_file(name, OFlags::RDONLY)?)
    }

    /// Returns how a process that crashed or failed was bringing a board's file to this version or to an
    /// earlier one; `None` if no such write was interrupted.
    pub(super) fn interrupted_strategy(
        &self,
        name: &BoardName,
        version: u64,
    ) -> Option<WriteStrategy> {
        let intent = self.unfinished_intent(name)?;
        (intent.version <= version).then_some(intent.strategy)
    }

    /// Clears the intent of a board.
    pub(crate) fn clear_intent(&self, name: &BoardName) {
        if let Some(file) = self.open_lock_file(name, OFlags::RDWR)
            && parse_intent(&file).is_some()
        {
            let _ = IntentFile(Arc::new(file)).clear();
        }
    }

    fn open_lock_file(&self, name: &BoardName, flags: OFlags) -> Option<File> {
        let location = self
            .lock_file_location(name, "lock", false)
            .ok()
            .flatten()?;
        location.open(flags).ok()
    }
}

impl IntentFile {
    pub(super) fn clear(&self) -> Result<(), PortError> {
        self.0
            .write_all_at(format_intent_line(IDLE_KEYWORD, 0).as_bytes(), 0)
            .map_err(port_error_from_io)
    }
}
