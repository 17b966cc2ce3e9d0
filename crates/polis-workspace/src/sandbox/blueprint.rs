//! Builds the [`SandboxPlan`] of a command from the request, the workspace and the tier: namespaces, mounts,
//! Landlock rules, seccomp filter, resource limits, environment. The warden applies it.
//!
//! Building reads the host's files and polis's own environment, and as root it opens ID-mapped mount trees;
//! their descriptors stay open as long as the [`BuiltPlan`].

use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_policy::{NetworkAccess, SandboxTier};
use polis_core::workspace::workspace_path::PROJECT_DATA_DIR;
use rustix::fs::{AtFlags, FileType};

use super::isolation::host_view::{
    HostSystemView, WORKSPACE_MOUNT, missing_parent_entries, strip_leading_slash, to_c_string,
};
use super::isolation::landlock::LandlockSupport;
use super::isolation::seccomp::{SeccompFilter, SeccompOptions, SocketPolicy};
use super::isolation::user_mapping::{INNER_USER_ID, LauncherUser, OwnerMapCache};
use super::kernel::{Errno, ExecStringArray, mount_attr};
use super::limits::descriptor_limits::DescriptorLimits;
use super::limits::inotify::InotifyLimits;
use super::sandbox_plan::{
    FilesystemView, LandlockRules, MAX_MOUNT_TREES, MemoryLimits, MountTree, ProcessReach,
    RootEntry, SandboxPlan, StartDirectory, TreeSource,
};
use crate::directory::DirectoryIdentity;

/// Mount point of stored command output, inside the sandbox.
const OUTPUT_MOUNT: &str = "/output";

/// Candidates for the directory over which the new root is mounted; the first that exists is used.
const ROOT_MOUNT_POINTS: [&str; 2] = ["/tmp", "/usr"];

/// Files of `/proc` that reveal nothing about other processes; the only readable ones if the command shares
/// the host's `/proc`.
const READABLE_PROC_FILES: [&str; 12] = [
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

/// Maximum number of queued signals and timers of a command. The kernel charges them to the user's own limit
/// as well.
const MAX_PENDING_SIGNALS: u64 = 1_024;

/// Maximum number of open files per process if commands run as polis's own user. A program may send
/// descriptors over sockets as long as its user has no more of them in flight than the program may open
/// itself, usually 1,024. A command that may open 768 files can have 768 in flight and then send one more
/// message, which holds at most 253.
const MAX_SHARED_OPEN_FILES: u64 = 768;

/// Inputs of a sandbox plan.
#[derive(Debug)]
pub(crate) struct SandboxBlueprint<'a> {
    /// Tier of the sandbox.
    pub(crate) tier: SandboxTier,
    /// Host files that every command sees.
    pub(crate) host_view: &'a HostSystemView,
    /// User polis runs as.
    pub(crate) launcher: LauncherUser,
    /// Landlock features of this kernel, if it has Landlock.
    pub(crate) landlock: Option<LandlockSupport>,
    /// Seccomp filter, if there is one for this processor.
    pub(crate) seccomp_filter: Option<Arc<SeccompFilter>>,
    /// Cache of user namespaces for ID-mapped mounts.
    pub(crate) owner_maps: &'a OwnerMapCache,
    /// The command, its permissions and its limits.
    pub(crate) request: &'a CommandRequest,
    /// Path of the workspace.
    pub(crate) workspace: &'a Path,
    /// The workspace's open directory.
    pub(crate) root: OwnedFd,
    /// Identity of that directory.
    pub(crate) identity: DirectoryIdentity,
    /// Directory with the output of earlier commands, if it exists.
    pub(crate) output: Option<&'a Path>,
    /// Scratch directory instead of `/tmp`, without a mount namespace.
    pub(crate) scratch: Option<&'a Path>,
    /// Whether the command starts in an existing network namespace without connections.
    pub(crate) in_empty_network: bool,
    /// Other processes of the user, where RLIMIT_NPROC counts them together.
    pub(crate) other_processes: u64,
    /// Other queued signals of the user, where RLIMIT_SIGPENDING counts them together.
    pub(crate) other_signals: u64,
    /// Limits of inotify, where the command has its own user namespace.
    pub(crate) inotify: InotifyLimits,
}

/// A plan with the open descriptors it refers to.
#[derive(Debug)]
pub(crate) struct BuiltPlan {
    /// The plan; its descriptors stay open as long as this value lives.
    pub(crate) plan: Arc<SandboxPlan>,
    _open: Vec<OwnedFd>,
}

/// Returns whether a directory contains the data of a polis project.
pub(crate) fn contains_project_data(directory: BorrowedFd<'_>) -> bool {
    let found = rustix::fs::statat(directory, PROJECT_DATA_DIR, AtFlags::SYMLINK_NOFOLLOW);
    found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}

/// Returns the options of the seccomp filter for a tier and a network setting, or `None` if the combination
/// is not possible.
pub(crate) fn seccomp_options(
    tier: SandboxTier,
    network: NetworkAccess,
    landlock: Option<LandlockSupport>,
    launcher: LauncherUser,
) -> Option<SeccompOptions> {
    let spaces = tier >= SandboxTier::Watched;
    let scoped = landlock.is_some_and(|abilities| abilities.scope_ruleset().is_some());
    let sockets = match (spaces, network) {
        // The host's network namespace includes its abstract sockets, unless Landlock scopes them.
        (true, NetworkAccess::On) if !scoped => SocketPolicy::Internet,
        (true, _) => SocketPolicy::Any,
        (false, NetworkAccess::Off) => SocketPolicy::None,
        (false, NetworkAccess::On) => SocketPolicy::Internet,
        (false, NetworkAccess::Loopback) => return None,
    };
    Some(SeccompOptions {
        sockets,
        deny_unaccounted_memory: tier < SandboxTier::Full,
        shares_host_namespaces: !spaces,
        shares_user: !launcher.is_root(),
    })
}

impl SandboxBlueprint<'_> {
    fn has_namespaces(&self) -> bool {
        self.tier >= SandboxTier::Watched
    }

    /// Builds the plan. Fails if the kernel cannot mount the workspace or a path of the policy with its owner
    /// mapped, with `E2BIG` if there are too many paths, and with `EINVAL` if the command contains a NUL.
    pub(crate) fn build_plan(self) -> Result<BuiltPlan, Errno> {
        let mut trees = Vec::new();
        let view = if self.has_namespaces() {
            Some(self.build_view(&mut trees)?)
        } else {
            None
        };
        let landlock = self
            .landlock
            .filter(|_| self.tier > SandboxTier::Bare)
            .map(|abilities| self.landlock_rules(abilities));
        let inside = if self.has_namespaces() {
            Some((INNER_USER_ID, INNER_USER_ID, self.launcher.is_root()))
        } else if self.launcher.is_root() {
            let (uid, gid) = self.launcher.command_user();
            Some((uid, gid, true))
        } else {
            None
        };
        let directory = if self.has_namespaces() {
            StartDirectory::InView(to_c_string(WORKSPACE_MOUNT.as_ref()))
        } else {
            StartDirectory::Open(self.root.as_raw_fd())
        };
        let shell = c"/bin/sh".to_owned();
        let line = CString::new(self.request.command.as_str()).map_err(|_| Errno(libc::EINVAL))?;
        let plan = SandboxPlan {
            namespaces: self.namespace_flags(),
            process_reach: if self.has_namespaces() {
                ProcessReach::PidNamespace
            } else {
                ProcessReach::Subreaper
            },
            user: inside,
            view,
            directory,
            loopback: self.has_namespaces()
                && self.request.policy.network == NetworkAccess::Loopback,
            warden_scope: self
                .landlock
                .filter(|_| self.tier == SandboxTier::Landlock)
                .and_then(LandlockSupport::scope_ruleset),
            landlock,
            seccomp_filter: self
                .seccomp_filter
                .clone()
                .filter(|_| self.tier > SandboxTier::Bare),
            limits: self.resource_limits(),
            namespace_limits: self.namespace_limits(),
            watched_memory: (self.tier < SandboxTier::Full).then_some(MemoryLimits {
                max_bytes: self.request.policy.limits.memory,
                max_tmp_bytes: self.request.policy.limits.tmp,
                descriptors: (!self.launcher.is_root()).then(DescriptorLimits::from_user_limits),
            }),
            program: shell,
            arguments: ExecStringArray::new(vec![
                c"sh".to_owned(),
                c"-c".to_owned(),
                c"--".to_owned(),
                line,
            ]),
            environment: ExecStringArray::new(self.environment_variables()),
        };
        trees.push(self.root);
        Ok(BuiltPlan {
            plan: Arc::new(plan),
            _open: trees,
        })
    }

    fn namespace_flags(&self) -> u64 {
        if !self.has_namespaces() {
            return 0;
        }
        let mut flags = libc::CLONE_NEWUSER
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS;
        if self.request.policy.network != NetworkAccess::On && !self.in_empty_network {
            flags |= libc::CLONE_NEWNET;
        }
        u64::from(flags.unsigned_abs())
    }

    /// Returns the command's view of the file system; ID-mapped trees are added to `prepared`.
    fn build_view(&self, prepared: &mut Vec<OwnedFd>) -> Result<FilesystemView, Errno> {
        let mut fixtures = self.host_view.root_entries();
        let mut trees = self.host_view.mount_trees();
        let closed = mount_attr::NOSUID | mount_attr::NODEV;
        let workspace = PathBuf::from(WORKSPACE_MOUNT);
        fixtures.extend(missing_parent_entries(&workspace, &fixtures));
        trees.push(MountTree {
            source: self.workspace_source(closed, prepared)?,
            target: to_c_string(strip_leading_slash(&workspace).as_os_str()),
            attributes: closed,
        });
        let mut mounts: Vec<(&Path, PathBuf, u64)> = Vec::new();
        if let Some(output) = self.output {
            mounts.push((
                output,
                PathBuf::from(OUTPUT_MOUNT),
                closed | mount_attr::RDONLY,
            ));
        }
        for path in &self.request.policy.read {
            mounts.push((path.as_ref(), path.into(), closed | mount_attr::RDONLY));
        }
        for path in &self.request.policy.write {
            mounts.push((path.as_ref(), path.into(), closed));
        }
        let names = self.resolv_conf_target();
        if let Some(path) = &names {
            mounts.push((path, path.clone(), closed | mount_attr::RDONLY));
        }
        for (from, to, attributes) in mounts {
            let target = to_c_string(strip_leading_slash(&to).as_os_str());
            if from.is_dir() {
                fixtures.extend(missing_parent_entries(&to, &fixtures));
            } else {
                let parent = to.parent().unwrap_or(&to);
                fixtures.extend(missing_parent_entries(parent, &fixtures));
                fixtures.push(RootEntry::File(target.clone()));
            }
            let source = if self.launcher.is_root() {
                let tree = self.owner_maps.id_mapped_tree(from, attributes)?;
                let source = TreeSource::ClonedTree(tree.as_raw_fd());
                prepared.push(tree);
                source
            } else {
                TreeSource::Path(to_c_string(from.as_os_str()))
            };
            trees.push(MountTree {
                source,
                target,
                attributes,
            });
        }
        if trees.len() > MAX_MOUNT_TREES {
            return Err(Errno(libc::E2BIG));
        }
        // tmpfs treats `size=0` as unlimited.
        let size = self.request.policy.limits.tmp.max(1);
        let tmp = CString::new(format!("mode=0777,size={size},nr_inodes=256k"));
        Ok(FilesystemView {
            base: to_c_string(
                ROOT_MOUNT_POINTS
                    .iter()
                    .find(|base| Path::new(base).is_dir())
                    .unwrap_or(&"/tmp")
                    .as_ref(),
            ),
            entries: fixtures,
            trees,
            hidden: self.hidden_paths(&workspace),
            tmp: tmp.unwrap_or_default(),
        })
    }

    /// Returns the mount source of the workspace.
    fn workspace_source(
        &self,
        attributes: u64,
        prepared: &mut Vec<OwnedFd>,
    ) -> Result<TreeSource, Errno> {
        if !self.launcher.is_root() {
            let path = to_c_string(self.workspace.as_os_str());
            return Ok(TreeSource::Directory(path, self.identity));
        }
        let tree = self
            .owner_maps
            .id_mapped_tree_at(self.root.as_fd(), attributes)?;
        let source = TreeSource::ClonedTree(tree.as_raw_fd());
        prepared.push(tree);
        Ok(source)
    }

    /// Returns the paths in the workspace that are hidden: the data of a project in it.
    fn hidden_paths(&self, workspace: &Path) -> Vec<CString> {
        let hides = contains_project_data(self.root.as_fd());
        let path = workspace.join(PROJECT_DATA_DIR);
        hides
            .then(|| to_c_string(strip_leading_slash(&path).as_os_str()))
            .into_iter()
            .collect()
    }

    /// Returns the target of `/etc/resolv.conf`, if the network is granted and the file is a symbolic link
    /// out of `/etc`, as resolvers create it.
    fn resolv_conf_target(&self) -> Option<PathBuf> {
        if self.request.policy.network != NetworkAccess::On {
            return None;
        }
        let path = Path::new("/etc/resolv.conf").canonicalize().ok()?;
        (!path.starts_with("/etc")).then_some(path)
    }

    /// Returns the Landlock rules.
    fn landlock_rules(&self, abilities: LandlockSupport) -> LandlockRules {
        let path = |path: &Path| to_c_string(path.as_os_str());
        let mut rules: Vec<(CString, u64)> = Vec::new();
        rules.extend(
            self.host_view
                .program_directories()
                .map(|p| (path(p), abilities.read_execute_access())),
        );
        rules.extend(self.host_view.etc_files().map(|(p, is_directory)| {
            let access = if is_directory {
                abilities.read_access()
            } else {
                abilities.read_file_access()
            };
            (path(p), access)
        }));
        rules.extend(
            self.host_view
                .device_files()
                .map(|p| (path(p), abilities.device_access())),
        );
        let kind = |p: &Path, directory: u64, file: u64| if p.is_dir() { directory } else { file };
        for extra in self.request.policy.read.iter().map(Path::new) {
            let access = kind(
                extra,
                abilities.read_execute_access(),
                abilities.read_file_access() | 1,
            );
            rules.push((path(extra), access));
        }
        for extra in self.request.policy.write.iter().map(Path::new) {
            let access = kind(
                extra,
                abilities.read_write_access(),
                abilities.read_write_file_access(),
            );
            rules.push((path(extra), access));
        }
        let mut inside = Vec::new();
        if self.has_namespaces() {
            inside.push((c"/".to_owned(), abilities.list_access()));
            inside.push((c"/proc".to_owned(), abilities.read_access()));
            inside.push((c"/tmp".to_owned(), abilities.read_write_access()));
        } else {
            rules.extend(
                READABLE_PROC_FILES.map(|p| (path(p.as_ref()), abilities.read_file_access())),
            );
            rules.extend(
                self.scratch
                    .map(|p| (path(p), abilities.read_write_access())),
            );
        }
        let names = self.resolv_conf_target();
        rules.extend(names.map(|p| (path(&p), abilities.read_file_access())));
        rules.extend(self.output.map(|p| (path(p), abilities.read_access())));
        LandlockRules {
            ruleset: abilities.full_ruleset(self.request.policy.network == NetworkAccess::Off),
            outside: rules,
            workspace: (self.root.as_raw_fd(), abilities.read_write_access()),
            inside,
        }
    }

    /// Returns the limits of the command's user namespace: files of `/proc` and their values.
    fn namespace_limits(&self) -> Vec<(CString, CString)> {
        if !self.has_namespaces() {
            return Vec::new();
        }
        let InotifyLimits { instances, watches } = self.inotify;
        [
            (c"/proc/sys/user/max_inotify_instances", instances),
            (c"/proc/sys/user/max_inotify_watches", watches),
        ]
        .map(|(file, limit)| (file.to_owned(), to_c_string(limit.to_string().as_ref())))
        .into()
    }

    fn resource_limits(&self) -> Vec<(u32, u64)> {
        let limits = &self.request.policy.limits;
        let open_files = if self.launcher.is_root() {
            limits.open_files
        } else {
            limits.open_files.min(MAX_SHARED_OPEN_FILES)
        };
        let mut list = vec![
            // A piped `core_pattern` ignores RLIMIT_CORE=0 but honours 1.
            (libc::RLIMIT_CORE, 1),
            (libc::RLIMIT_FSIZE, limits.file_size),
            (libc::RLIMIT_CPU, limits.cpu_seconds),
            (libc::RLIMIT_NOFILE, open_files),
            // The warden counts as well.
            (
                libc::RLIMIT_NPROC,
                limits
                    .processes
                    .saturating_add(1)
                    .saturating_add(self.other_processes),
            ),
            (
                libc::RLIMIT_SIGPENDING,
                MAX_PENDING_SIGNALS.saturating_add(self.other_signals),
            ),
            (libc::RLIMIT_MSGQUEUE, 819_200),
            (libc::RLIMIT_NICE, 0),
            (libc::RLIMIT_RTPRIO, 0),
        ];
        if self.tier < SandboxTier::Full {
            list.push((libc::RLIMIT_DATA, limits.memory));
        }
        list
    }

    /// Returns the environment: of polis's own variables only locale and time zone, plus those of the policy.
    fn environment_variables(&self) -> Vec<CString> {
        const INHERITED_VARIABLES: [&str; 4] = ["LANG", "LC_ALL", "LC_CTYPE", "TZ"];
        let spaces = self.has_namespaces();
        let scratch = self.scratch.unwrap_or(Path::new("/tmp"));
        let (tmp, home) = if spaces {
            (Path::new("/tmp"), Path::new("/tmp/home"))
        } else {
            (scratch, scratch)
        };
        let directory = if spaces {
            Path::new(WORKSPACE_MOUNT)
        } else {
            self.workspace
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
            let output_path = if spaces {
                Path::new(OUTPUT_MOUNT)
            } else {
                output
            };
            let output_path = output_path.as_os_str().as_bytes().to_vec();
            variables.push(("POLIS_OUTPUT".as_ref(), output_path));
        }
        let mut set = |name, value| {
            variables.retain(|(existing, _)| *existing != name);
            variables.push((name, value));
        };
        for name in INHERITED_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                set(name.as_ref(), value.as_bytes().to_vec());
            }
        }
        for (name, value) in &self.request.policy.env {
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
    fn unix_sockets_are_allowed_only_with_isolation() {
        let sockets = |tier, network, version| {
            let abilities = Some(LandlockSupport::from_version(version));
            seccomp_options(tier, network, abilities, LauncherUser::current())
                .map(|needs| needs.sockets)
        };
        for tier in [SandboxTier::Full, SandboxTier::Watched] {
            for network in [NetworkAccess::Off, NetworkAccess::Loopback] {
                assert_eq!(sockets(tier, network, 5), Some(SocketPolicy::Any));
            }
            assert_eq!(
                sockets(tier, NetworkAccess::On, 5),
                Some(SocketPolicy::Internet)
            );
            assert_eq!(sockets(tier, NetworkAccess::On, 6), Some(SocketPolicy::Any));
        }
        let alone = SandboxTier::Landlock;
        assert_eq!(
            sockets(alone, NetworkAccess::Off, 6),
            Some(SocketPolicy::None)
        );
        assert_eq!(
            sockets(alone, NetworkAccess::On, 6),
            Some(SocketPolicy::Internet)
        );
        assert_eq!(sockets(alone, NetworkAccess::Loopback, 6), None);
    }
}
