//! Mounts, and what is made in a new root.

use std::ffi::{CStr, c_int, c_long, c_ulong};
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

use super::{Answer, checked, close, fd};

/// A copy of the mounts at a path, not attached anywhere.
pub(crate) fn copy_tree_raw(directory: RawFd, path: &CStr, recursive: bool) -> Answer<RawFd> {
    const OPEN_TREE_CLONE: u32 = 1;
    const AT_RECURSIVE: u32 = 0x8000;
    const O_CLOEXEC: u32 = 0o2_000_000;
    let mut flags = OPEN_TREE_CLONE | O_CLOEXEC;
    if recursive {
        flags |= AT_RECURSIVE;
    }
    if path.is_empty() {
        flags |= u32::try_from(libc::AT_EMPTY_PATH).unwrap_or_default();
    }
    // SAFETY: the path is a valid C text.
    fd(unsafe { libc::syscall(libc::SYS_open_tree, directory, path.as_ptr(), flags) })
}

/// The same, for a process that goes on: the descriptor is closed when it is dropped.
pub(crate) fn copy_tree(directory: RawFd, path: &CStr, recursive: bool) -> Answer<OwnedFd> {
    // SAFETY: the descriptor is new and nobody else's.
    copy_tree_raw(directory, path, recursive).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Attaches a copied tree at a path.
pub(crate) fn attach_tree(tree: RawFd, path: &CStr) -> Answer<()> {
    const FROM_EMPTY_PATH: u32 = 4;
    // SAFETY: both paths are valid C texts.
    let result = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree,
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            FROM_EMPTY_PATH,
        )
    };
    checked(result).map(drop)
}

/// Attributes of a mount.
pub(crate) mod attribute {
    /// Nothing can be written.
    pub(crate) const READ_ONLY: u64 = 1;
    /// Set-user-id programs have no effect.
    pub(crate) const NO_SETUID: u64 = 2;
    /// Device files have no effect.
    pub(crate) const NO_DEVICES: u64 = 4;
    /// Nothing can be executed.
    pub(crate) const NO_EXEC: u64 = 8;
    /// Owners are mapped by a user namespace.
    pub(crate) const ID_MAPPED: u64 = 0x0010_0000;
}

/// Sets attributes of the mounts at a path, or of the tree itself if the path is empty. What is
/// mounted below them later stays there, and what others mount does not come.
pub(crate) fn set_mount_attributes(
    tree: RawFd,
    path: &CStr,
    set: u64,
    user_namespace: Option<RawFd>,
    recursive: bool,
) -> Answer<()> {
    #[repr(C)]
    struct MountAttr {
        set: u64,
        clear: u64,
        propagation: u64,
        user_namespace: u64,
    }
    const AT_RECURSIVE: c_int = 0x8000;
    let mut flags = 0;
    if path.is_empty() {
        flags |= libc::AT_EMPTY_PATH;
    }
    if recursive {
        flags |= AT_RECURSIVE;
    }
    let attributes = MountAttr {
        set,
        clear: 0,
        propagation: libc::MS_PRIVATE,
        user_namespace: user_namespace
            .and_then(|fd| u64::try_from(fd).ok())
            .unwrap_or_default(),
    };
    // SAFETY: path and structure are valid and live through the call; the size is the structure's.
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
    checked(result).map(drop)
}

/// Mounts a new file system of a kind at a path.
pub(crate) fn mount_new(kind: &CStr, path: &CStr, flags: c_ulong, options: &CStr) -> Answer<()> {
    // SAFETY: all four are valid C texts.
    let result = unsafe {
        libc::mount(
            kind.as_ptr(),
            path.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    };
    checked(c_long::from(result)).map(drop)
}

/// Makes the current directory the root, and lets go of the old root.
pub(crate) fn make_current_directory_the_root() -> Answer<()> {
    let here = c".";
    // SAFETY: both paths are valid C texts.
    checked(unsafe { libc::syscall(libc::SYS_pivot_root, here.as_ptr(), here.as_ptr()) })?;
    // SAFETY: the path is a valid C text. The old root lies over the new one at this place.
    checked(c_long::from(unsafe {
        libc::umount2(here.as_ptr(), libc::MNT_DETACH)
    }))
    .map(drop)
}

/// Changes the current directory.
pub(crate) fn change_directory(path: &CStr) -> Answer<()> {
    // SAFETY: the path is a valid C text.
    checked(c_long::from(unsafe { libc::chdir(path.as_ptr()) })).map(drop)
}

/// Makes an open directory the current one (`fchdir`).
pub(crate) fn change_directory_to(directory: RawFd) -> Answer<()> {
    // SAFETY: only a number goes in.
    checked(c_long::from(unsafe { libc::fchdir(directory) })).map(drop)
}

/// Makes a directory.
pub(crate) fn make_directory(path: &CStr, mode: u32) -> Answer<()> {
    // SAFETY: the path is a valid C text.
    checked(c_long::from(unsafe { libc::mkdir(path.as_ptr(), mode) })).map(drop)
}

/// Makes an empty file, to mount something on.
pub(crate) fn make_file(path: &CStr) -> Answer<()> {
    let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC | libc::O_EXCL;
    // SAFETY: the path is a valid C text.
    let file = fd(c_long::from(unsafe {
        libc::open(path.as_ptr(), flags, 0o644)
    }))?;
    close(file);
    Ok(())
}

/// Makes a symbolic link.
pub(crate) fn make_link(target: &CStr, path: &CStr) -> Answer<()> {
    // SAFETY: both are valid C texts.
    checked(c_long::from(unsafe {
        libc::symlink(target.as_ptr(), path.as_ptr())
    }))
    .map(drop)
}
