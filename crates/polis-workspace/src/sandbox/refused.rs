//! Why a sandbox of some strength did not run a job: because this machine has no such sandbox, or
//! because of the job itself, which a weaker one would not run either.

use polis_core::workspace::policy::Tier;

use super::SandboxError;
use super::kernel::Errno;
use super::report::Step;
use super::run::NotStarted;

/// Why a tier did not run a job.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It is not to be had here.
    Missing { layer: String, lasting: bool },
    /// The job itself is at fault.
    Job(SandboxError),
}

impl Refused {
    /// Neither now nor later.
    pub(crate) fn lasting(layer: impl Into<String>) -> Self {
        Self::Missing {
            layer: layer.into(),
            lasting: true,
        }
    }

    /// For want of something that comes back.
    pub(crate) fn short_of(errno: Errno) -> Self {
        let why = format!("starting the command failed: {}", words(errno));
        Self::Job(SandboxError::Failed(why))
    }

    /// Not for this job, perhaps for the next.
    pub(crate) fn this_time(layer: impl Into<String>) -> Self {
        Self::Missing {
            layer: layer.into(),
            lasting: false,
        }
    }
}

/// Why a workspace, or what the policy shows, cannot be shown.
pub(crate) fn not_shown(errno: Errno) -> Refused {
    match errno {
        errno if scarce(errno) => Refused::short_of(errno),
        // Nothing that a weaker sandbox would do better.
        Errno(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::E2BIG | libc::ESTALE) => {
            let why = format!("showing the workspace failed: {}", words(errno));
            Refused::Job(SandboxError::Failed(why))
        }
        _ => Refused::this_time(format!("showing the workspace: {}", words(errno))),
    }
}

/// Whether a failed step means that a layer is missing, or that this job cannot run.
pub(crate) fn explain(failed: NotStarted, tier: Tier) -> Refused {
    let NotStarted { step, errno } = failed;
    let Errno(number) = errno;
    // What a kernel says that cannot do something, or must not: the next command will hear it too.
    let unable = matches!(
        number,
        libc::EPERM | libc::EACCES | libc::ENOSYS | libc::EINVAL | libc::EOPNOTSUPP | libc::ENODEV
    );
    match step {
        Some(step @ (Step::Execute | Step::Directory)) => Refused::Job(SandboxError::Failed(
            format!("{} failed: {}", step.about(), words(errno)),
        )),
        _ if tier == Tier::Bare || scarce(errno) => Refused::short_of(errno),
        // These depend on the workspace and on what the policy shows: a weaker sandbox is no remedy.
        Some(step @ (Step::Copy | Step::Fixture | Step::Attach))
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
            let why = format!("{} failed: {}", step.about(), words(errno));
            Refused::Job(SandboxError::Failed(why))
        }
        None => Refused::Missing {
            layer: format!("new namespaces: {}", words(errno)),
            lasting: unable,
        },
        Some(step) => Refused::Missing {
            layer: format!("{}: {}", step.about(), words(errno)),
            lasting: unable && !of_the_job(step),
        },
    }
}

/// Steps whose outcome is not the same for every command.
fn of_the_job(step: Step) -> bool {
    matches!(
        step,
        Step::Copy
            | Step::Fixture
            | Step::Attributes
            | Step::Attach
            | Step::Tmp
            | Step::Start
            | Step::Descriptors
            | Step::Limits
            | Step::Watch
    )
}

/// Whether there is too little of something that comes back: descriptors, memory, processes. That
/// is no reason for a weaker sandbox, not even once.
pub(crate) fn scarce(Errno(number): Errno) -> bool {
    matches!(
        number,
        libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE
    )
}

/// An error number in words.
pub(crate) fn words(Errno(number): Errno) -> String {
    let error = std::io::Error::from_raw_os_error(number);
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_machine_cannot_do_lowers_the_tier_for_good() {
        let lasting = |step, number| {
            let failed = NotStarted {
                step,
                errno: Errno(number),
            };
            match explain(failed, Tier::Full) {
                Refused::Missing { lasting, .. } => Some(lasting),
                Refused::Job(_) => None,
            }
        };
        for (step, number, expected) in [
            (None, libc::EPERM, Some(true)),
            (None, libc::ENOSYS, Some(true)),
            (Some(Step::User), libc::EPERM, Some(true)),
            (Some(Step::Proc), libc::EPERM, Some(true)),
            // The warden was killed while it was being set up.
            (None, libc::EPIPE, Some(false)),
            (None, libc::ESRCH, Some(false)),
            (Some(Step::User), libc::ENOENT, Some(false)),
            (Some(Step::User), libc::ESRCH, Some(false)),
            (None, libc::ENOSPC, Some(false)),
            (Some(Step::Limits), libc::EPERM, Some(false)),
            // The workspace, or a path of the policy.
            (Some(Step::Copy), libc::ENOENT, None),
            (Some(Step::Attach), libc::ENOTDIR, None),
            (Some(Step::Copy), libc::EACCES, Some(false)),
            // Nothing is left of something.
            (None, libc::EMFILE, None),
            (Some(Step::Tmp), libc::ENOMEM, None),
        ] {
            assert_eq!(lasting(step, number), expected, "{step:?} {number}");
        }
    }
}
