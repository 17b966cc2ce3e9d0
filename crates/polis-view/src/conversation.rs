//! A member's conversation as a list of items for display: messages received, responses of the model with the
//! result of each tool call attached to the call, notes of the runtime, and compactions.
//!
//! [`conversation_items`] converts turns, which store calls and their results separately. Also formats
//! message payloads and the arguments of calls.

use std::collections::HashMap;

use polis_core::society::turn::{CallOutcome, ModelUsage};
use polis_core::{RawJson, Timestamp};
use polis_ops::op::{TurnEntry, TurnToolCall, TurnView};

use crate::display_width;

/// An item of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationItem<'a> {
    /// Index of the turn it belongs to.
    pub turn: u64,
    /// Time of the turn it belongs to.
    pub at: &'a Timestamp,
    /// The message, response, call result, note or summary.
    pub content: ItemContent<'a>,
}

/// Content of an item of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemContent<'a> {
    /// A message that the member received.
    Input {
        /// As the model read it.
        text: &'a str,
    },
    /// A response of the model, with its tool calls.
    Response {
        /// Text of the response; empty if it consists only of calls.
        text: &'a str,
        /// The calls, each with its result.
        calls: Vec<RenderedCall<'a>>,
        /// Token usage and cost.
        usage: &'a ModelUsage,
    },
    /// Result of a call that is on an earlier page.
    EarlierCallResult(RenderedCallResult<'a>),
    /// A note of the runtime.
    RuntimeNote {
        /// Text of the runtime's note.
        text: &'a str,
    },
    /// A compaction: all earlier turns were summarized.
    Compaction {
        /// The summary that replaced the earlier turns.
        text: &'a str,
    },
}

/// A tool call of the model, with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedCall<'a> {
    /// Name of the tool.
    pub tool: &'a str,
    /// Short summary: the first value of the arguments.
    pub summary: String,
    /// The arguments: pretty-printed if they are JSON, otherwise unchanged.
    pub arguments: String,
    /// The result; `None` if it is still pending.
    pub result: Option<RenderedCallResult<'a>>,
}

/// Result of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RenderedCallResult<'a> {
    /// Text returned to the model.
    pub text: &'a str,
    /// How the call ended.
    pub outcome: CallOutcome,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

/// Converts turns to items, in order. A result whose call is not in these turns becomes an item of its own.
pub fn conversation_items(turns: &[TurnView]) -> Vec<ConversationItem<'_>> {
    let mut results: HashMap<&str, RenderedCallResult<'_>> = HashMap::new();
    let mut call_ids: Vec<&str> = Vec::new();
    for entry in turns.iter().flat_map(|turn| &turn.entries) {
        match entry {
            TurnEntry::ToolResult {
                call,
                text,
                outcome,
                ms,
            } => {
                let done = RenderedCallResult {
                    text,
                    outcome: *outcome,
                    duration_ms: *ms,
                };
                results.entry(call).or_insert(done);
            }
            TurnEntry::Response { calls, .. } => {
                call_ids.extend(calls.iter().map(|call| call.id.as_str()));
            }
            _ => {}
        }
    }
    let call_ids: std::collections::HashSet<&str> = call_ids.into_iter().collect();
    let mut found = Vec::new();
    for turn in turns {
        for entry in &turn.entries {
            let content = match entry {
                TurnEntry::Received { text, .. } => ItemContent::Input { text },
                TurnEntry::Response { text, calls, usage } => ItemContent::Response {
                    text,
                    calls: calls
                        .iter()
                        .map(|call| render_call(call, &results))
                        .collect(),
                    usage,
                },
                // Shown with its call.
                TurnEntry::ToolResult { call, .. } if call_ids.contains(call.as_str()) => continue,
                TurnEntry::ToolResult {
                    text, outcome, ms, ..
                } => ItemContent::EarlierCallResult(RenderedCallResult {
                    text,
                    outcome: *outcome,
                    duration_ms: *ms,
                }),
                TurnEntry::Note { text } => ItemContent::RuntimeNote { text },
                TurnEntry::Summary { text, .. } => ItemContent::Compaction { text },
            };
            found.push(ConversationItem {
                turn: turn.turn,
                at: &turn.at,
                content,
            });
        }
    }
    found
}

fn render_call<'a>(
    call: &'a TurnToolCall,
    results: &HashMap<&str, RenderedCallResult<'a>>,
) -> RenderedCall<'a> {
    RenderedCall {
        tool: &call.tool,
        summary: summarize_arguments(&call.arguments),
        arguments: pretty_print_json(&call.arguments),
        result: results.get(call.id.as_str()).copied(),
    }
}

/// Maximum width of a call's summary in columns.
const MAX_SUMMARY_COLUMNS: usize = 60;

/// Returns the first string or number of the arguments, only its first line, truncated. Returns an empty text
/// if there is none or the arguments are not a JSON object.
fn summarize_arguments(arguments: &str) -> String {
    let read = serde_json::from_str::<serde_json::Value>(arguments);
    let Ok(serde_json::Value::Object(fields)) = read else {
        return String::new();
    };
    let summary = fields.values().find_map(|value| match value {
        serde_json::Value::String(text) => text.lines().next().map(str::to_owned),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    display_width::truncate_to_width(&summary.unwrap_or_default(), MAX_SUMMARY_COLUMNS)
}

/// Returns the text of a message payload: the payload itself if it is a string, or its `text` field if it has
/// no other. Returns `None` if the payload is other data.
pub fn payload_text(payload: &RawJson) -> Option<String> {
    match payload.parse_as::<serde_json::Value>()? {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Object(fields) => {
            let is_only = fields.len() == 1;
            let text = fields.get("text").filter(|_| is_only)?;
            text.as_str().map(str::to_owned)
        }
        _ => None,
    }
}

/// Pretty-prints a JSON object or array; returns any other text unchanged.
pub fn pretty_print_json(text: &str) -> String {
    let read = serde_json::from_str::<serde_json::Value>(text);
    let parsed = read
        .ok()
        .filter(|value| value.is_object() || value.is_array());
    let pretty = parsed.and_then(|value| serde_json::to_string_pretty(&value).ok());
    pretty.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn_view(number: u64, entries: Vec<TurnEntry>) -> TurnView {
        TurnView {
            turn: number,
            at: Timestamp::from_millis(0),
            entries,
        }
    }

    fn tool_call(id: &str) -> TurnToolCall {
        TurnToolCall {
            id: id.into(),
            tool: "TaskList".into(),
            arguments: "{\"ready\":true}".into(),
        }
    }

    fn call_result(id: &str, text: &str) -> TurnEntry {
        TurnEntry::ToolResult {
            call: id.into(),
            text: text.into(),
            outcome: CallOutcome::Ok,
            ms: 7,
        }
    }

    #[test]
    fn result_of_later_turn_is_attached_to_its_call() {
        let turns = [
            turn_view(
                0,
                vec![TurnEntry::Response {
                    text: "let me look".into(),
                    calls: vec![tool_call("a"), tool_call("b")],
                    usage: ModelUsage::default(),
                }],
            ),
            turn_view(1, vec![call_result("a", "two tasks")]),
        ];
        let found = conversation_items(&turns);
        assert_eq!(found.len(), 1);
        let ItemContent::Response { calls, .. } = &found[0].content else {
            panic!("{found:?}");
        };
        assert_eq!(calls[0].result.map(|done| done.text), Some("two tasks"));
        assert_eq!(calls[0].arguments, "{\n  \"ready\": true\n}");
        assert_eq!(calls[1].result, None);
        assert_eq!(calls[1].summary, "");
    }

    #[test]
    fn result_without_call_on_page_is_shown() {
        let turns = [turn_view(5, vec![call_result("z", "done")])];
        let found = conversation_items(&turns);
        assert!(
            matches!(found[0].content, ItemContent::EarlierCallResult(done) if done.text == "done")
        );
    }

    #[test]
    fn summary_is_first_readable_argument() {
        assert_eq!(
            summarize_arguments(r#"{"path":"a.rs\nb","content":"x"}"#),
            "a.rs"
        );
        assert_eq!(summarize_arguments(r#"{"list":[1],"n":7}"#), "7");
        assert_eq!(summarize_arguments("no json"), "");
    }

    #[test]
    fn payload_text_requires_text_alone() {
        let parse_text = |text: &str| payload_text(&RawJson::parse(text).unwrap());
        assert_eq!(parse_text(r#""hello""#).as_deref(), Some("hello"));
        assert_eq!(parse_text(r#"{"text":"hello"}"#).as_deref(), Some("hello"));
        assert_eq!(parse_text(r#"{"text":"hello","more":1}"#), None);
        assert_eq!(parse_text("[1]"), None);
    }

    #[test]
    fn invalid_json_is_shown_unchanged() {
        assert_eq!(pretty_print_json("{\"half"), "{\"half");
        assert_eq!(pretty_print_json("plain"), "plain");
    }
}
