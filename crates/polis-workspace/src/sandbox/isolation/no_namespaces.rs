//! Support for sandboxes without namespaces (tiers T1 and T2): a private scratch directory instead of `/tmp`,
//! and counts of the user's processes and queued signals, which the kernel adds to a command's.
//!
//! If polis runs as root, a default workspace and the output directory are given to the commands' user, and polis's own
//! directories above them are made traversable for it; other directories are never changed.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, StatVfsMountFlags};

use crate::sandbox::isolation::user_mapping::sandbox_user;

const SCRATCH_PREFIX: &str = "polis-scratch-";

/// A private directory, removed with its contents on drop.
#[derive(Debug)]
pub(crate) struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    /// Creates a scratch directory, owned by `owner` if polis is root.
    pub(crate) fn new(owner: Option<(u32, u32)>) -> io::Result<Self> {
        static NEXT_SCRATCH_NUMBER: AtomicU64 = AtomicU64::new(0);
        let temporary = std::env::temp_dir().canonicalize()?;
        remove_stale_scratch(&temporary);
        let path = loop {
            let number = NEXT_SCRATCH_NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = temporary.join(format!("{SCRATCH_PREFIX}{}-{number}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        let scratch = Self(path);
        if let Some((uid, gid)) = owner {
            std::os::unix::fs::lchown(&scratch.0, Some(uid), Some(gid))?;
        }
        Ok(scratch)
    }

    /// Returns the absolute path of the directory.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        let _ = remove_directory_tree(&self.0);
    }
}

/// Maximum depth of the recursive removal; deeper directories are moved up first. Each level takes a file
/// descriptor, and a command could otherwise make polis exhaust them.
const MAX_REMOVE_DEPTH: usize = 32;

/// Removes a directory of any depth, even if permissions inside it are missing.
fn remove_directory_tree(directory: &Path) -> io::Result<()> {
    let open = || open_directory_nofollow(rustix::fs::CWD, directory);
    let root = match open() {
        Err(rustix::io::Errno::ACCESS) => {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
            open()?
        }
        opened => opened?,
    };
    remove_directory_contents(&root, &root, 0, &mut 0)?;
    fs::remove_dir(directory)
}

fn open_directory_nofollow(
    parent: impl AsFd,
    name: impl rustix::path::Arg,
) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

/// Removes the contents of a directory; what is too deep is moved up to the root first.
fn remove_directory_contents(
    root: &OwnedFd,
    directory: &OwnedFd,
    depth: usize,
    moved_count: &mut u64,
) -> io::Result<()> {
    loop {
        // A directory that changes while it is read may be read incompletely: repeat until it is empty.
        let mut found = false;
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            found = true;
            let stat_flags = AtFlags::SYMLINK_NOFOLLOW;
            let stat = rustix::fs::statat(directory, name, stat_flags)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                rustix::fs::unlinkat(directory, name, AtFlags::empty())?;
                continue;
            }
            if stat.st_mode & 0o700 != 0o700 {
                rustix::fs::chmodat(directory, name, Mode::RWXU, AtFlags::empty())?;
            }
            if depth >= MAX_REMOVE_DEPTH {
                *moved_count += 1;
                let new_name = format!("{SCRATCH_PREFIX}deep-{moved_count}");
                rustix::fs::renameat(directory, name, root, new_name)?;
                continue;
            }
            remove_directory_contents(
                root,
                &open_directory_nofollow(directory, name)?,
                depth + 1,
                moved_count,
            )?;
            rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)?;
        }
        if !found {
            return Ok(());
        }
    }
}

/// Removes scratch directories of polis processes that no longer exist.
fn remove_stale_scratch(temporary: &Path) {
    let us = rustix::process::geteuid().as_raw();
    let owners = [us, sandbox_user().0];
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.strip_prefix(SCRATCH_PREFIX))
            .and_then(|rest| rest.split('-').next())
            .and_then(|pid| pid.parse::<u32>().ok());
        let Some(process) = process else { continue };
        let ours = fs::symlink_metadata(entry.path())
            .is_ok_and(|found| found.is_dir() && owners.contains(&found.uid()));
        if ours && !Path::new(&format!("/proc/{process}")).exists() {
            let _ = remove_directory_tree(&entry.path());
        }
    }
}

/// Returns the number of processes and threads of a user: RLIMIT_NPROC counts them together with those of a
/// command.
pub(crate) fn count_user_processes(uid: u32) -> u64 {
    let mut count = 0;
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let is_process = entry
            .file_name()
            .as_encoded_bytes()
            .iter()
            .all(u8::is_ascii_digit);
        if !is_process || !entry.metadata().is_ok_and(|found| found.uid() == uid) {
            continue;
        }
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let threads = status
            .lines()
            .find_map(|line| line.strip_prefix("Threads:"))
            .and_then(|threads| threads.trim().parse::<u64>().ok());
        count += threads.unwrap_or(1);
    }
    count
}

/// Returns the number of queued signals of this process's user: RLIMIT_SIGPENDING counts them together with
/// those of a command.
pub(crate) fn count_queued_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigQ:"))
        .and_then(|counts| counts.trim().split('/').next()?.parse().ok())
        .unwrap_or(0)
}

/// Gives the commands' group permission to traverse the directories above one of polis's own. Returns whether
/// the user can reach it.
///
/// Polis's data is accessible to its owner only, but a shell that cannot traverse to its directory cannot
/// `cd`. Only directories that polis created are changed, and only for traversal: the parent directory and
/// the data directory. Directories that others closed stay closed.
pub(crate) fn grant_traversal(directory: &Path, (uid, gid): (u32, u32)) -> io::Result<bool> {
    const OWN_DIRECTORY_LEVELS: usize = 2;
    let us = rustix::process::geteuid().as_raw();
    for (level, above) in directory.ancestors().skip(1).enumerate() {
        let found = fs::symlink_metadata(above)?;
        let may_pass = match (found.uid() == uid, found.gid() == gid) {
            (true, _) => 0o100,
            (false, true) => 0o010,
            (false, false) => 0o001,
        };
        if found.mode() & may_pass != 0 {
            continue;
        }
        let closed_by_us =
            level < OWN_DIRECTORY_LEVELS && found.uid() == us && found.mode() & 0o070 == 0;
        if !closed_by_us {
            return Ok(false);
        }
        std::os::unix::fs::lchown(above, None, Some(gid))?;
        let mode = found.mode() & 0o7777 | 0o010;
        fs::set_permissions(above, fs::Permissions::from_mode(mode))?;
    }
    Ok(true)
}

/// Changes the owner of a directory and its contents, the directory itself last: if its owner is already
/// right, everything is done.
///
/// Follows nothing: symbolic links themselves change their owner, and other file systems are skipped.
pub(crate) fn chown_workspace(directory: &Path, (uid, gid): (u32, u32)) -> io::Result<()> {
    let root = open_directory_nofollow(rustix::fs::CWD, directory)?;
    let stat = rustix::fs::fstat(&root)?;
    if stat.st_uid == uid {
        return Ok(());
    }
    chown_tree(&root, (uid, gid))
}

/// Changes the owner even if the directory itself already has it: files may have been added since.
pub(crate) fn chown_output_directory(directory: &Path, user: (u32, u32)) -> io::Result<()> {
    chown_tree(&open_directory_nofollow(rustix::fs::CWD, directory)?, user)
}

fn chown_tree(root: &OwnedFd, (uid, gid): (u32, u32)) -> io::Result<()> {
    let stat = rustix::fs::fstat(root)?;
    let mounted = rustix::fs::fstatvfs(root)?;
    if mounted.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(io::ErrorKind::ReadOnlyFilesystem.into());
    }
    chown_entries(root, stat.st_dev, uid, gid)?;
    let (user, group) = (
        rustix::fs::Uid::from_raw(uid),
        rustix::fs::Gid::from_raw(gid),
    );
    rustix::fs::fchown(root, Some(user), Some(group))?;
    Ok(())
}

fn chown_entries(directory: &impl AsFd, device: u64, uid: u32, gid: u32) -> io::Result<()> {
    let (user, group) = (
        rustix::fs::Uid::from_raw(uid),
        rustix::fs::Gid::from_raw(gid),
    );
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let stat_flags = AtFlags::SYMLINK_NOFOLLOW;
        let stat = rustix::fs::statat(directory, name, stat_flags)?;
        if stat.st_dev != device {
            continue;
        }
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let below: OwnedFd = rustix::fs::openat(directory, name, flags, Mode::empty())?;
            chown_entries(&below, device, uid, gid)?;
        }
        rustix::fs::chownat(directory, name, Some(user), Some(group), stat_flags)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_directory_is_removed_with_its_contents() {
        let scratch = ScratchDirectory::new(None).unwrap();
        let path = scratch.path().to_owned();
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/c"), "x").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn deep_unreadable_scratch_directory_is_removed() {
        let scratch = ScratchDirectory::new(None).unwrap();
        let path = scratch.path().to_owned();
        let mut deepest = open_directory_nofollow(rustix::fs::CWD, &path).unwrap();
        for level in 0..3_000 {
            rustix::fs::mkdirat(&deepest, "below", Mode::RWXU).unwrap();
            rustix::fs::mkdirat(&deepest, "beside", Mode::RWXU).unwrap();
            let before = deepest;
            deepest = open_directory_nofollow(&before, "below").unwrap();
            if level % 100 == 0 {
                rustix::fs::fchmod(&before, Mode::empty()).unwrap();
            }
        }
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn scratch_of_dead_process_is_removed() {
        let temporary = tempfile::tempdir().unwrap();
        let left = temporary.path().join(format!("{SCRATCH_PREFIX}4194999-0"));
        let live = temporary
            .path()
            .join(format!("{SCRATCH_PREFIX}{}-0", std::process::id()));
        let other = temporary.path().join("something-else");
        for directory in [&left, &live, &other] {
            fs::create_dir_all(directory.join("x")).unwrap();
        }
        remove_stale_scratch(temporary.path());
        assert!(!left.exists());
        assert!(live.exists() && other.exists());
    }

    #[test]
    fn processes_of_own_user_are_counted() {
        let uid = rustix::process::geteuid().as_raw();
        assert!(count_user_processes(uid) >= 1);
        assert_eq!(count_user_processes(3_999_999_999), 0);
    }

    #[test]
    fn traversal_is_granted_in_own_directories_only() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can change the owner of files");
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let top = scratch.path().canonicalize().unwrap();
        let workspace = top.join("data/workspaces/a");
        fs::create_dir_all(&workspace).unwrap();
        let set = |path: &Path, mode| {
            std::os::unix::fs::lchown(path, None, Some(0)).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let facts = |path: &Path| {
            let found = fs::metadata(path).unwrap();
            (found.mode() & 0o7777, found.gid())
        };
        let (data, parent) = (top.join("data"), top.join("data/workspaces"));
        set(&top, 0o755);
        set(&data, 0o700);
        set(&parent, 0o700);
        for _ in 0..2 {
            assert!(grant_traversal(&workspace, (12345, 12346)).unwrap());
            assert_eq!(facts(&data), (0o710, 12346));
            assert_eq!(facts(&parent), (0o710, 12346));
            assert_eq!(facts(&top), (0o755, 0));
        }
        // Another group has permissions there, or the directory is not ours.
        set(&data, 0o750);
        assert!(!grant_traversal(&workspace, (12345, 12346)).unwrap());
        assert_eq!(facts(&data), (0o750, 0));
        set(&data, 0o711);
        set(&top, 0o700);
        assert!(!grant_traversal(&workspace, (12345, 12346)).unwrap());
        assert_eq!(facts(&top), (0o700, 0));
    }

    #[test]
    fn chown_does_not_follow_symlinks() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can change the owner of files");
            return;
        }
        let scratch = tempfile::tempdir().unwrap();
        let (inside, outside) = (scratch.path().join("in"), scratch.path().join("out"));
        fs::create_dir_all(inside.join("a/b")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(inside.join("a/b/c"), "x").unwrap();
        fs::write(outside.join("kept"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("a/link")).unwrap();
        std::os::unix::fs::symlink(outside.join("kept"), inside.join("file")).unwrap();
        chown_workspace(&inside, (12345, 12346)).unwrap();
        let owner = |path: &Path| {
            let found = fs::symlink_metadata(path).unwrap();
            (found.uid(), found.gid())
        };
        for path in ["", "a", "a/b", "a/b/c", "a/link", "file"] {
            assert_eq!(owner(&inside.join(path)), (12345, 12346), "{path}");
        }
        assert_eq!(owner(&outside), (0, 0));
        assert_eq!(owner(&outside.join("kept")), (0, 0));
    }
}
