//! Progress events: a live stream of what the members of this process do (model requests, tool calls, status changes),
//! for terminals, telemetry and other observers. Nothing here is needed to resume after a crash. Also summarises the
//! arguments of a tool call in one line.

use polis_core::MemberKey;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallEnd, Used};
use serde_json::{Map, Value};

/// A progress event of this process.
#[derive(Debug, Clone)]
pub struct Progress {
    /// The member it is about.
    pub member: MemberKey,
    /// What happened.
    pub step: Step,
}

/// What happened to a member.
#[derive(Debug, Clone)]
pub enum Step {
    /// A request to its model begins.
    Thinking,
    /// A part of the response text was streamed.
    Words(String),
    /// The model responded.
    Answered {
        /// The text of the response, without its tool calls.
        text: String,
        /// Number of tool calls in the response.
        calls: usize,
        /// Tokens, cost and time used.
        used: Used,
    },
    /// A tool call began.
    Calling {
        /// The tool.
        tool: String,
        /// A summary of its arguments, truncated.
        about: String,
    },
    /// A tool call ended.
    Called {
        /// The tool.
        tool: String,
        /// How it ended.
        end: CallEnd,
        /// Its duration (milliseconds).
        ms: u64,
    },
    /// The request to the model's endpoint is retried, and why.
    Waiting(String),
    /// A warning about the configuration, given only once.
    Warning(String),
    /// The member's status changed, and why.
    Stands(MemberStatus, Option<String>),
    /// The member sent a message to the human user: its id and text.
    ToUser(u64, String),
}

/// The arguments shown in a summary of a call, in this order.
const TELLING: [&str; 15] = [
    "agentId", "to", "path", "source", "target", "command", "board", "section", "name", "role",
    "id", "taskId", "subject", "query", "status",
];
/// Maximum length of a summary, in characters.
const GLANCE: usize = 160;

/// Returns a one-line summary of a call: its most informative arguments, truncated.
pub fn glance(arguments: &str) -> String {
    let Ok(given) = serde_json::from_str::<Map<String, Value>>(arguments) else {
        return cut(arguments);
    };
    let mut parts: Vec<String> = TELLING
        .iter()
        .filter_map(|key| given.get(*key))
        .filter_map(word)
        .collect();
    let said = given.get("payload").or_else(|| given.get("taskBrief"));
    let said = said.and_then(|said| {
        let inner = said.get("text").or_else(|| said.get("objective"));
        inner.or(Some(said)).and_then(word)
    });
    if let Some(said) = said {
        let before = parts.join(" ");
        parts = vec![if before.is_empty() {
            said
        } else {
            format!("{before}: {said}")
        }];
    }
    if parts.is_empty() && !given.is_empty() {
        return cut(arguments);
    }
    cut(&parts.join(" "))
}

/// Formats a value for the summary; `None` for values that are not shown.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(list) => {
            let words: Vec<String> = list.iter().filter_map(word).collect();
            Some(words.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    }
}

fn cut(text: &str) -> String {
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(GLANCE).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_at_a_glance() {
        for (arguments, shown) in [
            (r#"{"path":"a.sh","content":"echo"}"#, "a.sh"),
            (
                r#"{"command":"sh tests/run.sh","timeoutMs":5}"#,
                "sh tests/run.sh",
            ),
            (
                r#"{"payload":{"text":"Done."},"to":["a","b"]}"#,
                "a, b: Done.",
            ),
            (r#"{"to":"user","payload":"Hello"}"#, "user: Hello"),
            (r#"{"to":"user","payload":{"a":1}}"#, "user"),
            (
                r#"{"roleId":"role-1","taskBrief":{"objective":"Build."}}"#,
                "Build.",
            ),
            (r#"{"taskBrief":"Build."}"#, "Build."),
            ("{}", ""),
            (r#"{"x":true}"#, r#"{"x":true}"#),
            ("not json", "not json"),
        ] {
            assert_eq!(glance(arguments), shown, "{arguments}");
        }
        let long = format!(r#"{{"path":"{}"}}"#, "长".repeat(500));
        assert_eq!(glance(&long).chars().count(), GLANCE + 1);
    }
}
