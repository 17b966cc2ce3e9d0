//! Tool selection of an MCP client: which tools are listed, which may be called, and their definitions.

use std::sync::{Arc, LazyLock};

use polis_core::Refusal;
use polis_ops::tool::{self, Installation, TOOLS, Tool};
use rmcp::model::Tool as Definition;
use serde_json::{Map, Value};

use crate::identity::Identity;

/// The tools a client sees, and those it may call.
#[derive(Debug, Clone)]
pub struct Toolset {
    shown: Arc<[&'static Tool]>,
    /// Whether tools that are not listed may be called as well.
    open: bool,
}

impl Toolset {
    /// Creates a selection from groups such as `tasks` and `boards`. Without groups, the default tools are
    /// listed and every tool may be called.
    pub fn of<'a>(groups: impl IntoIterator<Item = &'a str>) -> Result<Self, Refusal> {
        let groups: Vec<&str> = groups
            .into_iter()
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        Ok(Self {
            shown: tool::select(&groups)?.into(),
            open: groups.is_empty(),
        })
    }

    /// Returns the definitions of the listed tools that the caller's scopes allow, always in the same order.
    pub(crate) fn definitions(
        &self,
        identity: &Identity,
        installation: Installation<'_>,
    ) -> Vec<Definition> {
        let described = |tool: &&Tool| {
            let mut definition = definition(tool.name)?.clone();
            if installation.shapes(tool) {
                definition.input_schema = object(tool.small_input(installation));
            }
            // Our hints are valid MCP annotations. If they were not, a client would assume the worst.
            definition.annotations = serde_json::from_value(tool.hints(installation)).ok();
            Some(definition)
        };
        self.shown
            .iter()
            .filter(|tool| identity.scopes.allow(tool.area, tool.access()))
            .filter_map(described)
            .collect()
    }

    /// Returns a tool by name. Fails if it does not exist or the client may not call it.
    pub(crate) fn find(&self, name: &str) -> Result<&'static Tool, Refusal> {
        let tool = Tool::find(name)?;
        if self.open || self.shown.iter().any(|shown| shown.name == name) {
            return Ok(tool);
        }
        // Indistinguishable from a tool that does not exist.
        Err(tool::not_found(name))
    }
}

/// Returns a tool's definition without the parts that depend on the installation. Built on first use:
/// generating the schemas takes longer than the rest of the startup.
pub(crate) fn definition(name: &str) -> Option<&'static Definition> {
    static ALL: LazyLock<Vec<Definition>> = LazyLock::new(|| TOOLS.iter().map(describe).collect());
    ALL.iter().find(|definition| definition.name == name)
}

fn describe(tool: &Tool) -> Definition {
    let input = object(tool.small_input(Installation::default()));
    Definition::new(tool.name, tool.about, input)
        .with_raw_output_schema(object(tool.small_output()))
}

fn object(schema: Value) -> Arc<Map<String, Value>> {
    match schema {
        Value::Object(schema) => Arc::new(schema),
        _ => Arc::default(),
    }
}

#[cfg(test)]
mod tests {
    use polis_core::Code;
    use polis_core::token::Area;

    use super::*;

    fn names(groups: &str, scope: &str) -> Vec<String> {
        let identity = Identity {
            scopes: scope.parse().unwrap(),
            ..Identity::trusted("a".parse().unwrap())
        };
        let set = Toolset::of(groups.split(',')).unwrap();
        let told = set.definitions(&identity, Installation::default());
        told.into_iter()
            .map(|tool| tool.name.into_owned())
            .collect()
    }

    #[test]
    fn without_a_choice_the_usual_ones_are_shown_and_all_can_be_called() {
        let set = Toolset::of([]).unwrap();
        assert_eq!(names("", "all"), names("usual", "all"));
        assert!(TOOLS.iter().all(|tool| set.find(tool.name).is_ok()));
        assert!(TOOLS.iter().any(|tool| !tool.usual));
    }

    #[test]
    fn a_choice_is_what_is_shown_and_what_can_be_called() {
        let set = Toolset::of(["tasks"]).unwrap();
        for tool in TOOLS {
            let found = set.find(tool.name);
            let chosen = tool.area == Area::Tasks && tool.listed;
            assert_eq!(found.is_ok(), chosen, "{}", tool.name);
            if let Err(refusal) = found {
                assert_eq!(refusal.code, Code::ToolNotFound);
            }
        }
        assert!(names("tasks", "all").contains(&"TaskApprove".to_owned()));
    }

    #[test]
    fn a_token_is_shown_what_it_is_good_for() {
        let read_only = names("all", "read");
        assert!(read_only.contains(&"TaskList".to_owned()), "{read_only:?}");
        assert!(!read_only.contains(&"TaskUpdate".to_owned()));
        assert!(!names("all", "boards").contains(&"TaskList".to_owned()));
    }

    #[test]
    fn an_unknown_group_is_refused() {
        let refusal = Toolset::of(["tasks", "everything"]).unwrap_err();
        assert_eq!(refusal.code, Code::InvalidInput);
    }

    #[test]
    fn every_tool_has_all_four_hints() {
        let everybody = Identity::trusted("a".parse().unwrap());
        let groups = tool::groups();
        for (network, set) in [false, true].map(|n| (n, Toolset::of(groups.clone()).unwrap())) {
            let installation = Installation {
                network,
                roles: None,
            };
            for tool in set.definitions(&everybody, installation) {
                let name = tool.name;
                let hints = tool.annotations.unwrap();
                assert!(hints.read_only_hint.is_some(), "{name}");
                assert!(hints.destructive_hint.is_some(), "{name}");
                assert!(hints.idempotent_hint.is_some(), "{name}");
                // Only commands can have network access.
                let open = network && name == "run_command";
                assert_eq!(hints.open_world_hint, Some(open), "{name}");
            }
        }
    }
}
