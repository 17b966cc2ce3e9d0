//! MCP prompts for common team workflows: claim the next task, hand over a task, write a daily report.
//!
//! They are written in the language of the connection. A prompt names the tools and their parameters, and states
//! that they are tools of polis: some clients have tools with the same names. The prompts do not explain what
//! the tools do.

use polis_core::board::BoardName;
use polis_core::id::quote_untrusted;
use polis_core::{AgentId, AgentLayer, Refusal, TaskId};
use polis_i18n::{MessageLabel, UiLanguage, msg};
use polis_ops::{App, OpError};
use rmcp::model::{JsonObject, Prompt, PromptArgument};
use serde_json::Value;

use crate::refusal_tables::McpRefusal;

/// Name of the prompt argument for a role.
pub(crate) const ROLE_ARGUMENT: &str = "role";
/// Name of the prompt argument for a task.
pub(crate) const TASK_ARGUMENT: &str = "task";
/// Name of the prompt argument for an agent.
pub(crate) const AGENT_ARGUMENT: &str = "to";
/// Name of the prompt argument for a board.
pub(crate) const BOARD_ARGUMENT: &str = "board";
const NOTE_ARGUMENT: &str = "note";

/// Maximum length of an argument in characters.
const MAX_ARGUMENT_CHARS: usize = 4_000;

/// Definition of a prompt: name, title, description and arguments.
#[derive(Debug)]
struct PromptDefinition {
    name: &'static str,
    title: MessageLabel,
    description: MessageLabel,
    arguments: &'static [PromptArgumentDefinition],
}

#[derive(Debug)]
struct PromptArgumentDefinition {
    name: &'static str,
    description: MessageLabel,
    required: bool,
}

const CLAIM_NEXT_PROMPT: &str = "claim_next";
const HAND_OVER_PROMPT: &str = "hand_over";
const STAND_UP_PROMPT: &str = "stand_up";

const PROMPTS: &[PromptDefinition] = &[
    PromptDefinition {
        name: CLAIM_NEXT_PROMPT,
        title: msg::mcp_claim_next_title,
        description: msg::mcp_claim_next_description,
        arguments: &[PromptArgumentDefinition {
            name: ROLE_ARGUMENT,
            description: msg::mcp_claim_next_role,
            required: false,
        }],
    },
    PromptDefinition {
        name: HAND_OVER_PROMPT,
        title: msg::mcp_hand_over_title,
        description: msg::mcp_hand_over_description,
        arguments: &[
            PromptArgumentDefinition {
                name: TASK_ARGUMENT,
                description: msg::mcp_hand_over_task,
                required: true,
            },
            PromptArgumentDefinition {
                name: AGENT_ARGUMENT,
                description: msg::mcp_hand_over_agent,
                required: true,
            },
            PromptArgumentDefinition {
                name: NOTE_ARGUMENT,
                description: msg::mcp_hand_over_note,
                required: false,
            },
        ],
    },
    PromptDefinition {
        name: STAND_UP_PROMPT,
        title: msg::mcp_stand_up_title,
        description: msg::mcp_stand_up_description,
        arguments: &[PromptArgumentDefinition {
            name: BOARD_ARGUMENT,
            description: msg::mcp_stand_up_board,
            required: false,
        }],
    },
];

/// Returns whether a prompt has this argument.
pub(crate) fn has_argument(name: &str, argument: &str) -> bool {
    PROMPTS.iter().filter(|one| one.name == name).any(|one| {
        one.arguments
            .iter()
            .any(|definition| definition.name == argument)
    })
}

/// Returns the prompts for `prompts/list`.
pub(crate) fn list_prompts(lang: UiLanguage) -> Vec<Prompt> {
    let argument = |definition: &PromptArgumentDefinition| {
        PromptArgument::new(definition.name)
            .with_description((definition.description)(lang))
            .with_required(definition.required)
    };
    PROMPTS
        .iter()
        .map(|one| {
            let arguments = one.arguments.iter().map(argument).collect();
            let description = Some((one.description)(lang));
            Prompt::new(one.name, description, Some(arguments)).with_title((one.title)(lang))
        })
        .collect()
}

/// A prompt with its arguments filled in.
#[derive(Debug)]
pub(crate) struct FilledPrompt {
    pub(crate) description: &'static str,
    pub(crate) text: String,
}

/// Fills in a prompt for an agent. Fails with `InvalidInput` for an unknown prompt or invalid arguments.
pub(crate) async fn fill_prompt(
    app: &App,
    agent: &AgentId,
    name: &str,
    arguments: &JsonObject,
    lang: UiLanguage,
) -> Result<FilledPrompt, OpError> {
    let one = PROMPTS.iter().find(|one| one.name == name);
    let one = one.ok_or_else(|| {
        Refusal::from(McpRefusal::NoPrompt {
            name: quote_untrusted(name),
        })
    })?;
    let arguments = PromptArguments::parse(one, arguments)?;
    let text = match one.name {
        CLAIM_NEXT_PROMPT => claim_next_text(lang, arguments.get(ROLE_ARGUMENT)),
        HAND_OVER_PROMPT => {
            // A placeholder remains in the text for the client to fill in.
            let task = match arguments.require(TASK_ARGUMENT)? {
                placeholder if is_placeholder(placeholder) => placeholder.to_owned(),
                number => number.parse::<TaskId>()?.to_string(),
            };
            let to = match arguments.require(AGENT_ARGUMENT)? {
                placeholder if is_placeholder(placeholder) => placeholder.to_owned(),
                agent => agent.parse::<AgentId>()?.to_string(),
            };
            hand_over_text(lang, &task, &to, arguments.get(NOTE_ARGUMENT))
        }
        _ => {
            let board = match arguments.get(BOARD_ARGUMENT) {
                Some(name) => name.parse()?,
                None => own_board(app, agent).await?,
            };
            stand_up_text(lang, agent, &board)
        }
    };
    Ok(FilledPrompt {
        description: (one.description)(lang),
        text: msg::mcp_prompt_with_tool_origin(lang, text),
    })
}

/// The arguments of a prompt request.
struct PromptArguments<'a>(Vec<(&'static str, &'a str)>);

impl<'a> PromptArguments<'a> {
    fn parse(definition: &PromptDefinition, arguments: &'a JsonObject) -> Result<Self, Refusal> {
        let mut found = Vec::new();
        for argument in definition.arguments {
            let text = match arguments.get(argument.name) {
                None | Some(Value::Null) => continue,
                Some(Value::String(text)) => text.trim(),
                Some(_) => return Err(invalid_argument(argument.name, "not-a-string")),
            };
            if text.chars().nth(MAX_ARGUMENT_CHARS).is_some() {
                return Err(invalid_argument(argument.name, "too-long"));
            }
            let absent = text.is_empty() || (is_placeholder(text) && !argument.required);
            if !absent {
                found.push((argument.name, text));
            }
        }
        Ok(Self(found))
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| *text)
    }

    fn require(&self, name: &str) -> Result<&'a str, Refusal> {
        self.get(name)
            .ok_or_else(|| invalid_argument(name, "missing"))
    }
}

/// Returns whether an argument is an unfilled placeholder: `$1`, `${role}`, `$ARGUMENTS`, `{role}`, `<role>`.
///
/// opencode requests a prompt with such arguments and substitutes the user's input into the returned text.
fn is_placeholder(text: &str) -> bool {
    let enclosed = |open: &str, close: &str| {
        let name = text.strip_prefix(open)?.strip_suffix(close)?.trim();
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (!name.is_empty() && name.chars().all(is_word)).then_some(name)
    };
    let braced = [("${", "}"), ("{{", "}}"), ("{", "}"), ("<", ">")];
    if braced
        .iter()
        .any(|(open, close)| enclosed(open, close).is_some())
    {
        return true;
    }
    // `$1` and `$NAME`, but not an amount of money.
    enclosed("$", "")
        .is_some_and(|name| name.len() <= 2 || name.chars().all(|c| !c.is_ascii_digit()))
}

fn invalid_argument(argument: &str, problem: &str) -> Refusal {
    McpRefusal::InvalidArgument {
        argument: argument.to_owned(),
        problem: problem.to_owned(),
    }
    .into()
}

/// Returns the board to which an agent writes its own reports.
async fn own_board(app: &App, agent: &AgentId) -> Result<BoardName, OpError> {
    let Some(entry) = app.store.agent(agent).await? else {
        return Ok(BoardName::Global);
    };
    let agent = entry.agent;
    Ok(match agent.layer {
        AgentLayer::Top => BoardName::Top,
        // A role that is not a valid board name has no board.
        AgentLayer::Mid => agent.role.parse().map_or(BoardName::Global, BoardName::Mid),
        AgentLayer::Bottom => BoardName::Bottom(agent.id),
    })
}

fn claim_next_text(lang: UiLanguage, role: Option<&str>) -> String {
    match role {
        None => msg::mcp_claim_next_text(lang).to_owned(),
        Some(role) => msg::mcp_claim_next_for_role_text(lang, role),
    }
}

fn hand_over_text(lang: UiLanguage, task: &str, to: &str, note: Option<&str>) -> String {
    let note = note.map(|note| msg::mcp_hand_over_note_text(lang, note));
    msg::mcp_hand_over_text(lang, task, to, note.unwrap_or_default())
}

fn stand_up_text(lang: UiLanguage, agent: &AgentId, board: &BoardName) -> String {
    msg::mcp_stand_up_text(lang, agent, board)
}

#[cfg(test)]
mod tests {
    use polis_ops::tool::Tool;

    use super::*;

    #[test]
    fn tools_named_in_prompts_exist() {
        let agent = "a".parse().unwrap();
        for language in [UiLanguage::En, UiLanguage::Zh] {
            let texts = [
                claim_next_text(language, None),
                claim_next_text(language, Some("dev")),
                hand_over_text(language, "7", "a", Some("the key")),
                stand_up_text(language, &agent, &BoardName::Global),
            ];
            for text in texts {
                let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
                let tools = words.filter(|word| {
                    word.starts_with("Task") && word.len() > 4
                        || word.starts_with("whiteboard_")
                        || ["send_message", "check_messages"].contains(word)
                });
                let tools: Vec<_> = tools.collect();
                assert!(!tools.is_empty());
                for name in tools {
                    assert!(Tool::find(name).is_ok(), "{name}");
                }
            }
        }
    }
}
