//! Whom a command runs as: never the kernel's user 0.
//!
//! Started by root, a command runs as a user that nobody else is, and the workspace is shown to it
//! with its owner mapped to that user, so files on disk stay their owner's. Started by anybody
//! else it runs as that user, in a namespace where it has another number.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::kernel::{self, Errno, attribute};
use super::process::Process;
use super::system::text;
use super::warden;

/// Far above the users that systems give out, below those that maps use.
const NOBODY_ELSE: u32 = 0x7f00_0000;

/// The user and the group that commands of root run as.
pub(crate) fn nobody_else() -> (u32, u32) {
    static FOUND: OnceLock<(u32, u32)> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let map = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
        (
            unused(&map("/proc/self/uid_map")),
            unused(&map("/proc/self/gid_map")),
        )
    })
}

/// [`NOBODY_ELSE`], or in a container that has fewer users, one of the last it has.
fn unused(map: &str) -> u32 {
    /// The last ones are `nobody`, and the number that means none.
    const TAKEN: u64 = 2;
    let ranges = map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        let (first, count) = (numbers.next()?.ok()?, numbers.nth(1)?.ok()?);
        Some(first..first.saturating_add(count))
    });
    let mut last = None;
    for range in ranges {
        if range.contains(&u64::from(NOBODY_ELSE)) {
            return NOBODY_ELSE;
        }
        last = last.max(Some(range.end));
    }
    last.and_then(|end| u32::try_from(end.checked_sub(1 + TAKEN)?).ok())
        .filter(|&user| user > 0)
        .unwrap_or(NOBODY_ELSE)
}

/// Whether a map has a single user, who is called 0 inside and is not 0 outside: there is nobody else
/// to become, and no need to.
fn names_one_user_root(map: &str) -> bool {
    let numbers: Vec<u64> = map
        .split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect();
    matches!(numbers.as_slice(), [0, outside, 1] if *outside != 0)
}

/// The user and group number a command sees itself as.
pub(crate) const INSIDE: u32 = 1000;

/// Who polis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Launcher {
    /// Its user.
    pub(crate) uid: u32,
    /// Its group.
    pub(crate) gid: u32,
    /// Whether it is one user of a machine outside, who is called root here.
    only_called_root: bool,
}

impl Launcher {
    /// This process.
    pub(crate) fn current() -> Self {
        let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        Self {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            only_called_root: names_one_user_root(&map),
        }
    }

    /// Whether it is root, and so commands run as somebody else.
    pub(crate) fn is_root(self) -> bool {
        self.uid == 0 && !self.only_called_root
    }

    /// The user of this machine that commands run as.
    pub(crate) fn outside(self) -> (u32, u32) {
        if self.is_root() {
            nobody_else()
        } else {
            (self.uid, self.gid)
        }
    }

    /// Maps the users of a new namespace: there is one, who is [`Self::outside`] here.
    pub(crate) fn map(self, pid: i32) -> std::io::Result<()> {
        let (uid, gid) = self.outside();
        if !self.is_root() {
            write_proc(pid, "setgroups", "deny")?;
        }
        write_proc(pid, "gid_map", &format!("{INSIDE} {gid} 1"))?;
        write_proc(pid, "uid_map", &format!("{INSIDE} {uid} 1"))
    }
}

fn write_proc(pid: i32, file: &str, content: &str) -> std::io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/{pid}/{file}"))?;
    file.write_all(content.as_bytes())
}

/// User namespaces that map a directory's owner to the user of commands, one for each owner.
#[derive(Debug, Default)]
pub(crate) struct OwnerMaps(Mutex<HashMap<(u32, u32), Arc<OwnedFd>>>);

impl OwnerMaps {
    /// A copy of the tree at a path, its owner shown as the user of commands.
    pub(crate) fn mapped_tree(&self, path: &Path, attributes: u64) -> Result<OwnedFd, Errno> {
        let owner = std::fs::metadata(path).map_err(errno_of)?;
        let tree = kernel::copy_tree(libc::AT_FDCWD, &text(path.as_os_str()), false)?;
        self.map_owner(tree, (owner.uid(), owner.gid()), attributes)
    }

    /// The same of the tree at an open directory.
    pub(crate) fn mapped_tree_of(
        &self,
        directory: BorrowedFd<'_>,
        attributes: u64,
    ) -> Result<OwnedFd, Errno> {
        let owner = rustix::fs::fstat(directory).map_err(|error| Errno(error.raw_os_error()))?;
        let tree = kernel::copy_tree(directory.as_raw_fd(), c"", false)?;
        self.map_owner(tree, (owner.st_uid, owner.st_gid), attributes)
    }

    fn map_owner(
        &self,
        tree: OwnedFd,
        (uid, gid): (u32, u32),
        attributes: u64,
    ) -> Result<OwnedFd, Errno> {
        let map = self.of(uid, gid).map_err(errno_of)?;
        let attributes = attributes | attribute::ID_MAPPED;
        let map = Some(map.as_raw_fd());
        kernel::set_mount_attributes(tree.as_raw_fd(), c"", attributes, map, false)?;
        Ok(tree)
    }

    fn of(&self, uid: u32, gid: u32) -> std::io::Result<Arc<OwnedFd>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(map) = known.get(&(uid, gid)) {
            return Ok(Arc::clone(map));
        }
        let map = Arc::new(new_map(uid, gid)?);
        known.insert((uid, gid), Arc::clone(&map));
        Ok(map)
    }
}

fn errno_of(error: std::io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(libc::EIO))
}

/// A user namespace in which this user and group are those of commands.
fn new_map(uid: u32, gid: u32) -> std::io::Result<OwnedFd> {
    let (keeper, _keep) = keeper(libc::CLONE_NEWUSER)?;
    let (user, group) = nobody_else();
    write_proc(keeper.pid, "gid_map", &format!("{gid} {group} 1"))?;
    write_proc(keeper.pid, "uid_map", &format!("{uid} {user} 1"))?;
    Ok(File::open(format!("/proc/{}/ns/user", keeper.pid))?.into())
}

/// A process in a new namespace that does nothing, and what keeps it waiting.
pub(crate) fn keeper(namespace: i32) -> std::io::Result<(Process, OwnedFd)> {
    let (orders, keep) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    let namespace = u64::from(namespace.unsigned_abs());
    let process = Process::start(namespace, None, || {
        warden::keep_namespace(orders.as_raw_fd())
    })
    .map_err(|Errno(number)| std::io::Error::from_raw_os_error(number))?;
    Ok((process, keep))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_is_only_called_root_is_not_root() {
        assert!(names_one_user_root("         0       1000          1\n"));
        for root in [
            "         0          0 4294967295\n",
            "0 0 1\n",
            "0 1000 1\n1 100000 65536\n",
            "0 100000 65536\n",
            "1000 1000 1\n",
            "",
        ] {
            assert!(!names_one_user_root(root), "{root}");
        }
    }

    #[test]
    fn commands_of_root_run_as_a_user_that_there_is() {
        assert_eq!(unused("         0          0 4294967295\n"), NOBODY_ELSE);
        assert_eq!(unused("0 100000 65536\n"), 65_533);
        assert_eq!(unused("0 1000 1\n1 100000 65536\n"), 65_534);
        // There is none: the kernel will say so.
        assert_eq!(unused("0 1000 1\n"), NOBODY_ELSE);
        for odd in ["", "x", "0 0", "0 1000 2", "5 5 18446744073709551615"] {
            let _ = unused(odd);
        }
    }
}
