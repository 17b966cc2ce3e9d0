//! System call wrappers: `clone3`, `execve`, `dup2`, files and directories; in submodules mounts
//! (`pivot_root`), Landlock and seccomp, process attributes (`umask`, `setsid`), and signals. Some of these
//! calls have no safe library; the others are here because a cloned process may use only functions of this
//! module.
//!
//! This is the only `unsafe` code of polis. The functions take and return plain values and report the errno,
//! so that callers need no `unsafe`. Except for `malloc` and [`ExecStringArray::new`], which a cloned process
//! must not call, none of them allocates, locks or unwinds: they are called in a process cloned from a
//! multi-threaded one, where a lock may be held forever by a thread that does not exist there.

#![expect(
    unsafe_code,
    reason = "system calls without a safe wrapper; each block says why it is sound"
)]

mod landlock_seccomp;
mod malloc;
mod mounts;
mod process_attributes;
mod signals;

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::os::fd::{FromRawFd as _, OwnedFd, RawFd};

pub(crate) use landlock_seccomp::*;
pub(crate) use malloc::{malloc_trim, mallopt_return_freed_memory};
pub(crate) use mounts::*;
pub(crate) use process_attributes::*;
pub(crate) use signals::*;

/// Error number of a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

/// Result of a system call.
pub(crate) type SyscallResult<T> = Result<T, Errno>;

fn last_errno() -> Errno {
    // SAFETY: the pointer is to this thread's errno, which is always valid.
    Errno(unsafe { *libc::__errno_location() })
}

fn check_syscall(result: c_long) -> SyscallResult<c_long> {
    if result < 0 {
        Err(last_errno())
    } else {
        Ok(result)
    }
}

fn check_fd_syscall(result: c_long) -> SyscallResult<RawFd> {
    check_syscall(result).map(as_int)
}

/// Converts a result; descriptors and process IDs fit into an `int`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the kernel answers an int, widened by syscall()"
)]
fn as_int(value: c_long) -> c_int {
    value as c_int
}

/// `struct clone_args`: the arguments of `clone3`.
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

/// In which of the two processes a clone has returned.
#[derive(Debug)]
pub(crate) enum CloneResult {
    /// In the parent, with the new process.
    Parent {
        /// Process ID, as the parent sees it.
        pid: i32,
        /// Descriptor that refers to the process even if its ID is reused.
        pidfd: OwnedFd,
    },
    /// In the new process.
    Child,
}

/// Creates a process in new namespaces (`flags`), and in a control group if one is given.
///
/// The new process is a copy with one thread. It may use only functions of this module and memory that it
/// already has, and must end in `exec` or [`exit`]; returning from the caller's frame would run code of
/// threads that do not exist. `warden::run_warden` ensures this by never returning.
pub(crate) fn clone3(flags: u64, cgroup: Option<RawFd>) -> SyscallResult<CloneResult> {
    // libc's constant does not fit into its type, `c_int`.
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    let mut pidfd: c_int = -1;
    let mut args = CloneArgs {
        flags: flags | flag_bits(libc::CLONE_PIDFD),
        pidfd: std::ptr::from_mut(&mut pidfd) as u64,
        exit_signal: flag_bits(libc::SIGCHLD),
        ..CloneArgs::default()
    };
    if let Some(cgroup) = cgroup {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = u64::try_from(cgroup).unwrap_or_default();
    }
    // SAFETY: `args` is the structure the kernel expects and outlives the call; without CLONE_VM the child
    // gets its own copy of all memory, including its stack.
    let result = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            std::ptr::from_mut(&mut args),
            size_of::<CloneArgs>(),
        )
    };
    let result = match check_syscall(result) {
        // Container runtimes whose filter cannot inspect the arguments of `clone3` answer `ENOSYS`.
        Err(Errno(libc::ENOSYS)) if cgroup.is_none() => {
            check_syscall(clone_legacy(flags, &mut pidfd))
        }
        result => result,
    };
    match result? {
        0 => Ok(CloneResult::Child),
        pid => Ok(CloneResult::Parent {
            pid: as_int(pid),
            // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
            pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) },
        }),
    }
}

/// Calls the older `clone`, which cannot place the new process in a control group.
fn clone_legacy(flags: u64, pidfd: &mut c_int) -> c_long {
    let flags = flags | flag_bits(libc::CLONE_PIDFD) | flag_bits(libc::SIGCHLD);
    // SAFETY: without CLONE_VM the child gets its own copy of all memory, and a null stack means the copy of
    // this one; the descriptor is written to where the third argument points.
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

fn flag_bits(flag: c_int) -> u64 {
    u64::try_from(flag).unwrap_or_default()
}

/// Function that a process of [`spawn_vfork`] runs until it executes its program.
pub(crate) type ChildEntryPoint<'a> = dyn Fn() -> Errno + 'a;

/// Starts a process that shares this one's memory until it executes a program or exits (like `vfork`); this
/// thread waits for that. `entry` prepares and executes, and returns only if that failed.
///
/// The process runs on `stack` in the meantime.
pub(crate) fn spawn_vfork(stack: &mut [u8], entry: &ChildEntryPoint<'_>) -> SyscallResult<i32> {
    extern "C" fn child_main(argument: *mut c_void) -> c_int {
        // SAFETY: `spawn_vfork` passes a pointer to a `&ChildEntryPoint`, which is valid while it waits.
        let entry = unsafe { *argument.cast::<&ChildEntryPoint<'_>>() };
        let Errno(number) = entry();
        exit(number)
    }
    let mut entry = entry;
    let argument = std::ptr::from_mut(&mut entry).cast::<c_void>();
    let top = stack.as_mut_ptr_range().end;
    // SAFETY: the pointer stays inside the same allocation: at most 15 bytes are subtracted from its end, and
    // the stack is much larger.
    let top = unsafe { top.sub(top.addr() % 16) };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: CLONE_VFORK suspends this thread until the new process has executed its program or exited, so
    // its stack and argument stay valid and nothing else touches them.
    let pid = unsafe { libc::clone(child_main, top.cast(), flags, argument) };
    if pid < 0 { Err(last_errno()) } else { Ok(pid) }
}

/// Exits this process immediately, without handlers and destructors.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: `_exit` may be called in any state.
    unsafe { libc::_exit(code) }
}

/// Executes a program in place of this one; returns only if that failed.
///
/// `arguments` and `environment` end with a null pointer and point to strings that stay valid.
pub(crate) fn execve(
    program: &CStr,
    arguments: &[*const c_char],
    environment: &[*const c_char],
) -> Errno {
    let ended = |list: &[*const c_char]| list.last().is_some_and(|last| last.is_null());
    if !ended(arguments) || !ended(environment) {
        return Errno(libc::EINVAL);
    }
    // SAFETY: both lists end with a null pointer (checked), and `ExecStringArray` owns their strings.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    last_errno()
}

/// Null-terminated string array for `execve`, prepared before the clone because nothing may be allocated
/// after it.
#[derive(Debug)]
pub(crate) struct ExecStringArray {
    pointers: Vec<*const c_char>,
    _texts: Vec<std::ffi::CString>,
}

impl ExecStringArray {
    /// Creates an array of these strings.
    pub(crate) fn new(texts: Vec<std::ffi::CString>) -> Self {
        let mut pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self {
            pointers,
            _texts: texts,
        }
    }

    /// Returns the pointers, the last of which is null.
    pub(crate) fn as_slice(&self) -> &[*const c_char] {
        &self.pointers
    }
}

// SAFETY: the pointers are to the array's own strings, which never change and move with it.
unsafe impl Send for ExecStringArray {}
// SAFETY: as above; nothing is written through the pointers.
unsafe impl Sync for ExecStringArray {}

/// Closes the descriptors `first` to `last`.
pub(crate) fn close_range(first: u32, last: u32) -> SyscallResult<()> {
    // SAFETY: passes integers only. Closing inherited descriptors is intended: the caller is a separate
    // process that uses only those it keeps.
    check_syscall(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) }).map(drop)
}

/// Sets close-on-exec for all descriptors from `first` on.
pub(crate) fn close_range_cloexec(first: u32) -> SyscallResult<()> {
    // SAFETY: passes integers only; nothing is closed now.
    let result = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    check_syscall(result).map(drop)
}

/// Makes `to` a duplicate of `from` that `exec` keeps open.
pub(crate) fn dup2(from: RawFd, to: RawFd) -> SyscallResult<()> {
    // SAFETY: passes integers only.
    check_syscall(c_long::from(unsafe { libc::dup2(from, to) })).map(drop)
}

/// Reads available bytes; retries after a signal.
pub(crate) fn read(from: RawFd, buffer: &mut [u8]) -> SyscallResult<usize> {
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

/// Writes bytes; the caller handles short writes.
pub(crate) fn write(to: RawFd, bytes: &[u8]) -> SyscallResult<usize> {
    // SAFETY: the kernel reads at most `len` bytes of the slice.
    let count = unsafe { libc::write(to, bytes.as_ptr().cast(), bytes.len()) };
    usize::try_from(count).map_err(|_| last_errno())
}

/// Opens a path with close-on-exec.
pub(crate) fn openat(directory: RawFd, path: &CStr, flags: c_int) -> SyscallResult<RawFd> {
    // SAFETY: the path is a valid C string.
    let result = unsafe { libc::openat(directory, path.as_ptr(), flags | libc::O_CLOEXEC) };
    check_fd_syscall(c_long::from(result))
}

/// Writes an existing file in one `write` call.
pub(crate) fn write_file(path: &CStr, content: &[u8]) -> SyscallResult<()> {
    let file = openat(libc::AT_FDCWD, path, libc::O_WRONLY)?;
    let written = write(file, content);
    close(file);
    match written {
        Ok(count) if count == content.len() => Ok(()),
        Ok(_) => Err(Errno(libc::EIO)),
        Err(errno) => Err(errno),
    }
}

/// Opens a directory; fails if any component of the path is a symbolic link.
pub(crate) fn openat2_no_symlinks(path: &CStr) -> SyscallResult<RawFd> {
    #[repr(C)]
    struct OpenHow {
        flags: u64,
        mode: u64,
        resolve: u64,
    }
    let how = OpenHow {
        flags: flag_bits(libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC),
        mode: 0,
        resolve: libc::RESOLVE_NO_SYMLINKS,
    };
    loop {
        // SAFETY: path and structure are valid and outlive the call; the size is that of the structure.
        let result = unsafe {
            libc::syscall(
                libc::SYS_openat2,
                libc::AT_FDCWD,
                path.as_ptr(),
                &raw const how,
                size_of::<OpenHow>(),
            )
        };
        match check_fd_syscall(result) {
            // Disturbed by a concurrent rename.
            Err(Errno(libc::EAGAIN | libc::EINTR)) => {}
            opened => return opened,
        }
    }
}

/// Returns device and inode number of an open file.
pub(crate) fn fstat_identity(descriptor: RawFd) -> SyscallResult<(u64, u64)> {
    // SAFETY: an all-zero structure is valid, and the kernel fills it.
    let mut found = unsafe { std::mem::zeroed::<libc::stat>() };
    // SAFETY: the structure is ours.
    check_syscall(c_long::from(unsafe {
        libc::fstat(descriptor, &raw mut found)
    }))?;
    Ok((found.st_dev, found.st_ino))
}

/// Returns the size of the file at a path. For `/proc/PID/fd` it is the number of open files, since Linux
/// 6.2.
pub(crate) fn fstatat_size(directory: RawFd, path: &CStr) -> SyscallResult<u64> {
    // SAFETY: an all-zero structure is valid, and the kernel fills it.
    let mut found = unsafe { std::mem::zeroed::<libc::stat>() };
    // SAFETY: the path is a valid C string; the structure is ours.
    let result = unsafe { libc::fstatat(directory, path.as_ptr(), &raw mut found, 0) };
    check_syscall(c_long::from(result))?;
    Ok(u64::try_from(found.st_size).unwrap_or_default())
}

/// Reads the target of a symbolic link, truncated to the buffer.
pub(crate) fn readlinkat(directory: RawFd, path: &CStr, buffer: &mut [u8]) -> SyscallResult<usize> {
    // SAFETY: the path is a valid C string, and the kernel writes at most `len` bytes into the buffer.
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

/// Closes a descriptor; errors are ignored.
pub(crate) fn close(descriptor: RawFd) {
    // SAFETY: the caller owns the descriptor and no longer uses it.
    unsafe { libc::close(descriptor) };
}

/// Reads entries of an open directory in the kernel's packed format.
pub(crate) fn getdents64(directory: RawFd, buffer: &mut [u8]) -> SyscallResult<usize> {
    // SAFETY: the kernel writes at most `len` bytes into the buffer.
    let result = unsafe {
        libc::syscall(
            libc::SYS_getdents64,
            directory,
            buffer.as_mut_ptr(),
            buffer.len(),
        )
    };
    check_syscall(result).map(|count| usize::try_from(count).unwrap_or_default())
}

/// Moves the position of an open directory or file to its start.
pub(crate) fn lseek_to_start(descriptor: RawFd) -> SyscallResult<()> {
    // SAFETY: passes integers only.
    check_syscall(unsafe { libc::lseek(descriptor, 0, libc::SEEK_SET) }).map(drop)
}

/// Brings up the loopback device of this network namespace.
pub(crate) fn bring_up_loopback() -> SyscallResult<()> {
    // SAFETY: passes integers only.
    let socket = check_fd_syscall(c_long::from(unsafe {
        libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0)
    }))?;
    // SAFETY: an all-zero request is valid.
    let mut request = unsafe { std::mem::zeroed::<libc::ifreq>() };
    for (slot, byte) in request.ifr_name.iter_mut().zip(b"lo") {
        *slot = c_char::from_ne_bytes([*byte]);
    }
    // SAFETY: the request names a device; the kernel reads and fills it.
    let mut answer = unsafe { libc::ioctl(socket, libc::SIOCGIFFLAGS, &raw mut request) };
    if answer == 0 {
        // SAFETY: SIOCGIFFLAGS filled this field of the union.
        let flags = unsafe { request.ifr_ifru.ifru_flags };
        request.ifr_ifru.ifru_flags =
            flags | libc::c_short::try_from(libc::IFF_UP).unwrap_or_default();
        // SAFETY: as above.
        answer = unsafe { libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw mut request) };
    }
    let result = check_syscall(c_long::from(answer)).map(drop);
    close(socket);
    result
}
