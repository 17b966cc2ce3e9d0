//! What a society does at the moment, for those who look on. Nothing here is needed to go on after a crash.

use polis_core::MemberKey;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallEnd, Used};
use serde_json::{Map, Value};

/// Something that just happened in this process.
#[derive(Debug, Clone)]
pub struct Progress {
    /// To whom.
    pub member: MemberKey,
    /// What.
    pub step: Step,
}

/// What happens to a member.
#[derive(Debug, Clone)]
pub enum Step {
    /// It asks its model.
    Thinking,
    /// A part of the model's answer came.
    Words(String),
    /// The model answered.
    Answered {
        /// What it said beside its calls.
        text: String,
        /// How many calls it asks for.
        calls: usize,
        /// What it took.
        used: Used,
    },
    /// A call began.
    Calling {
        /// The tool.
        tool: String,
        /// What it is called with, cut.
        about: String,
    },
    /// A call is over.
    Called {
        /// The tool.
        tool: String,
        /// How.
        end: CallEnd,
        /// How long it took (milliseconds).
        ms: u64,
    },
    /// The model's endpoint has to be waited for, and why.
    Waiting(String),
    /// A warning about the configuration, given once.
    Warning(String),
    /// Its state changed, and why.
    Stands(MemberStatus, Option<String>),
    /// It said something to the person: the message's number and text.
    ToUser(u64, String),
}

/// The arguments that tell what a call is about, in the order they are shown.
const TELLING: [&str; 15] = [
    "agentId", "to", "path", "source", "target", "command", "board", "section", "name", "role",
    "id", "taskId", "subject", "query", "status",
];
/// How much of a call is shown, in characters.
const GLANCE: usize = 160;

/// What a call is about, at a glance: those of its arguments that tell most, cut.
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

/// A value in a word or a few.
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
