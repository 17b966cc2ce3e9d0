//! Reads a member's conversation page by page ([`read_conversation`]): incoming messages, the model's
//! responses, its tool calls with their results, and the tokens and time they cost. The stored messages of
//! the model API become entries for display.

use polis_core::society::turn::{CallOutcome, ConversationEntry, ConversationTurn, ModelUsage};
use polis_core::society::{MemberKey, RunId};
use polis_core::{AgentId, RawJson, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{check_may_steer, member_not_found};
use crate::error::OpError;
use crate::op::society::load_member;
use crate::op::society::load_members;
use crate::op::society::resolve_member_run;
use crate::port::{PortError, StoredTurn};
use crate::refusal_tables::OperationRefusal;
use crate::request::Request;

/// Maximum number of turns per page.
const MAX_PAGE_SIZE: u32 = 200;
/// Number of turns per page if the request sets no limit.
const DEFAULT_PAGE_SIZE: u32 = 20;

/// Parameters of `read_conversation`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadConversationParams {
    /// The member.
    pub agent_id: AgentId,
    /// The run; required for `root`, since every run has one.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "taskId")]
    pub run_id: Option<RunId>,
    /// First turn; default: the newest turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// Maximum number of turns; default: 20, up to 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConversationPage {
    /// The run.
    #[serde(flatten, with = "polis_core::society::run_id_json")]
    #[schemars(with = "polis_core::society::run_id_json::RunIdFields<RunId>")]
    pub run: RunId,
    /// The member.
    pub agent_id: AgentId,
    /// Total number of turns.
    pub total: u64,
    /// First turn that is still in the model's context; earlier turns were compacted into a summary.
    pub since: u64,
    /// The turns, ordered by number.
    pub turns: Vec<TurnView>,
    /// Cursor of the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TurnView {
    /// Its number.
    pub turn: u64,
    /// When it was committed.
    pub at: Timestamp,
    /// Its entries.
    #[serde(rename = "said")]
    pub entries: Vec<TurnEntry>,
}

/// An entry of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum TurnEntry {
    /// Messages from its mailbox.
    #[serde(rename = "heard")]
    Received {
        /// Their numbers.
        messages: Vec<u64>,
        /// Their text as the model received it.
        text: String,
    },
    /// An answer of the model.
    #[serde(rename_all = "camelCase")]
    #[serde(rename = "said")]
    Response {
        /// Text of the answer.
        text: String,
        /// Tool calls that it requested.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        calls: Vec<TurnToolCall>,
        /// Tokens and time used.
        #[serde(flatten)]
        usage: ModelUsage,
    },
    /// Result of a tool call.
    #[serde(rename_all = "camelCase")]
    #[serde(rename = "did")]
    ToolResult {
        /// Id of the call.
        #[serde(skip_serializing_if = "String::is_empty")]
        call: String,
        /// The result as the model received it.
        text: String,
        /// Outcome of the call.
        #[serde(rename = "end")]
        outcome: CallOutcome,
        /// Duration in milliseconds.
        ms: u64,
    },
    /// A note from the runtime to the model.
    #[serde(rename = "told")]
    Note {
        /// Text of the note.
        text: String,
    },
    /// A summary of all earlier turns (compaction).
    #[serde(rename = "summed")]
    Summary {
        /// The summary.
        text: String,
        /// Tokens and time used for the summary.
        #[serde(flatten)]
        usage: ModelUsage,
    },
}

/// A tool call requested by a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TurnToolCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments, exactly as the model wrote them.
    pub arguments: String,
}

/// The displayed fields of a prompt message; all other fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DisplayedMessage {
    content: Option<serde_json::Value>,
    tool_calls: Vec<DisplayedToolCall>,
    tool_call_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DisplayedToolCall {
    id: String,
    function: DisplayedFunction,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DisplayedFunction {
    name: String,
    arguments: String,
}

impl DisplayedMessage {
    fn from_raw(raw: &RawJson) -> Self {
        // Anything that is not a message of this form is shown verbatim.
        raw.parse_as().unwrap_or_else(|| Self {
            content: Some(serde_json::Value::String(raw.as_str().to_owned())),
            ..Self::default()
        })
    }

    fn text(&self) -> String {
        match &self.content {
            None | Some(serde_json::Value::Null) => String::new(),
            Some(serde_json::Value::String(text)) => text.clone(),
            Some(serde_json::Value::Array(parts)) => {
                let texts = parts.iter().filter_map(|part| part.get("text"));
                let texts: Vec<&str> = texts.filter_map(serde_json::Value::as_str).collect();
                texts.join("\n")
            }
            Some(other) => other.to_string(),
        }
    }
}

fn turn_entry(entry: ConversationEntry) -> TurnEntry {
    match entry {
        ConversationEntry::Received { ids, message } => TurnEntry::Received {
            messages: ids,
            text: DisplayedMessage::from_raw(&message).text(),
        },
        ConversationEntry::Response { message, usage, .. } => {
            let message = DisplayedMessage::from_raw(&message);
            TurnEntry::Response {
                text: message.text(),
                calls: (message.tool_calls.into_iter())
                    .map(|call| TurnToolCall {
                        id: call.id,
                        tool: call.function.name,
                        arguments: call.function.arguments,
                    })
                    .collect(),
                usage,
            }
        }
        ConversationEntry::ToolResult {
            message,
            outcome,
            ms,
        } => {
            let message = DisplayedMessage::from_raw(&message);
            TurnEntry::ToolResult {
                text: message.text(),
                call: message.tool_call_id,
                outcome,
                ms,
            }
        }
        ConversationEntry::Note { message } => TurnEntry::Note {
            text: DisplayedMessage::from_raw(&message).text(),
        },
        ConversationEntry::Summary { message, usage } => TurnEntry::Summary {
            text: DisplayedMessage::from_raw(&message).text(),
            usage,
        },
    }
}

/// Returns a page of a member's conversation. Readable by the member itself, the person, the agent that
/// started the run, and the members above it. Fails with `not_descendant` or `run_not_found` for other
/// callers, and with `agent_not_found` if there is no such member.
pub async fn read_conversation(
    request: &Request,
    params: &ReadConversationParams,
) -> Result<ConversationPage, OpError> {
    let caller = request.resolve_caller().await?;
    let agent = &params.agent_id;
    let run = resolve_member_run(request, &caller, agent, params.run_id.as_ref()).await?;
    let run = run.value;
    if caller.id != *agent {
        let members = load_members(&request.app, &run.id).await?;
        check_may_steer(&caller, &run, &members, agent)?;
    }
    let key = MemberKey::new(run.id.clone(), agent.clone());
    let state = load_member(&request.app, &key).await?;
    let state = state.ok_or_else(|| member_not_found(agent))?.state.value;
    let limit = params
        .limit
        .unwrap_or(DEFAULT_PAGE_SIZE)
        .clamp(1, MAX_PAGE_SIZE);
    let found = match params.from {
        Some(from) => request.app.store.turns(&key, from, limit).await?,
        None => request.app.store.last_turns(&key, limit).await?,
    };
    let turns = found.iter().map(turn_view).collect::<Result<Vec<_>, _>>()?;
    let after = turns.last().map(|turn| turn.turn + 1);
    Ok(ConversationPage {
        run: run.id,
        agent_id: agent.clone(),
        total: state.next_turn,
        since: state.first_context_turn,
        turns,
        next: after.filter(|next| *next < state.next_turn),
    })
}

fn turn_view(stored: &StoredTurn) -> Result<TurnView, PortError> {
    let turn: ConversationTurn = serde_json::from_str(&stored.body)
        .map_err(|e| PortError::from(OperationRefusal::TurnDamaged).with_source(e.to_string()))?;
    Ok(TurnView {
        turn: stored.turn,
        at: Timestamp::from_millis(turn.at),
        entries: turn.entries.into_iter().map(turn_entry).collect(),
    })
}
