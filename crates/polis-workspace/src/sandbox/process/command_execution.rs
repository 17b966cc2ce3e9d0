//! Executes one command: clones the warden, reads output while the command runs, and stops it on a timeout or
//! a cancellation. At the end no process of it is left; polis waits at most 10 seconds for killed ones.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use polis_core::workspace::command_outcome::{CommandEnding, OutputStream};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Gid, OFlags, Uid};
use rustix::io::Errno as IoErrno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::sandbox::isolation::user_mapping::LauncherUser;
use crate::sandbox::kernel::{self, Errno};
use crate::sandbox::limits::cgroup::ControlGroupLease;
use crate::sandbox::process::child_process::{ChildProcess, ExitingProcesses};
use crate::sandbox::process::clone_thread::{PendingClone, WardenLaunch};
use crate::sandbox::process::warden;
use crate::sandbox::process::warden_report::{REPORT_BYTES, SetupStep, WardenReport};
use crate::sandbox::sandbox_plan::{ProcessReach, SandboxPlan, WardenFds};

/// Maximum wait for the kernel to kill everything.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);
/// Substitute for a timeout that exceeds the range of the clock.
const NO_TIMEOUT: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);
/// Maximum number of bytes per read.
const READ_CHUNK_BYTES: usize = 64 * 1024;

/// Failure before the command was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SandboxStartError {
    /// Failed setup step; `None` if no process could be cloned.
    pub(crate) step: Option<SetupStep>,
    /// Error of the system call.
    pub(crate) errno: Errno,
}

impl From<IoErrno> for SandboxStartError {
    fn from(error: IoErrno) -> Self {
        Self {
            step: None,
            errno: Errno(error.raw_os_error()),
        }
    }
}

/// Parameters of a command execution besides its plan.
pub(crate) struct CommandExecution<'a> {
    /// The command and its confinement.
    pub(crate) plan: Arc<SandboxPlan>,
    /// User that polis runs as.
    pub(crate) launcher: LauncherUser,
    /// Control group to start in.
    pub(crate) group: Option<&'a ControlGroupLease<'a>>,
    /// Maximum run time.
    pub(crate) timeout: Duration,
    /// Readable when the caller cancels the command.
    pub(crate) cancel: Option<BorrowedFd<'a>>,
    /// Receives output while the command runs.
    pub(crate) output: &'a mut dyn FnMut(OutputStream, &[u8]),
    /// Receives wardens that are about to exit.
    pub(crate) exiting: &'a ExitingProcesses,
    /// Network namespace to start in; `None`: a new one, or polis's own.
    pub(crate) network: Option<Arc<OwnedFd>>,
}

impl CommandExecution<'_> {
    /// Runs the command to its end: its exit, its timeout or its cancellation. Fails if it could not be
    /// started. In every case all its processes have exited or were killed.
    pub(crate) fn run_to_completion(self) -> Result<CommandEnding, SandboxStartError> {
        let now = Instant::now();
        let deadline = now.checked_add(self.timeout).unwrap_or(now + NO_TIMEOUT);
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
            // The command must own the pipe to open it again by name (`/dev/stdout`).
            let (uid, gid) = self.launcher.command_user();
            let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
            for writing in [&out, &err] {
                rustix::fs::fchown(writing, Some(uid), Some(gid))?;
            }
        }
        let landlock = self.plan.landlock.as_ref();
        let landlock_failed = |errno| SandboxStartError {
            step: Some(SetupStep::Landlock),
            errno,
        };
        let ruleset = landlock.map(|landlock| kernel::landlock_create_ruleset(&landlock.ruleset));
        let ruleset = ruleset.transpose().map_err(landlock_failed)?;
        let lines = WardenFds {
            control: orders.as_raw_fd(),
            reports: report.as_raw_fd(),
            stdin: nothing.as_raw_fd(),
            stdout: out.as_raw_fd(),
            stderr: err.as_raw_fd(),
            ruleset: ruleset.as_ref().map_or(-1, |fd| fd.as_raw_fd()),
        };
        let plan = Arc::clone(&self.plan);
        let start = WardenLaunch {
            plan: Arc::clone(&plan),
            fds: lines,
            network: self.network,
            launcher: self.launcher,
            control: Arc::clone(&order),
        };
        let cloning = match self.group {
            Some(group) => group.clone_warden(start),
            None => PendingClone::Finished(start.clone_from_this_thread(None)),
        };
        // In parallel with the clone or the warden's setup.
        let added = match (landlock, &ruleset) {
            (Some(landlock), Some(ruleset)) => landlock.add_outside_rules(ruleset.as_raw_fd()),
            _ => Ok(()),
        };
        let process = cloning.wait()?;
        drop((orders, report, out, err, nothing));
        added.map_err(landlock_failed)?;
        rustix::io::write(&order, &[warden::ORDER_CONFINE])?;
        drop(ruleset);
        let mut watch = RunningCommand {
            process,
            process_reach: plan.process_reach,
            control: order,
            reports,
            streams: [
                (OutputStream::Stdout, Some(stdout)),
                (OutputStream::Stderr, Some(stderr)),
            ],
            cancel: self.cancel,
            output: self.output,
            buffer: Vec::with_capacity(READ_CHUNK_BYTES),
        };
        let end = watch.wait_for_end(deadline);
        self.exiting.push(watch.process);
        end
    }
}

/// A running command: its warden, the pipes to it, and what polis does with its output.
struct RunningCommand<'a> {
    process: ChildProcess,
    process_reach: ProcessReach,
    control: Arc<OwnedFd>,
    reports: OwnedFd,
    streams: [(OutputStream, Option<OwnedFd>); 2],
    cancel: Option<BorrowedFd<'a>>,
    output: &'a mut dyn FnMut(OutputStream, &[u8]),
    buffer: Vec<u8>,
}

impl RunningCommand<'_> {
    fn wait_for_end(&mut self, deadline: Instant) -> Result<CommandEnding, SandboxStartError> {
        let mut end = None;
        let mut deadline = deadline;
        loop {
            let ready = self.poll_events(deadline, end.is_some());
            for (index, ready) in ready.streams.into_iter().enumerate() {
                if ready {
                    self.read_stream(index);
                }
            }
            if ready.report {
                match self.read_report() {
                    Some(WardenReport::Stopped) | None => {}
                    Some(WardenReport::Failed { step, errno }) => {
                        self.drain_streams();
                        return Err(SandboxStartError {
                            step: Some(step),
                            errno,
                        });
                    }
                    Some(WardenReport::CommandEnded {
                        status,
                        no_process_left: alone,
                    }) => {
                        let end = *end.get_or_insert(ending_from_wait_status(status));
                        if alone {
                            // Only the warden is left, and it is exiting.
                            self.drain_streams();
                            return Ok(end);
                        }
                    }
                    Some(WardenReport::OutOfMemory) => {
                        end.get_or_insert(CommandEnding::OutOfMemory);
                    }
                }
            }
            if ready.warden_exited {
                // All writers exited with the warden: what is in the pipes is complete.
                while let Some(report) = self.read_report() {
                    match report {
                        WardenReport::CommandEnded { status, .. } => {
                            end.get_or_insert(ending_from_wait_status(status));
                        }
                        WardenReport::OutOfMemory => {
                            end.get_or_insert(CommandEnding::OutOfMemory);
                        }
                        WardenReport::Failed { step, errno } => {
                            return Err(SandboxStartError {
                                step: Some(step),
                                errno,
                            });
                        }
                        WardenReport::Stopped => {}
                    }
                }
                self.drain_streams();
                // A warden that exits without a report was killed by the OOM killer.
                return Ok(end.unwrap_or(CommandEnding::OutOfMemory));
            }
            if Instant::now() >= deadline {
                if end.is_some() {
                    // The kernel did not kill it in time; dropping the process does not wait either.
                    return Ok(end.unwrap_or(CommandEnding::TimedOut));
                }
                end = Some(CommandEnding::TimedOut);
                deadline = self.stop_command();
            } else if ready.cancelled && end.is_none() {
                end = Some(CommandEnding::Cancelled);
                deadline = self.stop_command();
            }
        }
    }

    /// Kills the command, and returns the deadline for its end.
    fn stop_command(&mut self) -> Instant {
        match self.process_reach {
            ProcessReach::PidNamespace => self.process.kill(),
            ProcessReach::Subreaper => {
                let _ = rustix::io::write(&self.control, &[warden::ORDER_END]);
            }
        }
        Instant::now() + KILL_TIMEOUT
    }

    fn poll_events(&self, deadline: Instant, ending: bool) -> ReadyEvents {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = rustix::event::Timespec::try_from(left).ok();
        let flags = PollFlags::IN;
        let nothing = self.process.exit_fd();
        let open = |stream: &Option<OwnedFd>| stream.is_some();
        let stream = |index: usize| {
            self.streams
                .get(index)
                .and_then(|(_, fd)| fd.as_ref())
                .map_or(nothing, |fd| fd.as_fd())
        };
        // A closed stream, and a cancellation already seen, are replaced by the process itself.
        let cancel = self.cancel.filter(|_| !ending).unwrap_or(nothing);
        let mut list = [
            PollFd::from_borrowed_fd(nothing, flags),
            PollFd::from_borrowed_fd(self.reports.as_fd(), flags),
            PollFd::from_borrowed_fd(stream(0), flags),
            PollFd::from_borrowed_fd(stream(1), flags),
            PollFd::from_borrowed_fd(cancel, flags),
        ];
        let _ = poll(&mut list, left.as_ref());
        let [warden_exited, report, out, err, cancelled] =
            list.map(|entry| !entry.revents().is_empty());
        let is_open = |index: usize| self.streams.get(index).is_some_and(|(_, fd)| open(fd));
        ReadyEvents {
            warden_exited,
            report: report && !warden_exited,
            streams: [out && is_open(0), err && is_open(1)],
            cancelled: cancelled && !ending && self.cancel.is_some(),
        }
    }

    fn read_report(&self) -> Option<WardenReport> {
        let mut bytes = [0; REPORT_BYTES];
        match rustix::io::read(&self.reports, &mut bytes) {
            Ok(REPORT_BYTES) => WardenReport::from_bytes(bytes),
            _ => None,
        }
    }

    /// Reads one chunk of a stream, so that a flood of output does not delay the check of the deadline.
    fn read_stream(&mut self, index: usize) -> bool {
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

    /// Reads what is left in the pipes; at most the capacity of a pipe, in case a process still writes.
    fn drain_streams(&mut self) {
        const MAX_DRAIN_CHUNKS: usize = 32;
        for index in 0..self.streams.len() {
            for _ in 0..MAX_DRAIN_CHUNKS {
                if !self.read_stream(index) {
                    break;
                }
            }
        }
    }
}

/// Converts a wait status, as returned by `waitpid`.
fn ending_from_wait_status(status: i32) -> CommandEnding {
    if libc::WIFSIGNALED(status) {
        CommandEnding::Killed(libc::WTERMSIG(status))
    } else {
        CommandEnding::Exited(libc::WEXITSTATUS(status))
    }
}

/// Result of a poll.
struct ReadyEvents {
    warden_exited: bool,
    report: bool,
    streams: [bool; 2],
    cancelled: bool,
}
