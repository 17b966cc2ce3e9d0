//! Conversation messages in the format of the OpenAI chat API: builds system, user, assistant and tool messages, and
//! extracts the text and the tool calls from stored ones. Also formats mailbox messages for the prompt.

use polis_core::message::Message;
use polis_core::society::name::RunId;
use polis_core::{AgentId, Raw};
use serde::{Deserialize, Serialize};

use crate::model::Call;
use crate::words::Words;

#[derive(Serialize)]
struct Spoken<'a> {
    role: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: &'a str,
}

fn spoken(role: &str, tool_call_id: Option<&str>, content: &str) -> Raw {
    let message = Spoken {
        role,
        tool_call_id,
        content,
    };
    // Strings always serialise. If that ever failed, a `null` entry would still keep the conversation well-formed.
    Raw::of(&message).unwrap_or_else(|_| Raw::null())
}

/// Creates a system message, which is the first message of a prompt.
pub fn system(text: &str) -> Raw {
    spoken("system", None, text)
}

/// Creates a user message.
pub fn user(text: &str) -> Raw {
    spoken("user", None, text)
}

/// Creates an assistant message.
pub fn assistant(text: &str) -> Raw {
    spoken("assistant", None, text)
}

/// Creates a tool message: the result of the call with this id.
pub fn tool(call: &str, text: &str) -> Raw {
    spoken("tool", Some(call), text)
}

/// Returns the content of a message, or an empty string if the content is not a string.
pub fn content(message: &str) -> String {
    #[derive(Deserialize)]
    struct Content {
        #[serde(default)]
        content: Option<String>,
    }
    serde_json::from_str::<Content>(message)
        .ok()
        .and_then(|read| read.content)
        .unwrap_or_default()
}

/// Returns the tool calls of an assistant message.
pub fn calls(message: &Raw) -> Vec<Call> {
    #[derive(Deserialize)]
    struct Said {
        #[serde(default)]
        tool_calls: Vec<Asked>,
    }
    #[derive(Deserialize)]
    struct Asked {
        id: String,
        function: Function,
    }
    #[derive(Deserialize)]
    struct Function {
        name: String,
        arguments: String,
    }
    if !message.text().contains("\"tool_calls\"") {
        return Vec::new();
    }
    let said = message.to::<Said>();
    let asked = said.map(|said| said.tool_calls).unwrap_or_default();
    let call = |asked: Asked| Call {
        id: asked.id,
        tool: asked.function.name,
        arguments: asked.function.arguments,
    };
    asked.into_iter().map(call).collect()
}

/// Formats mailbox messages as one user message, as many as fit into `room` bytes but at least one. Returns it with the
/// number of messages it contains. A message that is too long is truncated, with a hint how to read the rest.
pub fn heard(letters: &[Message], room: usize, words: Words) -> (Raw, usize) {
    let mut text = String::new();
    let mut taken = 0;
    for letter in letters {
        let payload = payload(&letter.payload);
        if taken > 0 && text.len().saturating_add(payload.len()) > room {
            break;
        }
        if taken > 0 {
            text.push_str("\n\n");
        }
        text.push_str(&words.letter(letter));
        let shown = payload.get(..payload.floor_char_boundary(room));
        let shown = shown.unwrap_or_default();
        text.push_str(shown);
        if shown.len() < payload.len() {
            text.push('\n');
            text.push_str(&words.letter_cut(letter, shown.len(), payload.len()));
        }
        taken += 1;
    }
    (user(&text), taken)
}

/// Returns the text of a payload: the string itself, the text of an object with only a `text` field, or else the JSON.
pub fn payload(payload: &Raw) -> String {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Text {
        text: String,
    }
    payload
        .to::<String>()
        .or_else(|| payload.to::<Text>().map(|only| only.text))
        .unwrap_or_else(|| payload.text().to_owned())
}

/// Creates the payload of a notice about a member: a text for people, with the member and the run it is about.
pub fn told(agent: &AgentId, run: &RunId, text: &str) -> Raw {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Told<'a> {
        text: &'a str,
        about: &'a AgentId,
        task_id: &'a RunId,
    }
    let told = Told {
        text,
        about: agent,
        task_id: run,
    };
    Raw::of(&told).unwrap_or_else(|_| Raw::null())
}
