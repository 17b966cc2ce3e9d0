//! Landlock and seccomp.

use std::ffi::{c_int, c_void};
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

use libc::sock_filter;

use super::{Answer, Errno, as_int, checked, fd};

/// The version of Landlock's interface; an error if the kernel has none.
pub(crate) fn landlock_version() -> Answer<i32> {
    const CREATE_RULESET_VERSION: u32 = 1;
    // SAFETY: with this flag the kernel reads no structure.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<c_void>(),
            0_usize,
            CREATE_RULESET_VERSION,
        )
    };
    checked(result).map(as_int)
}

/// What a set of Landlock rules governs: file accesses, network accesses, scopes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct LandlockRuleset {
    pub(crate) files: u64,
    pub(crate) network: u64,
    pub(crate) scopes: u64,
}

/// A new set of rules. Fields the kernel's version does not know have to be 0.
pub(crate) fn landlock_ruleset(governed: &LandlockRuleset) -> Answer<OwnedFd> {
    // The kernel takes a longer structure than it knows if the rest is zero.
    // SAFETY: the structure lives through the call; the size is its own.
    let ruleset = fd(unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::from_ref(governed),
            size_of::<LandlockRuleset>(),
            0,
        )
    })?;
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(ruleset) })
}

/// Allows accesses at and below an open path.
pub(crate) fn landlock_allow(ruleset: RawFd, path: RawFd, access: u64) -> Answer<()> {
    #[repr(C, packed)]
    struct PathBeneath {
        access: u64,
        path: i32,
    }
    const PATH_BENEATH: c_int = 1;
    let rule = PathBeneath { access, path };
    // SAFETY: the structure is what this kind of rule expects, and lives through the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_landlock_add_rule,
            ruleset,
            PATH_BENEATH,
            &raw const rule,
            0,
        )
    };
    checked(result).map(drop)
}

/// Puts this process and all it will start under a set of rules. Needs no_new_privs.
pub(crate) fn landlock_enforce(ruleset: RawFd) -> Answer<()> {
    // SAFETY: only numbers go in.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) }).map(drop)
}

/// Puts this process and all it will start under a seccomp filter. Needs no_new_privs.
pub(crate) fn seccomp_enforce(filter: &[sock_filter]) -> Answer<()> {
    const SET_MODE_FILTER: c_int = 1;
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| Errno(libc::E2BIG))?,
        filter: filter.as_ptr().cast_mut(),
    };
    // SAFETY: the program's length is the slice's; the kernel only reads it.
    let result =
        unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, 0, &raw const program) };
    checked(result).map(drop)
}
