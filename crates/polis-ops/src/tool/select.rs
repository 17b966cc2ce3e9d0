//! Which tools an agent is shown: by group.

use polis_core::token::Area;
use polis_core::{Code, Refusal, id};

use super::{TOOLS, Tool};

/// What everybody is shown who did not ask for something else.
const USUAL: &str = "usual";
/// What the runtime of a society offers by itself.
const RUNTIME: [&str; 2] = ["compress_context", "get_context_status"];
/// Whatever is shown to agents at all.
const ALL: &str = "all";

/// The groups there are: `usual`, `all`, and one for each area that has tools.
pub fn groups() -> Vec<&'static str> {
    let has_tools = |area: Area| TOOLS.iter().any(|tool| tool.listed && tool.area == area);
    let areas = Area::ALL.into_iter().filter(|(area, _)| has_tools(*area));
    [USUAL, ALL]
        .into_iter()
        .chain(areas.map(|(_, name)| name))
        .collect()
}

/// The tools of these groups, each once, in the table's order; the usual ones if no group is named.
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

/// Refuses what is neither the name of a tool nor, where `grouped`, of a group. A misspelt tool in a list of those that
/// need a person's approval would otherwise be a door that stands open.
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
