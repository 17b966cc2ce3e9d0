//! Toolset of an MCP client: the tools that the server lists for it, those it may call, and their
//! definitions.
//!
//! The client selects groups, such as `tasks`, in the URL or on the command line; only their tools are listed
//! and callable. Without groups a default selection is listed, with `all` every tool for agents, and in both cases
//! every tool is callable. Tools that the client's token does not allow are not listed.

use std::sync::{Arc, LazyLock};

use polis_core::Refusal;
use polis_i18n::UiLanguage;
use polis_ops::tool::{self, TOOLS, Tool, ToolSchemaSettings};
use rmcp::model::Tool as Definition;
use serde_json::{Map, Value};

use crate::caller_identity::CallerIdentity;

/// The tools a client sees, and those it may call.
#[derive(Debug, Clone)]
pub struct Toolset {
    listed: Arc<[&'static Tool]>,
    /// Whether tools that are not listed may be called as well.
    allows_unlisted: bool,
}

impl Toolset {
    /// Creates a selection from groups such as `tasks` and `boards`. Without groups and with `all`, every tool may
    /// be called. Fails with `invalid_input` if a group does not exist.
    pub fn from_groups<'a>(groups: impl IntoIterator<Item = &'a str>) -> Result<Self, Refusal> {
        let groups: Vec<&str> = groups
            .into_iter()
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        Ok(Self {
            listed: tool::select_tools(&groups)?.into(),
            allows_unlisted: tool::allows_every_tool(&groups),
        })
    }

    /// Returns the definitions of the listed tools that the caller's scopes allow, always in the same order.
    pub(crate) fn definitions(
        &self,
        identity: &CallerIdentity,
        installation: ToolSchemaSettings<'_>,
        lang: UiLanguage,
    ) -> Vec<Definition> {
        let described = |tool: &&Tool| {
            let mut definition = tool_definition(tool.name, lang)?.clone();
            if installation.affects_schema_of(tool) {
                let schema = tool.compact_input_schema(installation, lang);
                definition.input_schema = schema_object(schema);
            }
            // Our hints are valid MCP annotations. If they were not, a client would assume the worst.
            definition.annotations = serde_json::from_value(tool.annotations(installation)).ok();
            Some(definition)
        };
        self.listed
            .iter()
            .filter(|tool| identity.scopes.allows(tool.area, tool.required_access()))
            .filter_map(described)
            .collect()
    }

    /// Returns a tool by name. Fails if it does not exist or the client may not call it.
    pub(crate) fn find(&self, name: &str) -> Result<&'static Tool, Refusal> {
        let tool = Tool::find(name)?;
        if self.allows_unlisted || self.listed.iter().any(|listed| listed.name == name) {
            return Ok(tool);
        }
        // Indistinguishable from a tool that does not exist.
        Err(tool::tool_not_found(name))
    }
}

/// Returns a tool's definition without the parts that depend on the installation. Built on first use:
/// generating the schemas takes longer than the rest of the startup.
pub(crate) fn tool_definition(name: &str, lang: UiLanguage) -> Option<&'static Definition> {
    static ENGLISH: LazyLock<Vec<Definition>> = LazyLock::new(|| build_definitions(UiLanguage::En));
    static CHINESE: LazyLock<Vec<Definition>> = LazyLock::new(|| build_definitions(UiLanguage::Zh));
    let all = match lang {
        UiLanguage::En => &*ENGLISH,
        UiLanguage::Zh => &*CHINESE,
    };
    all.iter().find(|definition| definition.name == name)
}

fn build_definitions(lang: UiLanguage) -> Vec<Definition> {
    let build = |tool| build_definition(tool, lang);
    TOOLS.iter().map(build).collect()
}

fn build_definition(tool: &Tool, lang: UiLanguage) -> Definition {
    let input = schema_object(tool.compact_input_schema(ToolSchemaSettings::default(), lang));
    Definition::new(tool.name, tool.description(lang), input)
        .with_raw_output_schema(schema_object(tool.compact_output_schema()))
}

fn schema_object(schema: Value) -> Arc<Map<String, Value>> {
    match schema {
        Value::Object(schema) => Arc::new(schema),
        _ => Arc::default(),
    }
}

#[cfg(test)]
mod tests {
    use polis_core::RefusalCode;
    use polis_core::token::OperationArea;

    use super::*;

    fn listed_names(groups: &str, scope: &str) -> Vec<String> {
        let identity = CallerIdentity {
            scopes: scope.parse().unwrap(),
            ..CallerIdentity::from_trusted_agent("a".parse().unwrap())
        };
        let set = Toolset::from_groups(groups.split(',')).unwrap();
        let definitions = set.definitions(&identity, ToolSchemaSettings::default(), UiLanguage::En);
        definitions
            .into_iter()
            .map(|tool| tool.name.into_owned())
            .collect()
    }

    #[test]
    fn toolset_without_groups_lists_defaults_and_allows_all() {
        let set = Toolset::from_groups([]).unwrap();
        assert_eq!(listed_names("", "all"), listed_names("usual", "all"));
        assert!(TOOLS.iter().all(|tool| set.find(tool.name).is_ok()));
        assert!(TOOLS.iter().any(|tool| !tool.is_default));
    }

    #[test]
    fn toolset_with_all_lists_tools_for_agents_and_allows_all() {
        for groups in [&["all"][..], &["tasks", "all"]] {
            let set = Toolset::from_groups(groups.iter().copied()).unwrap();
            assert!(TOOLS.iter().all(|tool| set.find(tool.name).is_ok()));
            let offered = TOOLS.iter().filter(|tool| tool.is_offered_to_agents);
            let offered: Vec<&str> = offered.map(|tool| tool.name).collect();
            assert_eq!(listed_names(&groups.join(","), "all"), offered);
        }
    }

    #[test]
    fn listed_definition_is_that_of_the_registry() {
        let identity = CallerIdentity::from_trusted_agent("a".parse().unwrap());
        let settings = polis_ops::InstallationSettings::default();
        let set = Toolset::from_groups(["all"]).unwrap();
        for lang in [UiLanguage::En, UiLanguage::Zh] {
            let installation = ToolSchemaSettings::new(&settings);
            for listed in set.definitions(&identity, installation, lang) {
                let tool = Tool::find(&listed.name).unwrap();
                let sent = serde_json::to_value(&listed).unwrap();
                assert_eq!(sent, tool.mcp_definition(installation, lang));
            }
        }
    }

    #[test]
    fn toolset_with_groups_allows_only_listed_tools() {
        let set = Toolset::from_groups(["tasks"]).unwrap();
        for tool in TOOLS {
            let found = set.find(tool.name);
            let chosen = tool.area == OperationArea::Tasks && tool.is_offered_to_agents;
            assert_eq!(found.is_ok(), chosen, "{}", tool.name);
            if let Err(refusal) = found {
                assert_eq!(refusal.code, RefusalCode::TOOL_NOT_FOUND);
            }
        }
        assert!(listed_names("tasks", "all").contains(&"TaskApprove".to_owned()));
    }

    #[test]
    fn tools_outside_token_scope_are_not_listed() {
        let read_only = listed_names("all", "read");
        assert!(read_only.contains(&"TaskList".to_owned()), "{read_only:?}");
        assert!(!read_only.contains(&"TaskUpdate".to_owned()));
        assert!(!listed_names("all", "boards").contains(&"TaskList".to_owned()));
    }

    #[test]
    fn unknown_tool_group_is_refused() {
        let refusal = Toolset::from_groups(["tasks", "everything"]).unwrap_err();
        assert_eq!(refusal.code, RefusalCode::INVALID_INPUT);
    }

    #[test]
    fn every_tool_has_all_four_hints() {
        let identity = CallerIdentity::from_trusted_agent("a".parse().unwrap());
        let groups = tool::tool_groups();
        for (network, set) in
            [false, true].map(|n| (n, Toolset::from_groups(groups.clone()).unwrap()))
        {
            let installation = ToolSchemaSettings {
                has_network: network,
                ..ToolSchemaSettings::default()
            };
            for tool in set.definitions(&identity, installation, UiLanguage::En) {
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
