//! A file that is being written, beside the one it will replace.
//!
//! Its name tells what it is, so it is never listed, counted or found. The writer keeps it locked: one
//! that is not locked was left by a writer that was killed, and goes with the next write of the same
//! file, or the next that finds one. The name follows from that of the file it is for, so looking
//! for leftovers costs nothing when there are none.

use std::fs::File;
use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState};
use std::io::{self, Write};
use std::os::fd::{AsFd as _, BorrowedFd};

use polis_core::workspace::path::{UNFINISHED, is_unfinished};
use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::beneath::{look, same};
use super::entries::each;
use super::hold::AT_ONCE;
use super::place::{DIRECTORY, Place};

/// How many names are tried.
const TRIES: usize = 100;

/// A file that is being written; taken away unless it is put in its place.
#[derive(Debug)]
pub(super) struct Unfinished<'a> {
    place: &'a Place<'a>,
    name: Option<String>,
    pub(super) file: File,
}

impl<'a> Unfinished<'a> {
    /// Makes one for the file at a place.
    pub(super) fn begin(place: &'a Place<'a>, mode: Mode) -> Result<Self, Errno> {
        let mut hasher = DefaultHasher::new();
        place.name.hash(&mut hasher);
        let usual = format!("{UNFINISHED}{:016x}", hasher.finish());
        let mut name = usual.clone();
        for _ in 0..TRIES {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            match fs::openat(&place.dir, name.as_str(), flags | OFlags::CLOEXEC, mode) {
                Ok(fd) => {
                    let begun = Self {
                        place,
                        name: Some(name),
                        file: File::from(fd),
                    };
                    if begun.claim()? {
                        return Ok(begun);
                    }
                }
                Err(Errno::EXIST) if name == usual => {
                    if remove_leftover(place.dir.as_fd(), usual.as_bytes()) {
                        // Where one was killed, others may have been.
                        let _ = sweep(place.dir.as_fd());
                        continue;
                    }
                }
                Err(Errno::EXIST | Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
            // Another writer is at the same file.
            name = format!(
                "{usual}-{:016x}",
                RandomState::new().build_hasher().finish()
            );
        }
        Err(Errno::EXIST)
    }

    /// Locks it. False if somebody took it for a leftover before.
    fn claim(&self) -> Result<bool, Errno> {
        match fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(fs::fstat(&self.file)?.st_nlink > 0),
            Err(Errno::WOULDBLOCK) => Ok(false),
            // Without locks nobody takes anything for a leftover.
            Err(_) => Ok(true),
        }
    }

    /// Fills it with what `write` writes, durably.
    pub(super) fn fill(
        &mut self,
        write: &dyn Fn(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        write(&mut self.file)?;
        self.file.sync_all()
    }

    /// Puts it in its place, instead of what is there.
    pub(super) fn replace(mut self) -> Result<(), Errno> {
        let name = self.name.clone().unwrap_or_default();
        let dir = &self.place.dir;
        fs::renameat(dir, name.as_str(), dir, self.place.name.as_slice())?;
        self.name = None;
        Ok(())
    }

    /// Puts it in its place unless something is there (`EEXIST`).
    pub(super) fn create(mut self) -> Result<(), Errno> {
        let name = self.name.clone().unwrap_or_default();
        let (dir, target) = (&self.place.dir, self.place.name.as_slice());
        match fs::renameat_with(dir, name.as_str(), dir, target, RenameFlags::NOREPLACE) {
            Ok(()) => self.name = None,
            // A file system without that has links; the name of ours goes when this is dropped.
            Err(Errno::INVAL | Errno::NOSYS) => {
                fs::linkat(dir, name.as_str(), dir, target, AtFlags::empty())?;
            }
            Err(errno) => return Err(errno),
        }
        Ok(())
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = fs::unlinkat(&self.place.dir, name.as_str(), AtFlags::empty());
        }
    }
}

/// Removes what killed writers left in a directory; answers whether there was anything.
pub(super) fn sweep(dir: BorrowedFd<'_>) -> Result<bool, Errno> {
    let mut left = Vec::new();
    // Opened again: where reading has got to belongs to whoever opened it.
    let reading = fs::openat(dir, c".", DIRECTORY, Mode::empty())?;
    each(reading.as_fd(), |name, _| {
        if is_unfinished(name.to_bytes()) {
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

/// Removes a file that nobody is writing any more. Whoever holds its lock may remove it, so the
/// name cannot come to mean another file in between.
fn remove_leftover(dir: BorrowedFd<'_>, name: &[u8]) -> bool {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | AT_ONCE;
    let removed = || {
        let file = match fs::openat(dir, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(true),
            Err(errno) => return Err(errno),
        };
        fs::flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        match look(dir, name)? {
            Some(now) if same(&now, &fs::fstat(&file)?) => {
                fs::unlinkat(dir, name, AtFlags::empty())?;
                Ok(true)
            }
            Some(_) => Ok(false),
            None => Ok(true),
        }
    };
    removed().unwrap_or(false)
}
