//! Restricts the attributes of a sandboxed process by system calls: `umask`, `setsid`, `prctl`, `setresuid`,
//! `setresgid`, `setgroups`, `setfsuid`, `capset`, `prlimit64`, `sched_setscheduler`, `sethostname`.
//!
//! Some functions fix what is set, such as the umask 022. Callers choose the rest (users, resource limits, host
//! name, the option and value of `prctl`) and the order of the calls.

use std::ffi::{CStr, c_int, c_long, c_ulong, c_void};

use super::{Errno, SyscallResult, as_int, check_syscall};

/// Sets a process attribute that takes one integer.
pub(crate) fn prctl(option: c_int, value: c_ulong) -> SyscallResult<c_int> {
    const NONE: c_ulong = 0;
    // SAFETY: the options used here (dumpable, no_new_privs, death signal, capabilities) take integers, no
    // pointers.
    let result = unsafe { libc::prctl(option, value, NONE, NONE, NONE) };
    check_syscall(c_long::from(result)).map(as_int)
}

/// Switches to this user and group, and drops all supplementary groups if `alone`.
///
/// Uses the raw system calls: the C library's wrappers would change every thread of the process, and take a
/// lock for that.
pub(crate) fn setresuid_and_groups(uid: u32, gid: u32, alone: bool) -> SyscallResult<()> {
    if alone {
        // SAFETY: with zero groups the null pointer is not read.
        check_syscall(unsafe {
            libc::syscall(libc::SYS_setgroups, 0_usize, std::ptr::null::<c_void>())
        })?;
    }
    // SAFETY: passes integers only.
    check_syscall(unsafe { libc::syscall(libc::SYS_setresgid, gid, gid, gid) })?;
    // SAFETY: passes integers only.
    check_syscall(unsafe { libc::syscall(libc::SYS_setresuid, uid, uid, uid) }).map(drop)
}

/// Sets the user and group for accesses to files and to `/proc` (`setfsuid`, `setfsgid`); the other IDs stay.
pub(crate) fn setfsuid(uid: u32, gid: u32) {
    // SAFETY: passes integers only. Neither call reports an error.
    unsafe {
        libc::syscall(libc::SYS_setfsgid, gid);
        libc::syscall(libc::SYS_setfsuid, uid);
    }
}

/// Empties the capability bounding set, so that no program executed later can regain capabilities. Must be
/// called before the user changes.
pub(crate) fn prctl_capbset_drop_all() -> SyscallResult<()> {
    const MAX_CAPABILITY: c_ulong = 63;
    for capability in 0..=MAX_CAPABILITY {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            // The kernel has no further capabilities; or we may not reduce the set, which no_new_privs makes
            // harmless.
            Err(Errno(libc::EINVAL | libc::EPERM)) => break,
            other => other?,
        };
    }
    Ok(())
}

/// Drops all capabilities; with `keep_ptrace`, keeps `CAP_SYS_PTRACE`, which allows inspecting every process.
pub(crate) fn capset_drop(keep_ptrace: bool) -> SyscallResult<()> {
    const CAP_SYS_PTRACE: u32 = 19;
    const LINUX_CAPABILITY_VERSION_3: u32 = 0x2008_0522;
    #[repr(C)]
    struct CapabilityHeader {
        version: u32,
        pid: c_int,
    }
    #[repr(C)]
    struct CapabilityData {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    let capabilities = if keep_ptrace { 1 << CAP_SYS_PTRACE } else { 0 };
    let half = |bits| CapabilityData {
        effective: bits,
        permitted: bits,
        inheritable: 0,
    };
    let header = CapabilityHeader {
        version: LINUX_CAPABILITY_VERSION_3,
        pid: 0,
    };
    let halves = [half(capabilities), half(0)];
    // SAFETY: header and data are what version 3 of the call expects, and outlive it.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, halves.as_ptr()) };
    check_syscall(result).map(drop)
}

/// Sets the soft and the hard limit of a resource; a limit that is already lower stays.
pub(crate) fn prlimit_lower(resource: u32, limit: u64) -> SyscallResult<()> {
    let mut current = libc::rlimit64 {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: pid 0 is this process; the kernel fills the structure.
    check_syscall(unsafe {
        libc::syscall(
            libc::SYS_prlimit64,
            0,
            resource,
            std::ptr::null::<c_void>(),
            &raw mut current,
        )
    })?;
    let new_limits = libc::rlimit64 {
        rlim_cur: limit.min(current.rlim_max),
        rlim_max: limit.min(current.rlim_max),
    };
    // SAFETY: as above; the kernel reads the structure.
    check_syscall(unsafe {
        libc::syscall(
            libc::SYS_prlimit64,
            0,
            resource,
            &raw const new_limits,
            std::ptr::null::<c_void>(),
        )
    })
    .map(drop)
}

/// Drops a real-time or raised scheduling priority that polis may have been started with.
pub(crate) fn sched_setscheduler_other() -> SyscallResult<()> {
    const CURRENT_PROCESS: c_int = 0;
    // SAFETY: passes integers only.
    let kind =
        check_syscall(unsafe { libc::syscall(libc::SYS_sched_getscheduler, CURRENT_PROCESS) })?;
    if [libc::SCHED_FIFO, libc::SCHED_RR].contains(&as_int(kind)) {
        let usual: c_int = 0;
        let other = libc::SCHED_OTHER;
        // SAFETY: the kernel reads one int, the priority, which is 0 for this policy.
        check_syscall(unsafe {
            libc::syscall(
                libc::SYS_sched_setscheduler,
                CURRENT_PROCESS,
                other,
                &raw const usual,
            )
        })?;
    }
    // The kernel returns 20 minus the nice value, so that no result looks like an error.
    // SAFETY: passes integers only.
    let nice = check_syscall(unsafe {
        libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, CURRENT_PROCESS)
    })?;
    if nice > 20 {
        // SAFETY: passes integers only.
        check_syscall(unsafe {
            libc::syscall(
                libc::SYS_setpriority,
                libc::PRIO_PROCESS,
                CURRENT_PROCESS,
                0,
            )
        })?;
    }
    Ok(())
}

/// Sets the umask to 022: others may read new files, only the owner may write them.
pub(crate) fn umask_022() {
    // SAFETY: never fails.
    unsafe { libc::umask(0o022) };
}

/// Creates a session without a terminal, and becomes its leader.
pub(crate) fn setsid() -> SyscallResult<()> {
    // SAFETY: no arguments.
    check_syscall(c_long::from(unsafe { libc::setsid() })).map(drop)
}

/// Sets the host name of this UTS namespace.
pub(crate) fn sethostname(name: &CStr) -> SyscallResult<()> {
    // SAFETY: the length is that of the string.
    check_syscall(c_long::from(unsafe {
        libc::sethostname(name.as_ptr(), name.count_bytes())
    }))
    .map(drop)
}
