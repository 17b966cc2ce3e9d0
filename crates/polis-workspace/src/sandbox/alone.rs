//! What a sandbox without namespaces needs besides: a private directory in place of `/tmp`, and for
//! root, a workspace whose files are the commands' user's.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, StatVfsMountFlags};

use super::identity::nobody_else;

const PREFIX: &str = "polis-scratch-";

/// A private directory, removed with everything in it.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new one, which belongs to a user if polis is root.
    pub(crate) fn new(owner: Option<(u32, u32)>) -> io::Result<Self> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let temporary = std::env::temp_dir().canonicalize()?;
        sweep(&temporary);
        let path = loop {
            let number = MADE.fetch_add(1, Ordering::Relaxed);
            let path = temporary.join(format!("{PREFIX}{}-{number}", std::process::id()));
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

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = remove(&self.0);
    }
}

/// How deep a directory is gone into before what is below is brought up: each level takes
/// descriptors, of which a command could make polis use up all.
const DEEPEST: usize = 32;

/// Removes a directory however deep it is, and whatever may not be done in it.
fn remove(directory: &Path) -> io::Result<()> {
    let open = || open_directory(rustix::fs::CWD, directory);
    let root = match open() {
        Err(rustix::io::Errno::ACCESS) => {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700))?;
            open()?
        }
        opened => opened?,
    };
    clear(&root, &root, 0, &mut 0)?;
    fs::remove_dir(directory)
}

fn open_directory(parent: impl AsFd, name: impl rustix::path::Arg) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

/// Removes everything in a directory; what is too deep is brought up to the root first.
fn clear(root: &OwnedFd, directory: &OwnedFd, depth: usize, brought: &mut u64) -> io::Result<()> {
    loop {
        // A directory that changes while it is read may be read in part: until nothing is found.
        let mut found = false;
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            found = true;
            let here = AtFlags::SYMLINK_NOFOLLOW;
            let stat = rustix::fs::statat(directory, name, here)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                rustix::fs::unlinkat(directory, name, AtFlags::empty())?;
                continue;
            }
            if stat.st_mode & 0o700 != 0o700 {
                rustix::fs::chmodat(directory, name, Mode::RWXU, AtFlags::empty())?;
            }
            if depth >= DEEPEST {
                *brought += 1;
                let place = format!("{PREFIX}deep-{brought}");
                rustix::fs::renameat(directory, name, root, place)?;
                continue;
            }
            clear(root, &open_directory(directory, name)?, depth + 1, brought)?;
            rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR)?;
        }
        if !found {
            return Ok(());
        }
    }
}

/// Removes our directories whose polis is not there any more.
fn sweep(temporary: &Path) {
    let us = rustix::process::geteuid().as_raw();
    let owners = [us, nobody_else().0];
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(|rest| rest.split('-').next())
            .and_then(|pid| pid.parse::<u32>().ok());
        let Some(process) = process else { continue };
        let ours = fs::symlink_metadata(entry.path())
            .is_ok_and(|found| found.is_dir() && owners.contains(&found.uid()));
        if ours && !Path::new(&format!("/proc/{process}")).exists() {
            let _ = remove(&entry.path());
        }
    }
}

/// How many processes and threads a user has now: limits count them together with a command's.
pub(crate) fn processes_of(uid: u32) -> u64 {
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

/// How many signals the user of this process has queued now: limits count them together with a command's.
pub(crate) fn queued_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigQ:"))
        .and_then(|counts| counts.trim().split('/').next()?.parse().ok())
        .unwrap_or(0)
}

/// Lets a group through to a directory of polis's own, and answers whether it gets there.
///
/// Polis's data is closed to everybody, but a shell that cannot go where it is cannot change its
/// directory. Only what polis has made is opened, and only to be passed: the directory that holds
/// such directories, and the one of all data. What others closed stays so.
pub(crate) fn open_way(directory: &Path, (uid, gid): (u32, u32)) -> io::Result<bool> {
    const OWN: usize = 2;
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
        let closed_by_us = level < OWN && found.uid() == us && found.mode() & 0o070 == 0;
        if !closed_by_us {
            return Ok(false);
        }
        std::os::unix::fs::lchown(above, None, Some(gid))?;
        let mode = found.mode() & 0o7777 | 0o010;
        fs::set_permissions(above, fs::Permissions::from_mode(mode))?;
    }
    Ok(true)
}

/// Gives a directory and what is in it to a user, the directory itself last: if that is done, all is.
///
/// Nothing is followed: links themselves change their owner, and other file systems are left alone.
pub(crate) fn hand_over(directory: &Path, (uid, gid): (u32, u32)) -> io::Result<()> {
    let root = open_directory(rustix::fs::CWD, directory)?;
    let stat = rustix::fs::fstat(&root)?;
    if stat.st_uid == uid {
        return Ok(());
    }
    hand_over_all(&root, (uid, gid))
}

/// The same, even if the directory itself has been given already: others may have been put there.
pub(crate) fn hand_over_again(directory: &Path, user: (u32, u32)) -> io::Result<()> {
    hand_over_all(&open_directory(rustix::fs::CWD, directory)?, user)
}

fn hand_over_all(root: &OwnedFd, (uid, gid): (u32, u32)) -> io::Result<()> {
    let stat = rustix::fs::fstat(root)?;
    let mounted = rustix::fs::fstatvfs(root)?;
    if mounted.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(io::ErrorKind::ReadOnlyFilesystem.into());
    }
    give(root, stat.st_dev, uid, gid)?;
    let (user, group) = (
        rustix::fs::Uid::from_raw(uid),
        rustix::fs::Gid::from_raw(gid),
    );
    rustix::fs::fchown(root, Some(user), Some(group))?;
    Ok(())
}

fn give(directory: &impl AsFd, device: u64, uid: u32, gid: u32) -> io::Result<()> {
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
        let here = AtFlags::SYMLINK_NOFOLLOW;
        let stat = rustix::fs::statat(directory, name, here)?;
        if stat.st_dev != device {
            continue;
        }
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let below: OwnedFd = rustix::fs::openat(directory, name, flags, Mode::empty())?;
            give(&below, device, uid, gid)?;
        }
        rustix::fs::chownat(directory, name, Some(user), Some(group), here)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_directory_goes_with_everything_in_it() {
        let scratch = Scratch::new(None).unwrap();
        let path = scratch.path().to_owned();
        fs::create_dir_all(path.join("a/b")).unwrap();
        fs::write(path.join("a/b/c"), "x").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn a_scratch_directory_goes_however_deep_and_closed_it_is() {
        let scratch = Scratch::new(None).unwrap();
        let path = scratch.path().to_owned();
        let mut deepest = open_directory(rustix::fs::CWD, &path).unwrap();
        for level in 0..3_000 {
            rustix::fs::mkdirat(&deepest, "below", Mode::RWXU).unwrap();
            rustix::fs::mkdirat(&deepest, "beside", Mode::RWXU).unwrap();
            let before = deepest;
            deepest = open_directory(&before, "below").unwrap();
            if level % 100 == 0 {
                rustix::fs::fchmod(&before, Mode::empty()).unwrap();
            }
        }
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_dead_polis_left_is_swept() {
        let temporary = tempfile::tempdir().unwrap();
        let left = temporary.path().join(format!("{PREFIX}4194999-0"));
        let kept = temporary
            .path()
            .join(format!("{PREFIX}{}-0", std::process::id()));
        let other = temporary.path().join("something-else");
        for directory in [&left, &kept, &other] {
            fs::create_dir_all(directory.join("x")).unwrap();
        }
        sweep(temporary.path());
        assert!(!left.exists());
        assert!(kept.exists() && other.exists());
    }

    #[test]
    fn our_own_threads_are_counted() {
        let uid = rustix::process::geteuid().as_raw();
        assert!(processes_of(uid) >= 1);
        assert_eq!(processes_of(3_999_999_999), 0);
    }

    #[test]
    fn the_way_is_opened_in_our_own_directories_alone() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can give files away");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let top = place.path().canonicalize().unwrap();
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
            assert!(open_way(&workspace, (12345, 12346)).unwrap());
            assert_eq!(facts(&data), (0o710, 12346));
            assert_eq!(facts(&parent), (0o710, 12346));
            assert_eq!(facts(&top), (0o755, 0));
        }
        // Somebody's group has rights there; or it is not ours at all.
        set(&data, 0o750);
        assert!(!open_way(&workspace, (12345, 12346)).unwrap());
        assert_eq!(facts(&data), (0o750, 0));
        set(&data, 0o711);
        set(&top, 0o700);
        assert!(!open_way(&workspace, (12345, 12346)).unwrap());
        assert_eq!(facts(&top), (0o700, 0));
    }

    #[test]
    fn handing_over_follows_no_link() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can give files away");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("in"), place.path().join("out"));
        fs::create_dir_all(inside.join("a/b")).unwrap();
        fs::create_dir_all(&outside).unwrap();
        fs::write(inside.join("a/b/c"), "x").unwrap();
        fs::write(outside.join("kept"), "x").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("a/link")).unwrap();
        std::os::unix::fs::symlink(outside.join("kept"), inside.join("file")).unwrap();
        hand_over(&inside, (12345, 12346)).unwrap();
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
