//! Requests to run commands in a workspace, and their results.
//!
//! Also computes the effective timeout of a request. The commands themselves are run by `polis-workspace`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::policy::{CommandPolicy, Tier};
use crate::refusal::{Code, Refusal};

/// Maximum length of a command line, in bytes: the kernel limits a single argument to less than 128 KiB.
pub const MAX_COMMAND_BYTES: usize = 100_000;

/// A request to run a command (`run_command`).
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunCommand {
    /// A line of shell.
    pub command: String,
    /// How long it may run, in milliseconds; 60000 if left out.
    #[serde(default)]
    pub timeout_ms: Option<f64>,
}

/// One output stream of a command: its beginning and, if it was long, its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Captured {
    /// The captured text; bytes that are not UTF-8 are replaced. A line marks where the middle was omitted.
    pub text: String,
    /// Number of bytes that the command wrote.
    pub bytes: u64,
    /// Number of bytes that were omitted.
    pub omitted: u64,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It exited with this code.
    Exited(i32),
    /// It was terminated by a signal, such as `SIGKILL`.
    Killed(String),
    /// Its timeout expired.
    TimedOut,
    /// The caller cancelled it.
    Cancelled,
    /// It exceeded its memory limit.
    OutOfMemory,
}

/// A finished command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRun {
    /// How it ended.
    pub ending: Ending,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// How long it ran.
    pub duration_ms: u64,
    /// How strongly it was sandboxed.
    pub tier: Tier,
    /// The file with its complete output, by its name in the workspace's data area, if output was omitted.
    pub spool: Option<String>,
}

/// Returns the effective timeout in milliseconds. Fails with `invalid_timeout` if the requested one is out of
/// range.
pub fn timeout(asked: Option<f64>, policy: &CommandPolicy) -> Result<u64, Refusal> {
    let ceiling = policy.timeout_ceiling_ms;
    let Some(asked) = asked else {
        return Ok(policy.timeout_ms.min(ceiling));
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "a ceiling of millions of years may be off by one"
    )]
    let too_long = asked > ceiling as f64;
    if asked.is_nan() || asked < 1.0 || too_long {
        return Err(Refusal::new(
            Code::InvalidTimeout,
            format!("A timeout of {asked} ms is not possible: it has to be from 1 to {ceiling}."),
            "give timeoutMs in milliseconds, or leave it out",
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and the ceiling, checked above"
    )]
    Ok(asked as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_that_make_no_sense_are_refused() {
        let policy = CommandPolicy::default();
        assert_eq!(timeout(None, &policy), Ok(60_000));
        assert_eq!(timeout(Some(1.0), &policy), Ok(1));
        assert_eq!(timeout(Some(1500.7), &policy), Ok(1500));
        assert_eq!(timeout(Some(3_600_000.0), &policy), Ok(3_600_000));
        for absurd in [
            0.0,
            -0.0,
            0.5,
            -1.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            3_600_001.0,
            1e300,
        ] {
            assert_eq!(
                timeout(Some(absurd), &policy).map_err(|r| r.code),
                Err(Code::InvalidTimeout),
                "{absurd}"
            );
        }
    }
}
