//! A terminal that is a real sandbox.
//!
//! [`Sandbox::run`] runs a line of shell in a directory. The wall is the kernel: namespaces, a view
//! of the files that holds the workspace and the system's programs and nothing else, Landlock,
//! seccomp, limits; never the kernel's user 0. Whatever the command started is gone when `run`
//! returns, and when this process dies. What this machine cannot do is found by trying; a sandbox
//! weaker than the policy's weakest is refused.
//!
//! ```no_run
//! use polis_core::workspace::policy::CommandPolicy;
//! use polis_workspace::sandbox::{Job, Sandbox};
//!
//! let sandbox = Sandbox::new();
//! let run = sandbox.run(&Job::new("/srv/project".as_ref(), "make test", &CommandPolicy::default()))?;
//! println!("{:?} in {} ms: {}", run.ending, run.duration_ms, run.stdout.text);
//! # Ok::<(), polis_workspace::sandbox::SandboxError>(())
//! ```

mod alone;
mod blueprint;
mod capture;
mod cgroup;
mod filter;
mod identity;
mod inotify;
mod job;
mod kernel;
mod landlock;
mod launch;
mod memory;
mod network;
mod pipes;
mod plan;
mod probe;
mod process;
mod refused;
mod report;
mod run;
mod spool;
mod system;
mod terminal;
mod warden;

pub use job::{Cancel, Job, Watcher};
pub(crate) use kernel::{give_freed_memory_back, malloc_trim};
pub use terminal::SandboxTerminal;

use std::collections::HashMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use polis_core::workspace::command::{CommandRun, Ending};
use polis_core::workspace::policy::{CommandPolicy, Limits, Network, Tier};
use polis_core::workspace::signal;
use polis_ops::port::Stream;

use self::alone::{Scratch, hand_over, hand_over_again, open_way, processes_of, queued_signals};
use self::blueprint::{Blueprint, holds_project, needs};
use self::capture::Output;
use self::cgroup::{ControlGroups, Lease, NoGroups};
use self::filter::{Filter, Needs};
use self::identity::{Launcher, OwnerMaps};
use self::inotify::InotifyPool;
use self::kernel::Errno;
use self::landlock::Abilities;
use self::network::EmptyNetworks;
use self::process::Leaving;
use self::refused::{Refused, explain, not_shown, scarce};
use self::run::{End, Run, Side};
use self::spool::SpoolPlace;
use self::system::System;
use crate::directory::{DirectoryIdentity, open_without_links};

/// Runs commands behind walls. Cheap to keep, made to be shared by threads.
#[derive(Debug)]
pub struct Sandbox {
    system: System,
    launcher: Launcher,
    landlock: Option<Abilities>,
    filters: Mutex<HashMap<Needs, Option<Arc<Filter>>>>,
    maps: OwnerMaps,
    networks: EmptyNetworks,
    inotify: InotifyPool,
    leaving: Leaving,
    groups: OnceLock<Result<ControlGroups, NoGroups>>,
    finding: Mutex<()>,
    /// The strongest tier that was not found impossible.
    strongest: AtomicU8,
}

/// Why a command was not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// This machine cannot confine it as strongly as the policy wants.
    #[error("{0}")]
    Unavailable(String),
    /// A path the policy names is not there.
    #[error("{0}")]
    BadPolicy(String),
    /// The sandbox stood, but the command did not start in it.
    #[error("{0}")]
    Failed(String),
}

const TIERS: [Tier; 4] = [Tier::Full, Tier::Watched, Tier::Landlock, Tier::Bare];

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    /// A sandbox as strong as this machine allows.
    pub fn new() -> Self {
        Self::at_most(Tier::Full)
    }

    /// A sandbox that is no stronger than a tier, to try how a weaker machine would do.
    pub fn at_most(tier: Tier) -> Self {
        Self {
            system: System::look(),
            launcher: Launcher::current(),
            landlock: kernel::landlock_version()
                .ok()
                .filter(|&version| version >= 1)
                .map(Abilities::of),
            filters: Mutex::default(),
            maps: OwnerMaps::default(),
            networks: EmptyNetworks::default(),
            inotify: InotifyPool::of_user(),
            leaving: Leaving::default(),
            groups: OnceLock::new(),
            finding: Mutex::default(),
            strongest: AtomicU8::new(rank(tier)),
        }
    }

    /// The same, with no more of Landlock than an older version of its interface had.
    #[must_use]
    pub fn with_landlock(mut self, version: i32) -> Self {
        let known = self.landlock.map(Abilities::version);
        let version = known.map(|known| known.min(version));
        self.landlock = version.map(Abilities::of);
        self
    }

    /// Waits until nothing of earlier commands is left. Whatever a command started has ended when
    /// [`Sandbox::run`] returns; only our own process that watched over it may still be ending.
    pub fn settle(&self) {
        self.leaving.wait();
    }

    /// Runs a command to its end.
    pub fn run(&self, job: &Job<'_>) -> Result<CommandRun, SandboxError> {
        check_paths(job.policy)?;
        self.check_private(job)?;
        if job.command.contains('\0') {
            return Err(SandboxError::Failed(
                "the command has a NUL character in it".to_owned(),
            ));
        }
        let mut why = Vec::new();
        for tier in TIERS {
            if tier < job.policy.weakest {
                break;
            }
            if rank(tier) > self.strongest.load(Ordering::Relaxed) {
                continue;
            }
            match self.run_at(job, tier) {
                Ok(run) => return Ok(run),
                Err(Refused::Missing { layer, lasting }) => {
                    why.push(layer);
                    if lasting {
                        let below = rank(tier).saturating_sub(1);
                        self.strongest.fetch_min(below, Ordering::Relaxed);
                    }
                }
                Err(Refused::Job(error)) => return Err(error),
            }
        }
        Err(SandboxError::Unavailable(why.join("; ")))
    }
}

fn rank(tier: Tier) -> u8 {
    match tier {
        Tier::Bare => 0,
        Tier::Landlock => 1,
        Tier::Watched => 2,
        Tier::Full => 3,
    }
}

impl Sandbox {
    fn run_at(&self, job: &Job<'_>, tier: Tier) -> Result<CommandRun, Refused> {
        let (root, identity) = open_workspace(job)?;
        let group = self.group_at(tier, &job.policy.limits)?;
        match self.landlock {
            None if tier > Tier::Bare => {
                return Err(Refused::lasting("the kernel has no Landlock"));
            }
            Some(abilities) if tier == Tier::Landlock && !abilities.suffice_alone() => {
                return Err(Refused::lasting(
                    "Landlock is too old to be a wall of its own",
                ));
            }
            _ => {}
        }
        let network = job.policy.network;
        let Some(needs) = needs(tier, network, self.landlock, self.launcher) else {
            return Err(Refused::this_time(
                "a loopback of its own needs a network namespace",
            ));
        };
        let filters = self.filters(needs);
        if tier > Tier::Bare && filters.is_none() {
            return Err(Refused::lasting("no seccomp filters for this processor"));
        }
        let output = job.output.filter(|path| path.is_dir());
        let network = (tier >= Tier::Watched && network == Network::Off && self.launcher.is_root())
            .then(|| self.networks.of(identity).ok())
            .flatten();
        let spaces = tier >= Tier::Watched;
        let outside = self.launcher.outside();
        let handed_to = (!spaces && self.launcher.is_root()).then_some(outside);
        if let Some(user) = handed_to {
            self.make_owner(job, root.as_fd(), user)?;
            // Reading it is what it is for; without, the command still runs.
            let _ = output.map(|output| hand_over_again(output, user));
            let _ = output.map(|output| open_way(output, user));
        }
        if !spaces && holds_project(root.as_fd()) {
            return Err(Refused::this_time(
                "the workspace holds a polis project, which Landlock alone cannot hide",
            ));
        }
        let scratch = (!spaces).then(|| Scratch::new(handed_to)).transpose();
        let scratch = scratch.map_err(|error| {
            Refused::this_time(format!("a private directory: {}", error.kind()))
        })?;
        let inotify = self.inotify.share();
        let drawn = Blueprint {
            tier,
            system: &self.system,
            launcher: self.launcher,
            landlock: self.landlock,
            filters,
            maps: &self.maps,
            policy: job.policy,
            workspace: job.workspace,
            root,
            identity,
            output,
            scratch: scratch.as_ref().map(Scratch::path),
            in_empty_network: network.is_some(),
            processes_besides: if spaces { 0 } else { processes_of(outside.0) },
            signals_besides: if spaces { 0 } else { queued_signals() },
            inotify: inotify.limits,
            command: job.command,
        }
        .draw()
        .map_err(not_shown)?;
        let limit = usize::try_from(job.policy.limits.output).unwrap_or(usize::MAX);
        let place = job.output.map(|directory| SpoolPlace {
            directory: directory.to_owned(),
            file_quota: job.policy.limits.spool,
            directory_quota: job.policy.limits.spool.saturating_mul(4),
        });
        let mut kept = Output::new(limit, place);
        let begun = Instant::now();
        let end = Run {
            plan: Arc::clone(&drawn.plan),
            launcher: self.launcher,
            group: group.as_ref(),
            timeout: job.timeout,
            cancel: job.cancel.map(Cancel::seen_by),
            output: &mut |side, bytes| {
                let stream = match side {
                    Side::Out => Stream::Stdout,
                    Side::Err => Stream::Stderr,
                };
                if let Some(watch) = job.watch {
                    watch(stream, bytes);
                }
                kept.push(stream, bytes);
            },
            network,
            leaving: &self.leaving,
        }
        .until_the_end()
        .map_err(|failed| explain(failed, tier))?;
        let duration = begun.elapsed();
        drop(inotify);
        let end = match end {
            End::Status(status) if status != 0 && group.is_some_and(|group| group.ran_out()) => {
                End::OutOfMemory
            }
            end => end,
        };
        let collected = kept.finish();
        Ok(CommandRun {
            ending: ending(end),
            stdout: collected.stdout,
            stderr: collected.stderr,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            tier,
            spool: collected.spooled.map(|spooled| spooled.name),
        })
    }

    /// A control group of a tier that has one.
    fn group_at(&self, tier: Tier, limits: &Limits) -> Result<Option<Lease<'_>>, Refused> {
        let groups = match (tier, self.groups()) {
            (Tier::Full, Ok(groups)) => Some(groups),
            (Tier::Full, Err(missing)) if !missing.lasting => {
                return Err(Refused::Job(SandboxError::Failed(missing.why)));
            }
            (Tier::Full, Err(missing)) => {
                return Err(Refused::Missing {
                    layer: missing.why,
                    lasting: true,
                });
            }
            _ => None,
        };
        let group = groups.map(|groups| groups.take(limits));
        group
            .transpose()
            .map_err(|error| match error.raw_os_error().map(Errno) {
                Some(errno) if scarce(errno) => Refused::short_of(errno),
                _ => Refused::this_time(format!("control group: {}", error.kind())),
            })
    }

    /// Refuses a command that would see what is private.
    fn check_private(&self, job: &Job<'_>) -> Result<(), SandboxError> {
        let Some(private) = job.private.and_then(|path| path.canonicalize().ok()) else {
            return Ok(());
        };
        let granted = job.policy.read.iter().chain(&job.policy.write);
        let granted = granted.filter_map(|path| Path::new(path).canonicalize().ok());
        let around = |path: &Path| private.starts_with(path) || path.starts_with(&private);
        if granted.into_iter().any(|path| around(&path)) {
            return Err(SandboxError::BadPolicy(
                "A path that the sandbox's configuration grants holds polis's own data, or is in it."
                    .to_owned(),
            ));
        }
        if self.system.programs().any(|path| private.starts_with(path)) {
            return Err(SandboxError::BadPolicy(
                "Polis's own data lies among the system's programs, which every command sees; \
                 keep the project elsewhere."
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Where owners cannot be mapped, the workspace has to be the commands' user's, and open to it.
    fn make_owner(
        &self,
        job: &Job<'_>,
        root: BorrowedFd<'_>,
        user: (u32, u32),
    ) -> Result<(), Refused> {
        let owner = rustix::fs::fstat(root).map(|found| found.st_uid);
        if owner.is_ok_and(|owner| owner == user.0) && !job.hand_over {
            return Ok(());
        }
        if !job.hand_over {
            return Err(Refused::this_time(format!(
                "the workspace would have to belong to user {}, whom commands of root run as",
                user.0
            )));
        }
        let failed = |error: std::io::Error| {
            Refused::this_time(format!("handing over files: {}", error.kind()))
        };
        hand_over(job.workspace, user).map_err(failed)?;
        if open_way(job.workspace, user).map_err(failed)? {
            return Ok(());
        }
        Err(Refused::this_time(format!(
            "a directory above polis's own is closed to user {}, whom commands of root run as",
            user.0
        )))
    }

    /// Where control groups are made. That there is no place is remembered, that there was none
    /// for want of something that comes back is not.
    fn groups(&self) -> Result<&ControlGroups, NoGroups> {
        let known = || self.groups.get().map(|known| known.as_ref());
        if let Some(known) = known() {
            return known.map_err(Clone::clone);
        }
        let _one_at_a_time = self.finding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known() {
            return known.map_err(Clone::clone);
        }
        match ControlGroups::find() {
            Err(missing) if !missing.lasting => Err(missing),
            found => self
                .groups
                .get_or_init(|| found)
                .as_ref()
                .map_err(Clone::clone),
        }
    }

    fn filters(&self, needs: Needs) -> Option<Arc<Filter>> {
        let mut known = self.filters.lock().unwrap_or_else(PoisonError::into_inner);
        let compile = || Filter::assemble(needs).map(Arc::new);
        known.entry(needs).or_insert_with(compile).clone()
    }
}

/// Opens the directory of the workspace, without following a link on the way.
fn open_workspace(job: &Job<'_>) -> Result<(OwnedFd, DirectoryIdentity), Refused> {
    let failed = |error: rustix::io::Errno| not_shown(Errno(error.raw_os_error()));
    let root = open_without_links(job.workspace).map_err(failed)?;
    let identity = DirectoryIdentity::of(root.as_fd()).map_err(failed)?;
    match job.identity {
        Some(wanted) if wanted != identity => Err(not_shown(Errno(libc::ESTALE))),
        _ => Ok((root, identity)),
    }
}

fn ending(end: End) -> Ending {
    match end {
        End::Status(status) => match (libc::WIFSIGNALED(status), libc::WTERMSIG(status)) {
            (true, signal) => Ending::Killed(signal::name(signal)),
            (false, _) => Ending::Exited(libc::WEXITSTATUS(status)),
        },
        End::TimedOut => Ending::TimedOut,
        End::Cancelled => Ending::Cancelled,
        End::OutOfMemory => Ending::OutOfMemory,
    }
}

/// Refuses a policy whose paths are not there: better said than silently left out.
fn check_paths(policy: &CommandPolicy) -> Result<(), SandboxError> {
    for path in policy.read.iter().chain(&policy.write) {
        let path = PathBuf::from(path);
        if !path.is_absolute() || !path.exists() {
            return Err(SandboxError::BadPolicy(
                "A path that the sandbox's configuration grants is not there.".to_owned(),
            ));
        }
    }
    Ok(())
}
