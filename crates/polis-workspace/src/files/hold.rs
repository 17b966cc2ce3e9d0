//! Holding a file while it is replaced, so that no update is lost.
//!
//! Whoever changes a file through these tools locks it first (`flock` on the file itself, nothing is
//! left lying about), looks whether the name still means the locked file, and keeps the lock until the
//! new content is in its place. Who waited finds that the name means another file now, and locks that
//! one. So an edit always sees what the last one wrote, also across processes, and the kernel gives
//! the lock back when one is killed. Programs that do not lock are not kept off; `expectedHash` is
//! checked as late as possible for their sake.
//!
//! The lock is waited for only so long: a command in the workspace may hold one for ever.

use std::fs::File;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use polis_core::Code;
use polis_core::id::quoted;
use polis_core::workspace::path::WorkspacePath;
use polis_ops::PortError;
use rustix::fs::{self, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::WorkspaceDir;
use super::beneath::{kind, same};
use super::fault::{self, Doing};
use super::place::Place;

/// What is opened without waiting for anybody at the other end of a pipe.
pub(super) const AT_ONCE: OFlags = OFlags::NONBLOCK
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// What the holder wants of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    /// To read what is there, and replace it.
    Content,
    /// Only to replace it.
    Replace,
    /// Only to move or delete its name, which needs no right to the file.
    Name,
}

/// A file that is held until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) file: File,
    pub(super) stat: Stat,
}

impl WorkspaceDir {
    /// Holds the file at a place; `None` if there is none, or none that can be held for its name.
    pub(super) fn hold(
        &self,
        path: &WorkspacePath,
        place: &Place<'_>,
        wants: Wants,
    ) -> Result<Option<Held>, PortError> {
        let failed = Doing::Writing.at(path);
        let until = Instant::now() + self.limits.lock_wait;
        loop {
            let Some(seen) = place.look().map_err(&failed)? else {
                return Ok(None);
            };
            match kind(&seen) {
                FileType::RegularFile => {}
                FileType::Directory => return Err(fault::is_a_directory(&path.to_string())),
                _ => return Err(fault::not_a_file(&path.to_string())),
            }
            let file = match open(place, wants) {
                Ok(file) => file,
                Err(Errno::NOENT) => continue,
                // Its name may go without a right to the file, and then without the lock.
                Err(Errno::ACCESS | Errno::PERM) if wants == Wants::Name => return Ok(None),
                Err(errno) => return Err(failed(errno)),
            };
            let stat = fs::fstat(&file).map_err(&failed)?;
            if kind(&stat) != FileType::RegularFile {
                return Err(fault::not_a_file(&path.to_string()));
            }
            lock(&file, path, until)?;
            match place.look().map_err(&failed)? {
                Some(now) if same(&now, &stat) => return Ok(Some(Held { file, stat: now })),
                Some(_) if Instant::now() < until => {}
                Some(_) => return Err(busy(path)),
                None => return Ok(None),
            }
        }
    }
}

fn open(place: &Place<'_>, wants: Wants) -> Result<File, Errno> {
    let access = match wants {
        Wants::Content => OFlags::RDWR,
        Wants::Replace => OFlags::WRONLY,
        Wants::Name => OFlags::RDONLY,
    };
    let open = |access: OFlags| {
        let flags = access | AT_ONCE | OFlags::NOFOLLOW;
        fs::openat(&place.dir, place.name.as_slice(), flags, Mode::empty()).map(File::from)
    };
    match open(access) {
        // A program that runs may be replaced, though not written to.
        Err(Errno::TXTBSY) => open(OFlags::RDONLY),
        answer => answer,
    }
}

/// Waits for the lock, until a moment.
pub(super) fn lock(
    file: &impl AsFd,
    path: &WorkspacePath,
    until: Instant,
) -> Result<(), PortError> {
    let mut pause = Duration::from_micros(100);
    loop {
        match fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => {}
            Err(Errno::WOULDBLOCK) => return Err(busy(path)),
            Err(Errno::INTR) => continue,
            // A file system without locks: the rename alone has to do.
            Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::INVAL) => return Ok(()),
            Err(errno) => return Err(Doing::Writing.at(path)(errno)),
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

fn busy(path: &WorkspacePath) -> PortError {
    PortError::new(
        Code::FileBusy,
        format!(
            "Somebody else holds {} locked; nothing was changed.",
            quoted(&path.to_string())
        ),
        "retry; if it lasts, a command in the workspace keeps the file locked",
    )
}
