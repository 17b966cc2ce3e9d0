//! Control groups: the kernel counts the memory and processes of a command together, and ends it
//! when it takes too much.
//!
//! Groups are made once and used again, one for each command that runs at the same time; they are
//! removed with the [`ControlGroups`]. Those of a polis that was killed are removed by the next one.
//!
//! What a command has left, its `/tmp` or shared memory, the kernel gives back a while after the
//! command has ended. A group that holds much is left alone until then: it would count for the next.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use polis_core::workspace::policy::Limits;

use super::launch::{Cloning, Porter, Start};

const PREFIX: &str = "polis-";

/// What may be left in a group for the next command, in bytes.
const LITTLE: u64 = 8 << 20;

/// Which of the kernel's two interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// Memory alone, in a hierarchy of its own; processes are made by a thread that is inside.
    One,
    /// Memory and processes; a process is made inside.
    Two,
}

/// Where groups can be made.
#[derive(Debug)]
pub(crate) struct ControlGroups {
    version: Version,
    home: PathBuf,
    idle: Mutex<Idle>,
    made: AtomicU64,
}

/// Groups that no command uses.
#[derive(Debug, Default)]
struct Idle {
    clear: Vec<Group>,
    /// Those that had much in them when their command ended.
    full: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    path: PathBuf,
    directory: OwnedFd,
    /// Who clones wardens there, with the interface that cannot make them inside.
    porter: Option<Porter>,
    limits: Option<(u64, u64)>,
}

/// A group while a command uses it.
#[derive(Debug)]
pub(crate) struct Lease<'a> {
    groups: &'a ControlGroups,
    group: Option<Group>,
    killed_before: u64,
}

/// Why there are no control groups.
#[derive(Debug, Clone)]
pub(crate) struct NoGroups {
    /// In words.
    pub(crate) why: String,
    /// Whether there will be none later either.
    pub(crate) lasting: bool,
}

impl NoGroups {
    fn because(why: String, error: &io::Error) -> Self {
        let scarce = [libc::EMFILE, libc::ENFILE, libc::ENOMEM, libc::EAGAIN];
        let lasting = !error.raw_os_error().is_some_and(|it| scarce.contains(&it));
        Self { why, lasting }
    }
}

impl ControlGroups {
    /// Finds a place for groups by making one there; the error says why there is none.
    pub(crate) fn find() -> Result<Self, NoGroups> {
        let memberships = fs::read_to_string("/proc/self/cgroup")
            .map_err(|error| NoGroups::because("no control groups".to_owned(), &error))?;
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut missing = NoGroups {
            why: "no control group can be made".to_owned(),
            lasting: true,
        };
        for (version, directory) in candidates(&memberships, &mounts) {
            match Self::at(version, &directory) {
                Ok(groups) => return Ok(groups),
                Err(error) => {
                    let before = missing.lasting;
                    let why = format!("no control group can be made: {}", error.kind());
                    missing = NoGroups::because(why, &error);
                    missing.lasting &= before;
                }
            }
        }
        Err(missing)
    }

    fn at(version: Version, directory: &Path) -> io::Result<Self> {
        sweep(directory);
        let home = directory.join(format!("{PREFIX}{}", std::process::id()));
        match fs::create_dir(&home) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let groups = Self {
            version,
            home,
            idle: Mutex::default(),
            made: AtomicU64::new(0),
        };
        if version == Version::Two {
            fs::write(groups.home.join("cgroup.subtree_control"), "+memory +pids")?;
        }
        // By really doing it.
        drop(groups.take(&Limits::default())?);
        Ok(groups)
    }

    /// Which interface it is.
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// A group with these limits, for one command.
    pub(crate) fn take(&self, limits: &Limits) -> io::Result<Lease<'_>> {
        let mut group = match self.idle_one() {
            Some(group) => group,
            None => self.make()?,
        };
        let wanted = (limits.memory, limits.processes);
        if group.limits != Some(wanted) {
            self.set(&group.path, limits)?;
            group.limits = Some(wanted);
        }
        let killed_before = self.killed(&group.path);
        Ok(Lease {
            groups: self,
            group: Some(group),
            killed_before,
        })
    }

    fn idle_one(&self) -> Option<Group> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.clear.pop().or_else(|| {
            let clear = |group: &Group| self.left(&group.path) < LITTLE;
            let place = idle.full.iter().position(clear)?;
            Some(idle.full.swap_remove(place))
        })
    }

    /// What a group holds in all, what the kernel keeps of files and would give up too.
    fn holds(&self, group: &Path) -> u64 {
        let file = match self.version {
            Version::One => "memory.usage_in_bytes",
            Version::Two => "memory.current",
        };
        let text = fs::read_to_string(group.join(file)).unwrap_or_default();
        text.trim().parse().unwrap_or(u64::MAX)
    }

    /// What a group holds that nobody else would give up.
    fn left(&self, group: &Path) -> u64 {
        let fields = match self.version {
            Version::One => ["rss ", "shmem "],
            Version::Two => ["anon ", "shmem "],
        };
        let text = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let of = |line: &str| {
            fields
                .iter()
                .find_map(|field| line.strip_prefix(field)?.parse().ok())
        };
        text.lines().filter_map(of).fold(0, u64::saturating_add)
    }

    fn make(&self) -> io::Result<Group> {
        // Another polis in this process may have its groups here too.
        let path = loop {
            let number = self.made.fetch_add(1, Ordering::Relaxed);
            let path = self.home.join(number.to_string());
            match fs::create_dir(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        let tasks = path.join("tasks");
        let porter = match self.version {
            Version::One => Some(Porter::new(move |thread| {
                fs::write(tasks, thread.to_string())
            })?),
            Version::Two => None,
        };
        Ok(Group {
            directory: File::open(&path)?.into(),
            porter,
            path,
            limits: None,
        })
    }

    fn set(&self, group: &Path, limits: &Limits) -> io::Result<()> {
        let set = |name: &str, value: u64| fs::write(group.join(name), value.to_string());
        match self.version {
            Version::One => {
                let _ = set("memory.memsw.limit_in_bytes", u64::MAX >> 1);
                set("memory.limit_in_bytes", limits.memory)?;
                // Not every kernel counts swap.
                let _ = set("memory.memsw.limit_in_bytes", limits.memory);
            }
            Version::Two => {
                set("memory.max", limits.memory)?;
                let _ = set("memory.swap.max", 0);
                let _ = set("memory.oom.group", 1);
                set("pids.max", limits.processes.saturating_add(1))?;
            }
        }
        Ok(())
    }

    /// How many processes of a group the kernel has ended for want of memory.
    fn killed(&self, group: &Path) -> u64 {
        let file = match self.version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
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
        let idle = std::mem::take(self.idle.get_mut().unwrap_or_else(PoisonError::into_inner));
        for Group { path, porter, .. } in idle.clear.into_iter().chain(idle.full) {
            drop(porter);
            let _ = fs::remove_dir(path);
        }
        let _ = fs::remove_dir(&self.home);
    }
}

impl Lease<'_> {
    /// Clones a warden in the group.
    pub(crate) fn clone_warden(&self, start: Start) -> Cloning {
        let group = self.group.as_ref();
        match group.and_then(|group| group.porter.as_ref()) {
            Some(porter) => porter.clone_warden(start),
            None => Cloning::Done(start.here(group.map(|group| group.directory.as_fd()))),
        }
    }

    /// Whether the kernel has ended processes since for want of memory.
    pub(crate) fn ran_out(&self) -> bool {
        let group = self.group.as_ref();
        group.is_some_and(|group| self.groups.killed(&group.path) > self.killed_before)
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(group) = self.group.take() {
            let clear = self.groups.holds(&group.path) < LITTLE;
            let idle = self.groups.idle.lock();
            let mut idle = idle.unwrap_or_else(PoisonError::into_inner);
            match clear {
                true => idle.clear.push(group),
                false => idle.full.push(group),
            }
        }
    }
}

/// Where groups may be made, the best first: below our own group and those around it.
fn candidates(memberships: &str, mounts: &str) -> Vec<(Version, PathBuf)> {
    let mut found = Vec::new();
    for line in memberships.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (version, kind, option) = match controllers {
            "" => (Version::Two, "cgroup2", ""),
            list if list.split(',').any(|name| name == "memory") => {
                (Version::One, "cgroup", "memory")
            }
            _ => continue,
        };
        let Some(mount) = mount_point(mounts, kind, option) else {
            continue;
        };
        let own = mount.join(path.trim_start_matches('/'));
        let around = own.ancestors().take_while(|path| path.starts_with(&mount));
        found.extend(
            around
                .filter(|path| version == Version::One || gives_controllers(path))
                .map(|path| (version, path.to_owned())),
        );
    }
    found.sort_by_key(|(version, _)| *version == Version::One);
    found
}

/// Whether groups below this one count memory and processes.
fn gives_controllers(group: &Path) -> bool {
    let given = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
    let has = |name| given.split_whitespace().any(|given| given == name);
    has("memory") && has("pids")
}

/// Where a file system of a kind, with an option, is mounted.
fn mount_point(mounts: &str, kind: &str, option: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (place, what) = line.split_once(" - ")?;
        let mut what = what.split(' ');
        let options = (what.next() == Some(kind)).then(|| what.nth(1))??;
        let fits = option.is_empty() || options.split(',').any(|given| given == option);
        let place = place.split(' ').nth(4)?;
        fits.then(|| PathBuf::from(place))
    })
}

/// Removes what a polis left that is not there any more.
fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
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
    fn the_place_of_a_hierarchy_is_found_in_the_mounts() {
        let at = |kind, option| mount_point(MOUNTS, kind, option);
        assert_eq!(at("cgroup", "memory"), Some("/sys/fs/cgroup/memory".into()));
        assert_eq!(at("cgroup2", ""), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(at("cgroup", "pids"), None);
    }

    #[test]
    fn groups_are_looked_for_from_our_own_outward() {
        let own = "4:memory:/a/b\n0::/\n3:cpuset:/\n";
        let places: Vec<_> = candidates(own, MOUNTS)
            .into_iter()
            .filter(|(version, _)| *version == Version::One)
            .map(|(_, path)| path)
            .collect();
        let expected = ["memory/a/b", "memory/a", "memory"];
        assert_eq!(
            places,
            expected.map(|p| Path::new("/sys/fs/cgroup").join(p))
        );
    }
}
