//! Commands as they are remembered: what ran, how it ended, and the end of what it wrote.
//!
//! A command is in up to three records of the same id. While it runs, and has run for some time: one that says
//! so and is renewed (`RunningCommand`). When it has ended: how (`Command`). In both cases its output apart
//! (`CommandOutput`), so that a list reads none. What is written when is in `recorder`, reading them in `list`.

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

/// How much of a command's output is kept, in bytes.
const KEPT_OUTPUT: usize = 64 << 10;
/// How many commands of a workspace are kept, at least.
const KEPT: u32 = 500;
/// Of how many commands one looks whether too many are kept.
const SWEEP_EACH: u8 = 32;

/// What is remembered of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Remembered {
    pub(super) agent: AgentId,
    pub(super) command: String,
    /// Whether the text above is not all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) command_cut: bool,
    pub(super) started_at: Timestamp,
    /// How many bytes it wrote, complaints too.
    #[serde(default)]
    pub(super) output_bytes: u64,
    /// How it ended; none while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<Ended>,
    /// While it runs: when this was last said (milliseconds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) renewed_at: Option<i64>,
}

/// How a command ended.
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

/// The end of what a command wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Output {
    text: String,
    /// How many bytes before it are left out.
    #[serde(default)]
    omitted: u64,
}

/// The name of a command within its workspace: in the order of these texts the newest command is first.
fn fresh(started: i64, chance: &str) -> String {
    const END: u64 = 0xffff_ffff_ffff;
    let left = END.saturating_sub(started.unsigned_abs()) & END;
    format!("{left:012x}{}", chance.get(26..).unwrap_or(chance))
}

fn name(kind: RecordKind, id: &str) -> RecordName {
    RecordName::new(kind, id)
}
