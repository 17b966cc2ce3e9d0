//! User IDs that commands run as, and ID-mapped mounts: a command never runs as the kernel's user 0.
//!
//! If polis runs as root, the command's ID outside is an otherwise unused one, and the workspace and the other
//! directories of the policy are mounted with their owner mapped to it, so that files on disk keep their owner.
//! Otherwise it is polis's own ID; this includes a polis that is root only inside a user namespace of one user.
//! In both cases the command has a user namespace in which it is user 1000. Without namespaces only the ID
//! outside is used (see `no_namespaces`).

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::sandbox::isolation::host_view::to_c_string;
use crate::sandbox::kernel::{self, Errno, mount_attr};
use crate::sandbox::process::child_process::ChildProcess;
use crate::sandbox::process::warden;

/// Default user ID: far above the IDs that systems assign, and below those used for ID mappings.
const DEFAULT_SANDBOX_ID: u32 = 0x7f00_0000;

/// Returns the user and group ID that commands run as if polis is root.
pub(crate) fn sandbox_user() -> (u32, u32) {
    static SANDBOX_USER: OnceLock<(u32, u32)> = OnceLock::new();
    *SANDBOX_USER.get_or_init(|| {
        let map = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        (
            pick_unused_id(&map("/proc/self/uid_map")),
            pick_unused_id(&map("/proc/self/gid_map")),
        )
    })
}

/// Returns [`DEFAULT_SANDBOX_ID`], or in a container with fewer user IDs, one of the last that it has.
fn pick_unused_id(map: &str) -> u32 {
    /// The last IDs are `nobody` and the invalid ID -1.
    const RESERVED_IDS: u64 = 2;
    let ranges = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        let (first, count) = (numbers.next()?.ok()?, numbers.nth(1)?.ok()?);
        Some(first..first.saturating_add(count))
    });
    let mut last = None;
    for range in ranges {
        if range.contains(&u64::from(DEFAULT_SANDBOX_ID)) {
            return DEFAULT_SANDBOX_ID;
        }
        last = last.max(Some(range.end));
    }
    last.and_then(|end| u32::try_from(end.checked_sub(1 + RESERVED_IDS)?).ok())
        .filter(|&user| user > 0)
        .unwrap_or(DEFAULT_SANDBOX_ID)
}

/// Returns whether a map has a single user that is 0 inside and not 0 outside: there is no other user to
/// switch to, and no need to.
fn maps_single_user_as_root(map: &str) -> bool {
    let numbers: Vec<u64> = map
        .split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect();
    matches!(numbers.as_slice(), [0, outside, 1] if *outside != 0)
}

/// User and group ID that a command has inside its namespace.
pub(crate) const INNER_USER_ID: u32 = 1000;

/// User that polis runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LauncherUser {
    /// Effective user ID.
    pub(crate) uid: u32,
    /// Effective group ID.
    pub(crate) gid: u32,
    /// Whether it is an ordinary user of the host that is only mapped to root here.
    is_namespace_root: bool,
}

impl LauncherUser {
    /// Returns the user of this process.
    pub(crate) fn current() -> Self {
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        Self {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            is_namespace_root: maps_single_user_as_root(&map),
        }
    }

    /// Returns whether polis runs as root, so that commands run as another user.
    pub(crate) fn is_root(self) -> bool {
        self.uid == 0 && !self.is_namespace_root
    }

    /// Returns the user and group ID, as seen by polis, that commands run as.
    pub(crate) fn command_user(self) -> (u32, u32) {
        if self.is_root() {
            sandbox_user()
        } else {
            (self.uid, self.gid)
        }
    }

    /// Writes the ID maps of a new user namespace: its only user is [`Self::command_user`].
    pub(crate) fn write_id_maps(self, pid: i32) -> std::io::Result<()> {
        let (uid, gid) = self.command_user();
        if !self.is_root() {
            write_proc_file(pid, "setgroups", "deny")?;
        }
        write_proc_file(pid, "gid_map", &format!("{INNER_USER_ID} {gid} 1"))?;
        write_proc_file(pid, "uid_map", &format!("{INNER_USER_ID} {uid} 1"))
    }
}

fn write_proc_file(pid: i32, file: &str, content: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/{pid}/{file}"))?;
    file.write_all(content.as_bytes())
}

/// Cache of user namespaces that map a directory's owner to the user of commands, one per owner.
#[derive(Debug, Default)]
pub(crate) struct OwnerMapCache(Mutex<HashMap<(u32, u32), Arc<OwnedFd>>>);

impl OwnerMapCache {
    /// Returns a detached clone of the mount at a path, with its owner mapped to the user of commands.
    pub(crate) fn id_mapped_tree(&self, path: &Path, attributes: u64) -> Result<OwnedFd, Errno> {
        let owner = std::fs::metadata(path).map_err(errno_from_io_error)?;
        let tree = kernel::open_tree_owned(libc::AT_FDCWD, &to_c_string(path.as_os_str()), false)?;
        self.map_owner(tree, (owner.uid(), owner.gid()), attributes)
    }

    /// Returns the same for an open directory.
    pub(crate) fn id_mapped_tree_at(
        &self,
        directory: BorrowedFd<'_>,
        attributes: u64,
    ) -> Result<OwnedFd, Errno> {
        let owner = rustix::fs::fstat(directory).map_err(|error| Errno(error.raw_os_error()))?;
        let tree = kernel::open_tree_owned(directory.as_raw_fd(), c"", false)?;
        self.map_owner(tree, (owner.st_uid, owner.st_gid), attributes)
    }

    fn map_owner(
        &self,
        tree: OwnedFd,
        (uid, gid): (u32, u32),
        attributes: u64,
    ) -> Result<OwnedFd, Errno> {
        let map = self
            .user_namespace_for(uid, gid)
            .map_err(errno_from_io_error)?;
        let attributes = attributes | mount_attr::IDMAP;
        let map = Some(map.as_raw_fd());
        kernel::mount_setattr(tree.as_raw_fd(), c"", attributes, map, false)?;
        Ok(tree)
    }

    fn user_namespace_for(&self, uid: u32, gid: u32) -> std::io::Result<Arc<OwnedFd>> {
        let mut namespaces = self.0.lock();
        if let Some(map) = namespaces.get(&(uid, gid)) {
            return Ok(Arc::clone(map));
        }
        let map = Arc::new(create_owner_namespace(uid, gid)?);
        namespaces.insert((uid, gid), Arc::clone(&map));
        Ok(map)
    }
}

fn errno_from_io_error(error: std::io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(libc::EIO))
}

/// Creates a user namespace that maps this user and group to those of commands.
fn create_owner_namespace(uid: u32, gid: u32) -> std::io::Result<OwnedFd> {
    let (keeper, _pipe) = start_namespace_holder(libc::CLONE_NEWUSER)?;
    let (user, group) = sandbox_user();
    write_proc_file(keeper.pid, "gid_map", &format!("{gid} {group} 1"))?;
    write_proc_file(keeper.pid, "uid_map", &format!("{uid} {user} 1"))?;
    Ok(File::open(format!("/proc/{}/ns/user", keeper.pid))?.into())
}

/// Starts a process in a new namespace that only waits. Returns it with the pipe end that keeps it waiting.
pub(crate) fn start_namespace_holder(namespace: i32) -> std::io::Result<(ChildProcess, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let namespace = u64::from(namespace.unsigned_abs());
    let process = ChildProcess::clone_and_run(namespace, None, || {
        warden::hold_namespace(reader.as_raw_fd())
    })
    .map_err(|Errno(number)| std::io::Error::from_raw_os_error(number))?;
    Ok((process, writer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_mapped_user_is_not_root() {
        assert!(maps_single_user_as_root(
            "         0       1000          1\n"
        ));
        for root in [
            "         0          0 4294967295\n",
            "0 0 1\n",
            "0 1000 1\n1 100000 65536\n",
            "0 100000 65536\n",
            "1000 1000 1\n",
            "",
        ] {
            assert!(!maps_single_user_as_root(root), "{root}");
        }
    }

    #[test]
    fn sandbox_user_exists_in_the_id_map() {
        assert_eq!(
            pick_unused_id("         0          0 4294967295\n"),
            DEFAULT_SANDBOX_ID
        );
        assert_eq!(pick_unused_id("0 100000 65536\n"), 65_533);
        assert_eq!(pick_unused_id("0 1000 1\n1 100000 65536\n"), 65_534);
        // No ID is free: the kernel will refuse it.
        assert_eq!(pick_unused_id("0 1000 1\n"), DEFAULT_SANDBOX_ID);
        for odd in ["", "x", "0 0", "0 1000 2", "5 5 18446744073709551615"] {
            let _ = pick_unused_id(odd);
        }
    }
}
