//! Temporary file for an atomic write, in the same directory as its target.
//!
//! Its name marks it as temporary, so it is never listed, counted or searched. The writer keeps it locked. An
//! unlocked one was left by a killed writer, and is removed by the next write of the same file, or by the
//! next writer that finds one. The name is derived from the target's name, so the check for leftovers costs
//! nothing if there are none.

use std::fs::File;
use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState};
use std::io::{self, Write};
use std::os::fd::{AsFd as _, BorrowedFd};

use polis_core::workspace::workspace_path::{UNFINISHED_PREFIX, is_unfinished_write};
use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::beneath::{is_same_file, stat_no_follow};
use super::entry_location::{DIRECTORY_FLAGS, EntryLocation};
use super::file_lock::NONBLOCKING_FLAGS;
use super::tree_walk::for_each_entry;

/// Maximum number of names that are tried.
const MAX_TEMP_NAME_ATTEMPTS: usize = 100;

/// A temporary file; deleted on drop unless it was renamed to its target.
#[derive(Debug)]
pub(super) struct TempFile<'a> {
    location: &'a EntryLocation<'a>,
    name: Option<String>,
    pub(super) file: File,
}

impl<'a> TempFile<'a> {
    /// Creates and locks a temporary file for the entry at a location.
    pub(super) fn create_for(location: &'a EntryLocation<'a>, mode: Mode) -> Result<Self, Errno> {
        let mut hasher = DefaultHasher::new();
        location.name.hash(&mut hasher);
        let usual = format!("{UNFINISHED_PREFIX}{:016x}", hasher.finish());
        let mut name = usual.clone();
        for _ in 0..MAX_TEMP_NAME_ATTEMPTS {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            match fs::openat(&location.dir, name.as_str(), flags | OFlags::CLOEXEC, mode) {
                Ok(fd) => {
                    let temp_file = Self {
                        location,
                        name: Some(name),
                        file: File::from(fd),
                    };
                    if temp_file.try_lock()? {
                        return Ok(temp_file);
                    }
                }
                Err(Errno::EXIST) if name == usual => {
                    if remove_leftover(location.dir.as_fd(), usual.as_bytes()) {
                        // If one writer was killed, others may have been.
                        let _ = remove_leftovers(location.dir.as_fd());
                        continue;
                    }
                }
                Err(Errno::EXIST | Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
            // Another writer is writing the same file.
            name = format!(
                "{usual}-{:016x}",
                RandomState::new().build_hasher().finish()
            );
        }
        Err(Errno::EXIST)
    }

    /// Locks the file. Returns false if another process has already removed it as a leftover.
    fn try_lock(&self) -> Result<bool, Errno> {
        match fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(fs::fstat(&self.file)?.st_nlink > 0),
            Err(Errno::WOULDBLOCK) => Ok(false),
            // Without lock support no process removes leftovers.
            Err(_) => Ok(true),
        }
    }

    /// Writes the content with `write`, and fsyncs it.
    pub(super) fn write_and_sync(
        &mut self,
        write: &dyn Fn(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        write(&mut self.file)?;
        self.file.sync_all()
    }

    /// Renames the file to its target, replacing an existing one.
    pub(super) fn rename_over_target(mut self) -> Result<(), Errno> {
        let name = self.name.clone().unwrap_or_default();
        let dir = &self.location.dir;
        fs::renameat(dir, name.as_str(), dir, self.location.name.as_slice())?;
        self.name = None;
        Ok(())
    }

    /// Renames the file to its target; fails with `EEXIST` if that exists.
    pub(super) fn rename_to_new_target(mut self) -> Result<(), Errno> {
        let name = self.name.clone().unwrap_or_default();
        let (dir, target) = (&self.location.dir, self.location.name.as_slice());
        match fs::renameat_with(dir, name.as_str(), dir, target, RenameFlags::NOREPLACE) {
            Ok(()) => self.name = None,
            // Without `RENAME_NOREPLACE`, a hard link does the same; the temporary name is removed on drop.
            Err(Errno::INVAL | Errno::NOSYS) => {
                fs::linkat(dir, name.as_str(), dir, target, AtFlags::empty())?;
            }
            Err(errno) => return Err(errno),
        }
        Ok(())
    }
}

impl Drop for TempFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::unlinkat(&self.location.dir, name.as_str(), AtFlags::empty());
        }
    }
}

/// Removes leftovers of killed writers in a directory. Returns whether there were any.
pub(super) fn remove_leftovers(dir: BorrowedFd<'_>) -> Result<bool, Errno> {
    let mut left = Vec::new();
    // Opened again, because the read position belongs to the open file description.
    let reading = fs::openat(dir, c".", DIRECTORY_FLAGS, Mode::empty())?;
    for_each_entry(reading.as_fd(), |name, _| {
        if is_unfinished_write(name.to_bytes()) {
            left.push(name.to_bytes().to_vec());
        }
        Ok(())
    })?;
    let mut any = false;
    for name in left {
        any |= remove_leftover(dir, &name);
    }
    Ok(any)
}

/// Removes a temporary file that has no writer. Only the holder of its lock may remove it, so the name cannot
/// refer to another file in between.
fn remove_leftover(dir: BorrowedFd<'_>, name: &[u8]) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | NONBLOCKING_FLAGS;
    let removed = || {
        let file = match fs::openat(dir, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(true),
            Err(errno) => return Err(errno),
        };
        fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        match stat_no_follow(dir, name)? {
            Some(now) if is_same_file(&now, &fs::fstat(&file)?) => {
                fs::unlinkat(dir, name, AtFlags::empty())?;
                Ok(true)
            }
            Some(_) => Ok(false),
            None => Ok(true),
        }
    };
    removed().unwrap_or(false)
}
