//! System call wrappers for signals and for waiting: signal masks, `signalfd`, `poll`, `waitpid`, `kill`,
//! `getppid`, and the monotonic clock.

use std::ffi::{c_int, c_long};
use std::os::fd::RawFd;

use super::{SyscallResult, check_fd_syscall, check_syscall, last_errno};

/// Blocks all signals of this thread, and returns the previous mask.
pub(crate) fn pthread_sigmask_block_all() -> libc::sigset_t {
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

/// Sets the signal mask of this thread.
pub(crate) fn pthread_sigmask_set(set: &libc::sigset_t) {
    // SAFETY: the set is valid; the old one is not requested.
    unsafe {
        libc::pthread_sigmask(
            libc::SIG_SETMASK,
            std::ptr::from_ref(set),
            std::ptr::null_mut(),
        )
    };
}

/// Resets SIGCHLD to its default, so that children can be waited for even if polis was started with the
/// signal ignored.
pub(crate) fn signal_reset_sigchld() {
    // SAFETY: SIG_DFL is valid for every signal.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Resets all signals to their default action, and blocks none.
pub(crate) fn signal_reset_all() {
    for number in 1..=64 {
        // SAFETY: SIG_DFL is valid for every signal; the kernel refuses to change some of them.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
    // SAFETY: as in `pthread_sigmask_block_all`.
    unsafe {
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        pthread_sigmask_set(&none);
    }
}

/// Returns a descriptor that becomes readable when a child exits. All signals must be blocked.
pub(crate) fn signalfd_sigchld() -> SyscallResult<RawFd> {
    // SAFETY: the set is ours and is filled before it is used.
    let result = unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    };
    check_fd_syscall(c_long::from(result))
}

/// Waits until one of two descriptors is readable, or until the timeout. Returns which ones are.
pub(crate) fn poll_readable(descriptors: [RawFd; 2], millis: i32) -> [bool; 2] {
    let mut list = descriptors.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: the list has two entries and is ours.
    let count = unsafe { libc::poll(list.as_mut_ptr(), 2, millis) };
    list.map(|entry| count > 0 && entry.revents != 0)
}

/// Returns the monotonic clock in milliseconds.
pub(crate) fn clock_gettime_monotonic_millis() -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills the structure; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec
        .saturating_mul(1000)
        .saturating_add(now.tv_nsec / 1_000_000)
}

/// Reaps a child that has exited, if there is one. Returns its process ID and wait status.
pub(crate) fn waitpid_nohang() -> SyscallResult<Option<(i32, i32)>> {
    let mut status = 0;
    // SAFETY: the kernel writes the status.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) };
    match pid {
        0 => Ok(None),
        pid if pid > 0 => Ok(Some((pid, status))),
        _ => Err(last_errno()),
    }
}

/// Sends a signal to a process, or to all that this one may signal (`-1`).
pub(crate) fn kill(pid: i32, signal: c_int) -> SyscallResult<()> {
    // SAFETY: passes integers only; the caller decides which processes it may reach.
    check_syscall(c_long::from(unsafe { libc::kill(pid, signal) })).map(drop)
}

/// Returns the parent's process ID, 0 if it is in another PID namespace.
pub(crate) fn getppid() -> i32 {
    // SAFETY: never fails.
    unsafe { libc::getppid() }
}
