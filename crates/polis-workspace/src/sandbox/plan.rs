//! Everything a sandboxed process needs, prepared before it exists.
//!
//! After the clone nothing may be allocated, so texts, lists and filters are made here; `warden`
//! only carries them out, in order.

use std::ffi::CString;
use std::os::fd::RawFd;
use std::sync::Arc;

use super::filter::Filter;
use super::kernel::{self, Answer, Errno, LandlockRuleset, PointerList};
use super::pipes::DescriptorLimits;
use crate::directory::DirectoryIdentity;

/// The most trees a view may have; the warden keeps their descriptors on its stack.
pub(crate) const MAX_TREES: usize = 96;

/// Where the tree that is shown at a place comes from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A path of this machine, copied by the warden in its own namespace.
    Path(CString),
    /// The same for a directory that has to be this one, and whose path may have no link in it. A descriptor of polis's
    /// own would not do: the kernel copies mounts only within a namespace.
    Directory(CString, DirectoryIdentity),
    /// A tree that polis itself has copied, its owners mapped.
    Prepared(RawFd),
}

/// A part of this machine's files that the command sees.
#[derive(Debug)]
pub(crate) struct Tree {
    /// What.
    pub(crate) source: Source,
    /// Where, relative to the new root.
    pub(crate) target: CString,
    /// Mount attributes.
    pub(crate) attributes: u64,
}

/// Something made in the new root before trees are attached.
#[derive(Debug)]
pub(crate) enum Fixture {
    /// A directory with its mode.
    Directory(CString, u32),
    /// An empty file, to mount something on.
    File(CString),
    /// A link: its target and its place.
    Link(CString, CString),
}

/// The files a command sees.
#[derive(Debug)]
pub(crate) struct View {
    /// A directory that is there, over which the new root is built.
    pub(crate) base: CString,
    /// Directories, files and links of the new root, in order.
    pub(crate) fixtures: Vec<Fixture>,
    /// What is shown in them.
    pub(crate) trees: Vec<Tree>,
    /// Directories of these trees that are covered by empty ones.
    pub(crate) hidden: Vec<CString>,
    /// Options of the private `/tmp`.
    pub(crate) tmp: CString,
}

/// What Landlock allows, on top of everything else.
#[derive(Debug)]
pub(crate) struct Landlock {
    /// What is governed.
    pub(crate) ruleset: LandlockRuleset,
    /// Paths of this machine, and what may be done there. Polis adds them while the warden builds:
    /// a rule is about a file, wherever it is seen.
    pub(crate) outside: Vec<(CString, u64)>,
    /// The workspace, and what may be done there.
    pub(crate) workspace: (RawFd, u64),
    /// Paths that are only there once the warden has built them.
    pub(crate) inside: Vec<(CString, u64)>,
}

impl Landlock {
    /// Adds the rules about files outside. Paths that are not there are left out.
    pub(crate) fn complete(&self, ruleset: RawFd) -> Answer<()> {
        let (workspace, access) = self.workspace;
        kernel::landlock_allow(ruleset, workspace, access)?;
        add_rules(ruleset, &self.outside)
    }
}

/// Adds rules; what is not there, or may not be seen, is left out. Does not allocate.
pub(crate) fn add_rules(ruleset: RawFd, rules: &[(CString, u64)]) -> Answer<()> {
    for (path, access) in rules {
        match kernel::open_at(libc::AT_FDCWD, path, libc::O_PATH) {
            Ok(open) => {
                let added = kernel::landlock_allow(ruleset, open, *access);
                kernel::close(open);
                added?;
            }
            Err(Errno(libc::ENOENT | libc::EACCES | libc::ENOTDIR)) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// How everything that a command started is found when it has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It is in a process namespace of its own, which ends with the warden.
    Namespace,
    /// The warden is the one whom orphans are given to, and looks for all of them.
    Adoption,
}

/// How much memory a command may have, in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    /// All its processes together.
    pub(crate) most: u64,
    /// Its files that are in memory.
    pub(crate) files: u64,
    /// How many pipes and watches it may have, where the kernel charges them to polis's own user.
    pub(crate) descriptors: Option<DescriptorLimits>,
}

/// Where a command starts.
#[derive(Debug)]
pub(crate) enum StartDirectory {
    /// At a path of its view.
    InView(CString),
    /// In a directory that polis has opened.
    Open(RawFd),
}

/// A command, and the walls around it.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The namespaces it gets (`CLONE_NEW…`).
    pub(crate) namespaces: u64,
    /// How its processes are found.
    pub(crate) reach: Reach,
    /// The user and group it runs as, in its own namespace if it has one; and whether it can
    /// leave all other groups.
    pub(crate) user: Option<(u32, u32, bool)>,
    /// The files it sees; without, all that Landlock allows.
    pub(crate) view: Option<View>,
    /// Where it starts.
    pub(crate) directory: StartDirectory,
    /// Whether it has a loopback device.
    pub(crate) loopback: bool,
    /// Landlock's part.
    pub(crate) landlock: Option<Landlock>,
    /// Whether the warden itself goes under a scope first, so that it can end all below it at once.
    pub(crate) warden_scope: Option<LandlockRuleset>,
    /// Seccomp's part.
    pub(crate) filters: Option<Arc<Filter>>,
    /// Resource limits.
    pub(crate) limits: Vec<(u32, u64)>,
    /// Limits of its user namespace: files of `/proc`, and what is written to them.
    pub(crate) namespace_limits: Vec<(CString, CString)>,
    /// The memory that all processes together may have, if the warden has to watch it.
    pub(crate) watched_memory: Option<Memory>,
    /// What is executed.
    pub(crate) program: CString,
    /// Its arguments.
    pub(crate) arguments: PointerList,
    /// Its environment.
    pub(crate) environment: PointerList,
}

/// The descriptors a warden begins with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines {
    /// Tells it to begin; its end tells it that polis is gone.
    pub(crate) orders: RawFd,
    /// Where it reports to.
    pub(crate) reports: RawFd,
    /// What the command reads: nothing.
    pub(crate) stdin: RawFd,
    /// Where the command writes.
    pub(crate) stdout: RawFd,
    /// Where it complains.
    pub(crate) stderr: RawFd,
    /// The set of Landlock rules; -1 if there is none.
    pub(crate) ruleset: RawFd,
}
