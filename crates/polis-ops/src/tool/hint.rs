//! Translates hints for callers of tools: rules name CLI commands and options, but a model has tools and parameters.
//!
//! The translation is a catalogue of phrases. A test checks every hint of the crates against it, so a new command or
//! option in a hint needs a phrase here. Tool names are in backquotes, so that a surface with other names for them (the
//! HTTP API) can replace them. Actions that only a person can do are worded accordingly, because a model has no command
//! line.

use super::{Effect, Tool};
use crate::error::OpError;

/// Phrases of hints with their translations; `{}` matches any text. Longer phrases precede phrases that they contain.
const PHRASES: &[(&str, &str)] = &[
    // Tasks.
    (
        "see what there is with `polis task list`, and what blocks it with `polis task graph`",
        "see what there is with `TaskList`, and what each task waits for with `TaskGet`",
    ),
    (
        "run `polis task list --role-filter {}`; the team lead and the user may add --force-assign",
        "see the tasks for your role with `TaskList` and roleFilter={}; the team lead may pass forceAssign=true",
    ),
    (
        "; the team lead and the user may add --force-assign",
        "; the team lead may pass forceAssign=true",
    ),
    (
        "run `polis task list` to see the {} there are",
        "see the {} there are with `TaskList`",
    ),
    (
        "`polis task ready` lists",
        "`TaskList` with ready=true lists",
    ),
    (
        "read it again with `polis task get {}` and retry with its version",
        "read it again with `TaskGet` and retry with its version as expectedVersion",
    ),
    (
        "(`polis task claim` takes the best ready task)",
        "(`TaskClaim` without taskId takes the best ready one)",
    ),
    (
        "claim it first (`polis task claim {}`)",
        "claim it first with `TaskClaim`",
    ),
    (
        "give one: `polis task heartbeat {} --lease 30m`",
        "give one: `TaskClaim` with its taskId and leaseMs=1800000",
    ),
    (
        "release it first: `polis task release {}`",
        "release it first: `TaskUpdate` with its taskId and owner=\"\"",
    ),
    (
        "to run `polis task approve {}`",
        "to approve it with `TaskApprove`",
    ),
    ("`polis task comments {}`", "`TaskComments`"),
    (
        "--remove-blocks / --remove-blocked-by",
        "`TaskUpdate` and removeBlocks or removeBlockedBy",
    ),
    (
        "`polis task export` saves what can still be read",
        "what can still be read can be exported",
    ),
    // Boards.
    (
        "read the board again, apply your change to it and write with its version; or add --merge",
        "read the board again with `whiteboard_read`, apply your change to it and write with its version as \
         expectedVersion; or pass merge=true",
    ),
    (
        "read the board and give its version with --expect V, or replace it whatever it says with --force",
        "read it with `whiteboard_read` and pass its version as expectedVersion; to add to it use `whiteboard_append`, \
         to change a part `whiteboard_section`",
    ),
    (
        "read the section again with `--section`, apply your change to it and retry",
        "read the section again with `whiteboard_read` and section, apply your change to it and retry with its \
         sectionVersion as expectedSection",
    ),
    (
        "see who may with `polis board can {} --as AGENT`",
        "ask an agent that may, or the person; `whiteboard_list` shows what you may read",
    ),
    ("`polis board milestones {}`", "`whiteboard_milestones`"),
    ("`polis board decisions {}`", "`whiteboard_decisions`"),
    ("`polis board history {}`", "`whiteboard_history`"),
    ("`polis blackboard list`", "`whiteboard_list`"),
    ("use `--nth` with", "pass nth with"),
    ("with `--nth N`", "with nth=N"),
    (
        "give --ttl a length such as 5s",
        "give ttlMs a length such as 5000",
    ),
    ("give --token", "give token"),
    ("give --content TEXT", "give content"),
    // Files and commands.
    (
        "name an agent whose workspace you mean with `--of AGENT`; `polis ws list` shows them",
        "call it as an agent that has one",
    ),
    ("; `polis ws list` shows them", ""),
    (
        "have one bound: `polis ws bind DIR --of AGENT`, for the head of its team",
        "ask the person who runs polis to bind one for the head of its team",
    ),
    (
        "have the person bind the workspace again: `polis ws bind`",
        "ask the person who runs polis to bind the workspace again",
    ),
    ("leave --of out to act", "act"),
    (
        "repeat with --force to leave what is there behind; move the files yourself if they are wanted",
        "ask the person who runs polis to move it",
    ),
    ("`polis ws commands`", "`list_commands`"),
    (" (`--{}`)", ""),
    // Agents.
    (
        "run `polis agent list` to see who is, or register it with `polis agent add`",
        "see who is with `list_agents`, or have it registered",
    ),
    (
        "register it with `polis agent add {} --role ROLE`, or check the spelling with `polis agent list`",
        "have it registered, or check the spelling with `list_agents`",
    ),
    (
        "see it with `polis agent show {}`, or",
        "see it with `list_agents`, or",
    ),
    (
        "register a new agent with `polis agent add`",
        "have a new agent registered",
    ),
    (
        "register the supervisor first: `polis agent add`",
        "register the supervisor first: `add_agent`",
    ),
    (
        "register it first: `polis agent add`",
        "have it registered first",
    ),
    ("first: `polis agent retire {}`", "first: `retire_agent`"),
    ("`polis agent list`", "`list_agents`"),
    ("`polis agent tree`", "`list_agents`"),
    // Societies.
    (
        "by terminate_agent (`polis society stop`)",
        "with `terminate_agent`",
    ),
    ("with get_org (`polis society tree`)", "with `get_org`"),
    (
        "what still waits with `polis society ps`",
        "what still waits with `list_approvals`",
    ),
    ("`polis society approvals`", "`list_approvals`"),
    ("`polis society ps`", "`list_runs`"),
    (
        "raise it with `polis society budget`, then let it go on with `polis society resume`",
        "have it raised with `set_budget`, then let it go on with `resume_society`",
    ),
    (
        "start a new one with `polis run`",
        "start a new one with `start_run`",
    ),
    (
        "make a recording with `polis run --record FILE`",
        "ask the person who runs polis for a recording",
    ),
    // Webhooks and the log.
    ("`polis log`", "`read_log`"),
    ("`polis webhook remove ID`", "`remove_webhook`"),
    (
        "run `polis webhook list` to see those there are",
        "see those there are with `list_webhooks`",
    ),
    // Actions that only a person can do.
    (
        "issues one with `polis agent token issue AGENT`",
        "issues one",
    ),
    (
        "have one issued with --scope {} (`polis agent token issue`)",
        "ask the person who runs polis for one with the scope {}",
    ),
    (
        "run `polis agent token list` to see the tokens there are",
        "ask the person who runs polis which tokens there are",
    ),
    ("give --expires a time from now", "give it a time from now"),
    (
        "run `polis open` for a new one",
        "ask the person who runs polis for a new one",
    ),
    (
        "run `polis init` in your project, or name its directory with --dir",
        "ask the person who runs polis to set it up in your project",
    ),
    (
        "mend the files, or import without --strict to have them repaired or left out",
        "mend the files",
    ),
    (
        "see what is missing with `polis doctor`",
        "ask the person who runs polis what its sandbox lacks",
    ),
    (
        "run `polis doctor`; with --verbose the cause is shown",
        "try again; if it fails once more, tell the person who runs polis, whose log has the cause",
    ),
    (
        "run `polis doctor`; a newer polis may have written it",
        "tell the person who runs polis: a newer version may have written it",
    ),
    (
        "run `polis doctor`, or try again",
        "try again, or tell the person who runs polis",
    ),
    ("run `polis doctor`", "tell the person who runs polis"),
    (
        "restore the store from a backup; `polis doctor` checks it",
        "tell the person who runs polis to restore the store from a backup",
    ),
    (
        "restore .agent-workspace/polis.db from a backup; `polis {}` {}",
        "tell the person who runs polis to restore the store from a backup",
    ),
    (
        "check the disk; `polis doctor` checks the database",
        "tell the person who runs polis to check the disk",
    ),
    ("; with --verbose the cause is shown", ""),
];

/// Returns a hint translated for callers of tools.
pub fn hint_for_tools(hint: &str) -> String {
    // Fast path: most hints name no command.
    if !hint.contains("polis ") && !hint.contains("--") {
        return hint.to_owned();
    }
    let mut told = hint.to_owned();
    for (phrase, instead) in PHRASES {
        told = replace_phrase(&told, phrase, instead);
    }
    told
}

/// Returns the error of a call with its hint translated for callers of tools.
///
/// A hint of a reading tool must not name the tool itself: calling it again does not show why it was refused.
pub(super) fn translate(tool: &Tool, mut error: OpError) -> OpError {
    let hint = match &mut error {
        OpError::Refused(refusal) => &mut refusal.hint,
        OpError::Failed(failure) => &mut failure.hint,
    };
    *hint = hint_for_tools(hint);
    if tool.effect == Effect::Look && hint.contains(&format!("`{}`", tool.name)) {
        "correct the arguments; the tool's input schema says what it takes".clone_into(hint);
    }
    error
}

/// Replaces every occurrence of a phrase; the text that each `{}` matched replaces the `{}` in the translation.
fn replace_phrase(text: &str, phrase: &str, instead: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, captured, after)) = find_phrase(rest, phrase) {
        told.push_str(before);
        let mut captured = captured.into_iter();
        for (n, part) in instead.split("{}").enumerate() {
            if n > 0 {
                told.push_str(captured.next().unwrap_or_default());
            }
            told.push_str(part);
        }
        rest = after;
    }
    told.push_str(rest);
    told
}

/// Finds a phrase. Returns the text before it, the text that each `{}` matched, and the text after it.
fn find_phrase<'t>(text: &'t str, phrase: &str) -> Option<(&'t str, Vec<&'t str>, &'t str)> {
    let mut parts = phrase.split("{}");
    let (before, mut rest) = text.split_once(parts.next()?)?;
    let mut captured = Vec::new();
    for part in parts {
        let found = match part {
            // At the end of a phrase, `{}` matches the rest of the text.
            "" => (rest, ""),
            part => rest.split_once(part)?,
        };
        captured.push(found.0);
        rest = found.1;
    }
    Some((before, captured, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the texts in backquotes.
    fn quoted(text: &str) -> impl Iterator<Item = &str> {
        text.split('`').skip(1).step_by(2)
    }

    #[test]
    fn phrases_name_tools_that_exist_and_no_commands() {
        for (phrase, instead) in PHRASES {
            assert!(!instead.contains("--"), "{instead}");
            for name in quoted(instead) {
                assert!(Tool::find(name).is_ok(), "{phrase}: {name}");
            }
            let wildcards = |text: &str| text.matches("{}").count();
            assert!(wildcards(instead) <= wildcards(phrase), "{phrase}");
        }
    }

    #[test]
    fn every_phrase_is_used_by_the_text_it_is_for() {
        // A phrase after another one that it contains would never match.
        for (phrase, instead) in PHRASES {
            let hint = phrase.replace("{}", "X");
            let told = hint_for_tools(&hint);
            assert_eq!(told, instead.replace("{}", "X"), "{phrase}");
        }
    }

    #[test]
    fn hints_are_translated_with_what_is_around_them() {
        for (hint, told) in [
            (
                "complete those first; `polis task ready` lists what can be started",
                "complete those first; `TaskList` with ready=true lists what can be started",
            ),
            (
                "run `polis task list --role-filter qa`; the team lead and the user may add --force-assign",
                "see the tasks for your role with `TaskList` and roleFilter=qa; the team lead may pass forceAssign=true",
            ),
            (
                "give startLine and endLine (`--lines`), or maxBytes (`--max-bytes`)",
                "give startLine and endLine, or maxBytes",
            ),
            ("try again", "try again"),
            ("", ""),
            ("``", "``"),
        ] {
            assert_eq!(hint_for_tools(hint), told);
        }
    }
}
