//! Command history: which commands ran in a workspace, how they ended, and the end of their output.
//!
//! A command has up to three records with the same id. A `RunningCommand` record exists while a command runs that has
//! already run for some time, and is renewed periodically. A `Command` record is written when the command has ended and
//! contains the result. In both cases the output is in a separate record (`CommandOutput`), so that listing commands
//! reads no output. `recorder` writes the records, `list` reads them.

mod list;
mod recorder;

pub use list::{
    CommandEntry, CommandList, CommandView, ListCommands, ShowCommand, list_commands, show_command,
};
pub(super) use recorder::Recorder;

use polis_core::record::{RecordKind, RecordName};
use polis_core::workspace::policy::Tier;
use polis_core::{AgentId, Timestamp};
use serde::{Deserialize, Serialize};

/// How much of a command's output is stored, in bytes.
const KEPT_OUTPUT: usize = 64 << 10;
/// Minimum number of commands stored per workspace.
const KEPT: u32 = 500;
/// One in this many commands triggers the removal of old commands.
const SWEEP_EACH: u8 = 32;

/// Stored record of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Remembered {
    pub(super) agent: AgentId,
    pub(super) command: String,
    /// Whether `command` is truncated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) command_cut: bool,
    pub(super) started_at: Timestamp,
    /// Number of bytes written to stdout and stderr.
    #[serde(default)]
    pub(super) output_bytes: u64,
    /// The result; `None` while the command runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Ended>,
    /// When the record of a running command was last renewed (milliseconds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) renewed_at: Option<i64>,
}

/// Result of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ended {
    pub(super) duration_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) signal: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) timed_out: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) cancelled: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) out_of_memory: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sandbox: Option<Tier>,
}

/// The stored end of a command's output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Output {
    text: String,
    /// Number of bytes omitted before `text`.
    #[serde(default)]
    omitted: u64,
}

/// Creates a command's name within its workspace. Names sort with the newest command first.
fn fresh(started: i64, chance: &str) -> String {
    const END: u64 = 0xffff_ffff_ffff;
    let left = END.saturating_sub(started.unsigned_abs()) & END;
    format!("{left:012x}{}", chance.get(26..).unwrap_or(chance))
}

fn name(kind: RecordKind, id: &str) -> RecordName {
    RecordName::new(kind, id)
}
