//! Cloning of wardens (the processes that set up a sandbox and run a command in it), on the calling thread or
//! on a thread that is already inside a control group.
//!
//! With cgroup v1, a process has to be moved into its group, for which the kernel synchronizes the whole
//! machine: milliseconds under load. A thread that was moved once has all its children there. So each of
//! these groups has a [`CloneThread`]: a thread that does nothing but clone wardens.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use crate::sandbox::isolation::network_namespace::NetworkNamespaceGuard;
use crate::sandbox::isolation::user_mapping::LauncherUser;
use crate::sandbox::kernel::Errno;
use crate::sandbox::process::child_process::ChildProcess;
use crate::sandbox::process::command_execution::SandboxStartError;
use crate::sandbox::process::warden;
use crate::sandbox::process::warden_report::SetupStep;
use crate::sandbox::sandbox_plan::{SandboxPlan, WardenFds};

/// Stack size of the command's process until `exec`.
const CHILD_STACK_BYTES: usize = 32 * 1024;

/// Everything needed to start a warden.
#[derive(Debug, Clone)]
pub(crate) struct WardenLaunch {
    /// The plan that the warden carries out.
    pub(crate) plan: Arc<SandboxPlan>,
    /// Descriptors of the warden.
    pub(crate) fds: WardenFds,
    /// Network namespace to start in; `None`: a new one, or polis's own.
    pub(crate) network: Option<Arc<OwnedFd>>,
    /// User that polis runs as.
    pub(crate) launcher: LauncherUser,
    /// Pipe for orders to the warden.
    pub(crate) control: Arc<OwnedFd>,
}

impl WardenLaunch {
    /// Clones a warden from the calling thread, inside a control group if the kernel supports that, and sends
    /// it the order to begin.
    pub(crate) fn clone_from_this_thread(
        &self,
        group: Option<BorrowedFd<'_>>,
    ) -> Result<ChildProcess, SandboxStartError> {
        let at = |step| {
            move |error: std::io::Error| SandboxStartError {
                step,
                errno: Errno(error.raw_os_error().unwrap_or(libc::EIO)),
            }
        };
        let visit = self
            .network
            .as_deref()
            .map(NetworkNamespaceGuard::enter)
            .transpose();
        let visit = visit.map_err(at(None))?;
        let mut stack = vec![0; CHILD_STACK_BYTES];
        let group = group.map(|fd| fd.as_fd().as_raw_fd());
        let process = ChildProcess::clone_and_run(self.plan.namespaces, group, || {
            warden::run_warden(&self.plan, self.fds, &mut stack)
        });
        let process = process.map_err(|errno| SandboxStartError { step: None, errno })?;
        drop(visit);
        if self.plan.namespaces != 0 {
            let mapped = self.launcher.write_id_maps(process.pid);
            mapped.map_err(at(Some(SetupStep::User)))?;
        }
        rustix::io::write(&self.control, &[warden::ORDER_BEGIN])?;
        Ok(process)
    }
}

/// A warden that is being cloned.
#[derive(Debug)]
pub(crate) enum PendingClone {
    /// The clone has succeeded or failed.
    Finished(Result<ChildProcess, SandboxStartError>),
    /// A clone thread is working on it.
    Pending(Receiver<Result<ChildProcess, SandboxStartError>>),
}

impl PendingClone {
    /// Waits for the clone.
    pub(crate) fn wait(self) -> Result<ChildProcess, SandboxStartError> {
        match self {
            Self::Finished(process) => process,
            Self::Pending(process) => process.recv().unwrap_or(Err(CLONE_THREAD_GONE)),
        }
    }
}

/// The clone thread has exited.
const CLONE_THREAD_GONE: SandboxStartError = SandboxStartError {
    step: None,
    errno: Errno(libc::ESRCH),
};

/// Thread that clones wardens; stopped on drop.
#[derive(Debug)]
pub(crate) struct CloneThread {
    requests: Option<Sender<CloneRequest>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

type CloneRequest = (
    WardenLaunch,
    Sender<Result<ChildProcess, SandboxStartError>>,
);

impl CloneThread {
    /// Starts the thread. `arrive` is called on it first, with its thread ID, and moves it into the control
    /// group.
    pub(crate) fn new(
        arrive: impl FnOnce(i32) -> std::io::Result<()> + Send + 'static,
    ) -> std::io::Result<Self> {
        let (requests, next) = channel::<CloneRequest>();
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("polis-clone".to_owned())
            .spawn(move || {
                let result = arrive(rustix::thread::gettid().as_raw_pid());
                let failed = result.is_err();
                if sender.send(result).is_err() || failed {
                    return;
                }
                drop(sender);
                while let Ok((start, answer)) = next.recv() {
                    // If the requester is gone, the warden is dropped with the result.
                    drop(answer.send(start.clone_from_this_thread(None)));
                }
            })?;
        let clone_thread = Self {
            requests: Some(requests),
            thread: Some(thread),
        };
        match receiver.recv() {
            Ok(Ok(())) => Ok(clone_thread),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(std::io::ErrorKind::Other.into()),
        }
    }

    /// Requests a warden from the thread.
    pub(crate) fn clone_warden(&self, start: WardenLaunch) -> PendingClone {
        let (answer, process) = channel();
        match &self.requests {
            Some(requests) if requests.send((start, answer)).is_ok() => {
                PendingClone::Pending(process)
            }
            _ => PendingClone::Finished(Err(CLONE_THREAD_GONE)),
        }
    }
}

impl Drop for CloneThread {
    fn drop(&mut self) {
        drop(self.requests.take());
        if let Some(thread) = self.thread.take() {
            // It has no further requests and exits immediately.
            drop(thread.join());
        }
    }
}
