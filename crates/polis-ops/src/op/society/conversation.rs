//! Reads a member's conversation page by page: incoming messages, the model's answers, its tool calls with their
//! results, and the tokens and time they cost. The stored messages of the model API become entries for display.

use polis_core::society::turn::{CallEnd, Entry, Turn, Used};
use polis_core::society::{MemberKey, RunId};
use polis_core::{AgentId, Code, Raw, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{check_steer, no_member};
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::{PortError, StoredTurn};

/// Maximum number of turns per page.
const MAX_PAGE: u32 = 200;
/// Number of turns per page if the request sets no limit.
const USUAL_PAGE: u32 = 20;

/// The parameters of reading a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadConversation {
    /// Whose.
    pub agent_id: AgentId,
    /// The run; needed for `root`, who is in every run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<RunId>,
    /// From this turn on; the newest turns if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// At most so many turns; 20 if left out, 200 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A part of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    /// The run.
    #[serde(rename = "taskId")]
    pub run: RunId,
    /// Whose.
    pub agent_id: AgentId,
    /// How many turns it has.
    pub total: u64,
    /// The first turn that is still in its context; what was before is summed up.
    pub since: u64,
    /// The turns, by number.
    pub turns: Vec<TurnView>,
    /// Where the next page begins; left out at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TurnView {
    /// Its number.
    pub turn: u64,
    /// When.
    pub at: Timestamp,
    /// What was said and done.
    pub said: Vec<Spoken>,
}

/// Something said or done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Spoken {
    /// Messages from its mailbox.
    Heard {
        /// Their numbers.
        messages: Vec<u64>,
        /// As the model read them.
        text: String,
    },
    /// What the model answered.
    #[serde(rename_all = "camelCase")]
    Said {
        /// What it said.
        text: String,
        /// The calls it asked for.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        calls: Vec<ToolCall>,
        /// What it took.
        #[serde(flatten)]
        used: Used,
    },
    /// What came of a call.
    #[serde(rename_all = "camelCase")]
    Did {
        /// Which call.
        #[serde(skip_serializing_if = "String::is_empty")]
        call: String,
        /// What the model was told.
        text: String,
        /// How it ended.
        end: CallEnd,
        /// How long it took (milliseconds).
        ms: u64,
    },
    /// What the runtime told the model.
    Told {
        /// The note.
        text: String,
    },
    /// A summary of everything before.
    Summed {
        /// The summary.
        text: String,
        /// What making it took.
        #[serde(flatten)]
        used: Used,
    },
}

/// A call that a model asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ToolCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What it was called with, as the model wrote it.
    pub arguments: String,
}

/// The displayed fields of a prompt message; all other fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Said {
    content: Option<serde_json::Value>,
    tool_calls: Vec<Call>,
    tool_call_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Call {
    id: String,
    function: Function,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Function {
    name: String,
    arguments: String,
}

impl Said {
    fn of(raw: &Raw) -> Self {
        // Anything that is not a message of this form is shown verbatim.
        raw.to().unwrap_or_else(|| Self {
            content: Some(serde_json::Value::String(raw.text().to_owned())),
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

fn spoken(entry: Entry) -> Spoken {
    match entry {
        Entry::Heard { ids, m } => Spoken::Heard {
            messages: ids,
            text: Said::of(&m).text(),
        },
        Entry::Said { m, used, .. } => {
            let said = Said::of(&m);
            Spoken::Said {
                text: said.text(),
                calls: (said.tool_calls.into_iter())
                    .map(|call| ToolCall {
                        id: call.id,
                        tool: call.function.name,
                        arguments: call.function.arguments,
                    })
                    .collect(),
                used,
            }
        }
        Entry::Did { m, end, ms } => {
            let said = Said::of(&m);
            Spoken::Did {
                text: said.text(),
                call: said.tool_call_id,
                end,
                ms,
            }
        }
        Entry::Told { m } => Spoken::Told {
            text: Said::of(&m).text(),
        },
        Entry::Summed { m, used } => Spoken::Summed {
            text: Said::of(&m).text(),
            used,
        },
    }
}

/// Returns a page of a member's conversation. Readable by the member itself, the person, the agent that started the
/// run, and the members above it.
pub async fn read_conversation(
    polis: &Polis,
    caller: &AgentId,
    params: &ReadConversation,
) -> Result<Conversation, OpError> {
    let caller = polis.caller(caller).await?;
    let agent = &params.agent_id;
    let run = polis
        .run_of(&caller, agent, params.task_id.as_ref())
        .await?;
    let run = run.value;
    if caller.id != *agent {
        let everybody = polis.everybody(&run.id).await?;
        check_steer(&caller, &run, &everybody, agent)?;
    }
    let key = MemberKey::new(run.id.clone(), agent.clone());
    let one = polis.somebody(&key).await?;
    let one = one.ok_or_else(|| no_member(agent))?.state.value;
    let limit = params.limit.unwrap_or(USUAL_PAGE).clamp(1, MAX_PAGE);
    let found = match params.from {
        Some(from) => polis.store.turns(&key, from, limit).await?,
        None => polis.store.last_turns(&key, limit).await?,
    };
    let turns = found.iter().map(view).collect::<Result<Vec<_>, _>>()?;
    let after = turns.last().map(|turn| turn.turn + 1);
    Ok(Conversation {
        run: run.id,
        agent_id: agent.clone(),
        total: one.next_turn,
        since: one.since,
        turns,
        next: after.filter(|next| *next < one.next_turn),
    })
}

fn view(stored: &StoredTurn) -> Result<TurnView, PortError> {
    let turn: Turn = serde_json::from_str(&stored.body).map_err(|e| {
        PortError::new(
            Code::StoreCorrupt,
            "A turn of a conversation cannot be read.",
            "run `polis doctor`; a newer polis may have written it",
        )
        .because(e.to_string())
    })?;
    Ok(TurnView {
        turn: stored.turn,
        at: Timestamp::from_millis(turn.at),
        said: turn.of.into_iter().map(spoken).collect(),
    })
}
