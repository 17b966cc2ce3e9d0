//! The process between polis and a command: builds the walls, starts the command inside of them,
//! and ends everything when the command has ended or polis is gone.
//!
//! It is a copy of polis made by `clone3`, perhaps out of many threads, so it uses nothing but
//! [`kernel`] and the [`Plan`]: no allocation, no locks, no panics. With a process namespace it is
//! that namespace's first process: when it goes, the kernel ends every other one.

use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, RawFd};

use super::kernel::{self, Answer, Errno, attribute};
use super::memory;
use super::plan::{
    Fixture, Landlock, Lines, MAX_TREES, Plan, Reach, Source, StartDirectory, View, add_rules,
};
use super::report::{Report, Step};
use crate::directory::DirectoryIdentity;

/// What polis sends: build and run.
pub(crate) const BEGIN: u8 = b'b';
/// What polis sends: all rules are there, and the warden is in its control group.
pub(crate) const CONFINE: u8 = b'c';
/// What polis sends: end everything now.
pub(crate) const END: u8 = b'e';

/// How often processes are looked for before those that were found are ended.
const STOPPING_ROUNDS: u32 = 50;

/// How often memory is looked at, in milliseconds.
const WATCH_MILLIS: i32 = 25;

/// Runs as the warden. Never returns.
pub(crate) fn run(plan: &Plan, lines: Lines, stack: &mut [u8]) -> ! {
    let report = |report: Report| {
        let _ = kernel::write(lines.reports, &report.to_bytes());
    };
    // Nobody inside may signal or look at the warden; but until the user is mapped, polis must.
    let mut order = [0];
    spare_only(
        &[
            lines.orders,
            lines.reports,
            lines.stdin,
            lines.stdout,
            lines.stderr,
            lines.ruleset,
        ],
        plan,
    );
    // While polis maps the user: what needs no user.
    let mut copies = [-1; MAX_TREES];
    let prepared = prepare(plan, &mut copies);
    match kernel::read(lines.orders, &mut order) {
        Ok(1) if order == [BEGIN] => {}
        _ => kernel::exit(0),
    }
    let alone = std::cell::Cell::new(false);
    let begun = prepared.and_then(|()| begin(plan, lines, stack, &copies, &alone));
    match begun {
        Ok(command) => {
            kernel::close(lines.stdin);
            kernel::close(lines.stdout);
            kernel::close(lines.stderr);
            kernel::close(lines.ruleset);
            report(watch(plan, lines.orders, command));
        }
        Err((step, errno)) => report(Report::Failed { step, errno }),
    }
    if plan.reach == Reach::Adoption {
        end_all(alone.get());
    }
    kernel::exit(0)
}

/// Closes every descriptor but these and the plan's own, first of all polis's other ones.
fn spare_only(spared: &[RawFd], plan: &Plan) {
    let mut next: u32 = 0;
    loop {
        // The smallest spared one from `next` on; there are few, so no sorting.
        let mut least: Option<u32> = None;
        let prepared = plan.view.iter().flat_map(|view| &view.trees);
        let prepared = prepared.filter_map(|tree| match tree.source {
            Source::Prepared(fd) => Some(fd),
            Source::Path(_) | Source::Directory(..) => None,
        });
        let start = match plan.directory {
            StartDirectory::Open(fd) => Some(fd),
            StartDirectory::InView(_) => None,
        };
        for fd in spared.iter().copied().chain(prepared).chain(start) {
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

/// Runs as a process that only keeps a user namespace in being until polis has a descriptor of it.
/// Never returns.
pub(crate) fn keep_namespace(orders: RawFd) -> ! {
    if let Ok(kept) = u32::try_from(orders) {
        let _ = kernel::close_range(0, kept.saturating_sub(1));
        let _ = kernel::close_range(kept.saturating_add(1), u32::MAX);
    }
    let mut order = [0];
    let _ = kernel::read(orders, &mut order);
    kernel::exit(0)
}

/// Which step failed, and how.
type Done<T> = Result<T, (Step, Errno)>;

trait At<T> {
    fn at(self, step: Step) -> Done<T>;
}

impl<T> At<T> for Answer<T> {
    fn at(self, step: Step) -> Done<T> {
        self.map_err(|errno| (step, errno))
    }
}

/// Builds the walls and starts the command; answers its process number. Leaves in `alone` whether a
/// signal to all reaches none but those below.
fn begin(
    plan: &Plan,
    lines: Lines,
    stack: &mut [u8],
    copies: &[RawFd],
    alone: &std::cell::Cell<bool>,
) -> Done<i32> {
    let inside = plan.reach == Reach::Namespace;
    if inside && let Some((uid, gid, alone)) = plan.user {
        kernel::become_user(uid, gid, alone).at(Step::User)?;
    }
    kernel::process_attribute(libc::PR_SET_DUMPABLE, 0).at(Step::Hide)?;
    if let Some(view) = &plan.view {
        build(view, copies)?;
    }
    match &plan.directory {
        StartDirectory::InView(path) => kernel::change_directory(path),
        StartDirectory::Open(fd) => kernel::change_directory_to(*fd),
    }
    .at(Step::Directory)?;
    kernel::process_attribute(libc::PR_SET_NO_NEW_PRIVS, 1).at(Step::Privileges)?;
    for (file, limit) in &plan.namespace_limits {
        match kernel::write_file(file, limit.to_bytes()) {
            // A kernel without inotify has no such file.
            Ok(()) | Err(Errno(libc::ENOENT)) => {}
            Err(errno) => return Err((Step::Limits, errno)),
        }
    }
    if inside {
        // A process can hide what memory it has from all but who may look at everything.
        kernel::drop_capabilities(plan.watched_memory.is_some()).at(Step::Capabilities)?;
    } else {
        kernel::process_attribute(libc::PR_SET_CHILD_SUBREAPER, 1).at(Step::Adoption)?;
        if let Some(scope) = &plan.warden_scope {
            let ruleset = kernel::landlock_ruleset(scope).at(Step::Landlock)?;
            kernel::landlock_enforce(ruleset.as_raw_fd()).at(Step::Landlock)?;
            // Tried on one that is not below, as long as it is there: on polis itself, which in a
            // container is often the first process.
            let parent = kernel::parent_process();
            let kept = kernel::send_signal(parent, 0) == Err(Errno(libc::EPERM));
            alone.set(parent > 0 && kept);
        }
    }
    // The child shares this memory until it executes, so it can leave its failure here.
    let failed = std::cell::Cell::new(None);
    let started = kernel::start_program(stack, &|| {
        let Err((step, errno)) = confine_and_execute(plan, lines) else {
            return Errno(0);
        };
        failed.set(Some((step, errno)));
        errno
    })
    .at(Step::Start)?;
    match failed.get() {
        Some(failure) => Err(failure),
        None => Ok(started),
    }
}

/// In the command's own process: the last walls, then the command.
fn confine_and_execute(plan: &Plan, lines: Lines) -> Done<()> {
    // Polis has added its rules.
    let mut order = [0];
    match kernel::read(lines.orders, &mut order) {
        Ok(1) if order == [CONFINE] => {}
        _ => return Err((Step::Start, Errno(libc::EPIPE))),
    }
    kernel::duplicate_onto(lines.stdin, 0).at(Step::Descriptors)?;
    kernel::duplicate_onto(lines.stdout, 1).at(Step::Descriptors)?;
    kernel::duplicate_onto(lines.stderr, 2).at(Step::Descriptors)?;
    kernel::close_on_exec_from(3).at(Step::Descriptors)?;
    // A signal to its own group, as scripts send it, is not for the warden.
    kernel::new_session().at(Step::Session)?;
    // Should the warden die by a fault of ours, the command goes with it.
    kernel::process_attribute(libc::PR_SET_PDEATHSIG, 9).at(Step::Start)?;
    if plan.reach == Reach::Adoption {
        kernel::drop_bounding_set().at(Step::Capabilities)?;
        if let Some((uid, gid, alone)) = plan.user {
            kernel::become_user(uid, gid, alone).at(Step::User)?;
            // Changing the user forgets it.
            kernel::process_attribute(libc::PR_SET_PDEATHSIG, 9).at(Step::Start)?;
        }
    }
    kernel::drop_capabilities(false).at(Step::Capabilities)?;
    kernel::usual_priority().at(Step::Limits)?;
    for &(resource, most) in &plan.limits {
        kernel::limit(resource, most).at(Step::Limits)?;
    }
    if let Some(landlock) = &plan.landlock {
        restrict(landlock, lines)?;
    }
    kernel::default_signals();
    if let Some(filters) = &plan.filters {
        kernel::seccomp_enforce(filters.program()).at(Step::Seccomp)?;
    }
    Err((
        Step::Execute,
        kernel::execute(
            &plan.program,
            plan.arguments.as_slice(),
            plan.environment.as_slice(),
        ),
    ))
}

/// Does what can be done before the user is mapped; the copies of trees are left in `copies`.
fn prepare(plan: &Plan, copies: &mut [RawFd]) -> Done<()> {
    kernel::new_session().at(Step::Session)?;
    kernel::wait_for_children();
    kernel::usual_file_modes();
    let Some(view) = &plan.view else {
        return Ok(());
    };
    kernel::drop_bounding_set().at(Step::Capabilities)?;
    kernel::name_machine(c"polis").at(Step::Name)?;
    if plan.loopback {
        kernel::loopback_up().at(Step::Loopback)?;
    }
    // All copies are made before anything is covered: the base may cover their sources.
    for (tree, copy) in view.trees.iter().zip(copies) {
        *copy = match &tree.source {
            Source::Path(path) => {
                let made = kernel::copy_tree_raw(libc::AT_FDCWD, path, true).at(Step::Copy)?;
                kernel::set_mount_attributes(made, c"", tree.attributes, None, true)
                    .at(Step::Attributes)?;
                made
            }
            Source::Directory(path, identity) => {
                let made = copy_directory(path, *identity).at(Step::Copy)?;
                kernel::set_mount_attributes(made, c"", tree.attributes, None, true)
                    .at(Step::Attributes)?;
                made
            }
            // It has its attributes already, with its owners.
            Source::Prepared(copy) => *copy,
        };
    }
    Ok(())
}

/// Copies the mounts at a directory, if it is still the one that is meant.
fn copy_directory(path: &CStr, identity: DirectoryIdentity) -> Answer<RawFd> {
    let directory = kernel::open_without_links(path)?;
    let found = kernel::device_and_inode(directory);
    let made = match found {
        Ok(found) if found == (identity.device, identity.inode) => {
            kernel::copy_tree_raw(directory, c"", true)
        }
        Ok(_) => Err(Errno(libc::ESTALE)),
        Err(errno) => Err(errno),
    };
    kernel::close(directory);
    made
}

/// Builds the new root and moves into it.
fn build(view: &View, copies: &[RawFd]) -> Done<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV;
    kernel::mount_new(
        c"tmpfs",
        &view.base,
        flags,
        c"mode=0755,size=1m,nr_inodes=1k",
    )
    .at(Step::Root)?;
    kernel::change_directory(&view.base).at(Step::Root)?;
    kernel::make_directory(c"tmp", 0o755).at(Step::Tmp)?;
    kernel::mount_new(c"tmpfs", c"tmp", flags, &view.tmp).at(Step::Tmp)?;
    for fixture in &view.fixtures {
        match fixture {
            Fixture::Directory(path, mode) => kernel::make_directory(path, *mode),
            Fixture::File(path) => kernel::make_file(path),
            Fixture::Link(target, path) => kernel::make_link(target, path),
        }
        .at(Step::Fixture)?;
    }
    for (tree, &copy) in view.trees.iter().zip(copies) {
        kernel::attach_tree(copy, &tree.target).at(Step::Attach)?;
        kernel::close(copy);
    }
    for directory in &view.hidden {
        let flags = flags | libc::MS_NOEXEC | libc::MS_RDONLY;
        kernel::mount_new(c"tmpfs", directory, flags, c"mode=0555,size=4k,nr_inodes=1")
            .at(Step::Fixture)?;
    }
    // The kernel allows a new /proc only while an old one can be seen.
    // Whom a command may not trace it does not see: the warden, whose command line is polis's.
    kernel::mount_new(
        c"proc",
        c"proc",
        flags | libc::MS_NOEXEC,
        c"hidepid=ptraceable",
    )
    .at(Step::Proc)?;
    kernel::set_mount_attributes(libc::AT_FDCWD, c".", attribute::READ_ONLY, None, false)
        .at(Step::Root)?;
    kernel::make_current_directory_the_root().at(Step::Pivot)
}

/// Goes under Landlock's rules.
fn restrict(landlock: &Landlock, lines: Lines) -> Done<()> {
    add_rules(lines.ruleset, &landlock.inside).at(Step::Landlock)?;
    kernel::landlock_enforce(lines.ruleset).at(Step::Landlock)
}

/// Waits until the command ends, or has to.
fn watch(plan: &Plan, orders: RawFd, command: i32) -> Report {
    let Ok(children) = kernel::child_signals() else {
        return Report::Failed {
            step: Step::Watch,
            errno: Errno(0),
        };
    };
    if plan.reach == Reach::Adoption
        && let Some((uid, gid, _)) = plan.user
    {
        // Root in a container may not look at others, but they may look at each other.
        kernel::look_as_user(uid, gid);
    }
    let watched = plan.watched_memory.and_then(memory::Watch::begin);
    let patience = if watched.is_some() { WATCH_MILLIS } else { -1 };
    let mut look_next = kernel::millis().saturating_add(i64::from(WATCH_MILLIS));
    let mut order = [0];
    loop {
        loop {
            match kernel::ended_child() {
                Ok(Some((pid, status))) if pid == command => {
                    return Report::Ended {
                        status,
                        alone: nobody_left(),
                    };
                }
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
        let [ordered, _] = kernel::wait_readable([orders, children], patience);
        // The signals themselves say nothing that `ended_child` does not; only empty the queue.
        let mut signals = [0; 1024];
        let _ = kernel::read(children, &mut signals);
        if ordered {
            // END, or polis is gone.
            let _ = kernel::read(orders, &mut order);
            return Report::Stopped;
        }
        // By the clock, not by the timeout: a command that starts processes all the time would keep
        // the timeout from ever coming.
        if let Some(watched) = &watched
            && kernel::millis() >= look_next
        {
            if watched.exceeds(plan.reach) {
                return Report::OutOfMemory;
            }
            look_next = kernel::millis().saturating_add(i64::from(WATCH_MILLIS));
        }
    }
}

/// Whether no process is below the warden: every orphan would be its child.
fn nobody_left() -> bool {
    loop {
        match kernel::ended_child() {
            Ok(Some(_)) => {}
            Ok(None) => return false,
            Err(Errno(number)) => return number == libc::ECHILD,
        }
    }
}

/// Ends everything below, without a namespace that would do it. At once if a signal to all reaches
/// nobody else.
fn end_all(alone: bool) {
    let proc = kernel::open_at(libc::AT_FDCWD, c"/proc", libc::O_RDONLY | libc::O_DIRECTORY);
    loop {
        match proc {
            Ok(proc) if !alone => end_below(proc),
            _ if alone => {
                let _ = kernel::send_signal(-1, libc::SIGKILL);
            }
            _ => {}
        }
        loop {
            match kernel::ended_child() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        let _ = kernel::wait_readable([-1, -1], 1);
    }
}

/// Ends the processes there are now. They are stopped first: stopped ones keep their places among
/// as many as there may be, so that those who make new ones all the time run out of places.
fn end_below(proc: RawFd) {
    let mut before = usize::MAX;
    for _ in 0..STOPPING_ROUNDS {
        let mut count = 0;
        memory::each_below(proc, |id| {
            count += 1;
            let _ = kernel::send_signal(id, libc::SIGSTOP);
        });
        if count == before {
            break;
        }
        before = count;
    }
    memory::each_below(proc, |id| {
        let _ = kernel::send_signal(id, libc::SIGKILL);
    });
}
