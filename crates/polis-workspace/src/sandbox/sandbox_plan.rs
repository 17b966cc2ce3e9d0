//! Sandbox plan: the types that describe a command and its confinement. `blueprint` builds the plan, and the
//! warden carries it out.
//!
//! The warden is the process that polis clones for each command: it sets up the sandbox and starts the
//! command in it. It must not allocate memory, so the plan contains all strings, lists and filters that it
//! needs. That is why the warden does not read the `CommandRequest` itself.

use std::ffi::CString;
use std::os::fd::RawFd;
use std::sync::Arc;

use super::isolation::seccomp::SeccompFilter;
use super::kernel::{self, Errno, ExecStringArray, LandlockRulesetAttr, SyscallResult};
use super::limits::descriptor_limits::DescriptorLimits;
use crate::directory::DirectoryIdentity;

/// Maximum number of mount trees in a view; the warden keeps their descriptors on its stack.
pub(crate) const MAX_MOUNT_TREES: usize = 96;

/// Source of a mounted tree.
#[derive(Debug)]
pub(crate) enum TreeSource {
    /// A path of the host, cloned by the warden in its own mount namespace.
    Path(CString),
    /// Like `Path`, for a directory with this identity and without links in its path. A descriptor opened by
    /// polis does not suffice: the kernel clones mounts only within a mount namespace.
    Directory(CString, DirectoryIdentity),
    /// A tree that polis has already cloned, with its owners mapped.
    ClonedTree(RawFd),
}

/// A part of the host's file system that the command sees.
#[derive(Debug)]
pub(crate) struct MountTree {
    /// Where it comes from.
    pub(crate) source: TreeSource,
    /// Mount point, relative to the new root.
    pub(crate) target: CString,
    /// Mount attributes (`MOUNT_ATTR_*`).
    pub(crate) attributes: u64,
}

/// A file, directory or link created in the new root before trees are mounted.
#[derive(Debug)]
pub(crate) enum RootEntry {
    /// A directory with its mode.
    Directory(CString, u32),
    /// An empty file as a mount point.
    File(CString),
    /// A symbolic link: its target and its path.
    Link(CString, CString),
}

/// The command's view of the file system.
#[derive(Debug)]
pub(crate) struct FilesystemView {
    /// An existing directory, over which the new root is mounted.
    pub(crate) base: CString,
    /// Directories, files and links of the new root, in the order of creation.
    pub(crate) entries: Vec<RootEntry>,
    /// Trees that are mounted in it.
    pub(crate) trees: Vec<MountTree>,
    /// Directories in these trees that are hidden by empty mounts.
    pub(crate) hidden: Vec<CString>,
    /// Mount options of the private `/tmp`.
    pub(crate) tmp: CString,
}

/// Landlock rules, in addition to the other layers.
#[derive(Debug)]
pub(crate) struct LandlockRules {
    /// Accesses that the ruleset handles.
    pub(crate) ruleset: LandlockRulesetAttr,
    /// Paths of the host with the allowed accesses. Polis adds them while the warden builds the root: a rule
    /// applies to a file under any path.
    pub(crate) outside: Vec<(CString, u64)>,
    /// Descriptor of the workspace, with the allowed accesses.
    pub(crate) workspace: (RawFd, u64),
    /// Paths that exist only after the warden has built the root.
    pub(crate) inside: Vec<(CString, u64)>,
}

impl LandlockRules {
    /// Adds the rules for paths of the host. Skips paths that do not exist.
    pub(crate) fn add_outside_rules(&self, ruleset: RawFd) -> SyscallResult<()> {
        let (workspace, access) = self.workspace;
        kernel::landlock_add_rule(ruleset, workspace, access)?;
        add_landlock_rules(ruleset, &self.outside)
    }
}

/// Adds rules; skips paths that do not exist or are not accessible. Does not allocate.
pub(crate) fn add_landlock_rules(ruleset: RawFd, rules: &[(CString, u64)]) -> SyscallResult<()> {
    for (path, access) in rules {
        match kernel::openat(libc::AT_FDCWD, path, libc::O_PATH) {
            Ok(open) => {
                let added = kernel::landlock_add_rule(ruleset, open, *access);
                kernel::close(open);
                added?;
            }
            Err(Errno(libc::ENOENT | libc::EACCES | libc::ENOTDIR)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// How all processes of a command are found when they have to be killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessReach {
    /// They are in a PID namespace, which ends with the warden.
    PidNamespace,
    /// The warden is the subreaper, so orphans become its children; it searches for all descendants.
    Subreaper,
}

/// Memory limits of a command in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryLimits {
    /// Maximum for all its processes together.
    pub(crate) max_bytes: u64,
    /// Maximum for its files in memory (`/tmp`).
    pub(crate) max_tmp_bytes: u64,
    /// Maximum number of pipes and epoll watches, where the kernel charges them to polis's own user.
    pub(crate) descriptors: Option<DescriptorLimits>,
}

/// Working directory of a command.
#[derive(Debug)]
pub(crate) enum StartDirectory {
    /// A path of its file system view.
    InView(CString),
    /// A directory that polis has opened.
    Open(RawFd),
}

/// A command and its confinement.
#[derive(Debug)]
pub(crate) struct SandboxPlan {
    /// Flags of its new namespaces (`CLONE_NEW…`).
    pub(crate) namespaces: u64,
    /// How its processes are found.
    pub(crate) process_reach: ProcessReach,
    /// User and group it runs as, inside its user namespace if it has one; and whether it may drop all
    /// supplementary groups.
    pub(crate) user: Option<(u32, u32, bool)>,
    /// File system view; `None`: the host's files, as far as Landlock allows.
    pub(crate) view: Option<FilesystemView>,
    /// Working directory.
    pub(crate) directory: StartDirectory,
    /// Whether it has a loopback device.
    pub(crate) loopback: bool,
    /// Landlock rules of the command.
    pub(crate) landlock: Option<LandlockRules>,
    /// Landlock scope of the warden itself, so that one signal can reach all processes below it and no
    /// others.
    pub(crate) warden_scope: Option<LandlockRulesetAttr>,
    /// Seccomp filter; `None` in tier T2.
    pub(crate) seccomp_filter: Option<Arc<SeccompFilter>>,
    /// Resource limits: pairs of a resource (`RLIMIT_…`) and its limit.
    pub(crate) limits: Vec<(u32, u64)>,
    /// Limits of its user namespace: files of `/proc` and their values.
    pub(crate) namespace_limits: Vec<(CString, CString)>,
    /// Memory limits, if the warden has to watch them.
    pub(crate) watched_memory: Option<MemoryLimits>,
    /// Path of the program to execute: the shell.
    pub(crate) program: CString,
    /// Arguments of the program, beginning with its name.
    pub(crate) arguments: ExecStringArray,
    /// Environment variables of the program, as `NAME=VALUE`.
    pub(crate) environment: ExecStringArray,
}

/// File descriptors that a warden starts with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WardenFds {
    /// Receives orders from polis; end of file means that polis is gone.
    pub(crate) control: RawFd,
    /// Sends reports to polis.
    pub(crate) reports: RawFd,
    /// Standard input of the command: `/dev/null`.
    pub(crate) stdin: RawFd,
    /// Standard output of the command.
    pub(crate) stdout: RawFd,
    /// Standard error of the command.
    pub(crate) stderr: RawFd,
    /// Landlock ruleset; -1 if there is none.
    pub(crate) ruleset: RawFd,
}
