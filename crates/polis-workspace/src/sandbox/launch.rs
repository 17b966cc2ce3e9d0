//! Cloning a warden, here or on a thread that is in a control group already.
//!
//! With the older interface of control groups a process has to be moved in, which the whole machine
//! waits for: milliseconds when it is busy. A thread that was moved in once has all its children
//! there. So each of these groups has a porter: a thread that does nothing but clone wardens.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::identity::Launcher;
use super::kernel::Errno;
use super::network::Visit;
use super::plan::{Lines, Plan};
use super::process::Process;
use super::report::Step;
use super::run::NotStarted;
use super::warden;

/// What the command's process runs on until it executes.
const STACK: usize = 32 * 1024;

/// What a warden is started with.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    /// What it is to do.
    pub(crate) plan: Arc<Plan>,
    /// The descriptors it begins with.
    pub(crate) lines: Lines,
    /// The network to start in, if not in a new one or polis's own.
    pub(crate) network: Option<Arc<OwnedFd>>,
    /// Who polis is.
    pub(crate) launcher: Launcher,
    /// Where orders to the warden go.
    pub(crate) order: Arc<OwnedFd>,
}

impl Start {
    /// Clones a warden from this thread, in a control group if the kernel can do that, and has it
    /// begin.
    pub(crate) fn here(&self, group: Option<BorrowedFd<'_>>) -> Result<Process, NotStarted> {
        let at = |step| {
            move |error: std::io::Error| NotStarted {
                step,
                errno: Errno(error.raw_os_error().unwrap_or(libc::EIO)),
            }
        };
        let visit = self.network.as_deref().map(Visit::to).transpose();
        let visit = visit.map_err(at(None))?;
        let mut stack = vec![0; STACK];
        let group = group.map(|fd| fd.as_fd().as_raw_fd());
        let process = Process::start(self.plan.namespaces, group, || {
            warden::run(&self.plan, self.lines, &mut stack)
        });
        let process = process.map_err(|errno| NotStarted { step: None, errno })?;
        drop(visit);
        if self.plan.namespaces != 0 {
            let mapped = self.launcher.map(process.pid);
            mapped.map_err(at(Some(Step::User)))?;
        }
        rustix::io::write(&self.order, &[warden::BEGIN])?;
        Ok(process)
    }
}

/// A warden that is being cloned.
#[derive(Debug)]
pub(crate) enum Cloning {
    /// It is there, or cannot be.
    Done(Result<Process, NotStarted>),
    /// A porter is at it.
    Awaited(Receiver<Result<Process, NotStarted>>),
}

impl Cloning {
    /// Waits for it.
    pub(crate) fn wait(self) -> Result<Process, NotStarted> {
        match self {
            Self::Done(process) => process,
            Self::Awaited(process) => process.recv().unwrap_or(Err(GONE)),
        }
    }
}

/// The porter is not there any more.
const GONE: NotStarted = NotStarted {
    step: None,
    errno: Errno(libc::ESRCH),
};

/// A thread that clones wardens. Ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Porter {
    errands: Option<Sender<Errand>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

type Errand = (Start, Sender<Result<Process, NotStarted>>);

impl Porter {
    /// A porter, once it has arrived where `arrive` takes it: it is called on the new thread with
    /// the thread's number.
    pub(crate) fn new(
        arrive: impl FnOnce(i32) -> std::io::Result<()> + Send + 'static,
    ) -> std::io::Result<Self> {
        let (errands, next) = channel::<Errand>();
        let (tell, arrived) = channel();
        let thread = std::thread::Builder::new()
            .name("polis-porter".to_owned())
            .spawn(move || {
                let there = arrive(rustix::thread::gettid().as_raw_pid());
                let lost = there.is_err();
                if tell.send(there).is_err() || lost {
                    return;
                }
                drop(tell);
                while let Ok((start, answer)) = next.recv() {
                    // Whoever asked may be gone; then the warden goes with the answer.
                    drop(answer.send(start.here(None)));
                }
            })?;
        let porter = Self {
            errands: Some(errands),
            thread: Some(thread),
        };
        match arrived.recv() {
            Ok(Ok(())) => Ok(porter),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(std::io::ErrorKind::Other.into()),
        }
    }

    /// Has a warden cloned.
    pub(crate) fn clone_warden(&self, start: Start) -> Cloning {
        let (answer, process) = channel();
        match &self.errands {
            Some(errands) if errands.send((start, answer)).is_ok() => Cloning::Awaited(process),
            _ => Cloning::Done(Err(GONE)),
        }
    }
}

impl Drop for Porter {
    fn drop(&mut self) {
        drop(self.errands.take());
        if let Some(thread) = self.thread.take() {
            // It has no errand any more and ends at once.
            drop(thread.join());
        }
    }
}
