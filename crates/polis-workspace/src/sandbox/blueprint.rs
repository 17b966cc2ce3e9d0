//! From a policy and a workspace to the [`Plan`] of a sandbox of a given strength.

use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use polis_core::workspace::path::PROJECT_DATA;
use polis_core::workspace::policy::{CommandPolicy, Network, Tier};
use rustix::fs::{AtFlags, FileType};

use super::filter::{Filter, Needs, Sockets};
use super::identity::{INSIDE, Launcher, OwnerMaps};
use super::inotify::InotifyLimits;
use super::kernel::{Errno, PointerList, attribute};
use super::landlock::Abilities;
use super::pipes::DescriptorLimits;
use super::plan::{
    Fixture, Landlock, MAX_TREES, Memory, Plan, Reach, Source, StartDirectory, Tree, View,
};
use super::system::{System, WORKSPACE, relative, text, way_to};
use crate::directory::DirectoryIdentity;

/// Where kept output is, as a command sees it.
const OUTPUT: &str = "/output";

/// Directories over which a new root can be built: the first that is there.
const BASES: [&str; 2] = ["/tmp", "/usr"];

/// What of `/proc` says nothing about other processes: all that may be read where it is everybody's.
const HARMLESS_PROC: [&str; 12] = [
    "/proc/cpuinfo",
    "/proc/devices",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
    "/proc/version",
    "/proc/vmstat",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/random/uuid",
    "/proc/sys/vm/overcommit_memory",
];

/// The most signals and timers that a command may have queued. The kernel charges them to the user's own limit too.
const MAX_PENDING_SIGNALS: u64 = 1_024;

/// The most files a process may have open where the command's user is polis's own. A program may send descriptors as long
/// as those of its user that are on the way are no more than it may have open itself, which is usually 1,024. A command
/// that may open 768 files can have 768 on the way and then send one more message, which holds at most 253.
const MAX_SHARED_OPEN_FILES: u64 = 768;

/// What a sandbox is built from.
#[derive(Debug)]
pub(crate) struct Blueprint<'a> {
    /// How strong it is to be.
    pub(crate) tier: Tier,
    /// What every command sees.
    pub(crate) system: &'a System,
    /// Who polis is.
    pub(crate) launcher: Launcher,
    /// What Landlock can do here, if there is one.
    pub(crate) landlock: Option<Abilities>,
    /// The filters, if this processor has any.
    pub(crate) filters: Option<Arc<Filter>>,
    /// Maps of owners.
    pub(crate) maps: &'a OwnerMaps,
    /// What the command may do.
    pub(crate) policy: &'a CommandPolicy,
    /// The workspace.
    pub(crate) workspace: &'a Path,
    /// Its directory, open.
    pub(crate) root: OwnedFd,
    /// Which directory that is.
    pub(crate) identity: DirectoryIdentity,
    /// Where the output of earlier commands is, if there is any.
    pub(crate) output: Option<&'a Path>,
    /// A private directory in place of `/tmp`, where there is no view.
    pub(crate) scratch: Option<&'a Path>,
    /// Whether it is started in a network with nothing in it.
    pub(crate) in_empty_network: bool,
    /// Processes that the user has besides, where they are counted together.
    pub(crate) processes_besides: u64,
    /// Signals that the user has queued besides, where they are counted together.
    pub(crate) signals_besides: u64,
    /// How much of inotify it may use, where a namespace of its own limits it.
    pub(crate) inotify: InotifyLimits,
    /// The line of shell.
    pub(crate) command: &'a str,
}

/// A plan, and the descriptors it refers to.
#[derive(Debug)]
pub(crate) struct Drawn {
    /// The plan.
    pub(crate) plan: Arc<Plan>,
    _open: Vec<OwnedFd>,
}

/// Whether the data of a polis project is in a directory.
pub(crate) fn holds_project(directory: BorrowedFd<'_>) -> bool {
    let found = rustix::fs::statat(directory, PROJECT_DATA, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}

/// What filters a tier and a network setting need; `None` if this cannot be had together.
pub(crate) fn needs(
    tier: Tier,
    network: Network,
    landlock: Option<Abilities>,
    launcher: Launcher,
) -> Option<Needs> {
    let spaces = tier >= Tier::Watched;
    let scoped = landlock.is_some_and(|abilities| abilities.scope().is_some());
    let sockets = match (spaces, network) {
        // In this machine's own network are its abstract sockets, unless Landlock keeps them away.
        (true, Network::On) if !scoped => Sockets::Internet,
        (true, _) => Sockets::Any,
        (false, Network::Off) => Sockets::None,
        (false, Network::On) => Sockets::Internet,
        (false, Network::Loopback) => return None,
    };
    Some(Needs {
        sockets,
        no_hidden_memory: tier < Tier::Full,
        among_others: !spaces,
        shares_user: !launcher.is_root(),
    })
}

impl Blueprint<'_> {
    fn has_spaces(&self) -> bool {
        self.tier >= Tier::Watched
    }

    /// Draws the plan. Fails if the kernel cannot show the workspace with its owner mapped.
    pub(crate) fn draw(self) -> Result<Drawn, Errno> {
        let mut trees = Vec::new();
        let view = if self.has_spaces() {
            Some(self.view(&mut trees)?)
        } else {
            None
        };
        let landlock = self
            .landlock
            .filter(|_| self.tier > Tier::Bare)
            .map(|abilities| self.rules(abilities));
        let inside = if self.has_spaces() {
            Some((INSIDE, INSIDE, self.launcher.is_root()))
        } else if self.launcher.is_root() {
            let (uid, gid) = self.launcher.outside();
            Some((uid, gid, true))
        } else {
            None
        };
        let directory = match self.has_spaces() {
            true => StartDirectory::InView(text(WORKSPACE.as_ref())),
            false => StartDirectory::Open(self.root.as_raw_fd()),
        };
        let shell = c"/bin/sh".to_owned();
        let line = CString::new(self.command).map_err(|_| Errno(libc::EINVAL))?;
        let plan = Plan {
            namespaces: self.namespaces(),
            reach: if self.has_spaces() {
                Reach::Namespace
            } else {
                Reach::Adoption
            },
            user: inside,
            view,
            directory,
            loopback: self.has_spaces() && self.policy.network == Network::Loopback,
            warden_scope: self
                .landlock
                .filter(|_| self.tier == Tier::Landlock)
                .and_then(Abilities::scope),
            landlock,
            filters: self.filters.clone().filter(|_| self.tier > Tier::Bare),
            limits: self.limits(),
            namespace_limits: self.namespace_limits(),
            watched_memory: (self.tier < Tier::Full).then_some(Memory {
                most: self.policy.limits.memory,
                files: self.policy.limits.tmp,
                descriptors: (!self.launcher.is_root()).then(DescriptorLimits::of_user),
            }),
            program: shell,
            arguments: PointerList::new(vec![
                c"sh".to_owned(),
                c"-c".to_owned(),
                c"--".to_owned(),
                line,
            ]),
            environment: PointerList::new(self.environment()),
        };
        trees.push(self.root);
        Ok(Drawn {
            plan: Arc::new(plan),
            _open: trees,
        })
    }

    fn namespaces(&self) -> u64 {
        if !self.has_spaces() {
            return 0;
        }
        let mut flags = libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS;
        if self.policy.network != Network::On && !self.in_empty_network {
            flags |= libc::CLONE_NEWNET;
        }
        u64::from(flags.unsigned_abs())
    }

    /// The files the command sees; trees with mapped owners are added to `prepared`.
    fn view(&self, prepared: &mut Vec<OwnedFd>) -> Result<View, Errno> {
        let mut fixtures = self.system.fixtures();
        let mut trees = self.system.trees();
        let closed = attribute::NO_SETUID | attribute::NO_DEVICES;
        let workspace = PathBuf::from(WORKSPACE);
        fixtures.extend(way_to(&workspace, &fixtures));
        trees.push(Tree {
            source: self.workspace_source(closed, prepared)?,
            target: text(relative(&workspace).as_os_str()),
            attributes: closed,
        });
        let mut shown: Vec<(&Path, PathBuf, u64)> = Vec::new();
        if let Some(output) = self.output {
            shown.push((output, PathBuf::from(OUTPUT), closed | attribute::READ_ONLY));
        }
        for path in &self.policy.read {
            shown.push((path.as_ref(), path.into(), closed | attribute::READ_ONLY));
        }
        for path in &self.policy.write {
            shown.push((path.as_ref(), path.into(), closed));
        }
        let names = self.name_servers();
        if let Some(path) = &names {
            shown.push((path, path.clone(), closed | attribute::READ_ONLY));
        }
        for (from, to, attributes) in shown {
            let place = text(relative(&to).as_os_str());
            if from.is_dir() {
                fixtures.extend(way_to(&to, &fixtures));
            } else {
                let parent = to.parent().unwrap_or(&to);
                fixtures.extend(way_to(parent, &fixtures));
                fixtures.push(Fixture::File(place.clone()));
            }
            let source = if self.launcher.is_root() {
                let tree = self.maps.mapped_tree(from, attributes)?;
                let source = Source::Prepared(tree.as_raw_fd());
                prepared.push(tree);
                source
            } else {
                Source::Path(text(from.as_os_str()))
            };
            trees.push(Tree {
                source,
                target: place,
                attributes,
            });
        }
        if trees.len() > MAX_TREES {
            return Err(Errno(libc::E2BIG));
        }
        // Of 0 the kernel thinks as of no limit.
        let size = self.policy.limits.tmp.max(1);
        let tmp = CString::new(format!("mode=0777,size={size},nr_inodes=256k"));
        Ok(View {
            base: text(
                BASES
                    .iter()
                    .find(|base| Path::new(base).is_dir())
                    .unwrap_or(&"/tmp")
                    .as_ref(),
            ),
            fixtures,
            trees,
            hidden: self.hidden(&workspace),
            tmp: tmp.unwrap_or_default(),
        })
    }

    /// The tree of the workspace.
    fn workspace_source(
        &self,
        attributes: u64,
        prepared: &mut Vec<OwnedFd>,
    ) -> Result<Source, Errno> {
        if !self.launcher.is_root() {
            let path = text(self.workspace.as_os_str());
            return Ok(Source::Directory(path, self.identity));
        }
        let tree = self.maps.mapped_tree_of(self.root.as_fd(), attributes)?;
        let source = Source::Prepared(tree.as_raw_fd());
        prepared.push(tree);
        Ok(source)
    }

    /// What of the workspace is covered: the data of a project that lies in it.
    fn hidden(&self, workspace: &Path) -> Vec<CString> {
        let hides = holds_project(self.root.as_fd());
        let path = workspace.join(PROJECT_DATA);
        hides
            .then(|| text(relative(&path).as_os_str()))
            .into_iter()
            .collect()
    }

    /// Where the list of name servers really is, if the network is granted and it is a link out of
    /// `/etc`, as resolvers make it.
    fn name_servers(&self) -> Option<PathBuf> {
        if self.policy.network != Network::On {
            return None;
        }
        let path = Path::new("/etc/resolv.conf").canonicalize().ok()?;
        (!path.starts_with("/etc")).then_some(path)
    }

    /// What Landlock allows.
    fn rules(&self, abilities: Abilities) -> Landlock {
        let path = |path: &Path| text(path.as_os_str());
        let mut rules: Vec<(CString, u64)> = Vec::new();
        rules.extend(
            self.system
                .programs()
                .map(|p| (path(p), abilities.programs())),
        );
        rules.extend(self.system.settings().map(|(p, is_directory)| {
            let access = match is_directory {
                true => abilities.reading(),
                false => abilities.reading_file(),
            };
            (path(p), access)
        }));
        rules.extend(self.system.devices().map(|p| (path(p), abilities.device())));
        let kind = |p: &Path, directory: u64, file: u64| match p.is_dir() {
            true => directory,
            false => file,
        };
        for extra in self.policy.read.iter().map(Path::new) {
            let access = kind(extra, abilities.programs(), abilities.reading_file() | 1);
            rules.push((path(extra), access));
        }
        for extra in self.policy.write.iter().map(Path::new) {
            let access = kind(extra, abilities.working(), abilities.working_file());
            rules.push((path(extra), access));
        }
        let mut inside = Vec::new();
        if self.has_spaces() {
            inside.push((c"/".to_owned(), abilities.listing()));
            inside.push((c"/proc".to_owned(), abilities.reading()));
            inside.push((c"/tmp".to_owned(), abilities.working()));
        } else {
            rules.extend(HARMLESS_PROC.map(|p| (path(p.as_ref()), abilities.reading_file())));
            rules.extend(self.scratch.map(|p| (path(p), abilities.working())));
        }
        let names = self.name_servers();
        rules.extend(names.map(|p| (path(&p), abilities.reading_file())));
        rules.extend(self.output.map(|p| (path(p), abilities.reading())));
        Landlock {
            ruleset: abilities.ruleset(self.policy.network == Network::Off),
            outside: rules,
            workspace: (self.root.as_raw_fd(), abilities.working()),
            inside,
        }
    }

    /// Limits of its user namespace, as files of `/proc` and what is written to them.
    fn namespace_limits(&self) -> Vec<(CString, CString)> {
        if !self.has_spaces() {
            return Vec::new();
        }
        let InotifyLimits { instances, watches } = self.inotify;
        [
            (c"/proc/sys/user/max_inotify_instances", instances),
            (c"/proc/sys/user/max_inotify_watches", watches),
        ]
        .map(|(file, limit)| (file.to_owned(), text(limit.to_string().as_ref())))
        .into()
    }

    fn limits(&self) -> Vec<(u32, u64)> {
        let limits = &self.policy.limits;
        let open_files = match self.launcher.is_root() {
            true => limits.open_files,
            false => limits.open_files.min(MAX_SHARED_OPEN_FILES),
        };
        let mut list = vec![
            // Of 0 a crash handler behind a pipe takes no notice, of 1 it does.
            (libc::RLIMIT_CORE, 1),
            (libc::RLIMIT_FSIZE, limits.file_size),
            (libc::RLIMIT_CPU, limits.cpu_seconds),
            (libc::RLIMIT_NOFILE, open_files),
            // The warden counts too.
            (
                libc::RLIMIT_NPROC,
                limits
                    .processes
                    .saturating_add(1)
                    .saturating_add(self.processes_besides),
            ),
            (
                libc::RLIMIT_SIGPENDING,
                MAX_PENDING_SIGNALS.saturating_add(self.signals_besides),
            ),
            (libc::RLIMIT_MSGQUEUE, 819_200),
            (libc::RLIMIT_NICE, 0),
            (libc::RLIMIT_RTPRIO, 0),
        ];
        if self.tier < Tier::Full {
            list.push((libc::RLIMIT_DATA, limits.memory));
        }
        list
    }

    /// The environment: nothing of polis's own but its language, and what the policy gives.
    fn environment(&self) -> Vec<CString> {
        const PASSED_ON: [&str; 4] = ["LANG", "LC_ALL", "LC_CTYPE", "TZ"];
        let spaces = self.has_spaces();
        let scratch = self.scratch.unwrap_or(Path::new("/tmp"));
        let (tmp, home) = match spaces {
            true => (Path::new("/tmp"), Path::new("/tmp/home")),
            false => (scratch, scratch),
        };
        let directory = match spaces {
            true => Path::new(WORKSPACE),
            false => self.workspace,
        };
        let mut variables: Vec<(&OsStr, Vec<u8>)> = vec![
            (
                "PATH".as_ref(),
                b"/usr/local/bin:/usr/local/sbin:/usr/bin:/usr/sbin:/bin:/sbin".to_vec(),
            ),
            ("HOME".as_ref(), home.as_os_str().as_bytes().to_vec()),
            ("TMPDIR".as_ref(), tmp.as_os_str().as_bytes().to_vec()),
            ("PWD".as_ref(), directory.as_os_str().as_bytes().to_vec()),
            ("USER".as_ref(), b"agent".to_vec()),
            ("LOGNAME".as_ref(), b"agent".to_vec()),
            ("SHELL".as_ref(), b"/bin/sh".to_vec()),
            ("TERM".as_ref(), b"dumb".to_vec()),
            ("LANG".as_ref(), b"C.UTF-8".to_vec()),
        ];
        if let Some(output) = self.output {
            let place = match spaces {
                true => Path::new(OUTPUT),
                false => output,
            };
            let place = place.as_os_str().as_bytes().to_vec();
            variables.push(("POLIS_OUTPUT".as_ref(), place));
        }
        let mut set = |name, value| {
            variables.retain(|(known, _)| *known != name);
            variables.push((name, value));
        };
        for name in PASSED_ON {
            if let Some(value) = std::env::var_os(name) {
                set(name.as_ref(), value.as_bytes().to_vec());
            }
        }
        for (name, value) in &self.policy.env {
            let value = match value.strip_prefix('$') {
                Some(own) => match std::env::var_os(own) {
                    Some(value) => value.as_bytes().to_vec(),
                    None => continue,
                },
                None => value.as_bytes().to_vec(),
            };
            set(name.as_ref(), value);
        }
        variables
            .into_iter()
            .filter_map(|(name, value)| CString::new([name.as_bytes(), b"=", &value].concat()).ok())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_this_machine_are_left_only_where_something_keeps_them_apart() {
        let sockets = |tier, network, version| {
            let abilities = Some(Abilities::of(version));
            needs(tier, network, abilities, Launcher::current()).map(|needs| needs.sockets)
        };
        for tier in [Tier::Full, Tier::Watched] {
            for network in [Network::Off, Network::Loopback] {
                assert_eq!(sockets(tier, network, 5), Some(Sockets::Any));
            }
            assert_eq!(sockets(tier, Network::On, 5), Some(Sockets::Internet));
            assert_eq!(sockets(tier, Network::On, 6), Some(Sockets::Any));
        }
        let alone = Tier::Landlock;
        assert_eq!(sockets(alone, Network::Off, 6), Some(Sockets::None));
        assert_eq!(sockets(alone, Network::On, 6), Some(Sockets::Internet));
        assert_eq!(sockets(alone, Network::Loopback, 6), None);
    }
}
