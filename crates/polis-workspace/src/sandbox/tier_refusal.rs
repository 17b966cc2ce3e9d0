//! Reasons why a tier did not run a job: the machine lacks a layer of the sandbox, so that a weaker tier may be
//! tried; or the job itself is at fault or a resource is temporarily short, so that the job fails without
//! trying a weaker tier.

use polis_core::workspace::command_policy::SandboxTier;

use super::SandboxError;
use super::kernel::Errno;
use super::process::command_execution::SandboxStartError;
use super::process::warden_report::SetupStep;
use crate::refusal_tables::{SandboxProblem, SandboxStep};

/// Reason why a tier did not run a job.
#[derive(Debug)]
pub(crate) enum TierRefusal {
    /// A layer of the sandbox is not available.
    LayerMissing {
        problem: SandboxProblem,
        is_permanent: bool,
    },
    /// The job itself is at fault.
    JobFailed(SandboxError),
}

impl TierRefusal {
    /// Returns the refusal for a layer that will not become available later.
    pub(crate) fn missing_permanently(problem: SandboxProblem) -> Self {
        Self::LayerMissing {
            problem,
            is_permanent: true,
        }
    }

    /// Returns the refusal for a temporary shortage of resources.
    pub(crate) fn out_of_resources(errno: Errno) -> Self {
        step_failed(SandboxStep::Start, errno)
    }

    /// Returns the refusal for a layer that is not available for this job, but may be for the next.
    pub(crate) fn missing_for_job(problem: SandboxProblem) -> Self {
        Self::LayerMissing {
            problem,
            is_permanent: false,
        }
    }
}

/// Classifies a failure to mount the workspace or another path of the policy.
pub(crate) fn workspace_mount_refusal(errno: Errno) -> TierRefusal {
    match errno {
        errno if is_resource_shortage(errno) => TierRefusal::out_of_resources(errno),
        // A weaker sandbox would fail as well.
        Errno(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::E2BIG | libc::ESTALE) => {
            step_failed(SandboxStep::Mount, errno)
        }
        _ => TierRefusal::missing_for_job(step_unavailable(SandboxStep::Mount, errno)),
    }
}

/// Returns the refusal for a failed step of which the job itself is the cause.
fn step_failed(step: SandboxStep, errno: Errno) -> TierRefusal {
    let error = errno_message(errno);
    TierRefusal::JobFailed(SandboxError::Failed(SandboxProblem::StepFailed {
        step,
        error,
    }))
}

/// Returns the problem of a layer whose step failed.
fn step_unavailable(step: SandboxStep, errno: Errno) -> SandboxProblem {
    let error = errno_message(errno);
    SandboxProblem::StepUnavailable { step, error }
}

/// Classifies a failed setup step: a missing layer, or a job that cannot run.
pub(crate) fn classify_start_error(failed: SandboxStartError, tier: SandboxTier) -> TierRefusal {
    let SandboxStartError { step, errno } = failed;
    let Errno(number) = errno;
    // Errors of a kernel that lacks a feature or forbids it: they will recur with the next command.
    let unable = matches!(
        number,
        libc::EPERM | libc::EACCES | libc::ENOSYS | libc::EINVAL | libc::EOPNOTSUPP | libc::ENODEV
    );
    match step {
        Some(step @ (SetupStep::Execute | SetupStep::Directory)) => {
            step_failed(step.phrase(), errno)
        }
        _ if tier == SandboxTier::Bare || is_resource_shortage(errno) => {
            TierRefusal::out_of_resources(errno)
        }
        // These depend on the workspace and on the paths of the policy: a weaker sandbox does not help.
        Some(step @ (SetupStep::Copy | SetupStep::Fixture | SetupStep::Attach))
            if matches!(
                number,
                libc::ENOENT
                    | libc::ENOTDIR
                    | libc::EEXIST
                    | libc::EINVAL
                    | libc::ELOOP
                    | libc::ESTALE
            ) =>
        {
            step_failed(step.phrase(), errno)
        }
        None => TierRefusal::LayerMissing {
            problem: step_unavailable(SandboxStep::Namespaces, errno),
            is_permanent: unable,
        },
        Some(step) => TierRefusal::LayerMissing {
            problem: step_unavailable(step.phrase(), errno),
            is_permanent: unable && !depends_on_job(step),
        },
    }
}

/// Returns whether the outcome of a step can differ between commands.
fn depends_on_job(step: SetupStep) -> bool {
    matches!(
        step,
        SetupStep::Copy
            | SetupStep::Fixture
            | SetupStep::Attributes
            | SetupStep::Attach
            | SetupStep::Tmp
            | SetupStep::Start
            | SetupStep::Descriptors
            | SetupStep::Limits
            | SetupStep::Watch
    )
}

/// Returns whether a resource is temporarily short: descriptors, memory, processes. That is no reason for a
/// weaker sandbox, not even once.
pub(crate) fn is_resource_shortage(Errno(number): Errno) -> bool {
    matches!(
        number,
        libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE
    )
}

/// Returns the message of an errno.
pub(crate) fn errno_message(Errno(number): Errno) -> String {
    let error = std::io::Error::from_raw_os_error(number);
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_permanent_failures_lower_the_tier() {
        let lasting = |step, number| {
            let failed = SandboxStartError {
                step,
                errno: Errno(number),
            };
            match classify_start_error(failed, SandboxTier::Full) {
                TierRefusal::LayerMissing {
                    is_permanent: lasting,
                    ..
                } => Some(lasting),
                TierRefusal::JobFailed(_) => None,
            }
        };
        for (step, number, expected) in [
            (None, libc::EPERM, Some(true)),
            (None, libc::ENOSYS, Some(true)),
            (Some(SetupStep::User), libc::EPERM, Some(true)),
            (Some(SetupStep::Proc), libc::EPERM, Some(true)),
            // The warden was killed during setup.
            (None, libc::EPIPE, Some(false)),
            (None, libc::ESRCH, Some(false)),
            (Some(SetupStep::User), libc::ENOENT, Some(false)),
            (Some(SetupStep::User), libc::ESRCH, Some(false)),
            (None, libc::ENOSPC, Some(false)),
            (Some(SetupStep::Limits), libc::EPERM, Some(false)),
            // The workspace, or a path of the policy.
            (Some(SetupStep::Copy), libc::ENOENT, None),
            (Some(SetupStep::Attach), libc::ENOTDIR, None),
            (Some(SetupStep::Copy), libc::EACCES, Some(false)),
            // Temporary shortage of resources.
            (None, libc::EMFILE, None),
            (Some(SetupStep::Tmp), libc::ENOMEM, None),
        ] {
            assert_eq!(lasting(step, number), expected, "{step:?} {number}");
        }
    }
}
