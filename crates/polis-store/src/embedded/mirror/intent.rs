//! Write intents: records which version is being written to a board's file, for crash recovery.
//!
//! Before a commit, the board's lock file records the version that will be written to the board's file; after
//! the write the intent is cleared. A file that is written in place gets its mtime only after that, so while
//! the intent exists the file is out of step and is examined. A crash leaves the intent behind, and the next
//! reader of the board knows that the file may be outdated or partially written rather than edited
//! externally. If the commit did not happen, the intent names a version that does not exist and is ignored.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, PoisonError};

use polis_core::board::BoardName;
use polis_ops::PortError;
use rustix::fs::{OFlags, fstat};

use super::file_location::{Place, failed};
use super::{LOCKS, Mirror};

/// Keywords of the intent line, each followed by a version, and the length of that line.
const WRITING: &str = "writing";
const PLACING: &str = "placing";
const IDLE: &str = "idle";
const LINE: usize = 29;

/// How a file is brought to a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Overwritten in place: partially written for a moment.
    InPlace,
    /// Atomically replaced by another file.
    AtOnce,
}

/// A write that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begun {
    /// The version, or the first of several.
    pub(super) version: u64,
    pub(super) way: Way,
}

fn line(word: &str, version: u64) -> String {
    format!("{word:<8}{version:020}\n")
}

/// Parses the intent in a lock file; `None` if it is idle or unreadable.
fn begun(file: &File) -> Option<Begun> {
    let mut line = [0; LINE];
    file.read_exact_at(&mut line, 0).ok()?;
    let (word, version) = std::str::from_utf8(&line).ok()?.split_at_checked(8)?;
    let way = match word.trim_end() {
        WRITING => Way::InPlace,
        PLACING => Way::AtOnce,
        _ => return None,
    };
    let version = version.trim_end().parse().ok()?;
    Some(Begun { version, way })
}

/// An open lock file of a board, with its intent.
#[derive(Debug)]
pub(crate) struct Intent(Arc<File>);

/// Cache of open lock files: a server writes to the same boards repeatedly.
#[derive(Debug, Default)]
pub(super) struct LockFiles(HashMap<BoardName, Arc<File>>);

/// Maximum number of lock files kept open.
const MOST_OPEN: usize = 64;

impl LockFiles {
    /// Returns the open lock file of a board, unless it was deleted in the meantime.
    fn get(&self, name: &BoardName) -> Option<Arc<File>> {
        let file = self.0.get(name)?;
        let there = fstat(file).is_ok_and(|stat| stat.st_nlink > 0);
        there.then(|| Arc::clone(file))
    }

    fn put(&mut self, name: &BoardName, file: &Arc<File>) {
        if self.0.len() >= MOST_OPEN {
            self.0.clear();
        }
        self.0.insert(name.clone(), Arc::clone(file));
    }
}

impl Mirror {
    /// Returns the location of a board's file in the locks directory.
    pub(super) fn lock_place(
        &self,
        name: &BoardName,
        extension: &str,
        make: bool,
    ) -> Result<Option<Place>, PortError> {
        let stem = match name {
            // `_` cannot occur in such a path, so the names are unique. The prefix is short because the
            // longest path has to fit into one file name.
            BoardName::Blackboard(path) => format!("bb_{}", path.as_str().replace('/', "_")),
            _ => name.stem(),
        };
        self.below(&format!("{LOCKS}/{stem}.{extension}"), make)
    }

    /// Records the intent to write a version to a board's file. If the file is already unreliable, an earlier
    /// intent is kept, so that the file stays suspect from the version at which that write was abandoned.
    pub(super) fn begin_writing(
        &self,
        name: &BoardName,
        goal: Begun,
        reliable: bool,
    ) -> Result<Intent, PortError> {
        let file = self.lock_file_to_write(name)?;
        if reliable || begun(&file).is_none_or(|begun| begun.version > goal.version) {
            let word = match goal.way {
                Way::InPlace => WRITING,
                Way::AtOnce => PLACING,
            };
            file.write_all_at(line(word, goal.version).as_bytes(), 0)
                .map_err(failed)?;
        }
        Ok(Intent(file))
    }

    fn lock_file_to_write(&self, name: &BoardName) -> Result<Arc<File>, PortError> {
        let mut open = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(name) {
            return Ok(file);
        }
        let place = self.lock_place(name, "lock", true)?;
        let place = place.ok_or_else(super::file_location::not_a_file)?;
        let file = Arc::new(place.open(OFlags::RDWR | OFlags::CREATE)?);
        open.put(name, &file);
        Ok(file)
    }

    /// Returns the intent of an unfinished write to a board's file.
    pub(super) fn unfinished(&self, name: &BoardName) -> Option<Begun> {
        begun(&self.lock_file_of(name, OFlags::RDONLY)?)
    }

    /// Returns how a process that crashed or failed was bringing a board's file to this version or to an
    /// earlier one.
    pub(super) fn interrupted(&self, name: &BoardName, version: u64) -> Option<Way> {
        let begun = self.unfinished(name)?;
        (begun.version <= version).then_some(begun.way)
    }

    /// Clears the intent of a board.
    pub(crate) fn end_writing(&self, name: &BoardName) {
        if let Some(file) = self.lock_file_of(name, OFlags::RDWR)
            && begun(&file).is_some()
        {
            let _ = Intent(Arc::new(file)).end();
        }
    }

    fn lock_file_of(&self, name: &BoardName, flags: OFlags) -> Option<File> {
        let place = self.lock_place(name, "lock", false).ok().flatten()?;
        place.open(flags).ok()
    }
}

impl Intent {
    pub(super) fn end(&self) -> Result<(), PortError> {
        self.0
            .write_all_at(line(IDLE, 0).as_bytes(), 0)
            .map_err(failed)
    }
}
