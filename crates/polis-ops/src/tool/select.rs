//! Selection of the tools that an agent is offered, by group.

use polis_core::token::Area;
use polis_core::{Code, Refusal, id};

use super::{TOOLS, Tool};

/// The default group.
const USUAL: &str = "usual";
/// Tools that the runtime of a society provides itself.
const RUNTIME: [&str; 2] = ["compress_context", "get_context_status"];
/// The group of all tools that are offered to agents.
const ALL: &str = "all";

/// Returns all groups: `usual`, `all`, and one for each area that has tools.
pub fn groups() -> Vec<&'static str> {
    let has_tools = |area: Area| TOOLS.iter().any(|tool| tool.listed && tool.area == area);
    let areas = Area::ALL.into_iter().filter(|(area, _)| has_tools(*area));
    [USUAL, ALL]
        .into_iter()
        .chain(areas.map(|(_, name)| name))
        .collect()
}

/// Returns the tools of these groups without duplicates, in the table's order; the default group if none is named.
pub fn select(names: &[impl AsRef<str>]) -> Result<Vec<&'static Tool>, Refusal> {
    let known = groups();
    for name in names.iter().map(AsRef::as_ref) {
        if !known.contains(&name) {
            return Err(Refusal::new(
                Code::InvalidInput,
                format!("There is no group of tools {}.", id::quoted(name)),
                format!("use one or more of {}", known.join(", ")),
            ));
        }
    }
    let named = |group: &str| names.iter().any(|name| name.as_ref() == group);
    let shown = |tool: &&Tool| {
        tool.listed
            && (named(ALL)
                || named(tool.area.as_str())
                || (tool.usual && (names.is_empty() || named(USUAL))))
    };
    Ok(TOOLS.iter().filter(shown).collect())
}

/// Fails if a name is neither a tool nor, with `grouped`, a group. Otherwise a misspelt name in the list of tools that
/// need a person's approval would silently allow that tool.
pub fn check_names(names: &[String], grouped: bool) -> Result<(), Refusal> {
    let groups = groups();
    let known = |name: &str| {
        TOOLS.iter().any(|tool| tool.name == name)
            || RUNTIME.contains(&name)
            || name == ALL
            || (grouped && groups.contains(&name))
    };
    match names.iter().find(|name| !known(name)) {
        None => Ok(()),
        Some(name) => Err(Refusal::new(
            Code::InvalidInput,
            format!("There is no tool {}.", id::quoted(name)),
            "docs/reference/tools.md lists them; `all` stands for every one",
        )),
    }
}
