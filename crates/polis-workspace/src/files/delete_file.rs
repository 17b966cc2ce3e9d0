//! Deletes files, directories and trees. Deleting a symbolic link never touches its target.
//!
//! A tree is emptied through open directories and single names, with bounded memory. Few descriptors are open
//! at any depth, because deep directories are moved to the top first. If the deletion fails half-way, a part of
//! the tree may be gone, and the error says so.

use std::ffi::CString;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use polis_core::Refusal;
use polis_core::id::quote_untrusted;
use polis_core::refusal::ReasonArg;
use polis_core::workspace::file_tools::{DeleteFileParams, FileOperationResult};
use polis_core::workspace::workspace_path::{UNFINISHED_PREFIX, WorkspacePath};
use polis_ops::PortError;
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::beneath::{file_type, stat_no_follow};
use super::entry_location::{DIRECTORY_FLAGS, EntryLocation};
use super::file_error::{self, FileAccess};
use super::file_lock::LockPurpose;
use super::temp_file::remove_leftovers;
use super::tree_walk::for_each_entry;
use crate::refusal_tables::FileRefusal;

/// Maximum number of names of one directory held in memory.
const MAX_NAMES_IN_MEMORY: usize = 4_096;

/// Maximum depth of the descent; deeper directories are moved up first. Each level keeps a directory open.
const MAX_DELETE_DEPTH: usize = 64;

impl WorkspaceDir {
    /// Deletes a file, a link, an empty directory, or with `recursive` a directory with its contents. Fails
    /// with `directory_not_empty` for another directory.
    pub fn delete(&self, params: &DeleteFileParams) -> Result<FileOperationResult, PortError> {
        let path = WorkspacePath::parse(&params.path)?;
        let failed = FileAccess::Writing.errno_mapper(&path);
        let location = self.locate(&path, FileAccess::Writing)?;
        let stat = location
            .stat()
            .map_err(&failed)?
            .ok_or_else(|| file_error::not_found(&path.to_string()))?;
        match file_type(&stat) {
            FileType::Directory if params.recursive => {
                delete_directory_tree(location.dir.as_fd(), &location.name).map_err(|errno| {
                    let mut error = failed(errno);
                    let refusal = Refusal::from(FileRefusal::PartlyDeleted {
                        path: quote_untrusted(&path.to_string()),
                        next: ReasonArg::HintOf(Box::new(error.reason)),
                    });
                    error.reason = refusal.reason;
                    error
                })?;
            }
            FileType::Directory => self.delete_empty_directory(&path, &location)?,
            FileType::RegularFile => {
                // Locked, so that a concurrent edit does not recreate it.
                let _lock = self.lock_file(&path, &location, LockPurpose::RenameOrDelete)?;
                fs::unlinkat(&location.dir, location.name.as_slice(), AtFlags::empty())
                    .map_err(&failed)?;
            }
            _ => fs::unlinkat(&location.dir, location.name.as_slice(), AtFlags::empty())
                .map_err(&failed)?,
        }
        location.sync_directory().map_err(&failed)?;
        Ok(FileOperationResult { ok: true })
    }

    fn delete_empty_directory(
        &self,
        path: &WorkspacePath,
        location: &EntryLocation<'_>,
    ) -> Result<(), PortError> {
        let remove = || fs::unlinkat(&location.dir, location.name.as_slice(), AtFlags::REMOVEDIR);
        let mut answer = remove();
        if answer == Err(Errno::NOTEMPTY) {
            // Hidden leftovers of killed writers must not keep a directory from being deleted.
            let open = DIRECTORY_FLAGS | OFlags::NOFOLLOW;
            let removed = fs::openat(&location.dir, location.name.as_slice(), open, Mode::empty())
                .and_then(|directory| remove_leftovers(directory.as_fd()));
            if removed == Ok(true) {
                answer = remove();
            }
        }
        match answer {
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                Err(PortError::from(FileRefusal::DirectoryNotEmpty {
                    path: quote_untrusted(&path.to_string()),
                }))
            }
            answer => answer.map_err(FileAccess::Writing.errno_mapper(path)),
        }
    }
}

/// A directory that is being emptied.
#[derive(Debug)]
struct DirectoryLevel {
    fd: OwnedFd,
    /// Its name in the parent directory.
    name: CString,
    /// Subdirectories still to be deleted.
    pending_dirs: Vec<CString>,
    /// Whether it has more entries than are held in memory.
    has_more: bool,
}

impl DirectoryLevel {
    /// Deletes everything except subdirectories, and lists those in `pending_dirs`.
    fn delete_files_and_list_dirs(&mut self) -> Result<(), Errno> {
        loop {
            let mut others = Vec::new();
            self.pending_dirs.clear();
            self.has_more = false;
            fs::seek(&self.fd, fs::SeekFrom::Start(0))?;
            for_each_entry(self.fd.as_fd(), |name, entry_type| {
                let found = match entry_type {
                    FileType::Unknown => match stat_no_follow(self.fd.as_fd(), name.to_bytes())? {
                        Some(stat) => file_type(&stat),
                        None => return Ok(()),
                    },
                    known_type => known_type,
                };
                let names = if found == FileType::Directory {
                    &mut self.pending_dirs
                } else {
                    &mut others
                };
                if names.len() < MAX_NAMES_IN_MEMORY {
                    names.push(name.to_owned());
                } else {
                    self.has_more = true;
                }
                Ok(())
            })?;
            let is_full = others.len() == MAX_NAMES_IN_MEMORY;
            for other in others {
                match fs::unlinkat(&self.fd, &other, AtFlags::empty()) {
                    Ok(()) | Err(Errno::NOENT) => {}
                    // Replaced by a directory in the meantime.
                    Err(Errno::ISDIR) => self.pending_dirs.push(other),
                    Err(errno) => return Err(errno),
                }
            }
            if !is_full {
                return Ok(());
            }
        }
    }
}

/// Deletes a directory and its contents, through open directories and single names.
fn delete_directory_tree(above: BorrowedFd<'_>, name: &[u8]) -> Result<(), Errno> {
    let name = CString::new(name).map_err(|_| Errno::INVAL)?;
    // Retried for entries created in the meantime, a bounded number of times.
    for _ in 0..16 {
        empty_directory(above, &name)?;
        match fs::unlinkat(above, &name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY) => {}
            // Replaced by something else, which is deleted as such.
            Err(Errno::NOTDIR) => return fs::unlinkat(above, &name, AtFlags::empty()),
            answer => return answer,
        }
    }
    Err(Errno::NOTEMPTY)
}

fn empty_directory(above: BorrowedFd<'_>, name: &CString) -> Result<(), Errno> {
    let Some(top) = enter_directory(above, name)? else {
        return Ok(());
    };
    let mut levels = vec![top];
    while let Some(depth) = levels.len().checked_sub(1) {
        let Some(level) = levels.get_mut(depth) else {
            break;
        };
        if level.pending_dirs.is_empty() && level.has_more {
            level.delete_files_and_list_dirs()?;
        }
        let Some(next) = level.pending_dirs.pop() else {
            let Some(done) = levels.pop() else { break };
            let Some(parent) = levels.last() else { break };
            match fs::unlinkat(&parent.fd, &done.name, AtFlags::REMOVEDIR) {
                // Others may change it concurrently; the remains are deleted in the next pass from the top.
                Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::NOTDIR) => continue,
                Err(errno) => return Err(errno),
            }
        };
        if depth < MAX_DELETE_DEPTH {
            if let Some(entered) = enter_directory(level.fd.as_fd(), &next)? {
                levels.push(entered);
            }
            continue;
        }
        let (Some(top), Some(level)) = (levels.first(), levels.last()) else {
            break;
        };
        let free = RandomState::new().build_hasher().finish();
        let free =
            CString::new(format!("{UNFINISHED_PREFIX}{free:016x}")).map_err(|_| Errno::INVAL)?;
        match fs::renameat(&level.fd, &next, &top.fd, &free) {
            Ok(()) => {
                if let Some(top) = levels.first_mut() {
                    if top.pending_dirs.len() < MAX_NAMES_IN_MEMORY {
                        top.pending_dirs.push(free);
                    } else {
                        top.has_more = true;
                    }
                }
            }
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// Opens a directory and deletes its contents except subdirectories. Returns `None` if it no longer is a
/// directory.
fn enter_directory(above: BorrowedFd<'_>, name: &CString) -> Result<Option<DirectoryLevel>, Errno> {
    let fd = match fs::openat(
        above,
        name,
        DIRECTORY_FLAGS | OFlags::NOFOLLOW,
        Mode::empty(),
    ) {
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
    let mut level = DirectoryLevel {
        fd,
        name: name.clone(),
        pending_dirs: Vec::new(),
        has_more: false,
    };
    level.delete_files_and_list_dirs()?;
    Ok(Some(level))
}
