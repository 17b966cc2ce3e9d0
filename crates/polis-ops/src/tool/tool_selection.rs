//! Selection of the tools that an agent is offered, by group.
//!
//! `all` lists every tool for agents. It does not list the tools for programs: the names, types and values of all
//! tools alone take more of a model's context than the limit for all tools.

use polis_core::token::OperationArea;
use polis_core::{Refusal, id};

use super::{TOOLS, Tool};
use crate::refusal_tables::ToolRefusal;

/// Group that is selected by default.
const DEFAULT_GROUP: &str = "usual";
/// Tools that the runtime of a society provides itself.
pub(super) const RUNTIME_TOOLS: [&str; 2] = ["compress_context", "get_context_status"];
/// The group of all tools that are offered to agents.
const ALL_GROUP: &str = "all";

/// Returns all groups: `usual`, `all`, and one for each area that has tools.
pub fn tool_groups() -> Vec<&'static str> {
    let has_tools = |area: OperationArea| {
        TOOLS
            .iter()
            .any(|tool| tool.is_offered_to_agents && tool.area == area)
    };
    let areas = OperationArea::ALL
        .into_iter()
        .filter(|(area, _)| has_tools(*area));
    [DEFAULT_GROUP, ALL_GROUP]
        .into_iter()
        .chain(areas.map(|(_, name)| name))
        .collect()
}

/// Returns the tools of these groups without duplicates, in the table's order; the default group if none is
/// named. Fails with `invalid_input` if a name is not a group.
pub fn select_tools(names: &[impl AsRef<str>]) -> Result<Vec<&'static Tool>, Refusal> {
    let groups = tool_groups();
    for name in names.iter().map(AsRef::as_ref) {
        if !groups.contains(&name) {
            return Err(Refusal::from(ToolRefusal::UnknownGroup {
                name: id::quote_untrusted(name),
                groups: groups.iter().map(ToString::to_string).collect(),
            }));
        }
    }
    let is_named = |group: &str| names.iter().any(|name| name.as_ref() == group);
    let is_selected = |tool: &&Tool| {
        tool.is_offered_to_agents
            && (is_named(ALL_GROUP)
                || is_named(tool.area.as_str())
                || (tool.is_default && (names.is_empty() || is_named(DEFAULT_GROUP))))
    };
    Ok(TOOLS.iter().filter(is_selected).collect())
}

/// Returns whether a client that selects these groups may call tools that are not listed for it: without groups, and
/// with `all`. Other groups restrict the client to their tools.
pub fn allows_every_tool(names: &[impl AsRef<str>]) -> bool {
    names.is_empty() || names.iter().any(|name| name.as_ref() == ALL_GROUP)
}

/// Fails if a name is neither a tool nor, with `grouped`, a group. Otherwise a misspelt name in the list of
/// tools that need a person's approval would silently allow that tool.
pub fn check_tool_names(names: &[String], grouped: bool) -> Result<(), Refusal> {
    let groups = tool_groups();
    let is_known = |name: &str| {
        TOOLS.iter().any(|tool| tool.name == name)
            || RUNTIME_TOOLS.contains(&name)
            || name == ALL_GROUP
            || (grouped && groups.contains(&name))
    };
    match names.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(Refusal::from(ToolRefusal::UnknownName {
            name: id::quote_untrusted(name),
        })),
    }
}
