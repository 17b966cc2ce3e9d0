//! Payloads of events about workspaces, files and commands. They never contain the content of a file, the output
//! of a command or a directory of the host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::timestamp::Timestamp;
use crate::workspace::command_policy::SandboxTier;

/// Data of `workspace.assigned` and `workspace.bound`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceBindingEvent {
    /// The agent that owns the workspace.
    pub workspace_id: AgentId,
    /// Whether it is bound to a directory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bound: bool,
    /// Whether another directory was abandoned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moved: bool,
}

/// Data of the `file.written` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileWrittenEvent {
    /// Path in the workspace.
    pub path: String,
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// Hash of the content.
    pub hash: String,
    /// Whether the file is new.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub created: bool,
}

/// Data of the `file.edited` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileEditedEvent {
    /// Path in the workspace.
    pub path: String,
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// Hash of the content.
    pub hash: String,
    /// Number of replacements.
    pub replaced: u64,
}

/// Data of the `file.deleted` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDeletedEvent {
    /// Path in the workspace.
    pub path: String,
    /// Whether a directory may be deleted with its content.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recursive: bool,
}

/// Data of the `file.moved` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileMovedEvent {
    /// Old path in the workspace.
    pub path: String,
    /// New path in the workspace.
    pub to: String,
}

/// Data of the `file.directory-made` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryMadeEvent {
    /// Path in the workspace.
    pub path: String,
}

/// Data of the `file.refused` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRefusedEvent {
    /// The file tool, such as `read_file`.
    pub op: String,
    /// The path that was named, truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Code of the refusal.
    pub code: String,
}

/// Data of the `command.started` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandStartedEvent {
    /// Id of the command in the history.
    pub id: String,
    /// The command, truncated.
    pub command: String,
    /// The agent that runs it.
    pub agent: AgentId,
    /// When it began.
    pub started_at: Timestamp,
}

/// Data of the `command.run` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandRunEvent {
    /// Id of the command in the history; absent in events of early versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The command.
    pub command: String,
    /// Whether `command` is truncated.
    #[serde(
        default,
        rename = "commandCut",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub command_truncated: bool,
    /// The agent that ran it.
    pub agent: AgentId,
    /// The agent that owns the workspace.
    pub workspace: AgentId,
    /// When it began.
    pub started_at: Timestamp,
    /// Run time, in milliseconds.
    pub duration_ms: u64,
    /// Exit code, if it ended by itself or by a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it, such as `SIGKILL`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Whether it exceeded its time limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Whether it was cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// Whether it exceeded its memory limit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_memory: bool,
    /// Bytes written to standard output.
    pub stdout_bytes: u64,
    /// Bytes written to standard error.
    pub stderr_bytes: u64,
    /// Sandbox tier: T0, T0u, T1 or T2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub sandbox: Option<SandboxTier>,
}

/// Data of the `command.refused` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRefusedEvent {
    /// The command, truncated.
    pub command: String,
    /// Code of the refusal.
    pub code: String,
    /// The reason.
    pub reason: String,
}
