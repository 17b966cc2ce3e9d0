//! Outcome of a command: how it ended, its output, the sandbox it ran in and the limits it hit.
//!
//! [`CommandOutcome`] is the only type for the end of a command. The sandbox creates it, the tool result, the
//! stored record and the event are made from it, and lists and pages read it. Its JSON is the stored form, without
//! the output, which is in a record of its own.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::command_policy::SandboxTier;
use super::signal::{signal_name, signal_number};

/// Output stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Captured output of one stream: its beginning and, if it was long, its end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamOutput {
    /// The captured text; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Number of bytes that the command wrote.
    pub bytes: u64,
    /// Number of bytes that were omitted.
    pub omitted: u64,
    /// Position in `text` at which they were omitted.
    pub omitted_at: usize,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "CommandEndingFields", from = "CommandEndingFields")]
pub enum CommandEnding {
    /// It exited with this code.
    Exited(i32),
    /// It was terminated by a signal with this number.
    Killed(i32),
    /// Its timeout expired.
    TimedOut,
    /// The caller cancelled it.
    Cancelled,
    /// It exceeded its memory limit.
    OutOfMemory,
}

/// Number of `SIGKILL`.
const SIGKILL: i32 = 9;

impl CommandEnding {
    /// Returns the exit code: 128 plus the signal number if a signal ended the command. Returns `None` for a
    /// command that did not end by itself.
    pub fn exit_code(self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(code),
            Self::Killed(_) | Self::OutOfMemory => self.signal().map(|signal| 128 + signal),
            Self::TimedOut | Self::Cancelled => None,
        }
    }

    /// Returns the number of the signal that ended the command.
    pub fn signal(self) -> Option<i32> {
        match self {
            Self::Killed(signal) => Some(signal),
            Self::OutOfMemory => Some(SIGKILL),
            Self::Exited(_) | Self::TimedOut | Self::Cancelled => None,
        }
    }

    /// Returns the name of the signal that ended the command, such as `SIGKILL`.
    pub fn signal_name(self) -> Option<String> {
        self.signal().map(signal_name)
    }
}

/// JSON form of [`CommandEnding`].
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CommandEndingFields {
    /// Exit code; 128 plus the signal number if a signal ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    /// Whether it timed out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    timed_out: bool,
    /// Whether it was cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cancelled: bool,
    /// Whether it exceeded its memory limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    out_of_memory: bool,
}

impl From<CommandEnding> for CommandEndingFields {
    fn from(ending: CommandEnding) -> Self {
        Self {
            exit_code: ending.exit_code(),
            signal: ending.signal_name(),
            timed_out: ending == CommandEnding::TimedOut,
            cancelled: ending == CommandEnding::Cancelled,
            out_of_memory: ending == CommandEnding::OutOfMemory,
        }
    }
}

impl From<CommandEndingFields> for CommandEnding {
    /// Reads every stored form. A record without any of the fields belongs to a command that polis did not wait for.
    fn from(fields: CommandEndingFields) -> Self {
        let signal = fields.signal.as_deref().and_then(signal_number);
        match (fields.exit_code, signal) {
            _ if fields.timed_out => Self::TimedOut,
            _ if fields.cancelled => Self::Cancelled,
            _ if fields.out_of_memory => Self::OutOfMemory,
            (_, Some(signal)) => Self::Killed(signal),
            (Some(code), None) => Self::Exited(code),
            (None, None) => Self::Cancelled,
        }
    }
}

/// Outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandOutcome {
    /// Run time in milliseconds.
    #[schemars(with = "Option<u64>")]
    pub duration_ms: u64,
    /// How it ended.
    #[serde(flatten)]
    #[schemars(with = "CommandEndingFields")]
    pub ending: CommandEnding,
    /// Sandbox tier.
    #[serde(rename = "sandbox", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub tier: Option<SandboxTier>,
    /// Its standard output.
    #[serde(skip)]
    pub stdout: StreamOutput,
    /// Its standard error.
    #[serde(skip)]
    pub stderr: StreamOutput,
    /// The file with its complete output, by its name in the workspace's data area, if output was omitted.
    #[serde(skip)]
    pub spool: Option<String>,
    /// The size of that file in bytes, if it has only the beginning of the output.
    #[serde(skip)]
    pub spool_limit: Option<u64>,
    /// New names of entries that had the reserved name in the workspace.
    #[serde(skip)]
    pub renamed_entries: Vec<String>,
}

impl CommandOutcome {
    /// Creates an outcome without output.
    pub fn without_output(
        ending: CommandEnding,
        duration_ms: u64,
        tier: Option<SandboxTier>,
    ) -> Self {
        Self {
            duration_ms,
            ending,
            tier,
            stdout: StreamOutput::default(),
            stderr: StreamOutput::default(),
            spool: None,
            spool_limit: None,
            renamed_entries: Vec::new(),
        }
    }

    /// Returns whether a part of the output was omitted.
    pub fn is_truncated(&self) -> bool {
        self.stdout.omitted > 0 || self.stderr.omitted > 0
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn stored_form_of_every_ending_is_read_back() {
        for (ending, fields) in [
            (CommandEnding::Exited(0), json!({"exitCode": 0})),
            (CommandEnding::Exited(137), json!({"exitCode": 137})),
            (
                CommandEnding::Killed(15),
                json!({"exitCode": 143, "signal": "SIGTERM"}),
            ),
            (
                CommandEnding::Killed(40),
                json!({"exitCode": 168, "signal": "SIG40"}),
            ),
            (CommandEnding::TimedOut, json!({"timedOut": true})),
            (CommandEnding::Cancelled, json!({"cancelled": true})),
            (
                CommandEnding::OutOfMemory,
                json!({"exitCode": 137, "signal": "SIGKILL", "outOfMemory": true}),
            ),
        ] {
            let mut document = fields;
            document["durationMs"] = 700.into();
            document["sandbox"] = "T0u".into();
            let outcome = CommandOutcome::without_output(ending, 700, Some(SandboxTier::Watched));
            assert_eq!(serde_json::to_value(&outcome).unwrap(), document);
            let read: CommandOutcome = serde_json::from_value(document).unwrap();
            assert_eq!(read, outcome);
        }
    }

    #[test]
    fn stored_form_contains_no_output() {
        let mut outcome = CommandOutcome::without_output(CommandEnding::Exited(1), 5, None);
        outcome.stdout.text = "secret".to_owned();
        outcome.spool = Some("output-1-1.txt".to_owned());
        assert_eq!(
            serde_json::to_string(&outcome).unwrap(),
            r#"{"durationMs":5,"exitCode":1}"#
        );
    }

    #[test]
    fn incomplete_stored_forms_are_read() {
        for (document, ending) in [
            (r#"{"durationMs":5}"#, CommandEnding::Cancelled),
            (
                r#"{"durationMs":5,"exitCode":1,"signal":"SIGNONE","newer":[]}"#,
                CommandEnding::Exited(1),
            ),
        ] {
            let outcome: CommandOutcome = serde_json::from_str(document).unwrap();
            assert_eq!((outcome.ending, outcome.duration_ms), (ending, 5));
        }
    }
}
