//! Effect of a tool, and the MCP annotations (hints) by which clients decide whether to ask a person.
//!
//! Every tool has all four hints: a client assumes the worst case for a missing hint, and some clients (Codex) then
//! refuse the tool if no person can be asked. The hints are truthful; [`REASONS`] gives the reason where the tool's
//! name does not make it obvious.

use serde_json::{Value, json};

use super::{Installation, Tool};

/// Effect of a tool on stored data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reads only.
    Look,
    /// Adds data, or changes it without loss: the previous state stays readable in a history, or the change can be
    /// undone.
    Add,
    /// May permanently replace or remove data.
    Change,
}

/// Reasons for a tool's hints, where they are not obvious from what it does.
const REASONS: &[(&str, &str)] = &[
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
        "The text it replaces stays in the board's history, and `whiteboard_restore` brings it back; history keeps 10 \
         versions unless configured otherwise.",
    ),
    (
        "whiteboard_section",
        "The version it changes stays in the board's history.",
    ),
    (
        "whiteboard_restore",
        "It makes a new version; the one before it stays in the board's history.",
    ),
    (
        "blackboard_write",
        "The text it replaces stays in the file's history, as with boards.",
    ),
    (
        "check_messages",
        "It marks messages as read; `since` reads them again.",
    ),
    (
        "write_file",
        "A file that was there is replaced, and no copy of it is kept.",
    ),
    ("edit_file", "The text it replaces is kept nowhere."),
    ("delete_file", "No copy of the file is kept."),
    (
        "move_file",
        "With `overwrite` it replaces a file of which no copy is kept.",
    ),
    (
        "run_command",
        "A command may delete the files of its workspace. The sandbox gives it no network unless the configuration says \
         `network = \"on\"`; then it is of the open world.",
    ),
    ("retire_agent", "A retired name is not given out again."),
    (
        "terminate_agent",
        "A dismissed agent does not come back, and its unread messages are dropped.",
    ),
    (
        "stop_run",
        "A run that was ended is not resumed, and unread messages are dropped.",
    ),
    ("pause_society", "`resume_society` takes it back."),
    (
        "set_budget",
        "It replaces the limits that were set; they are not kept.",
    ),
    (
        "decide_approval",
        "It adds a decision; the call that waits is kept with it.",
    ),
    (
        "add_webhook",
        "Events are sent to an address outside of polis from then on.",
    ),
    ("remove_webhook", "The webhook's secret is lost with it."),
];

impl Tool {
    /// Returns the reason for its hints, where they are not obvious.
    pub fn effect_reason(&self) -> Option<&'static str> {
        let found = REASONS.iter().find(|(name, _)| *name == self.name);
        found.map(|(_, reason)| *reason)
    }

    /// Returns the MCP annotations.
    pub fn hints(&self, installation: Installation<'_>) -> Value {
        json!({
            "readOnlyHint": self.effect == Effect::Look,
            "destructiveHint": self.effect == Effect::Change,
            "idempotentHint": self.effect == Effect::Look || self.idempotent,
            "openWorldHint": self.open_world || (self.runs_commands() && installation.network),
        })
    }

    /// Returns whether the tool runs commands.
    pub fn runs_commands(&self) -> bool {
        self.area == polis_core::token::Area::Commands && self.effect != Effect::Look
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::TOOLS;

    #[test]
    fn reasons_are_of_tools_that_exist() {
        for (name, _) in REASONS {
            assert!(Tool::find(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn destructive_and_open_world_tools_have_a_reason() {
        for tool in TOOLS {
            let hints = tool.hints(Installation {
                network: true,
                roles: None,
            });
            let grave = hints["destructiveHint"] == true || hints["openWorldHint"] == true;
            assert!(!grave || tool.effect_reason().is_some(), "{}", tool.name);
        }
    }
}
