//! Deleting files and directories. A link is deleted itself, never what it leads to.

use std::ffi::CString;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use polis_core::Code;
use polis_core::id::quoted;
use polis_core::workspace::file::{DeleteFile, Done};
use polis_core::workspace::path::{UNFINISHED, WorkspacePath};
use polis_ops::PortError;
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::beneath::{kind, look};
use super::entries::each;
use super::fault::{self, Doing};
use super::hold::Wants;
use super::place::{DIRECTORY, Place};
use super::unfinished::sweep;

/// How many names of a directory are held at a time.
const MAX_NAMES: usize = 4_096;

/// How deep directories are gone down into; those deeper are pulled up first. Each level keeps a
/// directory open.
const MAX_DEPTH: usize = 64;

impl WorkspaceDir {
    /// Deletes a file, an empty directory, or with `recursive` a directory and all that is in it.
    pub fn delete(&self, ask: &DeleteFile) -> Result<Done, PortError> {
        let path = WorkspacePath::parse(&ask.path)?;
        let failed = Doing::Writing.at(&path);
        let place = self.place(&path, Doing::Writing)?;
        let stat = place
            .look()
            .map_err(&failed)?
            .ok_or_else(|| fault::not_found(&path.to_string()))?;
        match kind(&stat) {
            FileType::Directory if ask.recursive => {
                delete_tree(place.dir.as_fd(), &place.name).map_err(|errno| {
                    let mut error = failed(errno);
                    error.message = format!(
                        "The directory {} could not be deleted whole; some of it may be gone.",
                        quoted(&path.to_string())
                    );
                    error
                })?;
            }
            FileType::Directory => self.delete_directory(&path, &place)?,
            FileType::RegularFile => {
                // So that an edit under way does not bring it back.
                let _held = self.hold(&path, &place, Wants::Name)?;
                fs::unlinkat(&place.dir, place.name.as_slice(), AtFlags::empty())
                    .map_err(&failed)?;
            }
            _ => fs::unlinkat(&place.dir, place.name.as_slice(), AtFlags::empty())
                .map_err(&failed)?,
        }
        place.sync().map_err(&failed)?;
        Ok(Done { ok: true })
    }

    fn delete_directory(&self, path: &WorkspacePath, place: &Place<'_>) -> Result<(), PortError> {
        let remove = || fs::unlinkat(&place.dir, place.name.as_slice(), AtFlags::REMOVEDIR);
        let mut answer = remove();
        if answer == Err(Errno::NOTEMPTY) {
            // What nobody sees must not be in the way.
            let open = DIRECTORY | OFlags::NOFOLLOW;
            let swept = fs::openat(&place.dir, place.name.as_slice(), open, Mode::empty())
                .and_then(|directory| sweep(directory.as_fd()));
            if swept == Ok(true) {
                answer = remove();
            }
        }
        match answer {
            Err(Errno::NOTEMPTY | Errno::EXIST) => Err(PortError::new(
                Code::DirectoryNotEmpty,
                format!(
                    "The directory {} is not empty; nothing was changed.",
                    quoted(&path.to_string())
                ),
                "ask for it to be deleted with everything in it: recursive (`--recursive`)",
            )),
            answer => answer.map_err(Doing::Writing.at(path)),
        }
    }
}

/// A directory that is being emptied.
#[derive(Debug)]
struct Level {
    fd: OwnedFd,
    /// Its name in the one above.
    name: CString,
    /// Directories in it that are still to go.
    ahead: Vec<CString>,
    /// Whether it has more of them than are held.
    has_more: bool,
}

impl Level {
    /// Deletes everything in it but directories, and notes those that are still to go.
    fn read(&mut self) -> Result<(), Errno> {
        loop {
            let mut others = Vec::new();
            self.ahead.clear();
            self.has_more = false;
            fs::seek(&self.fd, fs::SeekFrom::Start(0))?;
            each(self.fd.as_fd(), |name, told| {
                let found = match told {
                    FileType::Unknown => match look(self.fd.as_fd(), name.to_bytes())? {
                        Some(stat) => kind(&stat),
                        None => return Ok(()),
                    },
                    known => known,
                };
                let names = if found == FileType::Directory {
                    &mut self.ahead
                } else {
                    &mut others
                };
                if names.len() < MAX_NAMES {
                    names.push(name.to_owned());
                } else {
                    self.has_more = true;
                }
                Ok(())
            })?;
            let is_full = others.len() == MAX_NAMES;
            for other in others {
                match fs::unlinkat(&self.fd, &other, AtFlags::empty()) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    // It became a directory meanwhile.
                    Err(Errno::ISDIR) => self.ahead.push(other),
                    Err(errno) => return Err(errno),
                }
            }
            if !is_full {
                return Ok(());
            }
        }
    }
}

/// Deletes a directory and all that is in it, by open directories and single names.
fn delete_tree(above: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    let name = CString::new(name).map_err(|_| Errno::INVAL)?;
    // Again for what is put in meanwhile, but not for ever.
    for _ in 0..16 {
        empty(above, &name)?;
        match fs::unlinkat(above, &name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY) => {}
            // Swapped for something else, which goes as what it is.
            Err(Errno::NOTDIR) => return fs::unlinkat(above, &name, AtFlags::empty()),
            answer => return answer,
        }
    }
    Err(Errno::NOTEMPTY)
}

fn empty(above: BorrowedFd<'_>, name: &CString) -> Result<(), Errno> {
    let Some(top) = enter(above, name)? else {
        return Ok(());
    };
    let mut levels = vec![top];
    while let Some(depth) = levels.len().checked_sub(1) {
        let Some(level) = levels.get_mut(depth) else {
            break;
        };
        if level.ahead.is_empty() && level.has_more {
            level.read()?;
        }
        let Some(next) = level.ahead.pop() else {
            let Some(done) = levels.pop() else { break };
            let Some(parent) = levels.last() else { break };
            match fs::unlinkat(&parent.fd, &done.name, AtFlags::REMOVEDIR) {
                // Others may be at it too; what remains is met again from the top.
                Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::NOTDIR) => continue,
                Err(errno) => return Err(errno),
            }
        };
        if depth < MAX_DEPTH {
            if let Some(entered) = enter(level.fd.as_fd(), &next)? {
                levels.push(entered);
            }
            continue;
        }
        let (Some(top), Some(level)) = (levels.first(), levels.last()) else {
            break;
        };
        let free = RandomState::new().build_hasher().finish();
        let free = CString::new(format!("{UNFINISHED}{free:016x}")).map_err(|_| Errno::INVAL)?;
        match fs::renameat(&level.fd, &next, &top.fd, &free) {
            Ok(()) => {
                if let Some(top) = levels.first_mut() {
                    top.ahead.push(free);
                }
            }
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Opens a directory and deletes everything in it but its directories. None if it is not one any
/// more.
fn enter(above: BorrowedFd<'_>, name: &CString) -> Result<Option<Level>, Errno> {
    let fd = match fs::openat(above, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            return match fs::unlinkat(above, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT | Errno::ISDIR) => Ok(None),
                Err(errno) => Err(errno),
            };
        }
        Err(errno) => return Err(errno),
    };
    let mut level = Level {
        fd,
        name: name.clone(),
        ahead: Vec::new(),
        has_more: false,
    };
    level.read()?;
    Ok(Some(level))
}
