//! Sandbox for shell commands, confined by the Linux kernel.
//!
//! [`Sandbox::run`] runs a shell command line in a directory. In the strongest tier ([`SandboxTier`]) the
//! kernel confines it with namespaces, a file system view with only the workspace and the system's programs,
//! Landlock, seccomp, resource limits and a control group; weaker tiers lack some of these layers. In no tier
//! does the command run as the kernel's user 0. The features of this machine are detected by trying the
//! tiers, strongest first; if none that the policy allows works, the command is refused. All processes of the
//! command are gone when `run` returns, and when this process dies.
//!
//! A command is three types on its way: `CommandRequest` from outside, `SandboxPlan` inside, and
//! `CommandOutcome` back. The plan is a type of its own because the warden reads it after the clone, where it must
//! not allocate: it has the request's strings and limits in the form of the kernel's calls.
//!
//! ```no_run
//! use polis_core::workspace::command::CommandRequest;
//! use polis_core::workspace::command_policy::CommandPolicy;
//! use polis_workspace::sandbox::{Sandbox, SandboxContext};
//!
//! let sandbox = Sandbox::new();
//! let request = CommandRequest::trusted("make test", &CommandPolicy::default());
//! let run = sandbox.run(&request, &SandboxContext::new("/srv/project".as_ref()))?;
//! println!("{:?} in {} ms: {}", run.ending, run.duration_ms, run.stdout.text);
//! # Ok::<(), polis_workspace::sandbox::SandboxError>(())
//! ```

mod blueprint;
mod isolation;
mod kernel;
mod limits;
mod output;
mod probe;
mod process;
mod sandbox_context;
mod sandbox_plan;
mod terminal;
mod tier_refusal;

pub(crate) use kernel::{malloc_trim, mallopt_return_freed_memory};
use parking_lot::Mutex;
use polis_core::number::saturating_cast;
pub use sandbox_context::{CancelHandle, OutputCallback, SandboxContext};
pub use terminal::SandboxTerminal;

use std::collections::HashMap;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_outcome::{CommandEnding, CommandOutcome};
use polis_core::workspace::command_policy::{
    CommandLimits, CommandPolicy, NetworkAccess, SandboxTier,
};

use self::blueprint::{SandboxBlueprint, contains_project_data, seccomp_options};
use self::isolation::host_view::HostSystemView;
use self::isolation::landlock::LandlockSupport;
use self::isolation::network_namespace::NetworkNamespaceCache;
use self::isolation::no_namespaces::{
    ScratchDirectory, chown_output_directory, chown_workspace, count_queued_signals,
    count_user_processes, grant_traversal,
};
use self::isolation::seccomp::{SeccompFilter, SeccompOptions};
use self::isolation::user_mapping::{LauncherUser, OwnerMapCache};
use self::kernel::Errno;
use self::limits::cgroup::{ControlGroupLease, ControlGroups, ControlGroupsUnavailable};
use self::limits::inotify::InotifyPool;
use self::output::capture::OutputCapture;
use self::output::spool::SpoolDirectory;
use self::process::child_process::ExitingProcesses;
use self::process::command_execution::CommandExecution;
use self::tier_refusal::{
    TierRefusal, classify_start_error, is_resource_shortage, workspace_mount_refusal,
};
use crate::directory::{DirectoryIdentity, open_directory_no_symlinks};
use crate::refusal_tables::{SandboxProblem, SandboxStep};

/// Runs sandboxed commands. Cheap to keep, and shared by threads.
#[derive(Debug)]
pub struct Sandbox {
    system: HostSystemView,
    launcher: LauncherUser,
    landlock: Option<LandlockSupport>,
    filters: Mutex<HashMap<SeccompOptions, Option<Arc<SeccompFilter>>>>,
    maps: OwnerMapCache,
    network_cache: NetworkNamespaceCache,
    inotify: InotifyPool,
    exiting: ExitingProcesses,
    groups: OnceLock<Result<ControlGroups, ControlGroupsUnavailable>>,
    detecting_groups: Mutex<()>,
    /// Rank of the strongest tier that has not failed permanently.
    max_tier: AtomicU8,
}

/// Reason why a command was not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// This machine cannot confine it as strongly as the policy requires.
    #[error("no permitted tier of the sandbox works here: {0:?}")]
    Unavailable(Vec<SandboxProblem>),
    /// The policy grants an invalid path.
    #[error("a path of the sandbox configuration is invalid ({})", .0.name())]
    BadPolicy(PolicyProblem),
    /// The sandbox was built, but the command did not start in it.
    #[error("the command did not start: {0:?}")]
    Failed(SandboxProblem),
}

/// Why a path that the policy grants is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyProblem {
    /// It contains polis's own data, or is inside it.
    OwnData,
    /// Polis's own data is inside a directory of system programs, which every command sees.
    SystemPrograms,
    /// It is not absolute, or does not exist.
    NotAbsolute,
}

impl PolicyProblem {
    /// Returns the name by which a message selects its text.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OwnData => "own-data",
            Self::SystemPrograms => "system-programs",
            Self::NotAbsolute => "not-absolute",
        }
    }
}

const TIERS_STRONGEST_FIRST: [SandboxTier; 4] = [
    SandboxTier::Full,
    SandboxTier::Watched,
    SandboxTier::Landlock,
    SandboxTier::Bare,
];

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    /// Creates a sandbox as strong as this machine allows.
    pub fn new() -> Self {
        Self::with_max_tier(SandboxTier::Full)
    }

    /// Creates a sandbox no stronger than a tier, to test the behaviour of a less capable machine.
    pub fn with_max_tier(tier: SandboxTier) -> Self {
        Self {
            system: HostSystemView::detect(),
            launcher: LauncherUser::current(),
            landlock: kernel::landlock_abi_version()
                .ok()
                .filter(|&version| version >= 1)
                .map(LandlockSupport::from_version),
            filters: Mutex::default(),
            maps: OwnerMapCache::default(),
            network_cache: NetworkNamespaceCache::default(),
            inotify: InotifyPool::from_user_limits(),
            exiting: ExitingProcesses::default(),
            groups: OnceLock::new(),
            detecting_groups: Mutex::default(),
            max_tier: AtomicU8::new(tier_rank(tier)),
        }
    }

    /// Limits Landlock to an older ABI version, for tests.
    #[must_use]
    pub fn with_max_landlock_version(mut self, version: i32) -> Self {
        let supported = self.landlock.map(LandlockSupport::version);
        let version = supported.map(|supported| supported.min(version));
        self.landlock = version.map(LandlockSupport::from_version);
        self
    }

    /// Waits until the wardens of earlier commands have exited. All processes of a command have exited when
    /// [`Sandbox::run`] returns; only its warden may still be exiting.
    pub fn wait_for_exiting_wardens(&self) {
        self.exiting.wait_all();
    }

    /// Runs a command to its end, in the strongest tier that works. Fails with [`SandboxError::Unavailable`]
    /// if no tier that the policy allows works on this machine; a timeout or a failed command is not an
    /// error, but an outcome.
    pub fn run(
        &self,
        request: &CommandRequest,
        context: &SandboxContext<'_>,
    ) -> Result<CommandOutcome, SandboxError> {
        check_policy_paths(&request.policy)?;
        self.check_private_data(&request.policy, context)?;
        if request.command.contains('\0') {
            return Err(SandboxError::Failed(SandboxProblem::CommandHasNul));
        }
        let mut problems = Vec::new();
        for tier in TIERS_STRONGEST_FIRST {
            if tier < request.policy.weakest_tier {
                break;
            }
            if tier_rank(tier) > self.max_tier.load(Ordering::Relaxed) {
                continue;
            }
            match self.run_at_tier(request, context, tier) {
                Ok(run) => return Ok(run),
                Err(TierRefusal::LayerMissing {
                    problem,
                    is_permanent: lasting,
                }) => {
                    problems.push(problem);
                    if lasting {
                        let below = tier_rank(tier).saturating_sub(1);
                        self.max_tier.fetch_min(below, Ordering::Relaxed);
                    }
                }
                Err(TierRefusal::JobFailed(error)) => return Err(error),
            }
        }
        Err(SandboxError::Unavailable(problems))
    }
}

fn tier_rank(tier: SandboxTier) -> u8 {
    match tier {
        SandboxTier::Bare => 0,
        SandboxTier::Landlock => 1,
        SandboxTier::Watched => 2,
        SandboxTier::Full => 3,
    }
}

impl Sandbox {
    /// Fails if the kernel's Landlock is missing or too old for a tier.
    fn check_landlock(&self, tier: SandboxTier) -> Result<(), TierRefusal> {
        match self.landlock {
            None if tier > SandboxTier::Bare => {
                Err(TierRefusal::missing_permanently(SandboxProblem::NoLandlock))
            }
            Some(abilities)
                if tier == SandboxTier::Landlock && !abilities.is_sufficient_alone() =>
            {
                Err(TierRefusal::missing_permanently(
                    SandboxProblem::LandlockTooOld,
                ))
            }
            _ => Ok(()),
        }
    }

    fn run_at_tier(
        &self,
        request: &CommandRequest,
        context: &SandboxContext<'_>,
        tier: SandboxTier,
    ) -> Result<CommandOutcome, TierRefusal> {
        let (policy, limits) = (&request.policy, &request.policy.limits);
        let (root, identity) = open_workspace(context)?;
        let group = self.lease_control_group(tier, limits)?;
        self.check_landlock(tier)?;
        let network = policy.network;
        let Some(needs) = seccomp_options(tier, network, self.landlock, self.launcher) else {
            return Err(TierRefusal::missing_for_job(
                SandboxProblem::LoopbackWithoutNamespace,
            ));
        };
        let filters = self.seccomp_filter(needs);
        if tier > SandboxTier::Bare && filters.is_none() {
            return Err(TierRefusal::missing_permanently(SandboxProblem::NoFilter));
        }
        let output = context.output_directory.filter(|path| path.is_dir());
        let network = (tier >= SandboxTier::Watched
            && network == NetworkAccess::Off
            && self.launcher.is_root())
        .then(|| self.network_cache.get_or_create(identity).ok())
        .flatten();
        let spaces = tier >= SandboxTier::Watched;
        let outside = self.launcher.command_user();
        let handed_to = (!spaces && self.launcher.is_root()).then_some(outside);
        if let Some(user) = handed_to {
            self.ensure_workspace_owner(context, root.as_fd(), user)?;
            // The output directory is only for reading earlier output; the command runs without it as well.
            let _ = output.map(|output| chown_output_directory(output, user));
            let _ = output.map(|output| grant_traversal(output, user));
        }
        if !spaces && contains_project_data(root.as_fd()) {
            return Err(TierRefusal::missing_for_job(
                SandboxProblem::ContainsProject,
            ));
        }
        let scratch = (!spaces)
            .then(|| ScratchDirectory::new(handed_to))
            .transpose();
        let scratch = scratch.map_err(|error| {
            TierRefusal::missing_for_job(SandboxProblem::StepUnavailable {
                step: SandboxStep::ScratchDirectory,
                error: error.kind().to_string(),
            })
        })?;
        let inotify = self.inotify.take_share();
        let prepared_plan = SandboxBlueprint {
            tier,
            host_view: &self.system,
            launcher: self.launcher,
            landlock: self.landlock,
            seccomp_filter: filters,
            owner_maps: &self.maps,
            request,
            workspace: context.workspace,
            root,
            identity,
            output,
            scratch: scratch.as_ref().map(ScratchDirectory::path),
            in_empty_network: network.is_some(),
            other_processes: if spaces {
                0
            } else {
                count_user_processes(outside.0)
            },
            other_signals: if spaces { 0 } else { count_queued_signals() },
            inotify: inotify.limits,
        }
        .build_plan()
        .map_err(workspace_mount_refusal)?;
        let limit = saturating_cast::<usize>(limits.output);
        let spool_directory = context.output_directory.map(|directory| SpoolDirectory {
            directory: directory.to_owned(),
            file_quota: limits.spool,
            directory_quota: limits.spool.saturating_mul(4),
        });
        let mut capture = OutputCapture::new(limit, spool_directory);
        let start = Instant::now();
        let ending = CommandExecution {
            plan: Arc::clone(&prepared_plan.plan),
            launcher: self.launcher,
            group: group.as_ref(),
            timeout: Duration::from_millis(request.timeout_ms),
            cancel: context.cancel.map(CancelHandle::readable_fd),
            output: &mut |stream, bytes| {
                if let Some(watch) = context.on_output {
                    watch(stream, bytes);
                }
                capture.push(stream, bytes);
            },
            network,
            exiting: &self.exiting,
        }
        .run_to_completion()
        .map_err(|failed| classify_start_error(failed, tier))?;
        let duration = start.elapsed();
        drop(inotify);
        let has_failed = matches!(
            ending,
            CommandEnding::Exited(1..) | CommandEnding::Killed(_)
        );
        let is_oom = has_failed && group.is_some_and(|group| group.was_oom_killed());
        let captured = capture.finish();
        Ok(CommandOutcome {
            ending: if is_oom {
                CommandEnding::OutOfMemory
            } else {
                ending
            },
            stdout: captured.stdout,
            stderr: captured.stderr,
            duration_ms: saturating_cast::<u64>(duration.as_millis()),
            tier: Some(tier),
            spool_limit: (captured.spooled.as_ref())
                .and_then(|spooled| spooled.is_truncated.then_some(spooled.bytes)),
            spool: captured.spooled.map(|spooled| spooled.name),
            renamed_entries: Vec::new(),
        })
    }

    /// Leases a control group, for the tier that has one.
    fn lease_control_group(
        &self,
        tier: SandboxTier,
        limits: &CommandLimits,
    ) -> Result<Option<ControlGroupLease<'_>>, TierRefusal> {
        let groups = match (tier, self.control_groups()) {
            (SandboxTier::Full, Ok(groups)) => Some(groups),
            (SandboxTier::Full, Err(missing)) if !missing.is_permanent => {
                return Err(TierRefusal::JobFailed(SandboxError::Failed(
                    missing.problem,
                )));
            }
            (SandboxTier::Full, Err(missing)) => {
                return Err(TierRefusal::LayerMissing {
                    problem: missing.problem,
                    is_permanent: true,
                });
            }
            _ => None,
        };
        let group = groups.map(|groups| groups.lease(limits));
        group
            .transpose()
            .map_err(|error| match error.raw_os_error().map(Errno) {
                Some(errno) if is_resource_shortage(errno) => TierRefusal::out_of_resources(errno),
                _ => TierRefusal::missing_for_job(SandboxProblem::StepUnavailable {
                    step: SandboxStep::ControlGroup,
                    error: error.kind().to_string(),
                }),
            })
    }

    /// Fails if the policy would show the command private data of polis.
    fn check_private_data(
        &self,
        policy: &CommandPolicy,
        context: &SandboxContext<'_>,
    ) -> Result<(), SandboxError> {
        let Some(private) = context
            .private_data
            .and_then(|path| path.canonicalize().ok())
        else {
            return Ok(());
        };
        let granted = policy.read.iter().chain(&policy.write);
        let granted = granted.filter_map(|path| Path::new(path).canonicalize().ok());
        let around = |path: &Path| private.starts_with(path) || path.starts_with(&private);
        if granted.into_iter().any(|path| around(&path)) {
            return Err(SandboxError::BadPolicy(PolicyProblem::OwnData));
        }
        if self
            .system
            .program_directories()
            .any(|path| private.starts_with(path))
        {
            return Err(SandboxError::BadPolicy(PolicyProblem::SystemPrograms));
        }
        Ok(())
    }

    /// Without ID-mapped mounts, the commands' user must own the workspace and be able to reach it.
    fn ensure_workspace_owner(
        &self,
        context: &SandboxContext<'_>,
        root: BorrowedFd<'_>,
        user: (u32, u32),
    ) -> Result<(), TierRefusal> {
        let owner = rustix::fs::fstat(root).map(|found| found.st_uid);
        if owner.is_ok_and(|owner| owner == user.0) && !context.may_chown {
            return Ok(());
        }
        if !context.may_chown {
            return Err(TierRefusal::missing_for_job(SandboxProblem::OtherOwner {
                user: user.0,
            }));
        }
        let failed = |error: std::io::Error| {
            TierRefusal::missing_for_job(SandboxProblem::StepUnavailable {
                step: SandboxStep::FileOwner,
                error: error.kind().to_string(),
            })
        };
        chown_workspace(context.workspace, user).map_err(failed)?;
        if grant_traversal(context.workspace, user).map_err(failed)? {
            return Ok(());
        }
        Err(TierRefusal::missing_for_job(
            SandboxProblem::ParentInaccessible { user: user.0 },
        ))
    }

    /// Returns the pool of control groups. A permanent failure is cached; a temporary shortage of resources
    /// is not.
    fn control_groups(&self) -> Result<&ControlGroups, ControlGroupsUnavailable> {
        let cached = || self.groups.get().map(|groups| groups.as_ref());
        if let Some(groups) = cached() {
            return groups.map_err(Clone::clone);
        }
        let _one_at_a_time = self.detecting_groups.lock();
        if let Some(groups) = cached() {
            return groups.map_err(Clone::clone);
        }
        match ControlGroups::detect() {
            Err(missing) if !missing.is_permanent => Err(missing),
            found => self
                .groups
                .get_or_init(|| found)
                .as_ref()
                .map_err(Clone::clone),
        }
    }

    fn seccomp_filter(&self, needs: SeccompOptions) -> Option<Arc<SeccompFilter>> {
        let mut filters = self.filters.lock();
        let compile = || SeccompFilter::compile(needs).map(Arc::new);
        filters.entry(needs).or_insert_with(compile).clone()
    }
}

/// Opens the directory of the workspace without following links.
fn open_workspace(
    context: &SandboxContext<'_>,
) -> Result<(OwnedFd, DirectoryIdentity), TierRefusal> {
    let failed = |error: rustix::io::Errno| workspace_mount_refusal(Errno(error.raw_os_error()));
    let root = open_directory_no_symlinks(context.workspace).map_err(failed)?;
    let identity = DirectoryIdentity::from_fd(root.as_fd()).map_err(failed)?;
    match context.identity {
        Some(expected) if expected != identity => Err(workspace_mount_refusal(Errno(libc::ESTALE))),
        _ => Ok((root, identity)),
    }
}

/// Fails if a path of the policy does not exist: an error is better than silently ignoring it.
fn check_policy_paths(policy: &CommandPolicy) -> Result<(), SandboxError> {
    for path in policy.read.iter().chain(&policy.write) {
        let path = PathBuf::from(path);
        if !path.is_absolute() || !path.exists() {
            return Err(SandboxError::BadPolicy(PolicyProblem::NotAbsolute));
        }
    }
    Ok(())
}
