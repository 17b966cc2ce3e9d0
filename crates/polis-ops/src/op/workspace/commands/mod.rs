//! Command history: which commands ran in a workspace, how they ended, and the end of their output.
//!
//! A command has up to two records at a time, with the same id. A `RunningCommand` record exists while a command
//! runs that has already run for some time, and is renewed periodically. When the command has ended, a `Command`
//! record with the result replaces it. In both cases the output is in a separate record (`CommandOutput`), so that
//! listing commands reads no output. `command_recorder` writes the records, `command_list` reads them.

pub(crate) mod command_list;
mod command_recorder;

pub use command_list::{
    CommandEntry, CommandList, CommandView, ListCommandsParams, ShowCommandParams, list_commands,
    show_command,
};
pub(crate) use command_recorder::CommandRecorder;

use polis_core::record::{RecordKind, RecordName};
use polis_core::workspace::command_outcome::CommandOutcome;
use polis_core::{AgentId, Timestamp};
use serde::{Deserialize, Serialize};

/// How much of a command's output is stored, in bytes.
const MAX_STORED_OUTPUT_BYTES: usize = 64 << 10;
/// Minimum number of commands stored per workspace.
const MIN_STORED_COMMANDS: u32 = 500;
/// One in this many commands triggers the removal of old commands.
const COMMANDS_PER_SWEEP: u8 = 32;

/// Stored record of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CommandRecord {
    pub(crate) agent: AgentId,
    pub(crate) command: String,
    /// Whether `command` is truncated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(rename = "commandCut")]
    pub(crate) command_truncated: bool,
    pub(crate) started_at: Timestamp,
    /// Number of bytes written to stdout and stderr.
    #[serde(default)]
    pub(crate) output_bytes: u64,
    /// The outcome without its output; `None` while the command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "ended")]
    pub(crate) outcome: Option<CommandOutcome>,
    /// When the record of a running command was last renewed (milliseconds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) renewed_at: Option<i64>,
}

/// The stored end of a command's output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct CommandOutputRecord {
    text: String,
    /// Number of bytes omitted before `text`.
    #[serde(default)]
    omitted: u64,
}

/// Creates a command's name within its workspace. Names sort with the newest command first.
fn new_command_name(started: i64, random: &str) -> String {
    const END: u64 = 0xffff_ffff_ffff;
    let left = END.saturating_sub(started.unsigned_abs()) & END;
    format!("{left:012x}{}", random.get(26..).unwrap_or(random))
}

fn record_name(kind: RecordKind, id: &str) -> RecordName {
    RecordName::new(kind, id)
}
