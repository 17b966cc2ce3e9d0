//! The warden: the process between polis and a command. It sets up the sandbox (setsid, umask, mounts,
//! pivot_root, capabilities, Landlock, seccomp), starts the command in it, watches its memory if no control
//! group does, and kills everything when the command has ended or polis is gone.
//!
//! It is a clone of polis, possibly of many threads, so it uses only [`kernel`] and the [`SandboxPlan`]: no
//! allocation, no locks, no panics. In a PID namespace it is the first process: when it exits, the kernel
//! kills all others.

use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, RawFd};

use crate::directory::DirectoryIdentity;
use crate::sandbox::kernel::{self, Errno, SyscallResult, mount_attr};
use crate::sandbox::limits::memory_watch;
use crate::sandbox::process::warden_report::{SetupStep, WardenReport};
use crate::sandbox::sandbox_plan::{
    FilesystemView, LandlockRules, MAX_MOUNT_TREES, ProcessReach, RootEntry, SandboxPlan,
    StartDirectory, TreeSource, WardenFds, add_landlock_rules,
};

/// Order from polis: set up the sandbox.
pub(crate) const ORDER_BEGIN: u8 = b'b';
/// Order from polis: all Landlock rules are added and the warden is in its control group, so the command may
/// start.
pub(crate) const ORDER_CONFINE: u8 = b'c';
/// Order from polis: kill everything now.
pub(crate) const ORDER_END: u8 = b'e';

/// Maximum number of rounds that stop processes before they are killed.
const MAX_STOP_ROUNDS: u32 = 50;

/// Interval of memory checks.
const MEMORY_CHECK_INTERVAL_MILLIS: i32 = 25;

/// Main function of the warden. Never returns.
pub(crate) fn run_warden(plan: &SandboxPlan, lines: WardenFds, stack: &mut [u8]) -> ! {
    let report = |report: WardenReport| {
        let _ = kernel::write(lines.reports, &report.to_bytes());
    };
    let mut order = [0];
    close_fds_except(
        &[
            lines.control,
            lines.reports,
            lines.stdin,
            lines.stdout,
            lines.stderr,
            lines.ruleset,
        ],
        plan,
    );
    // In parallel with polis, which maps the user: everything that does not depend on it.
    let mut copies = [-1; MAX_MOUNT_TREES];
    let prepared = prepare_before_mapping(plan, &mut copies);
    match kernel::read(lines.control, &mut order) {
        Ok(1) if order == [ORDER_BEGIN] => {}
        _ => kernel::exit(0),
    }
    let alone = std::cell::Cell::new(false);
    let result = prepared.and_then(|()| set_up_and_start(plan, lines, stack, &copies, &alone));
    match result {
        Ok(command) => {
            kernel::close(lines.stdin);
            kernel::close(lines.stdout);
            kernel::close(lines.stderr);
            kernel::close(lines.ruleset);
            report(watch_command(plan, lines.control, command));
        }
        Err((step, errno)) => report(WardenReport::Failed { step, errno }),
    }
    if plan.process_reach == ProcessReach::Subreaper {
        kill_all(alone.get());
    }
    kernel::exit(0)
}

/// Closes every descriptor except these and the plan's own, so that none of polis's other descriptors is
/// inherited.
fn close_fds_except(exceptions: &[RawFd], plan: &SandboxPlan) {
    let mut next: u32 = 0;
    loop {
        // The smallest kept descriptor from `next` on; there are few, so no sorting.
        let mut least: Option<u32> = None;
        let prepared = plan.view.iter().flat_map(|view| &view.trees);
        let prepared = prepared.filter_map(|tree| match tree.source {
            TreeSource::ClonedTree(fd) => Some(fd),
            TreeSource::Path(_) | TreeSource::Directory(..) => None,
        });
        let start = match plan.directory {
            StartDirectory::Open(fd) => Some(fd),
            StartDirectory::InView(_) => None,
        };
        for fd in exceptions.iter().copied().chain(prepared).chain(start) {
            if let Ok(fd) = u32::try_from(fd)
                && fd >= next
                && least.is_none_or(|least| fd < least)
            {
                least = Some(fd);
            }
        }
        match least {
            Some(fd) => {
                if fd > next {
                    let _ = kernel::close_range(next, fd - 1);
                }
                next = fd.saturating_add(1);
            }
            None => {
                let _ = kernel::close_range(next, u32::MAX);
                return;
            }
        }
    }
}

/// Main function of a process that only keeps a namespace alive until polis has a descriptor of it. Never
/// returns.
pub(crate) fn hold_namespace(orders: RawFd) -> ! {
    if let Ok(fd) = u32::try_from(orders) {
        let _ = kernel::close_range(0, fd.saturating_sub(1));
        let _ = kernel::close_range(fd.saturating_add(1), u32::MAX);
    }
    let mut order = [0];
    let _ = kernel::read(orders, &mut order);
    kernel::exit(0)
}

/// Result of a setup step; the error names the step.
type StepResult<T> = Result<T, (SetupStep, Errno)>;

trait WithStep<T> {
    fn with_step(self, step: SetupStep) -> StepResult<T>;
}

impl<T> WithStep<T> for SyscallResult<T> {
    fn with_step(self, step: SetupStep) -> StepResult<T> {
        self.map_err(|errno| (step, errno))
    }
}

/// Sets up the sandbox and starts the command. Returns its process ID. Stores in `alone` whether `kill(-1)`
/// reaches only descendants.
fn set_up_and_start(
    plan: &SandboxPlan,
    lines: WardenFds,
    stack: &mut [u8],
    copies: &[RawFd],
    alone: &std::cell::Cell<bool>,
) -> StepResult<i32> {
    let inside = plan.process_reach == ProcessReach::PidNamespace;
    if inside && let Some((uid, gid, alone)) = plan.user {
        kernel::setresuid_and_groups(uid, gid, alone).with_step(SetupStep::User)?;
    }
    // No process inside may inspect the warden. Not set earlier: the files in `/proc` of such a process
    // belong to root, and polis has to write the ID maps there.
    kernel::prctl(libc::PR_SET_DUMPABLE, 0).with_step(SetupStep::Hide)?;
    if let Some(view) = &plan.view {
        build_root(view, copies)?;
    }
    match &plan.directory {
        StartDirectory::InView(path) => kernel::chdir(path),
        StartDirectory::Open(fd) => kernel::fchdir(*fd),
    }
    .with_step(SetupStep::Directory)?;
    kernel::prctl(libc::PR_SET_NO_NEW_PRIVS, 1).with_step(SetupStep::Privileges)?;
    for (file, limit) in &plan.namespace_limits {
        match kernel::write_file(file, limit.to_bytes()) {
            // A kernel without inotify has no such file.
            Ok(()) | Err(Errno(libc::ENOENT)) => {}
            Err(errno) => return Err((SetupStep::Limits, errno)),
        }
    }
    if inside {
        // A process can hide its memory from all but CAP_SYS_PTRACE.
        kernel::capset_drop(plan.watched_memory.is_some()).with_step(SetupStep::Capabilities)?;
    } else {
        kernel::prctl(libc::PR_SET_CHILD_SUBREAPER, 1).with_step(SetupStep::Adoption)?;
        if let Some(scope) = &plan.warden_scope {
            let ruleset = kernel::landlock_create_ruleset(scope).with_step(SetupStep::Landlock)?;
            kernel::landlock_restrict_self(ruleset.as_raw_fd()).with_step(SetupStep::Landlock)?;
            // Tested on a process that is not a descendant and surely exists: polis itself, which in a
            // container is often the first process.
            let parent = kernel::getppid();
            let denied = kernel::kill(parent, 0) == Err(Errno(libc::EPERM));
            alone.set(parent > 0 && denied);
        }
    }
    // The child shares this memory until `exec`, so it can store its error here.
    let failed = std::cell::Cell::new(None);
    let started = kernel::spawn_vfork(stack, &|| {
        let Err((step, errno)) = confine_and_exec(plan, lines) else {
            return Errno(0);
        };
        failed.set(Some((step, errno)));
        errno
    })
    .with_step(SetupStep::Start)?;
    match failed.get() {
        Some(failure) => Err(failure),
        None => Ok(started),
    }
}

/// Runs in the command's own process: the remaining confinement, then `exec`.
fn confine_and_exec(plan: &SandboxPlan, lines: WardenFds) -> StepResult<()> {
    // Waits until polis has added its Landlock rules.
    let mut order = [0];
    match kernel::read(lines.control, &mut order) {
        Ok(1) if order == [ORDER_CONFINE] => {}
        _ => return Err((SetupStep::Start, Errno(libc::EPIPE))),
    }
    kernel::dup2(lines.stdin, 0).with_step(SetupStep::Descriptors)?;
    kernel::dup2(lines.stdout, 1).with_step(SetupStep::Descriptors)?;
    kernel::dup2(lines.stderr, 2).with_step(SetupStep::Descriptors)?;
    kernel::close_range_cloexec(3).with_step(SetupStep::Descriptors)?;
    // A signal that a script sends to its process group must not reach the warden.
    kernel::setsid().with_step(SetupStep::Session)?;
    // If the warden dies unexpectedly, the command is killed as well.
    kernel::prctl(libc::PR_SET_PDEATHSIG, 9).with_step(SetupStep::Start)?;
    if plan.process_reach == ProcessReach::Subreaper {
        kernel::prctl_capbset_drop_all().with_step(SetupStep::Capabilities)?;
        if let Some((uid, gid, alone)) = plan.user {
            kernel::setresuid_and_groups(uid, gid, alone).with_step(SetupStep::User)?;
            // Changing the user resets it.
            kernel::prctl(libc::PR_SET_PDEATHSIG, 9).with_step(SetupStep::Start)?;
        }
    }
    kernel::capset_drop(false).with_step(SetupStep::Capabilities)?;
    kernel::sched_setscheduler_other().with_step(SetupStep::Limits)?;
    for &(resource, limit) in &plan.limits {
        kernel::prlimit_lower(resource, limit).with_step(SetupStep::Limits)?;
    }
    if let Some(landlock) = &plan.landlock {
        enforce_landlock(landlock, lines)?;
    }
    kernel::signal_reset_all();
    if let Some(filters) = &plan.seccomp_filter {
        kernel::seccomp_set_mode_filter(filters.instructions()).with_step(SetupStep::Seccomp)?;
    }
    Err((
        SetupStep::Execute,
        kernel::execve(
            &plan.program,
            plan.arguments.as_slice(),
            plan.environment.as_slice(),
        ),
    ))
}

/// Does everything that is possible before the user is mapped; stores the cloned mount trees in `copies`.
fn prepare_before_mapping(plan: &SandboxPlan, copies: &mut [RawFd]) -> StepResult<()> {
    kernel::setsid().with_step(SetupStep::Session)?;
    kernel::signal_reset_sigchld();
    kernel::umask_022();
    let Some(view) = &plan.view else {
        return Ok(());
    };
    kernel::prctl_capbset_drop_all().with_step(SetupStep::Capabilities)?;
    kernel::sethostname(c"polis").with_step(SetupStep::Name)?;
    if plan.loopback {
        kernel::bring_up_loopback().with_step(SetupStep::Loopback)?;
    }
    // All trees are cloned before anything is mounted: the base may cover their sources.
    for (tree, copy) in view.trees.iter().zip(copies) {
        *copy = match &tree.source {
            TreeSource::Path(path) => {
                let clone_fd =
                    kernel::open_tree(libc::AT_FDCWD, path, true).with_step(SetupStep::Copy)?;
                kernel::mount_setattr(clone_fd, c"", tree.attributes, None, true)
                    .with_step(SetupStep::Attributes)?;
                clone_fd
            }
            TreeSource::Directory(path, identity) => {
                let clone_fd = clone_directory_mount(path, *identity).with_step(SetupStep::Copy)?;
                kernel::mount_setattr(clone_fd, c"", tree.attributes, None, true)
                    .with_step(SetupStep::Attributes)?;
                clone_fd
            }
            // It already has its attributes and mapped owners.
            TreeSource::ClonedTree(copy) => *copy,
        };
    }
    Ok(())
}

/// Clones the mount at a directory, if it still has the expected identity.
fn clone_directory_mount(path: &CStr, identity: DirectoryIdentity) -> SyscallResult<RawFd> {
    let directory = kernel::openat2_no_symlinks(path)?;
    let found = kernel::fstat_identity(directory);
    let result = match found {
        Ok(found) if found == (identity.device, identity.inode) => {
            kernel::open_tree(directory, c"", true)
        }
        Ok(_) => Err(Errno(libc::ESTALE)),
        Err(errno) => Err(errno),
    };
    kernel::close(directory);
    result
}

/// Builds the new root and switches to it.
fn build_root(view: &FilesystemView, copies: &[RawFd]) -> StepResult<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    kernel::mount(
        c"tmpfs",
        &view.base,
        flags,
        c"mode=0755,size=1m,nr_inodes=1k",
    )
    .with_step(SetupStep::Root)?;
    kernel::chdir(&view.base).with_step(SetupStep::Root)?;
    kernel::mkdir(c"tmp", 0o755).with_step(SetupStep::Tmp)?;
    kernel::mount(c"tmpfs", c"tmp", flags, &view.tmp).with_step(SetupStep::Tmp)?;
    for fixture in &view.entries {
        match fixture {
            RootEntry::Directory(path, mode) => kernel::mkdir(path, *mode),
            RootEntry::File(path) => kernel::create_empty_file(path),
            RootEntry::Link(target, path) => kernel::symlink(target, path),
        }
        .with_step(SetupStep::Fixture)?;
    }
    for (tree, &copy) in view.trees.iter().zip(copies) {
        kernel::move_mount(copy, &tree.target).with_step(SetupStep::Attach)?;
        kernel::close(copy);
    }
    for directory in &view.hidden {
        let flags = flags | libc::MS_NOEXEC | libc::MS_RDONLY;
        kernel::mount(c"tmpfs", directory, flags, c"mode=0555,size=4k,nr_inodes=1")
            .with_step(SetupStep::Fixture)?;
    }
    // The kernel allows mounting a new /proc only while an old one is visible. hidepid hides processes that
    // the command may not trace: the warden, whose command line is that of polis.
    kernel::mount(
        c"proc",
        c"proc",
        flags | libc::MS_NOEXEC,
        c"hidepid=ptraceable",
    )
    .with_step(SetupStep::Proc)?;
    kernel::mount_setattr(libc::AT_FDCWD, c".", mount_attr::RDONLY, None, false)
        .with_step(SetupStep::Root)?;
    kernel::pivot_root().with_step(SetupStep::Pivot)
}

/// Enforces the Landlock rules.
fn enforce_landlock(landlock: &LandlockRules, lines: WardenFds) -> StepResult<()> {
    add_landlock_rules(lines.ruleset, &landlock.inside).with_step(SetupStep::Landlock)?;
    kernel::landlock_restrict_self(lines.ruleset).with_step(SetupStep::Landlock)
}

/// Waits until the command exits or has to be killed.
fn watch_command(plan: &SandboxPlan, orders: RawFd, command: i32) -> WardenReport {
    let Ok(children) = kernel::signalfd_sigchld() else {
        return WardenReport::Failed {
            step: SetupStep::Watch,
            errno: Errno(0),
        };
    };
    if plan.process_reach == ProcessReach::Subreaper
        && let Some((uid, gid, _)) = plan.user
    {
        // Root in a container may not inspect other users' processes, but those of one user may inspect each
        // other.
        kernel::setfsuid(uid, gid);
    }
    let watched = plan
        .watched_memory
        .and_then(memory_watch::MemoryWatch::start);
    let patience = if watched.is_some() {
        MEMORY_CHECK_INTERVAL_MILLIS
    } else {
        -1
    };
    let mut look_next = kernel::clock_gettime_monotonic_millis()
        .saturating_add(i64::from(MEMORY_CHECK_INTERVAL_MILLIS));
    let mut order = [0];
    loop {
        loop {
            match kernel::waitpid_nohang() {
                Ok(Some((pid, status))) if pid == command => {
                    return WardenReport::CommandEnded {
                        status,
                        no_process_left: has_no_children(),
                    };
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        let [ordered, _] = kernel::poll_readable([orders, children], patience);
        // The signals carry nothing that `waitpid` does not return; this only empties the queue.
        let mut signals = [0; 1024];
        let _ = kernel::read(children, &mut signals);
        if ordered {
            // The order to end, or polis is gone.
            let _ = kernel::read(orders, &mut order);
            return WardenReport::Stopped;
        }
        // By the clock, not by the poll timeout: a command that keeps starting processes would prevent the
        // timeout from ever expiring.
        if let Some(watched) = &watched
            && kernel::clock_gettime_monotonic_millis() >= look_next
        {
            if watched.is_over_limit(plan.process_reach) {
                return WardenReport::OutOfMemory;
            }
            look_next = kernel::clock_gettime_monotonic_millis()
                .saturating_add(i64::from(MEMORY_CHECK_INTERVAL_MILLIS));
        }
    }
}

/// Returns whether the warden has no descendants: every orphan would be its child.
fn has_no_children() -> bool {
    loop {
        match kernel::waitpid_nohang() {
            Ok(Some(_)) => {}
            Ok(None) => return false,
            Err(Errno(number)) => return number == libc::ECHILD,
        }
    }
}

/// Kills all descendants without a PID namespace; with one signal if `kill(-1)` reaches only them.
fn kill_all(alone: bool) {
    let proc = kernel::openat(libc::AT_FDCWD, c"/proc", libc::O_RDONLY | libc::O_DIRECTORY);
    loop {
        match proc {
            Ok(proc) if !alone => kill_descendants(proc),
            _ if alone => {
                let _ = kernel::kill(-1, libc::SIGKILL);
            }
            _ => {}
        }
        loop {
            match kernel::waitpid_nohang() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        let _ = kernel::poll_readable([-1, -1], 1);
    }
}

/// Kills the current descendants. They are stopped first: stopped processes still count against the process
/// limit, so that programs that keep forking run out of it.
fn kill_descendants(proc: RawFd) {
    let mut before = usize::MAX;
    for _ in 0..MAX_STOP_ROUNDS {
        let mut count = 0;
        memory_watch::for_each_descendant(proc, |id| {
            count += 1;
            let _ = kernel::kill(id, libc::SIGSTOP);
        });
        if count == before {
            break;
        }
        before = count;
    }
    memory_watch::for_each_descendant(proc, |id| {
        let _ = kernel::kill(id, libc::SIGKILL);
    });
}
