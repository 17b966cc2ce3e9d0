//! The messages of a conversation as an OpenAI-compatible model reads them: making them, and reading back what
//! the runtime needs of them.

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
    // Texts always serialise; should they not, the conversation stays whole.
    Raw::of(&message).unwrap_or_else(|_| Raw::null())
}

/// What stands at the beginning.
pub fn system(text: &str) -> Raw {
    spoken("system", None, text)
}

/// What is said to the model.
pub fn user(text: &str) -> Raw {
    spoken("user", None, text)
}

/// What the model said.
pub fn assistant(text: &str) -> Raw {
    spoken("assistant", None, text)
}

/// The result of a call.
pub fn tool(call: &str, text: &str) -> Raw {
    spoken("tool", Some(call), text)
}

/// What a message's content is, if it is a text.
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

/// The calls that an answer asks for.
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

/// Messages of a mailbox as the model hears them, as many as fit into so many bytes, at least one; how many those
/// are. A long one is cut, and says how to read on.
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

/// What a message says: its text, the text of an object that has nothing else, or its JSON.
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

/// A message's text for people: who it is from and what it says. Used where a member is told about another.
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
