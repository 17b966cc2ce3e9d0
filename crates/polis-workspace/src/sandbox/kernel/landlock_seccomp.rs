//! System call wrappers for Landlock and seccomp filters. The callers decide what is allowed. Rules can be
//! added for paths only; network accesses and scopes that a ruleset handles are denied entirely. Only enforcing
//! (`landlock_restrict_self`, `seccomp_set_mode_filter`) needs `no_new_privs` (`prctl` in `process_attributes`).

use std::ffi::{c_int, c_void};
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

use libc::sock_filter;

use super::{Errno, SyscallResult, as_int, check_fd_syscall, check_syscall};

/// Returns the version of Landlock's ABI. Fails if the kernel has no Landlock.
pub(crate) fn landlock_abi_version() -> SyscallResult<i32> {
    const LANDLOCK_CREATE_RULESET_VERSION: u32 = 1;
    // SAFETY: with this flag the kernel does not read a structure.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<c_void>(),
            0_usize,
            LANDLOCK_CREATE_RULESET_VERSION,
        )
    };
    check_syscall(result).map(as_int)
}

/// `struct landlock_ruleset_attr`: the file accesses, network accesses and scopes that a ruleset handles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct LandlockRulesetAttr {
    pub(crate) handled_access_fs: u64,
    pub(crate) handled_access_net: u64,
    pub(crate) scoped: u64,
}

/// Creates a ruleset. Fields that the kernel's ABI version does not know must be 0.
pub(crate) fn landlock_create_ruleset(governed: &LandlockRulesetAttr) -> SyscallResult<OwnedFd> {
    // The kernel accepts a longer structure than it knows if the rest is zero.
    // SAFETY: the structure outlives the call; the size is its own.
    let ruleset = check_fd_syscall(unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::from_ref(governed),
            size_of::<LandlockRulesetAttr>(),
            0,
        )
    })?;
    // SAFETY: the descriptor is new, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(ruleset) })
}

/// Allows accesses at and below an open path.
pub(crate) fn landlock_add_rule(ruleset: RawFd, path: RawFd, access: u64) -> SyscallResult<()> {
    #[repr(C, packed)]
    struct PathBeneathAttr {
        access: u64,
        path: i32,
    }
    const LANDLOCK_RULE_PATH_BENEATH: c_int = 1;
    let rule = PathBeneathAttr { access, path };
    // SAFETY: the structure is the one for this kind of rule, and outlives the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset,
            LANDLOCK_RULE_PATH_BENEATH,
            &raw const rule,
            0,
        )
    };
    check_syscall(result).map(drop)
}

/// Enforces a ruleset on this process and its future children. Needs no_new_privs.
pub(crate) fn landlock_restrict_self(ruleset: RawFd) -> SyscallResult<()> {
    // SAFETY: passes integers only.
    check_syscall(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) }).map(drop)
}

/// Installs a seccomp filter for this process and its future children. Needs no_new_privs.
pub(crate) fn seccomp_set_mode_filter(filter: &[sock_filter]) -> SyscallResult<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| Errno(libc::E2BIG))?,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the length is that of the slice; the kernel only reads it.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        )
    };
    check_syscall(result).map(drop)
}
