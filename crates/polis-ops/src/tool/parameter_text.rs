//! Texts of tools and parameters in the definitions that go into a model's context, and the parameters that are left
//! out of them.
//!
//! The texts are in the catalogue (`definitions/LANGUAGE/tools.ftl` of `polis-i18n`), written for a model that has
//! never seen polis, and as short as they can be: they are part of every request. The longer texts of the API and the
//! reference are the doc comments of the parameter types.

use polis_i18n::{DefinitionTable, UiLanguage, definition_text, find_definition};
use serde_json::{Map, Value};

/// Parameters that are accepted but not listed, because results and refusals name them with their value when
/// a model needs them: the rest of a long result (`cursor`, `offset`), which of several sections (`nth`),
/// resolving a conflict (`merge`), the team lead's override (`forceAssign`), and reading a binary file.
/// The sizes of results are bounded without `maxBytes`, and `roleFilter` covers `requiredRole`. A claim takes the
/// highest priority without a list that is sorted by it (`sort`).
const UNLISTED_PARAMETERS: &[(&str, &[&str])] = &[
    ("TaskList", &["requiredRole", "sort", "cursor"]),
    ("TaskGet", &["offset"]),
    ("TaskUpdate", &["forceAssign"]),
    ("TaskClaim", &["forceAssign"]),
    ("TaskComments", &["cursor", "offset"]),
    ("TaskHistory", &["cursor"]),
    ("whiteboard_list", &["cursor"]),
    ("whiteboard_read", &["nth", "offset", "maxBytes"]),
    ("whiteboard_write", &["merge"]),
    ("whiteboard_section", &["nth", "merge"]),
    ("whiteboard_show", &["offset", "maxBytes"]),
    ("blackboard_read", &["offset", "maxBytes"]),
    ("read_file", &["maxBytes", "encoding"]),
    ("list_files", &["cursor"]),
    ("check_messages", &["offset"]),
    ("get_artifact", &["offset", "maxBytes"]),
    ("list_agents", &["cursor"]),
    ("list_runs", &["cursor"]),
    ("list_members", &["cursor"]),
    ("list_approvals", &["cursor"]),
];

/// Returns the parameters that are left out of a tool's definition for a model.
fn unlisted_parameters(tool: &str) -> &'static [&'static str] {
    let row = UNLISTED_PARAMETERS.iter().find(|(name, _)| *name == tool);
    row.map_or(&[], |(_, parameters)| parameters)
}

/// Returns whether a parameter is left out of the tool's definition for a model.
pub(super) fn is_unlisted(tool: &str, parameter: &str) -> bool {
    unlisted_parameters(tool).contains(&parameter)
}

/// Returns the description of a tool; empty if the catalogue lacks it, which a test prevents.
pub(super) fn tool_description(tool: &str, lang: UiLanguage) -> &'static str {
    definition_text(DefinitionTable::Tools, lang, tool, None).unwrap_or_default()
}

/// Replaces the descriptions of a tool's parameters with their texts for a model, and removes the parameters
/// that are not listed.
pub(super) fn apply_model_texts(tool: &str, lang: UiLanguage, properties: &mut Map<String, Value>) {
    properties.retain(|name, _| !is_unlisted(tool, name));
    let definition = find_definition(DefinitionTable::Tools, lang, tool);
    for (name, text) in definition.into_iter().flat_map(|one| one.attributes()) {
        if let Some(Value::Object(schema)) = properties.get_mut(*name) {
            schema.insert("description".to_owned(), (*text).into());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use polis_i18n::definitions;

    use super::*;
    use crate::tool::TOOLS;
    use crate::tool::tool_selection::RUNTIME_TOOLS;

    const LANGUAGES: [UiLanguage; 2] = [UiLanguage::En, UiLanguage::Zh];

    fn parameter_names(tool: &crate::tool::Tool) -> BTreeSet<String> {
        let schema = (tool.input_schema)();
        let properties = schema.get("properties").and_then(Value::as_object);
        properties
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect()
    }

    #[test]
    fn every_tool_and_listed_parameter_has_a_text_in_each_language() {
        for (tool, lang) in TOOLS
            .iter()
            .flat_map(|tool| LANGUAGES.map(|lang| (tool, lang)))
        {
            let name = tool.name;
            let definition = find_definition(DefinitionTable::Tools, lang, name);
            let definition = definition.unwrap_or_else(|| panic!("{name} has no text"));
            assert!(definition.text().is_some(), "{name} has no description");
            let texts = definition.attributes().iter();
            let texts: BTreeSet<String> = texts.map(|(name, _)| (*name).to_owned()).collect();
            let mut listed = parameter_names(tool);
            listed.retain(|parameter| !is_unlisted(name, parameter));
            assert_eq!(texts, listed, "{name}");
        }
    }

    #[test]
    fn every_text_and_unlisted_parameter_belongs_to_a_tool() {
        for one in LANGUAGES
            .into_iter()
            .flat_map(|lang| definitions(DefinitionTable::Tools, lang))
        {
            let is_tool = TOOLS.iter().any(|tool| tool.name == one.id());
            assert!(
                is_tool || RUNTIME_TOOLS.contains(&one.id()),
                "{} is no tool",
                one.id()
            );
        }
        for (name, parameters) in UNLISTED_PARAMETERS {
            let tool = TOOLS.iter().find(|tool| tool.name == *name);
            let known = tool.map(parameter_names);
            let known = known.unwrap_or_else(|| panic!("{name} is no tool"));
            for parameter in *parameters {
                assert!(known.contains(*parameter), "{name} {parameter}");
            }
        }
    }

    #[test]
    fn unlisted_parameters_are_optional() {
        for tool in TOOLS {
            let schema = (tool.input_schema)();
            let required = schema.get("required").and_then(Value::as_array);
            for name in required.into_iter().flatten().filter_map(Value::as_str) {
                assert!(!is_unlisted(tool.name, name), "{} {name}", tool.name);
            }
        }
    }
}
