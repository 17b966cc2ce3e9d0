//! What was being written when a process died.
//!
//! Before a commit a board's lock file says which version is going to be written to its file, and
//! when that is done it says so no more; a file that is written where it is gets its time stamp after
//! that, so as long as the word is there the file is out of step and is looked at. A crash leaves the word there, and the next one who uses
//! the board knows that the file may be old or half written, not somebody's edit. If the commit
//! never came, the word names a version that there is not, and means nothing.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, PoisonError};

use polis_core::board::BoardName;
use polis_ops::PortError;
use rustix::fs::{OFlags, fstat};

use super::file_location::{Place, failed};
use super::{LOCKS, Mirror};

/// The words of a lock file, each before a version, and how long such a line is.
const WRITING: &str = "writing";
const PLACING: &str = "placing";
const IDLE: &str = "idle";
const LINE: usize = 29;

/// How a file is brought to a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Written where it is: half of it is there for a moment.
    InPlace,
    /// Another file is put in its place.
    AtOnce,
}

/// What somebody began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Begun {
    /// The version, or the first of several.
    pub(super) version: u64,
    pub(super) way: Way,
}

fn line(word: &str, version: u64) -> String {
    format!("{word:<8}{version:020}\n")
}

/// What a lock file says.
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

/// A board's lock file.
#[derive(Debug)]
pub(crate) struct Intent(Arc<File>);

/// The lock files this process has open: a server writes to the same boards again and again.
#[derive(Debug, Default)]
pub(super) struct LockFiles(HashMap<BoardName, Arc<File>>);

/// The most lock files kept open.
const MOST_OPEN: usize = 64;

impl LockFiles {
    /// One that is open, and that nobody has removed meanwhile.
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
    /// A place among the locks, for a board.
    pub(super) fn lock_place(
        &self,
        name: &BoardName,
        extension: &str,
        make: bool,
    ) -> Result<Option<Place>, PortError> {
        let stem = match name {
            // `_` cannot be in such a path, so no two are the same. Short, because the longest path
            // has to fit into one name.
            BoardName::Blackboard(path) => format!("bb_{}", path.as_str().replace('/', "_")),
            _ => name.stem(),
        };
        self.below(&format!("{LOCKS}/{stem}.{extension}"), make)
    }

    /// Says that a version is going to be written to a board's file. A file that is not to be relied on
    /// already stays so from the version on that it was given up at.
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

    /// What somebody began to do to a board's file and did not finish.
    pub(super) fn unfinished(&self, name: &BoardName) -> Option<Begun> {
        begun(&self.lock_file_of(name, OFlags::RDONLY)?)
    }

    /// How a process that died, or failed, was bringing a board's file to this version or to one before
    /// it.
    pub(super) fn interrupted(&self, name: &BoardName, version: u64) -> Option<Way> {
        let begun = self.unfinished(name)?;
        (begun.version <= version).then_some(begun.way)
    }

    /// Says that nothing is left of what somebody began.
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
