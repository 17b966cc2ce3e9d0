//! Write lock between processes: a kernel lock (`flock`) on a separate file, `polis.lock`.
//!
//! SQLite handles contention by sleeping and retrying, which is slow and unfair with many writers. Waiters on
//! a kernel lock are woken when it is released. The file also carries commit notifications: touching it wakes
//! the watchers of other processes (see [`super::feed`]).

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use polis_core::Code;
use polis_ops::PortError;
use rustix::fs::{FlockOperation, flock};

/// File name of the lock.
pub(super) const LOCK: &str = "polis.lock";

/// The write lock, held until dropped.
#[derive(Debug)]
pub(super) struct WriteLock(File);

impl WriteLock {
    /// Acquires the write lock, waiting in the kernel's queue for at most `patience`. Fails with `StoreBusy`
    /// after that.
    pub(super) fn acquire(directory: &Path, patience: Duration) -> Result<Self, PortError> {
        let file = open(directory)?;
        match flock_within(file, patience)? {
            Some(file) => Ok(Self(file)),
            None => Err(PortError::new(
                Code::StoreBusy,
                "Another process kept the store locked until the time was up; nothing was changed.",
                "retry; a large import may be running",
            )),
        }
    }

    /// Notifies watchers in other processes of a commit.
    pub(super) fn announce(&self) {
        // Only the modification matters, not the content; a watcher that misses it polls once a second.
        let _ = rustix::io::pwrite(&self.0, b".", 0);
    }
}

/// Locks a file exclusively, waiting in the kernel's queue for at most `at_most`. Returns `None` on timeout.
fn flock_within(file: File, at_most: Duration) -> Result<Option<File>, PortError> {
    if try_flock(&file, FlockOperation::NonBlockingLockExclusive)? {
        return Ok(Some(file));
    }
    // A blocking flock has no deadline, so it runs on a thread that we can abandon. If it gets the lock too
    // late, the result is dropped, and dropping the file releases the lock.
    let (send, receive) = mpsc::sync_channel(1);
    let wait = move || {
        let got = loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other,
            }
        };
        let _ = send.send(got.map(|()| file));
    };
    std::thread::Builder::new()
        .name("polis-lock".to_owned())
        .spawn(wait)
        .map_err(|e| PortError::internal("Starting a thread", e))?;
    match receive.recv_timeout(at_most) {
        Ok(Ok(file)) => Ok(Some(file)),
        Ok(Err(error)) => Err(PortError::internal("Locking a file", error)),
        Err(_) => Ok(None),
    }
}

/// Locks a file that other programs lock too, polling for at most `at_most`. Returns `None` on timeout.
/// Another program may hold the lock indefinitely, and a thread blocked in the kernel could not be cancelled.
pub(super) fn flock_polling(
    file: File,
    how: FlockOperation,
    at_most: Duration,
) -> Result<Option<File>, PortError> {
    let begun = std::time::Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if try_flock(&file, how)? {
            return Ok(Some(file));
        }
        let left = at_most.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

pub(super) fn try_flock(file: &File, how: FlockOperation) -> Result<bool, PortError> {
    match flock(file, how) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(PortError::internal("Locking a file", error)),
    }
}

fn open(directory: &Path) -> Result<File, PortError> {
    let path = directory.join(LOCK);
    let opened = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    opened.map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => PortError::new(
            Code::StoreReadOnly,
            "The store cannot be written; nothing was changed.",
            "check the permissions of .agent-workspace and who owns it",
        )
        .because(error),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => PortError::new(
            Code::StoreFull,
            "The disk is full; nothing was changed.",
            "free some space and retry",
        )
        .because(error),
        _ => PortError::new(
            Code::StoreUnavailable,
            "The store's directory cannot be opened.",
            "check that .agent-workspace exists and may be written",
        )
        .because(error),
    })
}

/// Creates the lock file, so that it exists at its first use.
pub(super) fn prepare(directory: &Path) -> Result<(), PortError> {
    open(directory)?
        .write_all(b".")
        .map_err(|e| PortError::internal("Writing the lock file", e))
}
