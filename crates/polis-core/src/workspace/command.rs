//! Commands in a workspace: the parameters of `run_command`, and the request that is made from them.
//!
//! A command passes through three types. [`CommandRequest`] is what the caller asked for, validated. The sandbox
//! plan, in `polis-workspace`, is the same in the form of the kernel's calls.
//! [`CommandOutcome`](super::command_outcome) is how the command ended.

use schemars::JsonSchema;
use serde::Deserialize;

use super::blocklist::check_blocklist;
use super::command_policy::CommandPolicy;
use crate::refusal::{Refusal, WorkspaceRefusal};

/// Maximum length of a command line, in bytes: the kernel limits a single argument to less than 128 KiB.
pub const MAX_COMMAND_BYTES: usize = 100_000;

/// A request to run a command (`run_command`).
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunCommandParams {
    /// Shell command line to run.
    pub command: String,
    /// Timeout in milliseconds; default: `sandbox.timeout` of the configuration (60000), at most
    /// `sandbox.timeout_ceiling` (3600000).
    #[serde(default)]
    pub timeout_ms: Option<f64>,
}

/// A command to run: what the caller asked for, after all checks that need no sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRequest {
    /// The shell command line.
    pub command: String,
    /// Maximum run time in milliseconds.
    pub timeout_ms: u64,
    /// The policy of the caller's role: its permissions and limits.
    pub policy: CommandPolicy,
}

impl CommandRequest {
    /// Creates the request for these parameters. Fails with `invalid_timeout` if the timeout is out of range, with
    /// `invalid_command` if the text cannot be a command, and with `command_blocked` if it is on the blocklist.
    pub fn from_params(params: &RunCommandParams, policy: &CommandPolicy) -> Result<Self, Refusal> {
        let timeout_ms = effective_timeout_ms(params.timeout_ms, policy)?;
        check_command_text(&params.command)?;
        check_blocklist(&params.command)?;
        Ok(Self {
            command: params.command.clone(),
            timeout_ms,
            policy: policy.clone(),
        })
    }

    /// Creates a request without checks, with the policy's timeout, for commands that polis itself chooses.
    pub fn trusted(command: &str, policy: &CommandPolicy) -> Self {
        Self {
            command: command.to_owned(),
            timeout_ms: policy.timeout_ms,
            policy: policy.clone(),
        }
    }
}

/// Returns the effective timeout in milliseconds. Fails with `invalid_timeout` if the requested one is out of
/// range.
pub fn effective_timeout_ms(
    requested: Option<f64>,
    policy: &CommandPolicy,
) -> Result<u64, Refusal> {
    let ceiling = policy.timeout_ceiling_ms;
    let Some(requested) = requested else {
        return Ok(policy.default_timeout_ms());
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "a ceiling of millions of years may be off by one"
    )]
    let too_long = requested > ceiling as f64;
    if requested.is_nan() || requested < 1.0 || too_long {
        return Err(Refusal::from(WorkspaceRefusal::TimeoutOutOfRange {
            requested: requested.to_string(),
            ceiling,
        }));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and the ceiling, checked above"
    )]
    Ok(requested as u64)
}

/// Fails with `invalid_command` if the text cannot be a command at all.
fn check_command_text(command: &str) -> Result<(), Refusal> {
    if command.trim().is_empty() {
        return Err(WorkspaceRefusal::EmptyCommand.into());
    }
    if command.contains('\0') {
        return Err(WorkspaceRefusal::CommandHasNul.into());
    }
    if command.len() > MAX_COMMAND_BYTES {
        return Err(WorkspaceRefusal::CommandTooLong {
            bytes: command.len(),
            max_command_bytes: MAX_COMMAND_BYTES,
        }
        .into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RefusalCode;

    #[test]
    fn text_that_is_no_command_is_invalid() {
        let long = |length: usize| "a".repeat(length);
        for command in [
            "",
            " ",
            "\n\t ",
            "echo \0",
            "\0",
            &long(MAX_COMMAND_BYTES + 1),
        ] {
            let refusal = check_command_text(command).unwrap_err();
            assert_eq!(refusal.code, RefusalCode::INVALID_COMMAND);
        }
        assert_eq!(check_command_text(&long(MAX_COMMAND_BYTES)), Ok(()));
        assert_eq!(check_command_text("echo 你好"), Ok(()));
        assert_eq!(check_command_text("#"), Ok(()));
    }

    #[test]
    fn request_is_checked_and_completed() {
        let policy = CommandPolicy::default();
        let request = |command: &str, timeout_ms| {
            let command = command.to_owned();
            let params = RunCommandParams {
                command,
                timeout_ms,
            };
            CommandRequest::from_params(&params, &policy).map_err(|refusal| refusal.code)
        };
        let accepted = request("make", Some(5.0)).unwrap();
        assert_eq!(
            accepted,
            CommandRequest {
                timeout_ms: 5,
                ..CommandRequest::trusted("make", &policy)
            }
        );
        assert_eq!(request("make", None).unwrap().timeout_ms, 60_000);
        assert_eq!(request("", None), Err(RefusalCode::INVALID_COMMAND));
        assert_eq!(request("sudo ls", None), Err(RefusalCode::COMMAND_BLOCKED));
        assert_eq!(request("", Some(0.0)), Err(RefusalCode::INVALID_TIMEOUT));
    }

    #[test]
    fn timeout_out_of_range_is_refused() {
        let policy = CommandPolicy::default();
        assert_eq!(effective_timeout_ms(None, &policy), Ok(60_000));
        assert_eq!(effective_timeout_ms(Some(1.0), &policy), Ok(1));
        assert_eq!(effective_timeout_ms(Some(1500.7), &policy), Ok(1500));
        assert_eq!(
            effective_timeout_ms(Some(3_600_000.0), &policy),
            Ok(3_600_000)
        );
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
                effective_timeout_ms(Some(absurd), &policy).map_err(|r| r.code),
                Err(RefusalCode::INVALID_TIMEOUT),
                "{absurd}"
            );
        }
    }
}
