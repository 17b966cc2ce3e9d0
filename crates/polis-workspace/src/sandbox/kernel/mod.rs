//! The kernel's calls that no safe library has: `clone3`, the mount calls, Landlock, seccomp.
//!
//! The only `unsafe` of polis. Every function takes and gives plain values and reports the
//! kernel's error number, so that what uses them needs no `unsafe`. None of them allocates, locks
//! or unwinds: they are called in a process that was cloned from one with many threads, where any
//! lock may be held for ever by a thread that is not there.

#![expect(
    unsafe_code,
    reason = "system calls without a safe wrapper; each block says why it is sound"
)]

mod confine;
mod heap;
mod mount;

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

pub(crate) use confine::*;
pub(crate) use heap::{give_freed_memory_back, malloc_trim};
pub(crate) use mount::*;

/// The kernel's error number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

/// What a call answers.
pub(crate) type Answer<T> = Result<T, Errno>;

fn last_errno() -> Errno {
    // SAFETY: the pointer is to this thread's own number, always valid.
    Errno(unsafe { *libc::__errno_location() })
}

fn checked(result: c_long) -> Answer<c_long> {
    if result < 0 {
        Err(last_errno())
    } else {
        Ok(result)
    }
}

fn fd(result: c_long) -> Answer<RawFd> {
    checked(result).map(as_int)
}

/// Descriptors and process ids fit into an `int`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the kernel answers an int, widened by syscall()"
)]
fn as_int(value: c_long) -> c_int {
    value as c_int
}

/// The arguments of `clone3`, as the kernel lays them out.
#[derive(Debug, Default, Clone, Copy)]
#[repr(C)]
pub(crate) struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// Which of the two processes one is after a clone.
#[derive(Debug)]
pub(crate) enum Cloned {
    /// The one that asked: the new process, and a descriptor of it.
    Parent {
        /// Its number, as the parent sees it.
        pid: i32,
        /// A descriptor that stays its, whatever becomes of the number.
        pidfd: OwnedFd,
    },
    /// The new one.
    Child,
}

/// Makes a new process in new namespaces (`flags`), if given in a control group.
///
/// The new process is a copy with one thread. It may use only this module's functions and memory it
/// already has, and must end in `exec` or [`exit`]; returning from the caller's frame would run
/// code of threads that are not there. This is kept by `warden::run`, which never returns.
pub(crate) fn clone_process(flags: u64, cgroup: Option<RawFd>) -> Answer<Cloned> {
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    let mut pidfd: c_int = -1;
    let mut args = CloneArgs {
        flags: flags | flag(libc::CLONE_PIDFD),
        pidfd: std::ptr::from_mut(&mut pidfd) as u64,
        exit_signal: flag(libc::SIGCHLD),
        ..CloneArgs::default()
    };
    if let Some(cgroup) = cgroup {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = u64::try_from(cgroup).unwrap_or_default();
    }
    // SAFETY: `args` is the structure the kernel expects and lives through the call; without
    // CLONE_VM the child gets its own copy of all memory, its stack included.
    let result = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            std::ptr::from_mut(&mut args),
            size_of::<CloneArgs>(),
        )
    };
    let result = match checked(result) {
        // As containers answer that cannot look into its arguments.
        Err(Errno(libc::ENOSYS)) if cgroup.is_none() => checked(clone_simply(flags, &mut pidfd)),
        result => result,
    };
    match result? {
        0 => Ok(Cloned::Child),
        pid => Ok(Cloned::Parent {
            pid: as_int(pid),
            // SAFETY: the kernel has just put a new descriptor there, nobody else's.
            pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) },
        }),
    }
}

/// The older call, which cannot put the new process into a control group.
fn clone_simply(flags: u64, pidfd: &mut c_int) -> c_long {
    let flags = flags | flag(libc::CLONE_PIDFD) | flag(libc::SIGCHLD);
    // SAFETY: without CLONE_VM the child gets its own copy of all memory, and a null stack means
    // the copy of this one; the descriptor is written to where the third argument points.
    unsafe {
        libc::syscall(
            libc::SYS_clone,
            flags,
            std::ptr::null::<c_void>(),
            std::ptr::from_mut(pidfd),
            std::ptr::null::<c_void>(),
            std::ptr::null::<c_void>(),
        )
    }
}

fn flag(flag: c_int) -> u64 {
    u64::try_from(flag).unwrap_or_default()
}

/// What a process started by [`start_program`] runs until it executes its program.
pub(crate) type Entry<'a> = dyn Fn() -> Errno + 'a;

/// Starts a process that shares this one's memory until it executes a program or ends; this thread
/// waits for that. `entry` prepares and executes; it answers only if that failed.
///
/// `stack` is what the process runs on meanwhile.
pub(crate) fn start_program(stack: &mut [u8], entry: &Entry<'_>) -> Answer<i32> {
    extern "C" fn begin(argument: *mut c_void) -> c_int {
        // SAFETY: `start_program` passes a pointer to a `&Entry`, which lives while it waits.
        let entry = unsafe { *argument.cast::<&Entry<'_>>() };
        let Errno(number) = entry();
        exit(number)
    }
    let mut entry = entry;
    let argument = std::ptr::from_mut(&mut entry).cast::<c_void>();
    let top = stack.as_mut_ptr_range().end;
    // SAFETY: the pointer stays inside the same allocation: at most 15 bytes are taken off its
    // end, and the stack is much larger.
    let top = unsafe { top.sub(top.addr() % 16) };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: CLONE_VFORK keeps this thread waiting until the new process has executed its program
    // or ended, so its stack and argument stay valid and nobody else touches them.
    let pid = unsafe { libc::clone(begin, top.cast(), flags, argument) };
    if pid < 0 { Err(last_errno()) } else { Ok(pid) }
}

/// Ends this process at once: no handlers, no destructors.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: `_exit` may be called in any state.
    unsafe { libc::_exit(code) }
}

/// Executes a program in place of this one; answers only if that failed.
///
/// `arguments` and `environment` end with a null pointer and point to texts that live on.
pub(crate) fn execute(
    program: &CStr,
    arguments: &[*const c_char],
    environment: &[*const c_char],
) -> Errno {
    let ended = |list: &[*const c_char]| list.last().is_some_and(|last| last.is_null());
    if !ended(arguments) || !ended(environment) {
        return Errno(libc::EINVAL);
    }
    // SAFETY: both lists end with a null pointer (checked), and `PointerList` keeps their texts.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    last_errno()
}

/// Texts as `execve` takes them: prepared before the clone, for nothing may be allocated after.
#[derive(Debug)]
pub(crate) struct PointerList {
    pointers: Vec<*const c_char>,
    _texts: Vec<std::ffi::CString>,
}

impl PointerList {
    /// A list of these texts.
    pub(crate) fn new(texts: Vec<std::ffi::CString>) -> Self {
        let mut pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self {
            pointers,
            _texts: texts,
        }
    }

    /// The pointers, the last of them null.
    pub(crate) fn as_slice(&self) -> &[*const c_char] {
        &self.pointers
    }
}

// SAFETY: the pointers are to the list's own texts, which never change and move with it.
unsafe impl Send for PointerList {}
// SAFETY: as above; nothing is written through them.
unsafe impl Sync for PointerList {}

/// Closes descriptors `first` to `last`.
pub(crate) fn close_range(first: u32, last: u32) -> Answer<()> {
    // SAFETY: only numbers go in. Closing others' descriptors is the point: the caller is a process
    // of its own that uses none but those it spared.
    checked(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) }).map(drop)
}

/// Marks descriptors from `first` on to be closed by `exec`.
pub(crate) fn close_on_exec_from(first: u32) -> Answer<()> {
    const CLOSE_RANGE_CLOEXEC: u32 = 4;
    // SAFETY: only numbers go in; nothing is closed now.
    let result =
        unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, CLOSE_RANGE_CLOEXEC) };
    checked(result).map(drop)
}

/// Makes `to` a copy of `from`, kept by `exec`.
pub(crate) fn duplicate_onto(from: RawFd, to: RawFd) -> Answer<()> {
    // SAFETY: only numbers go in.
    checked(c_long::from(unsafe { libc::dup2(from, to) })).map(drop)
}

/// Reads what is there, retrying when a signal came between.
pub(crate) fn read(from: RawFd, buffer: &mut [u8]) -> Answer<usize> {
    loop {
        // SAFETY: the kernel writes at most `len` bytes into the buffer.
        let count = unsafe { libc::read(from, buffer.as_mut_ptr().cast(), buffer.len()) };
        match usize::try_from(count) {
            Ok(count) => return Ok(count),
            Err(_) if last_errno() == Errno(libc::EINTR) => {}
            Err(_) => return Err(last_errno()),
        }
    }
}

/// Writes bytes; short writes are left to the caller.
pub(crate) fn write(to: RawFd, bytes: &[u8]) -> Answer<usize> {
    // SAFETY: the kernel reads at most `len` bytes of the slice.
    let count = unsafe { libc::write(to, bytes.as_ptr().cast(), bytes.len()) };
    usize::try_from(count).map_err(|_| last_errno())
}

/// Opens a path.
pub(crate) fn open_at(directory: RawFd, path: &CStr, flags: c_int) -> Answer<RawFd> {
    // SAFETY: the path is a valid C text.
    let result = unsafe { libc::openat(directory, path.as_ptr(), flags | libc::O_CLOEXEC) };
    fd(c_long::from(result))
}

/// Writes a file that is there, in one piece.
pub(crate) fn write_file(path: &CStr, content: &[u8]) -> Answer<()> {
    let file = open_at(libc::AT_FDCWD, path, libc::O_WRONLY)?;
    let written = write(file, content);
    close(file);
    match written {
        Ok(count) if count == content.len() => Ok(()),
        Ok(_) => Err(Errno(libc::EIO)),
        Err(errno) => Err(errno),
    }
}

/// Opens a directory by a path none of whose names may be a link (`openat2`).
pub(crate) fn open_without_links(path: &CStr) -> Answer<RawFd> {
    const RESOLVE_NO_SYMLINKS: u64 = 4;
    #[repr(C)]
    struct OpenHow {
        flags: u64,
        mode: u64,
        resolve: u64,
    }
    let how = OpenHow {
        flags: flag(libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC),
        mode: 0,
        resolve: RESOLVE_NO_SYMLINKS,
    };
    loop {
        // SAFETY: path and structure are valid and live through the call; the size is the structure's.
        let result = unsafe {
            libc::syscall(
                libc::SYS_openat2,
                libc::AT_FDCWD,
                path.as_ptr(),
                &raw const how,
                size_of::<OpenHow>(),
            )
        };
        match fd(result) {
            // A rename somewhere disturbed it.
            Err(Errno(libc::EAGAIN | libc::EINTR)) => {}
            opened => return opened,
        }
    }
}

/// The file system and the number there of what a descriptor is open on.
pub(crate) fn device_and_inode(descriptor: RawFd) -> Answer<(u64, u64)> {
    // SAFETY: an all-zero structure is valid, and written by the kernel.
    let mut found = unsafe { std::mem::zeroed::<libc::stat>() };
    // SAFETY: the structure is ours.
    checked(c_long::from(unsafe {
        libc::fstat(descriptor, &raw mut found)
    }))?;
    Ok((found.st_dev, found.st_ino))
}

/// The size of what is at a path. For `/proc/PID/fd` it is the number of open files, from Linux 6.2 on.
pub(crate) fn size_at(directory: RawFd, path: &CStr) -> Answer<u64> {
    // SAFETY: an all-zero structure is valid, and written by the kernel.
    let mut found = unsafe { std::mem::zeroed::<libc::stat>() };
    // SAFETY: the path is a valid C text; the structure is ours.
    let result = unsafe { libc::fstatat(directory, path.as_ptr(), &raw mut found, 0) };
    checked(c_long::from(result))?;
    Ok(u64::try_from(found.st_size).unwrap_or_default())
}

/// Reads where a link leads, as much of it as fits.
pub(crate) fn read_link_at(directory: RawFd, path: &CStr, buffer: &mut [u8]) -> Answer<usize> {
    // SAFETY: the path is a valid C text, and the kernel writes at most `len` bytes into the buffer.
    let count = unsafe {
        libc::readlinkat(
            directory,
            path.as_ptr(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
        )
    };
    usize::try_from(count).map_err(|_| last_errno())
}

/// Closes a descriptor.
pub(crate) fn close(descriptor: RawFd) {
    // SAFETY: the caller owns the descriptor and does not use it any more.
    unsafe { libc::close(descriptor) };
}

/// Entries of an open directory, as the kernel packs them.
pub(crate) fn directory_entries(directory: RawFd, buffer: &mut [u8]) -> Answer<usize> {
    // SAFETY: the kernel writes at most `len` bytes into the buffer.
    let result = unsafe {
        libc::syscall(
            libc::SYS_getdents64,
            directory,
            buffer.as_mut_ptr(),
            buffer.len(),
        )
    };
    checked(result).map(|count| usize::try_from(count).unwrap_or_default())
}

/// Goes back to the beginning of an open directory or file.
pub(crate) fn rewind(descriptor: RawFd) -> Answer<()> {
    // SAFETY: only numbers go in.
    checked(unsafe { libc::lseek(descriptor, 0, libc::SEEK_SET) }).map(drop)
}

/// A process attribute (`prctl`) that takes one number.
pub(crate) fn process_attribute(option: c_int, value: c_ulong) -> Answer<c_int> {
    const NONE: c_ulong = 0;
    // SAFETY: the options used here (dumpable, no_new_privs, death signal, capabilities) take
    // numbers, no pointers.
    let result = unsafe { libc::prctl(option, value, NONE, NONE, NONE) };
    checked(c_long::from(result)).map(as_int)
}

/// Becomes this user and group, with no other groups if `alone`.
///
/// The raw calls: the library's wrappers would change every thread of a process that has them,
/// by a lock.
pub(crate) fn become_user(uid: u32, gid: u32, alone: bool) -> Answer<()> {
    if alone {
        // SAFETY: no groups, so the null pointer is not read.
        checked(unsafe {
            libc::syscall(libc::SYS_setgroups, 0_usize, std::ptr::null::<c_void>())
        })?;
    }
    // SAFETY: only numbers go in.
    checked(unsafe { libc::syscall(libc::SYS_setresgid, gid, gid, gid) })?;
    // SAFETY: only numbers go in.
    checked(unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) }).map(drop)
}

/// Looks at files, and at processes in `/proc`, as this user; remains who it is otherwise.
pub(crate) fn look_as_user(uid: u32, gid: u32) {
    // SAFETY: only numbers go in. Neither call reports an error.
    unsafe {
        libc::syscall(libc::SYS_setfsgid, gid);
        libc::syscall(libc::SYS_setfsuid, uid);
    }
}

/// Gives up for ever what a program executed later could get back. Before the user is changed.
pub(crate) fn drop_bounding_set() -> Answer<()> {
    const LAST: c_ulong = 63;
    for capability in 0..=LAST {
        match process_attribute(libc::PR_CAPBSET_DROP, capability) {
            // The kernel knows fewer; or we never had the right to narrow the set, and
            // no_new_privs keeps it from mattering.
            Err(Errno(libc::EINVAL | libc::EPERM)) => break,
            other => other?,
        };
    }
    Ok(())
}

/// Gives up all capabilities but that of looking at every process, if it is to be kept.
pub(crate) fn drop_capabilities(keep_sight: bool) -> Answer<()> {
    const SYS_PTRACE: u32 = 19;
    const VERSION_3: u32 = 0x2008_0522;
    #[repr(C)]
    struct Header {
        version: u32,
        pid: c_int,
    }
    #[repr(C)]
    struct Half {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    let kept = if keep_sight { 1 << SYS_PTRACE } else { 0 };
    let half = |kept| Half {
        effective: kept,
        permitted: kept,
        inheritable: 0,
    };
    let header = Header {
        version: VERSION_3,
        pid: 0,
    };
    let halves = [half(kept), half(0)];
    // SAFETY: header and data are what version 3 of the call expects, and live through it.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, halves.as_ptr()) };
    checked(result).map(drop)
}

/// Sets both limits of a resource; one already lower stays.
pub(crate) fn limit(resource: u32, most: u64) -> Answer<()> {
    let mut current = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: pid 0 is this process; the structure is written by the kernel.
    checked(unsafe {
        libc::syscall(
            libc::SYS_prlimit64,
            0,
            resource,
            std::ptr::null::<c_void>(),
            &raw mut current,
        )
    })?;
    let wanted = libc::rlimit64 {
        rlim_cur: most.min(current.rlim_max),
        rlim_max: most.min(current.rlim_max),
    };
    // SAFETY: as above; the structure is read by the kernel.
    checked(unsafe {
        libc::syscall(
            libc::SYS_prlimit64,
            0,
            resource,
            &raw const wanted,
            std::ptr::null::<c_void>(),
        )
    })
    .map(drop)
}

/// Gives up a priority above the usual one, which polis may have been started with.
pub(crate) fn usual_priority() -> Answer<()> {
    const THIS: c_int = 0;
    // SAFETY: only numbers go in.
    let kind = checked(unsafe { libc::syscall(libc::SYS_sched_getscheduler, THIS) })?;
    if [libc::SCHED_FIFO, libc::SCHED_RR].contains(&as_int(kind)) {
        let usual: c_int = 0;
        let other = libc::SCHED_OTHER;
        // SAFETY: the kernel reads one int, the priority, which is 0 for this kind.
        checked(unsafe {
            libc::syscall(libc::SYS_sched_setscheduler, THIS, other, &raw const usual)
        })?;
    }
    // The kernel answers 20 less the priority, so that no answer looks like an error.
    // SAFETY: only numbers go in.
    let nice = checked(unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, THIS) })?;
    if nice > 20 {
        // SAFETY: only numbers go in.
        checked(unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, THIS, 0) })?;
    }
    Ok(())
}

/// Blocks every signal of this thread and answers which were blocked before.
pub(crate) fn block_signals() -> libc::sigset_t {
    // SAFETY: an all-zero set is a valid value for both calls to fill.
    let (mut all, mut before) = unsafe {
        (
            std::mem::zeroed::<libc::sigset_t>(),
            std::mem::zeroed::<libc::sigset_t>(),
        )
    };
    // SAFETY: both sets are ours.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
    }
    before
}

/// Sets which signals this thread blocks.
pub(crate) fn set_blocked_signals(set: &libc::sigset_t) {
    // SAFETY: the set is valid; the old one is not asked for.
    unsafe {
        libc::pthread_sigmask(
            libc::SIG_SETMASK,
            std::ptr::from_ref(set),
            std::ptr::null_mut(),
        )
    };
}

/// Children that end are waited for, even if polis itself was started to ignore them.
pub(crate) fn wait_for_children() {
    // SAFETY: SIG_DFL is valid for every signal.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Every signal does what it does by default, and none is blocked.
pub(crate) fn default_signals() {
    for number in 1..=64 {
        // SAFETY: SIG_DFL is valid for every signal; those that cannot be changed are refused.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
    // SAFETY: as in `block_signals`.
    unsafe {
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        set_blocked_signals(&none);
    }
}

/// A descriptor that becomes readable when a child ends. All signals have to be blocked.
pub(crate) fn child_signals() -> Answer<RawFd> {
    // SAFETY: the set is ours and filled before it is used.
    let result = unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    fd(c_long::from(result))
}

/// Waits until one of two descriptors has something to read, or the time is up. Answers which have.
pub(crate) fn wait_readable(descriptors: [RawFd; 2], millis: i32) -> [bool; 2] {
    let mut list = descriptors.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: the list has two entries and is ours.
    let count = unsafe { libc::poll(list.as_mut_ptr(), 2, millis) };
    list.map(|entry| count > 0 && entry.revents != 0)
}

/// A clock that only goes forward.
pub(crate) fn millis() -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure is written by the kernel; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec
        .saturating_mul(1000)
        .saturating_add(now.tv_nsec / 1_000_000)
}

/// A child that ended, if there is one: its number and how it ended.
pub(crate) fn ended_child() -> Answer<Option<(i32, i32)>> {
    let mut status = 0;
    // SAFETY: the status is written by the kernel.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    match pid {
        0 => Ok(None),
        pid if pid > 0 => Ok(Some((pid, status))),
        _ => Err(last_errno()),
    }
}

/// Sends a signal to a process, or to all that this one may reach (`-1`).
pub(crate) fn send_signal(pid: i32, signal: c_int) -> Answer<()> {
    // SAFETY: only numbers go in; whom it may reach is the caller's care.
    checked(c_long::from(unsafe { libc::kill(pid, signal) })).map(drop)
}

/// This process's parent, 0 if it is in another process namespace.
pub(crate) fn parent_process() -> i32 {
    // SAFETY: never fails.
    unsafe { libc::getppid() }
}

/// New files may be read by everybody and written by their owner.
pub(crate) fn usual_file_modes() {
    // SAFETY: never fails.
    unsafe { libc::umask(0o022) };
}

/// Becomes the leader of a session without a terminal.
pub(crate) fn new_session() -> Answer<()> {
    // SAFETY: no arguments.
    checked(c_long::from(unsafe { libc::setsid() })).map(drop)
}

/// Names this machine, in its own namespace.
pub(crate) fn name_machine(name: &CStr) -> Answer<()> {
    // SAFETY: the length is that of the text.
    checked(c_long::from(unsafe {
        libc::sethostname(name.as_ptr(), name.count_bytes())
    }))
    .map(drop)
}

/// Switches the loopback device on, in its own network namespace.
pub(crate) fn loopback_up() -> Answer<()> {
    // SAFETY: only numbers go in.
    let socket = fd(c_long::from(unsafe {
        libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0)
    }))?;
    // SAFETY: an all-zero request is valid.
    let mut request = unsafe { std::mem::zeroed::<libc::ifreq>() };
    for (place, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *place = c_char::from_ne_bytes([*byte]);
    }
    // SAFETY: the request names a device and is read and written by the kernel.
    let mut answer = unsafe { libc::ioctl(socket, libc::SIOCGIFFLAGS, &raw mut request) };
    if answer == 0 {
        // SAFETY: SIOCGIFFLAGS filled this field of the union.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        request.ifr_ifru.ifru_flags =
            flags | libc::c_short::try_from(libc::IFF_UP).unwrap_or_default();
        // SAFETY: as above.
        answer = unsafe { libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw mut request) };
    }
    let result = checked(c_long::from(answer)).map(drop);
    close(socket);
    result
}
