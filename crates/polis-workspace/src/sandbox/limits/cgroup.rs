//! Control groups (cgroup v1 and v2): the kernel limits the memory of a command as a whole, with v2 also its
//! number of processes, and its OOM killer ends a command that exceeds its memory.
//!
//! Groups are created once and reused, one per concurrent command, and removed when [`ControlGroups`] is
//! dropped. Groups of a killed polis are removed by the next one.
//!
//! The kernel frees the remains of a command, such as its `/tmp` or shared memory, some time after its end. A
//! group that still holds much memory is not reused until then, because that memory would count against the
//! next command.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use polis_core::workspace::command_policy::CommandLimits;

use crate::refusal_tables::SandboxProblem;
use crate::sandbox::process::clone_thread::{CloneThread, PendingClone, WardenLaunch};

const GROUP_PREFIX: &str = "polis-";

/// Maximum memory that a reused group may still hold from the previous command.
const MAX_LEFTOVER_BYTES: u64 = 8 << 20;

/// Version of the kernel's cgroup interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CgroupVersion {
    /// cgroup v1: memory only, in a separate hierarchy; processes are cloned by a thread inside the group.
    V1,
    /// cgroup v2: memory and processes; `clone3` creates a process inside the group.
    V2,
}

/// Pool of control groups below a delegated directory.
#[derive(Debug)]
pub(crate) struct ControlGroups {
    version: CgroupVersion,
    home: PathBuf,
    idle: Mutex<IdleGroups>,
    next_group_number: AtomicU64,
}

/// Groups that no command uses.
#[derive(Debug, Default)]
struct IdleGroups {
    empty: Vec<ControlGroup>,
    /// Groups that held much memory when their command ended.
    draining: Vec<ControlGroup>,
}

#[derive(Debug)]
struct ControlGroup {
    path: PathBuf,
    directory: OwnedFd,
    /// Thread that clones wardens inside the group; only for cgroup v1, where `clone3` cannot.
    clone_thread: Option<CloneThread>,
    limits: Option<(u64, u64)>,
}

/// A group in use by a command; returned to the pool on drop.
#[derive(Debug)]
pub(crate) struct ControlGroupLease<'a> {
    groups: &'a ControlGroups,
    group: Option<ControlGroup>,
    killed_before: u64,
}

/// Reason why there are no control groups.
#[derive(Debug, Clone)]
pub(crate) struct ControlGroupsUnavailable {
    /// The problem, for people.
    pub(crate) problem: SandboxProblem,
    /// Whether a retry cannot succeed.
    pub(crate) is_permanent: bool,
}

impl ControlGroupsUnavailable {
    fn from_io_error(problem: SandboxProblem, error: &io::Error) -> Self {
        let scarce = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EAGAIN];
        let is_permanent = !error.raw_os_error().is_some_and(|it| scarce.contains(&it));
        Self {
            problem,
            is_permanent,
        }
    }
}

impl ControlGroups {
    /// Finds a directory for groups by creating one. Fails with the reason if there is none.
    pub(crate) fn detect() -> Result<Self, ControlGroupsUnavailable> {
        let memberships = fs::read_to_string("/proc/self/cgroup").map_err(|error| {
            ControlGroupsUnavailable::from_io_error(SandboxProblem::NoControlGroups, &error)
        })?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut missing = ControlGroupsUnavailable {
            problem: SandboxProblem::NoGroupDirectory,
            is_permanent: true,
        };
        for (version, directory) in candidate_directories(&memberships, &mounts) {
            match Self::create_in(version, &directory) {
                Ok(groups) => return Ok(groups),
                Err(error) => {
                    let before = missing.is_permanent;
                    let problem = SandboxProblem::GroupNotCreated {
                        error: error.kind().to_string(),
                    };
                    missing = ControlGroupsUnavailable::from_io_error(problem, &error);
                    missing.is_permanent &= before;
                }
            }
        }
        Err(missing)
    }

    fn create_in(version: CgroupVersion, directory: &Path) -> io::Result<Self> {
        remove_stale_groups(directory);
        let home = directory.join(format!("{GROUP_PREFIX}{}", std::process::id()));
        match fs::create_dir(&home) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let groups = Self {
            version,
            home,
            idle: Mutex::default(),
            next_group_number: AtomicU64::new(0),
        };
        if version == CgroupVersion::V2 {
            fs::write(groups.home.join("cgroup.subtree_control"), "+memory +pids")?;
        }
        // Tried by creating a group.
        drop(groups.lease(&CommandLimits::default())?);
        Ok(groups)
    }

    /// Returns the version of the cgroup interface.
    pub(crate) fn version(&self) -> CgroupVersion {
        self.version
    }

    /// Leases a group with these limits for one command.
    pub(crate) fn lease(&self, limits: &CommandLimits) -> io::Result<ControlGroupLease<'_>> {
        let mut group = match self.take_idle() {
            Some(group) => group,
            None => self.create_group()?,
        };
        let new_limits = (limits.memory, limits.processes);
        if group.limits != Some(new_limits) {
            self.write_limits(&group.path, limits)?;
            group.limits = Some(new_limits);
        }
        let killed_before = self.oom_kill_count(&group.path);
        Ok(ControlGroupLease {
            groups: self,
            group: Some(group),
            killed_before,
        })
    }

    fn take_idle(&self) -> Option<ControlGroup> {
        let mut idle = self.idle.lock();
        idle.empty.pop().or_else(|| {
            let clear =
                |group: &ControlGroup| self.unreclaimable_memory(&group.path) < MAX_LEFTOVER_BYTES;
            let index = idle.draining.iter().position(clear)?;
            Some(idle.draining.swap_remove(index))
        })
    }

    /// Returns the memory charged to a group, including page cache that the kernel could reclaim.
    fn memory_usage(&self, group: &Path) -> u64 {
        let file = match self.version {
            CgroupVersion::V1 => "memory.usage_in_bytes",
            CgroupVersion::V2 => "memory.current",
        };
        let text = fs::read_to_string(group.join(file)).unwrap_or_default();
        text.trim().parse().unwrap_or(u64::MAX)
    }

    /// Returns the memory of a group that the kernel cannot reclaim.
    fn unreclaimable_memory(&self, group: &Path) -> u64 {
        let fields = match self.version {
            CgroupVersion::V1 => ["rss ", "shmem "],
            CgroupVersion::V2 => ["anon ", "shmem "],
        };
        let text = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let parse_bytes = |line: &str| {
            fields
                .iter()
                .find_map(|field| line.strip_prefix(field)?.parse().ok())
        };
        text.lines()
            .filter_map(parse_bytes)
            .fold(0, u64::saturating_add)
    }

    fn create_group(&self) -> io::Result<ControlGroup> {
        // Another sandbox of this process may have groups in the same directory.
        let path = loop {
            let number = self.next_group_number.fetch_add(1, Ordering::Relaxed);
            let path = self.home.join(number.to_string());
            match fs::create_dir(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        let tasks = path.join("tasks");
        let clone_thread = match self.version {
            CgroupVersion::V1 => Some(CloneThread::new(move |thread| {
                fs::write(tasks, thread.to_string())
            })?),
            CgroupVersion::V2 => None,
        };
        Ok(ControlGroup {
            directory: File::open(&path)?.into(),
            clone_thread,
            path,
            limits: None,
        })
    }

    fn write_limits(&self, group: &Path, limits: &CommandLimits) -> io::Result<()> {
        let set = |name: &str, value: u64| fs::write(group.join(name), value.to_string());
        match self.version {
            CgroupVersion::V1 => {
                let _ = set("memory.memsw.limit_in_bytes", u64::MAX >> 1);
                set("memory.limit_in_bytes", limits.memory)?;
                // Not every kernel accounts for swap.
                let _ = set("memory.memsw.limit_in_bytes", limits.memory);
            }
            CgroupVersion::V2 => {
                set("memory.max", limits.memory)?;
                let _ = set("memory.swap.max", 0);
                let _ = set("memory.oom.group", 1);
                set("pids.max", limits.processes.saturating_add(1))?;
            }
        }
        Ok(())
    }

    /// Returns the number of processes of a group that the OOM killer has ended.
    fn oom_kill_count(&self, group: &Path) -> u64 {
        let file = match self.version {
            CgroupVersion::V1 => "memory.oom_control",
            CgroupVersion::V2 => "memory.events",
        };
        let text = fs::read_to_string(group.join(file)).unwrap_or_default();
        text.lines()
            .find_map(|line| line.strip_prefix("oom_kill "))
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or(0)
    }
}

impl Drop for ControlGroups {
    fn drop(&mut self) {
        let idle = std::mem::take(self.idle.get_mut());
        for ControlGroup {
            path, clone_thread, ..
        } in idle.empty.into_iter().chain(idle.draining)
        {
            drop(clone_thread);
            let _ = fs::remove_dir(path);
        }
        let _ = fs::remove_dir(&self.home);
    }
}

impl ControlGroupLease<'_> {
    /// Clones a warden inside the group.
    pub(crate) fn clone_warden(&self, start: WardenLaunch) -> PendingClone {
        let group = self.group.as_ref();
        match group.and_then(|group| group.clone_thread.as_ref()) {
            Some(clone_thread) => clone_thread.clone_warden(start),
            None => PendingClone::Finished(
                start.clone_from_this_thread(group.map(|group| group.directory.as_fd())),
            ),
        }
    }

    /// Returns whether the OOM killer has ended processes of the group during this lease.
    pub(crate) fn was_oom_killed(&self) -> bool {
        let group = self.group.as_ref();
        group.is_some_and(|group| self.groups.oom_kill_count(&group.path) > self.killed_before)
    }
}

impl Drop for ControlGroupLease<'_> {
    fn drop(&mut self) {
        if let Some(group) = self.group.take() {
            let clear = self.groups.memory_usage(&group.path) < MAX_LEFTOVER_BYTES;
            let mut idle = self.groups.idle.lock();
            if clear {
                idle.empty.push(group);
            } else {
                idle.draining.push(group);
            }
        }
    }
}

/// Returns the directories where groups may be created, in order of preference: below our own group, then
/// below its ancestors.
fn candidate_directories(memberships: &str, mounts: &str) -> Vec<(CgroupVersion, PathBuf)> {
    let mut found = Vec::new();
    for line in memberships.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (version, kind, option) = match controllers {
            "" => (CgroupVersion::V2, "cgroup2", ""),
            list if list.split(',').any(|name| name == "memory") => {
                (CgroupVersion::V1, "cgroup", "memory")
            }
            _ => continue,
        };
        let Some(mount) = find_mount_point(mounts, kind, option) else {
            continue;
        };
        let own = mount.join(path.trim_start_matches('/'));
        let around = own.ancestors().take_while(|path| path.starts_with(&mount));
        found.extend(
            around
                .filter(|path| version == CgroupVersion::V1 || delegates_controllers(path))
                .map(|path| (version, path.to_owned())),
        );
    }
    found.sort_by_key(|(version, _)| *version == CgroupVersion::V1);
    found
}

/// Returns whether the memory and pids controllers are enabled for groups below this one.
fn delegates_controllers(group: &Path) -> bool {
    let enabled = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
    let has = |name| {
        enabled
            .split_whitespace()
            .any(|controller| controller == name)
    };
    has("memory") && has("pids")
}

/// Returns the mount point of a file system type with a mount option.
fn find_mount_point(mounts: &str, kind: &str, option: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (mount_fields, type_fields) = line.split_once(" - ")?;
        let mut type_fields = type_fields.split(' ');
        let options = (type_fields.next() == Some(kind)).then(|| type_fields.nth(1))??;
        let fits = option.is_empty() || options.split(',').any(|candidate| candidate == option);
        let mount_point = mount_fields.split(' ').nth(4)?;
        fits.then(|| PathBuf::from(mount_point))
    })
}

/// Removes groups of polis processes that no longer exist.
fn remove_stale_groups(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(GROUP_PREFIX))
            .and_then(|pid| pid.parse::<u32>().ok());
        let Some(owner) = owner else { continue };
        if Path::new(&format!("/proc/{owner}")).exists() {
            continue;
        }
        let groups = fs::read_dir(entry.path()).into_iter().flatten().flatten();
        for group in groups.filter(|group| group.path().is_dir()) {
            let _ = fs::remove_dir(group.path());
        }
        let _ = fs::remove_dir(entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
25 30 0:22 / /sys rw - sysfs sysfs rw
33 25 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 25 0:36 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw
";

    #[test]
    fn hierarchy_mount_point_is_found() {
        let at = |kind, option| find_mount_point(MOUNTS, kind, option);
        assert_eq!(at("cgroup", "memory"), Some("/sys/fs/cgroup/memory".into()));
        assert_eq!(at("cgroup2", ""), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(at("cgroup", "pids"), None);
    }

    #[test]
    fn candidates_start_at_own_group_and_go_up() {
        let own = "4:memory:/a/b\n0::/\n3:cpuset:/\n";
        let directories: Vec<_> = candidate_directories(own, MOUNTS)
            .into_iter()
            .filter(|(version, _)| *version == CgroupVersion::V1)
            .map(|(_, path)| path)
            .collect();
        let expected = ["memory/a/b", "memory/a", "memory"];
        assert_eq!(
            directories,
            expected.map(|p| Path::new("/sys/fs/cgroup").join(p))
        );
    }
}
