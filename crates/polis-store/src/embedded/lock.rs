//! Write lock between processes: a kernel lock (`flock`) on a separate lock file, `polis.lock`.
//!
//! SQLite handles contention by sleeping and retrying, which is slow and unfair with many writers. Waiters on
//! a kernel lock are woken when it is released. The file also carries commit notifications: a write to it
//! wakes the watchers of other processes (see [`super::feed`]). [`flock_polling`] locks board files, which
//! other programs lock too.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use polis_ops::PortError;
use rustix::fs::{FlockOperation, flock};

use crate::store_failure::StoreFailure;

/// File name of the lock.
pub(super) const LOCK_FILE: &str = "polis.lock";

/// The write lock, held until dropped.
#[derive(Debug)]
pub(super) struct WriteLock(File);

impl WriteLock {
    /// Acquires the write lock, waiting in the kernel's queue for at most `timeout`. Fails with `StoreBusy`
    /// after that.
    pub(super) fn acquire(directory: &Path, timeout: Duration) -> Result<Self, PortError> {
        let file = open_lock_file(directory)?;
        match flock_with_timeout(file, timeout)? {
            Some(file) => Ok(Self(file)),
            None => Err(PortError::from(StoreFailure::WriteLockHeld)),
        }
    }

    /// Notifies watchers in other processes of a commit.
    pub(super) fn notify_watchers(&self) {
        // Only the modification matters, not the content; a watcher that misses it polls once a second.
        let _ = rustix::io::pwrite(&self.0, b".", 0);
    }
}

/// Locks a file exclusively, waiting in the kernel's queue for at most `timeout`. Returns `None` on timeout.
fn flock_with_timeout(file: File, timeout: Duration) -> Result<Option<File>, PortError> {
    if try_flock(&file, FlockOperation::NonBlockingLockExclusive)? {
        return Ok(Some(file));
    }
    // A blocking flock has no deadline, so it runs on a thread that we can abandon. If it gets the lock too
    // late, the result is dropped, and dropping the file releases the lock.
    let (send, receive) = mpsc::sync_channel(1);
    let wait = move || {
        let result = loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other,
            }
        };
        let _ = send.send(result.map(|()| file));
    };
    std::thread::Builder::new()
        .name("polis-lock".to_owned())
        .spawn(wait)
        .map_err(|e| PortError::internal("Starting a thread", e))?;
    match receive.recv_timeout(timeout) {
        Ok(Ok(file)) => Ok(Some(file)),
        Ok(Err(error)) => Err(PortError::internal("Locking a file", error)),
        Err(_) => Ok(None),
    }
}

/// Locks a file that other programs lock too, polling for at most `timeout`. Returns `None` on timeout.
/// Another program may hold the lock indefinitely, and a thread blocked in the kernel could not be cancelled.
pub(super) fn flock_polling(
    file: File,
    operation: FlockOperation,
    timeout: Duration,
) -> Result<Option<File>, PortError> {
    let started_at = std::time::Instant::now();
    let mut pause = Duration::from_micros(200);
    loop {
        if try_flock(&file, operation)? {
            return Ok(Some(file));
        }
        let left = timeout.saturating_sub(started_at.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Tries to lock a file without waiting. Returns whether it is locked now.
pub(super) fn try_flock(file: &File, operation: FlockOperation) -> Result<bool, PortError> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(PortError::internal("Locking a file", error)),
    }
}

fn open_lock_file(directory: &Path) -> Result<File, PortError> {
    let path = directory.join(LOCK_FILE);
    let opened = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    opened.map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            PortError::from(StoreFailure::NotWritable).with_source(error)
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            PortError::from(StoreFailure::DiskFull).with_source(error)
        }
        _ => PortError::from(StoreFailure::DirectoryUnavailable).with_source(error),
    })
}

/// Creates the lock file, so that it exists at its first use.
pub(super) fn create_lock_file(directory: &Path) -> Result<(), PortError> {
    open_lock_file(directory)?
        .write_all(b".")
        .map_err(|e| PortError::internal("Writing the lock file", e))
}
