//! Toolbox of a member: the tools that its role may use, how each tool call is executed, and the JSON tool
//! definitions sent to the model.
//!
//! A toolbox is built once for each combination of selected tools, tools that need approval, workspace access and
//! command policy, and shared by all members with the same combination.

use polis_core::token::OperationArea;
use polis_i18n::{DefinitionTable, UiLanguage, definition_text};
use polis_ops::tool::{self, TOOLS, Tool, ToolEffect, ToolSchemaSettings};
use serde_json::{Value, json};

/// How a call of a tool is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolExecution {
    /// By the runtime itself.
    Builtin(BuiltinTool),
    /// Only reads; may be repeated.
    ReadOnly,
    /// Its effect is a commit of the store, and the turn is part of the same commit.
    StoreCommit,
    /// Its effect is a commit of the store as well, but it reads the mailbox: messages received earlier have
    /// to be committed first.
    MailboxCommit,
    /// Its effect is outside of the store.
    External {
        /// Whether the call is idempotent: executing it twice has the same effect as once.
        idempotent: bool,
    },
}

/// Tools of the runtime itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltinTool {
    /// `compress_context`: compacts the context.
    CompressContext,
    /// `get_context_status`: reports how full the context is.
    ContextStatus,
}

/// A tool of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberTool {
    /// The name by which the model calls it.
    pub name: String,
    /// How it is executed.
    pub execution: ToolExecution,
    /// Whether each call needs approval by the person.
    pub needs_approval: bool,
    /// Whether a call counts as a command in the budget.
    pub is_command: bool,
}

/// The tools of a member and their definitions for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toolbox {
    tools: Vec<MemberTool>,
    definitions_json: String,
}

/// The runtime's own tools: name and implementation.
const BUILTIN_TOOLS: [(&str, BuiltinTool); 2] = [
    ("compress_context", BuiltinTool::CompressContext),
    ("get_context_status", BuiltinTool::ContextStatus),
];

impl Toolbox {
    /// Creates a toolbox with the tools of these groups and names, or the default tools if `selected` is
    /// `None`; the built-in tools are always included. Calls of the tools in `approve` need approval. Without
    /// `has_workspace` (for `root`) there are no file and command tools. The definitions are in the language `lang`.
    pub fn from_selection(
        selected: Option<&[String]>,
        approve: &[String],
        has_workspace: bool,
        installation: ToolSchemaSettings<'_>,
        lang: UiLanguage,
    ) -> Self {
        let is_selected = |tool: &Tool| match selected {
            // Messages are delivered without a call, so the default selection leaves out `check_messages`.
            None => {
                let usual = tool.is_default && tool.name != "check_messages";
                tool.is_offered_to_agents && (usual || tool.area == OperationArea::Society)
            }
            Some(names) => names.iter().any(|name| {
                name == tool.name
                    || (tool.is_offered_to_agents && (name == "all" || name == tool.area.as_str()))
                    || (name == "usual" && tool.is_default && tool.is_offered_to_agents)
            }),
        };
        let needs_approval = |name: &str| approve.iter().any(|one| one == name || one == "all");
        let mut tools = Vec::new();
        let mut definitions = Vec::new();
        let is_usable = |tool: &Tool| {
            has_workspace || !matches!(tool.area, OperationArea::Files | OperationArea::Commands)
        };
        for tool in TOOLS
            .iter()
            .filter(|tool| is_selected(tool) && is_usable(tool))
        {
            tools.push(MemberTool {
                name: tool.name.to_owned(),
                execution: execution_of_tool(tool),
                needs_approval: needs_approval(tool.name),
                is_command: tool.runs_commands(),
            });
            definitions.push(function_definition(tool, installation, lang));
        }
        for (name, builtin) in BUILTIN_TOOLS {
            tools.push(MemberTool {
                name: name.to_owned(),
                execution: ToolExecution::Builtin(builtin),
                needs_approval: false,
                is_command: false,
            });
            definitions.push(json!({ "type": "function", "function": {
                "name": name,
                "description": builtin_text(name, None, lang),
                "parameters": builtin_parameters(name, builtin, lang),
            }}));
        }
        Self {
            tools,
            definitions_json: Value::Array(definitions).to_string(),
        }
    }

    /// Creates a toolbox of these tools without definitions, for tests of the machine.
    #[cfg(test)]
    pub(crate) fn from_tools(tools: Vec<MemberTool>) -> Self {
        Self {
            tools,
            definitions_json: "[]".to_owned(),
        }
    }

    /// Returns the tool with this name, if the member has it.
    pub fn find(&self, name: &str) -> Option<&MemberTool> {
        self.tools.iter().find(|row| row.name == name)
    }

    /// Returns the tool definitions for the model: a JSON array.
    pub fn definitions_json(&self) -> &str {
        &self.definitions_json
    }
}

/// Returns how the calls of a tool are executed.
fn execution_of_tool(tool: &Tool) -> ToolExecution {
    match (tool.effect, tool.acts_outside_store) {
        (ToolEffect::ReadOnly, _) => ToolExecution::ReadOnly,
        (_, true) => ToolExecution::External {
            idempotent: tool.idempotent,
        },
        (_, false) if tool.name == "check_messages" => ToolExecution::MailboxCommit,
        (_, false) => ToolExecution::StoreCommit,
    }
}

/// Returns a tool as a function definition of the chat API.
fn function_definition(
    tool: &Tool,
    installation: ToolSchemaSettings<'_>,
    lang: UiLanguage,
) -> Value {
    json!({ "type": "function", "function": {
        "name": tool.name,
        "description": tool.description(lang),
        "parameters": tool.compact_input_schema(installation, lang),
    }})
}

/// Returns the text of a built-in tool, or of one of its parameters.
fn builtin_text(tool: &str, parameter: Option<&str>, lang: UiLanguage) -> &'static str {
    definition_text(DefinitionTable::Tools, lang, tool, parameter).unwrap_or_default()
}

/// Returns the JSON schema of the parameters of a built-in tool.
fn builtin_parameters(name: &str, builtin: BuiltinTool, lang: UiLanguage) -> Value {
    match builtin {
        BuiltinTool::CompressContext => json!({ "type": "object", "properties": {
            "summary": { "type": "string", "description": builtin_text(name, Some("summary"), lang) },
        }}),
        BuiltinTool::ContextStatus => json!({ "type": "object", "properties": {} }),
    }
}

/// Returns the refusal for a tool that does not exist, or that this member does not have.
pub fn tool_not_found(name: &str) -> polis_core::Refusal {
    tool::tool_not_found(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_toolbox_has_usual_and_builtin_tools() {
        let toolbox = Toolbox::from_selection(
            None,
            &["run_command".to_owned()],
            true,
            ToolSchemaSettings::default(),
            UiLanguage::En,
        );
        assert_eq!(
            toolbox.find("read_file").unwrap().execution,
            ToolExecution::ReadOnly
        );
        let external = ToolExecution::External { idempotent: true };
        assert_eq!(toolbox.find("write_file").unwrap().execution, external);
        let command = toolbox.find("run_command").unwrap();
        assert_eq!(
            command.execution,
            ToolExecution::External { idempotent: false }
        );
        assert!(command.needs_approval && command.is_command);
        assert_eq!(
            toolbox.find("send_message").unwrap().execution,
            ToolExecution::StoreCommit
        );
        assert!(toolbox.find("check_messages").is_none());
        let status = ToolExecution::Builtin(BuiltinTool::ContextStatus);
        assert_eq!(
            toolbox.find("get_context_status").unwrap().execution,
            status
        );
    }

    #[test]
    fn definitions_are_in_the_language_of_the_team() {
        // A role may name any tool, also those that the group `all` does not offer.
        let all: Vec<String> = TOOLS.iter().map(|tool| tool.name.to_owned()).collect();
        for lang in [UiLanguage::En, UiLanguage::Zh] {
            let toolbox =
                Toolbox::from_selection(Some(&all), &[], true, ToolSchemaSettings::default(), lang);
            let definitions: Vec<Value> = serde_json::from_str(toolbox.definitions_json()).unwrap();
            assert_eq!(definitions.len(), 75);
            for definition in &definitions {
                let function = &definition["function"];
                let parameters = function["parameters"]["properties"].as_object();
                let parameters = parameters.into_iter().flatten().map(|(_, schema)| schema);
                for described in parameters.chain([function]) {
                    let text = described["description"].as_str().unwrap();
                    let is_chinese = text.contains(|c| matches!(c, '\u{4e00}'..='\u{9fff}'));
                    let is_example = text.starts_with("`artifact:ID`");
                    assert!(
                        is_chinese == (lang == UiLanguage::Zh) || is_example,
                        "{text}"
                    );
                    assert!(!text.is_empty(), "{definition}");
                }
            }
        }
    }

    #[test]
    fn role_can_select_groups_and_single_tools() {
        let names = ["files".to_owned(), "send_message".to_owned()];
        let toolbox = Toolbox::from_selection(
            Some(&names),
            &[],
            true,
            ToolSchemaSettings::default(),
            UiLanguage::En,
        );
        assert!(toolbox.find("read_file").is_some() && toolbox.find("send_message").is_some());
        assert!(toolbox.find("TaskCreate").is_none());
        let definitions: Vec<Value> = serde_json::from_str(toolbox.definitions_json()).unwrap();
        for definition in &definitions {
            assert_eq!(definition["type"], "function");
            assert_eq!(
                definition["function"]["parameters"]["type"], "object",
                "{definition}"
            );
        }
    }
}
