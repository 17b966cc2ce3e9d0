//! System call wrappers for mounts (`open_tree`, `move_mount`, `mount_setattr`, `pivot_root`) and for
//! creating files in a new root.

use std::ffi::{CStr, c_long, c_ulong};
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

use super::{SyscallResult, check_fd_syscall, check_syscall, close, flag_bits};

/// Returns a detached clone of the mount at a path (`OPEN_TREE_CLONE`).
pub(crate) fn open_tree(directory: RawFd, path: &CStr, recursive: bool) -> SyscallResult<RawFd> {
    const OPEN_TREE_CLONE: u64 = 1;
    let mut flags = OPEN_TREE_CLONE | flag_bits(libc::O_CLOEXEC);
    if recursive {
        flags |= flag_bits(libc::AT_RECURSIVE);
    }
    if path.is_empty() {
        flags |= flag_bits(libc::AT_EMPTY_PATH);
    }
    // SAFETY: the path is a valid C string.
    check_fd_syscall(unsafe { libc::syscall(libc::SYS_open_tree, directory, path.as_ptr(), flags) })
}

/// Like [`open_tree`], with a descriptor that is closed on drop.
pub(crate) fn open_tree_owned(
    directory: RawFd,
    path: &CStr,
    recursive: bool,
) -> SyscallResult<OwnedFd> {
    // SAFETY: the descriptor is new, and nothing else owns it.
    open_tree(directory, path, recursive).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Attaches a cloned mount tree at a path.
pub(crate) fn move_mount(tree: RawFd, path: &CStr) -> SyscallResult<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: u32 = 4;
    // SAFETY: both paths are valid C strings.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree,
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    check_syscall(result).map(drop)
}

/// Mount attributes (`MOUNT_ATTR_*`).
pub(crate) mod mount_attr {
    /// Read-only.
    pub(crate) const RDONLY: u64 = 1;
    /// Ignores set-user-ID bits.
    pub(crate) const NOSUID: u64 = 2;
    /// Ignores device files.
    pub(crate) const NODEV: u64 = 4;
    /// Forbids execution.
    pub(crate) const NOEXEC: u64 = 8;
    /// Maps owners by a user namespace.
    pub(crate) const IDMAP: u64 = 0x0010_0000;
}

/// Sets attributes of the mount at a path, or of `tree` itself if the path is empty. Also makes it private:
/// later mounts below it do not propagate, in either direction.
pub(crate) fn mount_setattr(
    tree: RawFd,
    path: &CStr,
    set: u64,
    user_namespace: Option<RawFd>,
    recursive: bool,
) -> SyscallResult<()> {
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    let mut flags = 0;
    if path.is_empty() {
        flags |= libc::AT_EMPTY_PATH;
    }
    if recursive {
        flags |= libc::AT_RECURSIVE;
    }
    let attributes = MountAttr {
        set,
        clear: 0,
        propagation: libc::MS_PRIVATE,
        user_namespace: user_namespace
            .and_then(|fd| u64::try_from(fd).ok())
            .unwrap_or_default(),
    };
    // SAFETY: path and structure are valid and outlive the call; the size is that of the structure.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttr>(),
        )
    };
    check_syscall(result).map(drop)
}

/// Mounts a new file system of type `kind` at a path.
pub(crate) fn mount(kind: &CStr, path: &CStr, flags: c_ulong, options: &CStr) -> SyscallResult<()> {
    // SAFETY: all four are valid C strings.
    let result = unsafe {
        libc::mount(
            kind.as_ptr(),
            path.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    };
    check_syscall(c_long::from(result)).map(drop)
}

/// Makes the current directory the root, and detaches the old root.
pub(crate) fn pivot_root() -> SyscallResult<()> {
    let current_directory = c".";
    // SAFETY: both paths are valid C strings.
    check_syscall(unsafe {
        libc::syscall(
            libc::SYS_pivot_root,
            current_directory.as_ptr(),
            current_directory.as_ptr(),
        )
    })?;
    // SAFETY: the path is a valid C string. The old root is stacked on the new one at this path.
    check_syscall(c_long::from(unsafe {
        libc::umount2(current_directory.as_ptr(), libc::MNT_DETACH)
    }))
    .map(drop)
}

/// Changes the current directory.
pub(crate) fn chdir(path: &CStr) -> SyscallResult<()> {
    // SAFETY: the path is a valid C string.
    check_syscall(c_long::from(unsafe { libc::chdir(path.as_ptr()) })).map(drop)
}

/// Changes the current directory to an open one.
pub(crate) fn fchdir(directory: RawFd) -> SyscallResult<()> {
    // SAFETY: passes an integer only.
    check_syscall(c_long::from(unsafe { libc::fchdir(directory) })).map(drop)
}

/// Creates a directory.
pub(crate) fn mkdir(path: &CStr, mode: u32) -> SyscallResult<()> {
    // SAFETY: the path is a valid C string.
    check_syscall(c_long::from(unsafe { libc::mkdir(path.as_ptr(), mode) })).map(drop)
}

/// Creates an empty file as a mount point.
pub(crate) fn create_empty_file(path: &CStr) -> SyscallResult<()> {
    let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC | libc::O_EXCL;
    // SAFETY: the path is a valid C string.
    let file = check_fd_syscall(c_long::from(unsafe {
        libc::open(path.as_ptr(), flags, 0o644)
    }))?;
    close(file);
    Ok(())
}

/// Creates a symbolic link.
pub(crate) fn symlink(target: &CStr, path: &CStr) -> SyscallResult<()> {
    // SAFETY: both are valid C strings.
    check_syscall(c_long::from(unsafe {
        libc::symlink(target.as_ptr(), path.as_ptr())
    }))
    .map(drop)
}
