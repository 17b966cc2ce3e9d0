//! A cloned child process, referred to by a pidfd: killed and reaped on drop. Also the list of children that
//! are about to exit, which are reaped later.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd, RawFd};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, WaitId, WaitIdOptions, pidfd_send_signal, waitid};

use crate::sandbox::kernel::{self, CloneResult, SyscallResult};

/// Maximum wait for a killed process.
const REAP_TIMEOUT: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// A process cloned from this one.
#[derive(Debug)]
pub(crate) struct ChildProcess {
    /// Process ID, as this process sees it.
    pub(crate) pid: i32,
    pidfd: OwnedFd,
    reaped: bool,
}

impl ChildProcess {
    /// Clones this process; the child runs `body` and exits.
    ///
    /// All signals are blocked before the clone, so no signal handler of ours runs in the child.
    pub(crate) fn clone_and_run(
        namespaces: u64,
        cgroup: Option<RawFd>,
        body: impl FnOnce(),
    ) -> SyscallResult<Self> {
        let blocked = kernel::pthread_sigmask_block_all();
        let cloned = kernel::clone3(namespaces, cgroup);
        if let Ok(CloneResult::Child) = cloned {
            body();
            kernel::exit(1);
        }
        kernel::pthread_sigmask_set(&blocked);
        match cloned? {
            CloneResult::Parent { pid, pidfd } => Ok(Self {
                pid,
                pidfd,
                reaped: false,
            }),
            CloneResult::Child => kernel::exit(1),
        }
    }

    /// Returns a descriptor that is readable once the process has exited.
    pub(crate) fn exit_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Kills the process (SIGKILL).
    pub(crate) fn kill(&self) {
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
    }

    /// Reaps the process if it has exited. Returns whether it is reaped.
    pub(crate) fn reap_if_ended(&mut self) -> bool {
        if !self.reaped {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
            let waited = waitid(WaitId::PidFd(self.exit_fd()), options);
            self.reaped = !matches!(waited, Ok(None));
        }
        self.reaped
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.reap_if_ended() {
            return;
        }
        self.kill();
        let reap = |pidfd: &OwnedFd| {
            let options = WaitIdOptions::EXITED;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::PidFd(pidfd.as_fd()), options) {
            }
        };
        let mut list = [PollFd::new(&self.pidfd, PollFlags::IN)];
        if poll(&mut list, Some(&REAP_TIMEOUT)).is_ok_and(|count| count > 0) {
            reap(&self.pidfd);
        } else if let Ok(pidfd) = self.pidfd.try_clone() {
            // Stuck in the kernel, for instance on a disk or network that does not respond: the caller should
            // not wait for that, but the process must be reaped, so a thread does it.
            std::thread::spawn(move || reap(&pidfd));
        }
    }
}

/// Processes that are about to exit; reaped whenever another one is added.
#[derive(Debug, Default)]
pub(crate) struct ExitingProcesses(Mutex<Vec<ChildProcess>>);

impl ExitingProcesses {
    /// Adds a process, and reaps those that have exited.
    pub(crate) fn push(&self, process: ChildProcess) {
        let mut all = self.0.lock();
        all.push(process);
        all.retain_mut(|process| !process.reap_if_ended());
    }

    /// Waits until all have exited, with a timeout for each.
    pub(crate) fn wait_all(&self) {
        let all = std::mem::take(&mut *self.0.lock());
        for process in all {
            let mut list = [PollFd::new(&process.pidfd, PollFlags::IN)];
            let _ = poll(&mut list, Some(&REAP_TIMEOUT));
        }
    }
}
