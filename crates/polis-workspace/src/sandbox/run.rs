//! One command from its start to its end: cloning the warden, reading output as it comes, and
//! seeing to it that everything is gone afterwards.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Gid, OFlags, Uid};
use rustix::io::Errno as IoErrno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::cgroup::Lease;
use super::identity::Launcher;
use super::kernel::{self, Errno};
use super::launch::{Cloning, Start};
use super::plan::{Lines, Plan, Reach};
use super::process::{Leaving, Process};
use super::report::{LENGTH, Report, Step};
use super::warden;

/// How long to wait for the kernel to end everything, once told.
const ENDING: Duration = Duration::from_secs(10);
/// A time that is never up, for one that no clock can tell.
const AGES: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);
/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With a status as `wait` gives it.
    Status(i32),
    /// Its time was up.
    TimedOut,
    /// It was not wanted any more.
    Cancelled,
    /// It used too much memory.
    OutOfMemory,
}

/// Why nothing was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotStarted {
    /// Which step failed; none if there was no process to begin with.
    pub(crate) step: Option<Step>,
    /// How.
    pub(crate) errno: Errno,
}

impl From<IoErrno> for NotStarted {
    fn from(error: IoErrno) -> Self {
        Self {
            step: None,
            errno: Errno(error.raw_os_error()),
        }
    }
}

/// Which stream output is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Out,
    Err,
}

/// What a run needs beside its plan.
pub(crate) struct Run<'a> {
    /// The plan.
    pub(crate) plan: Arc<Plan>,
    /// Who polis is.
    pub(crate) launcher: Launcher,
    /// The control group to start in.
    pub(crate) group: Option<&'a Lease<'a>>,
    /// How long it may take.
    pub(crate) timeout: Duration,
    /// Readable when the command is not wanted any more.
    pub(crate) cancel: Option<BorrowedFd<'a>>,
    /// Takes output as it comes.
    pub(crate) output: &'a mut dyn FnMut(Side, &[u8]),
    /// Takes wardens that are on their way out.
    pub(crate) leaving: &'a Leaving,
    /// The network to start in, if not in a new one or polis's own.
    pub(crate) network: Option<Arc<OwnedFd>>,
}

impl Run<'_> {
    /// Runs to the end. Whatever happens, no process of the command is left.
    pub(crate) fn until_the_end(self) -> Result<End, NotStarted> {
        let now = Instant::now();
        let deadline = now.checked_add(self.timeout).unwrap_or(now + AGES);
        let (orders, order) = pipe_with(PipeFlags::CLOEXEC)?;
        let order = Arc::new(order);
        let (reports, report) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stdout, out) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, err) = pipe_with(PipeFlags::CLOEXEC)?;
        let nothing = rustix::fs::open(
            "/dev/null",
            OFlags::RDONLY | OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )?;
        for reading in [&stdout, &stderr] {
            rustix::io::ioctl_fionbio(reading, true)?;
        }
        if self.launcher.is_root() {
            // Opened again by name (`/dev/stdout`), a pipe has to be the command's own.
            let (uid, gid) = self.launcher.outside();
            let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
            for writing in [&out, &err] {
                rustix::fs::fchown(writing, Some(uid), Some(gid))?;
            }
        }
        let landlock = self.plan.landlock.as_ref();
        let landlock_failed = |errno| NotStarted {
            step: Some(Step::Landlock),
            errno,
        };
        let ruleset = landlock.map(|landlock| kernel::landlock_ruleset(&landlock.ruleset));
        let ruleset = ruleset.transpose().map_err(landlock_failed)?;
        let lines = Lines {
            orders: orders.as_raw_fd(),
            reports: report.as_raw_fd(),
            stdin: nothing.as_raw_fd(),
            stdout: out.as_raw_fd(),
            stderr: err.as_raw_fd(),
            ruleset: ruleset.as_ref().map_or(-1, |fd| fd.as_raw_fd()),
        };
        let plan = Arc::clone(&self.plan);
        let start = Start {
            plan: Arc::clone(&plan),
            lines,
            network: self.network,
            launcher: self.launcher,
            order: Arc::clone(&order),
        };
        let cloning = match self.group {
            Some(group) => group.clone_warden(start),
            None => Cloning::Done(start.here(None)),
        };
        // While the warden is made, or builds.
        let added = match (landlock, &ruleset) {
            (Some(landlock), Some(ruleset)) => landlock.complete(ruleset.as_raw_fd()),
            _ => Ok(()),
        };
        let process = cloning.wait()?;
        drop((orders, report, out, err, nothing));
        added.map_err(landlock_failed)?;
        rustix::io::write(&order, &[warden::CONFINE])?;
        drop(ruleset);
        let mut watch = Watch {
            process,
            reach: plan.reach,
            order,
            reports,
            streams: [(Side::Out, Some(stdout)), (Side::Err, Some(stderr))],
            cancel: self.cancel,
            output: self.output,
            buffer: Vec::with_capacity(CHUNK),
        };
        let end = watch.until(deadline);
        self.leaving.add(watch.process);
        end
    }
}

/// A command that runs.
struct Watch<'a> {
    process: Process,
    reach: Reach,
    order: Arc<OwnedFd>,
    reports: OwnedFd,
    streams: [(Side, Option<OwnedFd>); 2],
    cancel: Option<BorrowedFd<'a>>,
    output: &'a mut dyn FnMut(Side, &[u8]),
    buffer: Vec<u8>,
}

impl Watch<'_> {
    fn until(&mut self, deadline: Instant) -> Result<End, NotStarted> {
        let mut end = None;
        let mut deadline = deadline;
        loop {
            let ready = self.wait(deadline, end.is_some());
            for (index, ready) in ready.streams.into_iter().enumerate() {
                if ready {
                    self.read(index);
                }
            }
            if ready.report {
                match self.report() {
                    Some(Report::Stopped) | None => {}
                    Some(Report::Failed { step, errno }) => {
                        self.finish();
                        return Err(NotStarted {
                            step: Some(step),
                            errno,
                        });
                    }
                    Some(Report::Ended { status, alone }) => {
                        let end = *end.get_or_insert(End::Status(status));
                        if alone {
                            // Only the warden is left, and it is on its way out.
                            self.finish();
                            return Ok(end);
                        }
                    }
                    Some(Report::OutOfMemory) => {
                        end.get_or_insert(End::OutOfMemory);
                    }
                }
            }
            if ready.gone {
                // Everything that could write is gone with the warden: what is in the pipes is all.
                while let Some(report) = self.report() {
                    match report {
                        Report::Ended { status, .. } => {
                            end.get_or_insert(End::Status(status));
                        }
                        Report::OutOfMemory => {
                            end.get_or_insert(End::OutOfMemory);
                        }
                        Report::Failed { step, errno } => {
                            return Err(NotStarted {
                                step: Some(step),
                                errno,
                            });
                        }
                        Report::Stopped => {}
                    }
                }
                self.finish();
                // A warden that went without a word was killed by the kernel: no memory.
                return Ok(end.unwrap_or(End::OutOfMemory));
            }
            if Instant::now() >= deadline {
                if end.is_some() {
                    // The kernel did not end it in time; dropping the process waits no longer.
                    return Ok(end.unwrap_or(End::TimedOut));
                }
                end = Some(End::TimedOut);
                deadline = self.stop();
            } else if ready.cancelled && end.is_none() {
                end = Some(End::Cancelled);
                deadline = self.stop();
            }
        }
    }

    /// Has everything ended, and answers until when to wait for that.
    fn stop(&mut self) -> Instant {
        match self.reach {
            Reach::Namespace => self.process.end(),
            Reach::Adoption => {
                let _ = rustix::io::write(&self.order, &[warden::END]);
            }
        }
        Instant::now() + ENDING
    }

    fn wait(&self, deadline: Instant, ending: bool) -> Ready {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = rustix::event::Timespec::try_from(left).ok();
        let flags = PollFlags::IN;
        let nothing = self.process.ended();
        let open = |stream: &Option<OwnedFd>| stream.is_some();
        let stream = |index: usize| {
            self.streams
                .get(index)
                .and_then(|(_, fd)| fd.as_ref())
                .map_or(nothing, |fd| fd.as_fd())
        };
        // A closed stream, and a cancel that was seen, are asked about as the process itself.
        let cancel = self.cancel.filter(|_| !ending).unwrap_or(nothing);
        let mut list = [
            PollFd::from_borrowed_fd(nothing, flags),
            PollFd::from_borrowed_fd(self.reports.as_fd(), flags),
            PollFd::from_borrowed_fd(stream(0), flags),
            PollFd::from_borrowed_fd(stream(1), flags),
            PollFd::from_borrowed_fd(cancel, flags),
        ];
        let _ = poll(&mut list, left.as_ref());
        let [gone, report, out, err, cancelled] = list.map(|entry| !entry.revents().is_empty());
        let is_open = |index: usize| self.streams.get(index).is_some_and(|(_, fd)| open(fd));
        Ready {
            gone,
            report: report && !gone,
            streams: [out && is_open(0), err && is_open(1)],
            cancelled: cancelled && !ending && self.cancel.is_some(),
        }
    }

    fn report(&self) -> Option<Report> {
        let mut bytes = [0; LENGTH];
        match rustix::io::read(&self.reports, &mut bytes) {
            Ok(LENGTH) => Report::from_bytes(bytes),
            _ => None,
        }
    }

    /// Reads one chunk of a stream; a flood does not keep us from looking at the time.
    fn read(&mut self, index: usize) -> bool {
        let Some((side, stream)) = self.streams.get_mut(index) else {
            return false;
        };
        let Some(open) = stream else { return false };
        self.buffer.clear();
        match rustix::io::read(&*open, rustix::buffer::spare_capacity(&mut self.buffer)) {
            Ok(count) if count > 0 => {
                (self.output)(*side, &self.buffer);
                true
            }
            Err(IoErrno::AGAIN | IoErrno::INTR) => false,
            _ => {
                *stream = None;
                false
            }
        }
    }

    /// Reads what is left in the pipes; at most what a pipe can hold, should somebody still write.
    fn finish(&mut self) {
        const MOST_CHUNKS: usize = 32;
        for index in 0..self.streams.len() {
            for _ in 0..MOST_CHUNKS {
                if !self.read(index) {
                    break;
                }
            }
        }
    }
}

/// What there is to do.
struct Ready {
    gone: bool,
    report: bool,
    streams: [bool; 2],
    cancelled: bool,
}
