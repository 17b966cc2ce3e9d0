//! What a tool may do to the world, and the hints that MCP clients decide by whether to ask a person.
//!
//! Every tool has all four hints: a client takes a missing one for the worst case, and some (Codex) refuse a tool then
//! where no person can be asked. The hints are truthful, so [`REASONS`] says why where a name does not.

use serde_json::{Value, json};

use super::{Installation, Tool};

/// What a tool may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reads only.
    Look,
    /// Adds something, or changes it so that nothing is lost: what was there stays readable in a history, or the change
    /// can be taken back.
    Add,
    /// May replace or remove something for good.
    Change,
}

/// Why a tool's hints are what they are, where that is not plain from what it does.
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
    /// Why its hints are what they are, where that is not plain.
    pub fn effect_reason(&self) -> Option<&'static str> {
        let found = REASONS.iter().find(|(name, _)| *name == self.name);
        found.map(|(_, reason)| *reason)
    }

    /// MCP's hints.
    pub fn hints(&self, installation: Installation<'_>) -> Value {
        json!({
            "readOnlyHint": self.effect == Effect::Look,
            "destructiveHint": self.effect == Effect::Change,
            "idempotentHint": self.effect == Effect::Look || self.idempotent,
            "openWorldHint": self.open_world || (self.runs_commands() && installation.network),
        })
    }

    /// Whether it starts commands.
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
