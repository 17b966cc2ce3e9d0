//! Moving and renaming within a workspace, and making directories.

use std::os::fd::AsFd as _;

use polis_core::Code;
use polis_core::id::quoted;
use polis_core::workspace::file::{Done, MakeDir, MoveFile};
use polis_core::workspace::path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, AtFlags, FileType, RenameFlags, Stat};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::beneath::{kind, same};
use super::fault::{self, Doing};
use super::hold::{Held, Wants};
use super::place::{Made, Place};

impl WorkspaceDir {
    /// Makes a directory and those on the way, durably; one that is there is fine.
    pub fn make_dir(&self, ask: &MakeDir) -> Result<Done, PortError> {
        let path = WorkspacePath::parse_directory(Some(&ask.path))?;
        let mut made = Made::default();
        let answer = self
            .directory_made(&path, path.as_str(), &mut made)
            .and_then(|_| made.sync().map_err(Doing::Writing.at(&path)));
        if answer.is_err() {
            made.undo();
        }
        answer.map(|()| Done { ok: true })
    }

    /// Moves a file, a link or a directory, durably; makes the directories on the way. Nothing is
    /// replaced unless asked for, and a directory only by a directory, if it is empty.
    pub fn rename(&self, ask: &MoveFile) -> Result<Done, PortError> {
        let from = WorkspacePath::parse(&ask.from)?;
        let to = WorkspacePath::parse(&ask.to)?;
        let mut made = Made::default();
        let answer = self.rename_to(&from, &to, ask.overwrite, &mut made);
        if answer.is_err() {
            made.undo();
        }
        answer.map(|()| Done { ok: true })
    }

    fn rename_to(
        &self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        overwrite: bool,
        made: &mut Made,
    ) -> Result<(), PortError> {
        let source = self.place(from, Doing::Writing)?;
        let stat = source
            .look()
            .map_err(Doing::Writing.at(from))?
            .ok_or_else(|| fault::not_found(&from.to_string()))?;
        if to != from && to.is_within(from) && kind(&stat) == FileType::Directory {
            return Err(into_itself(from));
        }
        let target = self.place_made(to, made)?;
        let there = target.look().map_err(Doing::Writing.at(to))?;
        if let Some(there) = &there {
            check_target(&stat, there, to, overwrite)?;
        }
        let _held = self.hold_both(from, (&source, &stat), to, (&target, there.as_ref()))?;
        made.sync().map_err(Doing::Writing.at(to))?;
        let answer = if overwrite {
            rename_over(&source, &target, &stat)
        } else {
            rename_new(&source, &target, &stat)
        };
        answer.map_err(|errno| match errno {
            Errno::INVAL => into_itself(from),
            Errno::EXIST if !overwrite => fault::exists(&to.to_string()),
            Errno::NOTEMPTY | Errno::EXIST => PortError::new(
                Code::DirectoryNotEmpty,
                format!(
                    "The directory {} is not empty; nothing was changed.",
                    quoted(&to.to_string())
                ),
                "delete it first, or use another name",
            ),
            // Not a link that leads out, but another disk mounted inside.
            Errno::XDEV => PortError::new(
                Code::WriteFailed,
                "The two places are on different file systems; nothing was changed.",
                "copy the file, then delete the old one",
            ),
            Errno::NOENT => fault::not_found(&from.to_string()),
            errno => Doing::Writing.at(to)(errno),
        })?;
        target.sync().map_err(Doing::Writing.at(to))?;
        source.sync().map_err(Doing::Writing.at(from))
    }

    /// Holds the files at both ends, so that no edit under way brings one back. In the order of
    /// their numbers, so that two who swap names do not wait for each other.
    fn hold_both(
        &self,
        from: &WorkspacePath,
        source: (&Place<'_>, &Stat),
        to: &WorkspacePath,
        target: (&Place<'_>, Option<&Stat>),
    ) -> Result<[Option<Held>; 2], PortError> {
        let is_file = |stat: &Stat| kind(stat) == FileType::RegularFile;
        let source_stat = source.1;
        let target_stat = target
            .1
            .filter(|stat| is_file(stat) && !same(stat, source_stat));
        let hold_source = || match is_file(source_stat) {
            true => self.hold(from, source.0, Wants::Name),
            false => Ok(None),
        };
        let hold_target = || match target_stat {
            Some(_) => self.hold(to, target.0, Wants::Name),
            None => Ok(None),
        };
        if target_stat.is_some_and(|stat| stat.st_ino < source_stat.st_ino) {
            return Ok([hold_target()?, hold_source()?]);
        }
        Ok([hold_source()?, hold_target()?])
    }
}

/// Whether what is at the target may be replaced by the source.
fn check_target(
    source: &Stat,
    there: &Stat,
    to: &WorkspacePath,
    overwrite: bool,
) -> Result<(), PortError> {
    if !overwrite {
        return Err(fault::exists(&to.to_string()));
    }
    match (kind(source), kind(there)) {
        (FileType::Directory, FileType::Directory) => Ok(()),
        (_, FileType::Directory) => Err(fault::is_a_directory(&to.to_string())),
        (FileType::Directory, _) => Err(fault::not_a_directory(&to.to_string())),
        (_, FileType::RegularFile | FileType::Symlink) => Ok(()),
        _ => Err(fault::not_a_file(&to.to_string())),
    }
}

fn rename_over(source: &Place<'_>, target: &Place<'_>, stat: &Stat) -> Result<(), Errno> {
    let (from, to) = (source.name.as_slice(), target.name.as_slice());
    fs::renameat(&source.dir, from, &target.dir, to)?;
    // Two names of the same file: the kernel leaves both.
    let both = source.look()?.is_some_and(|left| same(&left, stat))
        && target.look()?.is_some_and(|there| same(&there, stat));
    if both && !same_place(source, target)? {
        fs::unlinkat(&source.dir, from, AtFlags::empty())?;
    }
    Ok(())
}

fn same_place(a: &Place<'_>, b: &Place<'_>) -> Result<bool, Errno> {
    let (dir_a, dir_b) = (fs::fstat(a.dir.as_fd())?, fs::fstat(b.dir.as_fd())?);
    Ok(a.name == b.name && same(&dir_a, &dir_b))
}

fn rename_new(source: &Place<'_>, target: &Place<'_>, stat: &Stat) -> Result<(), Errno> {
    let (from, to) = (source.name.as_slice(), target.name.as_slice());
    let flags = RenameFlags::NOREPLACE;
    match fs::renameat_with(&source.dir, from, &target.dir, to, flags) {
        Err(Errno::INVAL | Errno::NOSYS) => {}
        answer => return answer,
    }
    // The file system cannot do it in one step, or a directory was to be moved into itself.
    if kind(stat) == FileType::Directory {
        // A directory replaces an empty one at most.
        return match target.look()? {
            Some(_) => Err(Errno::EXIST),
            None => fs::renameat(&source.dir, from, &target.dir, to),
        };
    }
    fs::linkat(&source.dir, from, &target.dir, to, AtFlags::empty())?;
    fs::unlinkat(&source.dir, from, AtFlags::empty())
}

fn into_itself(from: &WorkspacePath) -> PortError {
    fault::invalid(
        format!(
            "The directory {} cannot be moved into itself.",
            quoted(&from.to_string())
        ),
        "move it to a place outside of it",
    )
}
