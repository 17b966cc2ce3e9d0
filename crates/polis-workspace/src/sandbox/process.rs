//! A cloned process, held by a descriptor: ended and reaped when it is dropped.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd, RawFd};

use std::sync::{Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};

use super::kernel::{self, Answer, Cloned};

/// How long a killed process is waited for.
const PATIENCE: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// A process cloned from this one.
#[derive(Debug)]
pub(crate) struct Process {
    /// Its number, as this process sees it.
    pub(crate) pid: i32,
    pidfd: OwnedFd,
    reaped: bool,
}

impl Process {
    /// Clones this process; the new one runs `body` and ends.
    ///
    /// No signal handler of ours runs in it: all signals are blocked from before it exists.
    pub(crate) fn start(
        namespaces: u64,
        cgroup: Option<RawFd>,
        body: impl FnOnce(),
    ) -> Answer<Self> {
        let blocked = kernel::block_signals();
        let cloned = kernel::clone_process(namespaces, cgroup);
        if let Ok(Cloned::Child) = cloned {
            body();
            kernel::exit(1);
        }
        kernel::set_blocked_signals(&blocked);
        match cloned? {
            Cloned::Parent { pid, pidfd } => Ok(Self {
                pid,
                pidfd,
                reaped: false,
            }),
            Cloned::Child => kernel::exit(1),
        }
    }

    /// Readable once the process has ended.
    pub(crate) fn ended(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Ends the process at once.
    pub(crate) fn end(&self) {
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    /// Reaps the process if it has ended.
    pub(crate) fn reap_if_ended(&mut self) -> bool {
        if !self.reaped {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let waited = waitid(WaitId::PidFd(self.ended()), options);
            self.reaped = !matches!(waited, Ok(None));
        }
        self.reaped
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.reap_if_ended() {
            return;
        }
        self.end();
        let reap = |pidfd: &OwnedFd| {
            let options = WaitIdOptions::EXITED;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::PidFd(pidfd.as_fd()), options) {
            }
        };
        let mut list = [PollFd::new(&self.pidfd, PollFlags::IN)];
        if poll(&mut list, Some(&PATIENCE)).is_ok_and(|count| count > 0) {
            reap(&self.pidfd);
        } else if let Ok(pidfd) = self.pidfd.try_clone() {
            // Stuck in the kernel, on a disk or network that does not answer: nobody should have
            // to wait for that, but somebody has to reap it.
            std::thread::spawn(move || reap(&pidfd));
        }
    }
}

/// Processes that have nothing more to do but end: reaped when somebody comes by.
#[derive(Debug, Default)]
pub(crate) struct Leaving(Mutex<Vec<Process>>);

impl Leaving {
    /// Takes one, and reaps those that have ended.
    pub(crate) fn add(&self, process: Process) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(process);
        all.retain_mut(|process| !process.reap_if_ended());
    }

    /// Waits until all have ended.
    pub(crate) fn wait(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for process in all {
            let mut list = [PollFd::new(&process.pidfd, PollFlags::IN)];
            let _ = poll(&mut list, Some(&PATIENCE));
        }
    }
}
