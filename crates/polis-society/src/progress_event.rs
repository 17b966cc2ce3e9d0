//! Types of progress events: what the members of this process do (model requests, tool calls, status changes), for
//! terminals, telemetry and other observers. Observers subscribe to them with `Society::subscribe_progress`. The
//! events are not stored; resuming after a crash does not need them. [`summarise_arguments`] shortens the arguments
//! of a tool call to one line.

use polis_core::MemberKey;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallOutcome, ModelUsage};
use serde_json::{Map, Value};

/// A progress event of this process.
#[derive(Debug, Clone)]
pub struct ProgressEvent {
    /// The member it is about.
    pub member: MemberKey,
    /// What happened to that member.
    pub step: ProgressStep,
}

/// What happened to a member.
#[derive(Debug, Clone)]
pub enum ProgressStep {
    /// A request to its model begins.
    RequestStarted,
    /// A part of the response text was streamed.
    TextStreamed(String),
    /// The model sent a complete response.
    ResponseReceived {
        /// The text of the response, without its tool calls.
        text: String,
        /// Number of tool calls in the response.
        calls: usize,
        /// Tokens, cost and time used.
        used: ModelUsage,
    },
    /// A tool call began.
    ToolCallStarted {
        /// The name of the tool.
        tool: String,
        /// A summary of its arguments, truncated.
        about: String,
    },
    /// A tool call ended.
    ToolCallEnded {
        /// The name of the tool.
        tool: String,
        /// Whether it succeeded, failed, was interrupted or was denied.
        end: CallOutcome,
        /// Duration of the call in milliseconds.
        ms: u64,
    },
    /// The request to the model's endpoint is retried, and why.
    RequestRetried(String),
    /// A warning about the configuration, given only once.
    Warning(String),
    /// The member's status changed, and why.
    StatusChanged(MemberStatus, Option<String>),
    /// The member sent a message to the person: its id and text.
    MessageToUser(u64, String),
}

/// The arguments shown in a summary of a call, in this order.
const SUMMARY_KEYS: [&str; 15] = [
    "agentId", "to", "path", "source", "target", "command", "board", "section", "name", "role",
    "id", "taskId", "subject", "query", "status",
];
/// Maximum length of a summary, in characters.
const MAX_SUMMARY_CHARS: usize = 160;

/// Returns a one-line summary of a call: its most informative arguments, truncated.
pub fn summarise_arguments(arguments: &str) -> String {
    let Ok(fields) = serde_json::from_str::<Map<String, Value>>(arguments) else {
        return truncate_summary(arguments);
    };
    let mut parts: Vec<String> = SUMMARY_KEYS
        .iter()
        .filter_map(|key| fields.get(*key))
        .filter_map(format_argument)
        .collect();
    let payload = fields.get("payload").or_else(|| fields.get("taskBrief"));
    let text = payload.and_then(|payload| {
        let inner = payload.get("text").or_else(|| payload.get("objective"));
        inner.or(Some(payload)).and_then(format_argument)
    });
    if let Some(text) = text {
        let before = parts.join(" ");
        parts = vec![if before.is_empty() {
            text
        } else {
            format!("{before}: {text}")
        }];
    }
    if parts.is_empty() && !fields.is_empty() {
        return truncate_summary(arguments);
    }
    truncate_summary(&parts.join(" "))
}

/// Formats a value for the summary; `None` for values that are not shown.
fn format_argument(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(list) => {
            let words: Vec<String> = list.iter().filter_map(format_argument).collect();
            Some(words.join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
    }
}

/// Truncates a summary, and marks the cut with an ellipsis.
fn truncate_summary(text: &str) -> String {
    let mut chars = text.chars();
    let mut summary: String = chars.by_ref().take(MAX_SUMMARY_CHARS).collect();
    if chars.next().is_some() {
        summary.push('…');
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_arguments_are_summarised_in_one_line() {
        for (arguments, expected) in [
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
            assert_eq!(summarise_arguments(arguments), expected, "{arguments}");
        }
        let long = format!(r#"{{"path":"{}"}}"#, "长".repeat(500));
        assert_eq!(
            summarise_arguments(&long).chars().count(),
            MAX_SUMMARY_CHARS + 1
        );
    }
}
