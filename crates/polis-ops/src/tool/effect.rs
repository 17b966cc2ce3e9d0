//! Effect of a tool on stored data, and the MCP annotations (hints) by which clients decide whether to ask a
//! person. The hints follow from the effect, from other properties of the tool, and for commands from whether
//! they have network access.
//!
//! Every tool has all four hints: a client assumes the worst case for a missing hint, and some clients
//! (Codex) then refuse the tool if no person can be asked. The hints are truthful; [`HINT_REASONS`] gives the
//! reason where the tool's name does not make it obvious.

use serde_json::{Value, json};

use super::{Tool, ToolSchemaSettings};

/// Effect of a tool on stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Reads only.
    ReadOnly,
    /// Adds data, or changes it without loss: the previous state stays readable in a history, or the change
    /// can be undone.
    Additive,
    /// May permanently replace or remove data.
    Destructive,
}

/// Reasons for a tool's hints, where they are not obvious from what it does.
const HINT_REASONS: &[(&str, &str)] = &[
    (
        "TaskUpdate",
        "Every earlier value stays in the task's history; `deleted` is a status, and the task can still be read.",
    ),
    (
        "TaskRelease",
        "The task stays as it is, with its history; only its owner changes.",
    ),
    (
        "whiteboard_write",
        "The replaced text stays in the board's history, and `whiteboard_restore` restores it; the history keeps 10 \
         versions unless configured otherwise.",
    ),
    (
        "whiteboard_section",
        "The version it changes stays in the board's history.",
    ),
    (
        "whiteboard_restore",
        "It creates a new version; the previous one stays in the board's history.",
    ),
    (
        "blackboard_write",
        "The replaced text stays in the file's history, as with boards.",
    ),
    (
        "check_messages",
        "It marks messages as read; `since` reads them again.",
    ),
    (
        "write_file",
        "An existing file is replaced, and no copy of it is kept.",
    ),
    ("edit_file", "No copy of the replaced text is kept."),
    ("delete_file", "No copy of the file is kept."),
    (
        "move_file",
        "With `overwrite` it replaces a file of which no copy is kept.",
    ),
    (
        "run_command",
        "A command may delete files of its workspace. The sandbox has no network access unless the configuration sets \
         `network = \"on\"`; only then is the tool open-world.",
    ),
    ("retire_agent", "A retired agent's name is not reused."),
    (
        "terminate_agent",
        "A dismissal cannot be undone, and the agent's unread messages are dropped.",
    ),
    (
        "stop_run",
        "A stopped run cannot be resumed, and unread messages are dropped.",
    ),
    ("pause_society", "`resume_society` undoes it."),
    (
        "set_budget",
        "It replaces the previous limits, which are not kept.",
    ),
    (
        "decide_approval",
        "It adds a decision to the stored approval.",
    ),
    (
        "add_webhook",
        "From then on events are sent to a URL outside polis.",
    ),
    ("remove_webhook", "The webhook's secret is lost with it."),
];

impl Tool {
    /// Returns the reason for its hints, where they are not obvious.
    pub fn effect_reason(&self) -> Option<&'static str> {
        let found = HINT_REASONS.iter().find(|(name, _)| *name == self.name);
        found.map(|(_, reason)| *reason)
    }

    /// Returns the MCP annotations.
    pub fn annotations(&self, installation: ToolSchemaSettings<'_>) -> Value {
        json!({
            "readOnlyHint": self.effect == ToolEffect::ReadOnly,
            "destructiveHint": self.effect == ToolEffect::Destructive,
            "idempotentHint": self.effect == ToolEffect::ReadOnly || self.idempotent,
            "openWorldHint": self.open_world || (self.runs_commands() && installation.has_network),
        })
    }

    /// Returns whether the tool runs commands.
    pub fn runs_commands(&self) -> bool {
        self.area == polis_core::token::OperationArea::Commands
            && self.effect != ToolEffect::ReadOnly
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::TOOLS;

    #[test]
    fn every_hint_reason_names_an_existing_tool() {
        for (name, _) in HINT_REASONS {
            assert!(Tool::find(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn destructive_and_open_world_tools_have_a_reason() {
        for tool in TOOLS {
            let hints = tool.annotations(ToolSchemaSettings {
                has_network: true,
                ..ToolSchemaSettings::default()
            });
            let grave = hints["destructiveHint"] == true || hints["openWorldHint"] == true;
            assert!(!grave || tool.effect_reason().is_some(), "{}", tool.name);
        }
    }
}
