//! Moves and renames files, links and directories within a workspace, and creates directories. Both are
//! durable (fsync).
//!
//! An existing target is replaced only if the request says so (`overwrite`), and a directory only if it is
//! empty. The files at both ends are locked, so that a concurrent edit does not recreate one under its old
//! name; in the order of their inode numbers, so that two callers that swap names cannot deadlock.

use std::os::fd::AsFd as _;

use polis_core::id::quote_untrusted;
use polis_core::workspace::file_tools::{FileOperationResult, MakeDirParams, MoveFileParams};
use polis_core::workspace::workspace_path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, AtFlags, FileType, RenameFlags, Stat};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::beneath::{file_type, is_same_file};
use super::entry_location::{CreatedDirectories, EntryLocation};
use super::file_error::{self, FileAccess};
use super::file_lock::{LockPurpose, LockedFile};
use crate::refusal_tables::FileRefusal;

impl WorkspaceDir {
    /// Creates a directory and its missing parents, durably. Succeeds if it already exists. Fails with
    /// `path_traversal_blocked` if the path leads out of the workspace, and with `not_a_directory` if a part
    /// of it is something else.
    pub fn make_dir(&self, params: &MakeDirParams) -> Result<FileOperationResult, PortError> {
        let path = WorkspacePath::parse_directory(Some(&params.path))?;
        let mut created = CreatedDirectories::default();
        let answer = self
            .open_or_create_directory(&path, path.as_str(), &mut created)
            .and_then(|_| {
                created
                    .sync_parents()
                    .map_err(FileAccess::Writing.errno_mapper(&path))
            });
        if answer.is_err() {
            created.remove_unused();
        }
        answer.map(|()| FileOperationResult { ok: true })
    }

    /// Moves a file, a link or a directory, durably; creates missing parent directories. Replaces an existing
    /// target only with `overwrite`, and a directory only by a directory and only if it is empty. Fails with
    /// `file_not_found` if the source does not exist, with `file_exists` if the target exists and `overwrite`
    /// is not set, with `directory_not_empty`, `is_a_directory` or `not_a_directory` if it cannot be
    /// replaced, and with `invalid_input` if a directory would be moved into itself.
    pub fn rename(&self, params: &MoveFileParams) -> Result<FileOperationResult, PortError> {
        let from = WorkspacePath::parse(&params.from)?;
        let to = WorkspacePath::parse(&params.to)?;
        let mut created = CreatedDirectories::default();
        let answer = self.rename_between(&from, &to, params.overwrite, &mut created);
        if answer.is_err() {
            created.remove_unused();
        }
        answer.map(|()| FileOperationResult { ok: true })
    }

    fn rename_between(
        &self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        overwrite: bool,
        created: &mut CreatedDirectories,
    ) -> Result<(), PortError> {
        let source = self.locate(from, FileAccess::Writing)?;
        let stat = source
            .stat()
            .map_err(FileAccess::Writing.errno_mapper(from))?
            .ok_or_else(|| file_error::not_found(&from.to_string()))?;
        if to != from && to.is_within(from) && file_type(&stat) == FileType::Directory {
            return Err(moved_into_itself(from));
        }
        let target = self.locate_creating_parents(to, created)?;
        let existing = target
            .stat()
            .map_err(FileAccess::Writing.errno_mapper(to))?;
        if let Some(existing) = &existing {
            check_rename_target(&stat, existing, to, overwrite)?;
        }
        let _locks = self.lock_both(from, (&source, &stat), to, (&target, existing.as_ref()))?;
        created
            .sync_parents()
            .map_err(FileAccess::Writing.errno_mapper(to))?;
        let answer = if overwrite {
            rename_replacing(&source, &target, &stat)
        } else {
            rename_no_replace(&source, &target, &stat)
        };
        answer.map_err(|errno| match errno {
            Errno::INVAL => moved_into_itself(from),
            Errno::EXIST if !overwrite => file_error::already_exists(&to.to_string()),
            Errno::NOTEMPTY | Errno::EXIST => PortError::from(FileRefusal::TargetNotEmpty {
                path: quote_untrusted(&to.to_string()),
            }),
            // Not a link that leads out, but another file system mounted inside.
            Errno::XDEV => PortError::from(FileRefusal::OtherFileSystem),
            Errno::NOENT => file_error::not_found(&from.to_string()),
            errno => FileAccess::Writing.errno_mapper(to)(errno),
        })?;
        target
            .sync_directory()
            .map_err(FileAccess::Writing.errno_mapper(to))?;
        source
            .sync_directory()
            .map_err(FileAccess::Writing.errno_mapper(from))
    }

    /// Locks the files at both ends, in the order of their inode numbers.
    fn lock_both(
        &self,
        from: &WorkspacePath,
        source: (&EntryLocation<'_>, &Stat),
        to: &WorkspacePath,
        target: (&EntryLocation<'_>, Option<&Stat>),
    ) -> Result<[Option<LockedFile>; 2], PortError> {
        let is_file = |stat: &Stat| file_type(stat) == FileType::RegularFile;
        let source_stat = source.1;
        let target_stat = target
            .1
            .filter(|stat| is_file(stat) && !is_same_file(stat, source_stat));
        let hold_source = || {
            if is_file(source_stat) {
                self.lock_file(from, source.0, LockPurpose::RenameOrDelete)
            } else {
                Ok(None)
            }
        };
        let hold_target = || match target_stat {
            Some(_) => self.lock_file(to, target.0, LockPurpose::RenameOrDelete),
            None => Ok(None),
        };
        if target_stat.is_some_and(|stat| stat.st_ino < source_stat.st_ino) {
            return Ok([hold_target()?, hold_source()?]);
        }
        Ok([hold_source()?, hold_target()?])
    }
}

/// Fails if the entry at the target may not be replaced by the source.
fn check_rename_target(
    source: &Stat,
    existing: &Stat,
    to: &WorkspacePath,
    overwrite: bool,
) -> Result<(), PortError> {
    if !overwrite {
        return Err(file_error::already_exists(&to.to_string()));
    }
    match (file_type(source), file_type(existing)) {
        (FileType::Directory, FileType::Directory) => Ok(()),
        (_, FileType::Directory) => Err(file_error::is_a_directory(&to.to_string())),
        (FileType::Directory, _) => Err(file_error::not_a_directory(&to.to_string())),
        (_, FileType::RegularFile | FileType::Symlink) => Ok(()),
        _ => Err(file_error::not_a_file(&to.to_string())),
    }
}

fn rename_replacing(
    source: &EntryLocation<'_>,
    target: &EntryLocation<'_>,
    stat: &Stat,
) -> Result<(), Errno> {
    let (from, to) = (source.name.as_slice(), target.name.as_slice());
    fs::renameat(&source.dir, from, &target.dir, to)?;
    // Both names are links to the same file: `rename` leaves both.
    let both = source.stat()?.is_some_and(|left| is_same_file(&left, stat))
        && target
            .stat()?
            .is_some_and(|existing| is_same_file(&existing, stat));
    if both && !is_same_location(source, target)? {
        fs::unlinkat(&source.dir, from, AtFlags::empty())?;
    }
    Ok(())
}

fn is_same_location(a: &EntryLocation<'_>, b: &EntryLocation<'_>) -> Result<bool, Errno> {
    let (dir_a, dir_b) = (fs::fstat(a.dir.as_fd())?, fs::fstat(b.dir.as_fd())?);
    Ok(a.name == b.name && is_same_file(&dir_a, &dir_b))
}

fn rename_no_replace(
    source: &EntryLocation<'_>,
    target: &EntryLocation<'_>,
    stat: &Stat,
) -> Result<(), Errno> {
    let (from, to) = (source.name.as_slice(), target.name.as_slice());
    let flags = RenameFlags::NOREPLACE;
    match fs::renameat_with(&source.dir, from, &target.dir, to, flags) {
        Err(Errno::INVAL | Errno::NOSYS) => {}
        answer => return answer,
    }
    // The file system does not support `RENAME_NOREPLACE`, or a directory was to be moved into itself.
    if file_type(stat) == FileType::Directory {
        // `rename` replaces a directory only if it is empty.
        return match target.stat()? {
            Some(_) => Err(Errno::EXIST),
            None => fs::renameat(&source.dir, from, &target.dir, to),
        };
    }
    fs::linkat(&source.dir, from, &target.dir, to, AtFlags::empty())?;
    fs::unlinkat(&source.dir, from, AtFlags::empty())
}

fn moved_into_itself(from: &WorkspacePath) -> PortError {
    FileRefusal::MovedIntoItself {
        path: quote_untrusted(&from.to_string()),
    }
    .into()
}
