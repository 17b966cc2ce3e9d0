//! Renders a member's conversation: messages and model answers in order, with the result of each tool call
//! attached to the call, although the turns store them separately.

use std::collections::HashMap;

use polis_core::society::turn::{CallEnd, Used};
use polis_core::{Raw, Timestamp};
use polis_ops::op::{Spoken, ToolCall, TurnView};

use crate::width;

/// An entry of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bubble<'a> {
    /// Index of its turn.
    pub turn: u64,
    /// Time of its turn.
    pub at: &'a Timestamp,
    /// Content.
    pub what: What<'a>,
}

/// Content of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What<'a> {
    /// Input it received.
    Heard {
        /// As the model read it.
        text: &'a str,
    },
    /// An answer of the model, with its tool calls.
    Said {
        /// Text of the answer.
        text: &'a str,
        /// The calls, each with its result.
        calls: Vec<Call<'a>>,
        /// Token usage and cost.
        used: &'a Used,
    },
    /// Result of a call that is on an earlier page.
    Did(Done<'a>),
    /// A note of the runtime.
    Told {
        /// Text of the note.
        text: &'a str,
    },
    /// A compaction: everything before was summarized.
    Summed {
        /// The summary.
        text: &'a str,
    },
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Short summary: the first value of the arguments.
    pub gist: String,
    /// The arguments: pretty-printed if they are JSON, otherwise unchanged.
    pub arguments: String,
    /// The result; `None` if it is still pending.
    pub done: Option<Done<'a>>,
}

/// Result of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Done<'a> {
    /// Text returned to the model.
    pub text: &'a str,
    /// How the call ended.
    pub end: CallEnd,
    /// Duration in milliseconds.
    pub ms: u64,
}

/// Converts turns to entries, in order.
pub fn bubbles(turns: &[TurnView]) -> Vec<Bubble<'_>> {
    let mut results: HashMap<&str, Done<'_>> = HashMap::new();
    let mut asked: Vec<&str> = Vec::new();
    for said in turns.iter().flat_map(|turn| &turn.said) {
        match said {
            Spoken::Did {
                call,
                text,
                end,
                ms,
            } => {
                let done = Done {
                    text,
                    end: *end,
                    ms: *ms,
                };
                results.entry(call).or_insert(done);
            }
            Spoken::Said { calls, .. } => asked.extend(calls.iter().map(|call| call.id.as_str())),
            _ => {}
        }
    }
    let asked: std::collections::HashSet<&str> = asked.into_iter().collect();
    let mut found = Vec::new();
    for turn in turns {
        for said in &turn.said {
            let what = match said {
                Spoken::Heard { text, .. } => What::Heard { text },
                Spoken::Said { text, calls, used } => What::Said {
                    text,
                    calls: calls.iter().map(|call| of(call, &results)).collect(),
                    used,
                },
                // It is shown with its call.
                Spoken::Did { call, .. } if asked.contains(call.as_str()) => continue,
                Spoken::Did { text, end, ms, .. } => What::Did(Done {
                    text,
                    end: *end,
                    ms: *ms,
                }),
                Spoken::Told { text } => What::Told { text },
                Spoken::Summed { text, .. } => What::Summed { text },
            };
            found.push(Bubble {
                turn: turn.turn,
                at: &turn.at,
                what,
            });
        }
    }
    found
}

fn of<'a>(call: &'a ToolCall, results: &HashMap<&str, Done<'a>>) -> Call<'a> {
    Call {
        tool: &call.tool,
        gist: gist(&call.arguments),
        arguments: laid_out(&call.arguments),
        done: results.get(call.id.as_str()).copied(),
    }
}

/// Maximum width of a call's summary in columns.
const GIST: usize = 60;

/// Returns the first string or number of the arguments, only its first line, truncated.
fn gist(arguments: &str) -> String {
    let read = serde_json::from_str::<serde_json::Value>(arguments);
    let Ok(serde_json::Value::Object(fields)) = read else {
        return String::new();
    };
    let said = fields.values().find_map(|value| match value {
        serde_json::Value::String(text) => text.lines().next().map(str::to_owned),
        serde_json::Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    width::cut(&said.unwrap_or_default(), GIST)
}

/// Returns the text of a message payload: the payload itself if it is a string, or its `text` field if it has
/// no other. Returns `None` if the payload is other data.
pub fn letter(payload: &Raw) -> Option<String> {
    match payload.to::<serde_json::Value>()? {
        serde_json::Value::String(text) => Some(text),
        serde_json::Value::Object(fields) => {
            let only = fields.len() == 1;
            let text = fields.get("text").filter(|_| only)?;
            text.as_str().map(str::to_owned)
        }
        _ => None,
    }
}

/// Pretty-prints a JSON object or array; returns any other text unchanged.
pub fn laid_out(text: &str) -> String {
    let read = serde_json::from_str::<serde_json::Value>(text);
    let laid = read
        .ok()
        .filter(|value| value.is_object() || value.is_array());
    let laid = laid.and_then(|value| serde_json::to_string_pretty(&value).ok());
    laid.unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(number: u64, said: Vec<Spoken>) -> TurnView {
        TurnView {
            turn: number,
            at: Timestamp::from_millis(0),
            said,
        }
    }

    fn call(id: &str) -> ToolCall {
        ToolCall {
            id: id.into(),
            tool: "TaskList".into(),
            arguments: "{\"ready\":true}".into(),
        }
    }

    fn did(id: &str, text: &str) -> Spoken {
        Spoken::Did {
            call: id.into(),
            text: text.into(),
            end: CallEnd::Ok,
            ms: 7,
        }
    }

    #[test]
    fn a_result_stands_with_its_call_even_in_a_later_turn() {
        let turns = [
            turn(
                0,
                vec![Spoken::Said {
                    text: "let me look".into(),
                    calls: vec![call("a"), call("b")],
                    used: Used::default(),
                }],
            ),
            turn(1, vec![did("a", "two tasks")]),
        ];
        let found = bubbles(&turns);
        assert_eq!(found.len(), 1);
        let What::Said { calls, .. } = &found[0].what else {
            panic!("{found:?}");
        };
        assert_eq!(calls[0].done.map(|done| done.text), Some("two tasks"));
        assert_eq!(calls[0].arguments, "{\n  \"ready\": true\n}");
        assert_eq!(calls[1].done, None);
        assert_eq!(calls[1].gist, "");
    }

    #[test]
    fn a_result_whose_call_is_on_an_earlier_page_is_not_lost() {
        let turns = [turn(5, vec![did("z", "done")])];
        let found = bubbles(&turns);
        assert!(matches!(found[0].what, What::Did(done) if done.text == "done"));
    }

    #[test]
    fn a_gist_is_the_first_value_that_can_be_read() {
        assert_eq!(gist(r#"{"path":"a.rs\nb","content":"x"}"#), "a.rs");
        assert_eq!(gist(r#"{"list":[1],"n":7}"#), "7");
        assert_eq!(gist("no json"), "");
    }

    #[test]
    fn a_letter_is_read_in_words_where_it_has_words_alone() {
        let said = |text: &str| letter(&Raw::parse(text).unwrap());
        assert_eq!(said(r#""hello""#).as_deref(), Some("hello"));
        assert_eq!(said(r#"{"text":"hello"}"#).as_deref(), Some("hello"));
        assert_eq!(said(r#"{"text":"hello","more":1}"#), None);
        assert_eq!(said("[1]"), None);
    }

    #[test]
    fn what_is_no_json_is_shown_as_it_stands() {
        assert_eq!(laid_out("{\"half"), "{\"half");
        assert_eq!(laid_out("plain"), "plain");
    }
}
