//! Chat messages in the format of the OpenAI chat API: builds system, user, assistant and tool messages, and
//! extracts the text and the tool calls from stored ones. Also formats mailbox messages for the prompt.
//!
//! Each message is serialized once, by serde, and from then on handled as JSON text ([`RawJson`]): the
//! context and the request body only concatenate these texts.

use polis_core::message::Message;
use polis_core::society::run_id::RunId;
use polis_core::{AgentId, RawJson};
use serde::{Deserialize, Serialize};

use crate::model::ToolCall;
use crate::runtime_messages::RuntimeMessages;

/// A chat message as JSON.
#[derive(Serialize)]
struct ChatMessage<'a> {
    role: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    content: &'a str,
}

/// Serializes a chat message.
fn build_message(role: &str, tool_call_id: Option<&str>, content: &str) -> RawJson {
    let message = ChatMessage {
        role,
        tool_call_id,
        content,
    };
    // Strings always serialize. If that ever failed, a `null` entry would still keep the conversation
    // well-formed.
    RawJson::from_value(&message).unwrap_or_else(|_| RawJson::null())
}

/// Creates a system message, which is the first message of a prompt.
pub fn system_message(text: &str) -> RawJson {
    build_message("system", None, text)
}

/// Creates a user message.
pub fn user_message(text: &str) -> RawJson {
    build_message("user", None, text)
}

/// Creates an assistant message.
pub fn assistant_message(text: &str) -> RawJson {
    build_message("assistant", None, text)
}

/// Creates a tool message: the result of the call with this id.
pub fn tool_message(call: &str, text: &str) -> RawJson {
    build_message("tool", Some(call), text)
}

/// Returns the content of a message, or an empty string if the content is not a string.
pub fn message_content(message: &str) -> String {
    /// The only field of a message that is read.
    #[derive(Deserialize)]
    struct ContentField {
        #[serde(default)]
        content: Option<String>,
    }
    serde_json::from_str::<ContentField>(message)
        .ok()
        .and_then(|read| read.content)
        .unwrap_or_default()
}

/// Returns the tool calls of an assistant message; none if they cannot be parsed.
pub fn parse_tool_calls(message: &RawJson) -> Vec<ToolCall> {
    #[derive(Deserialize)]
    struct AssistantToolCalls {
        #[serde(default)]
        tool_calls: Vec<RawToolCall>,
    }
    #[derive(Deserialize)]
    struct RawToolCall {
        id: String,
        function: RawToolFunction,
    }
    #[derive(Deserialize)]
    struct RawToolFunction {
        name: String,
        arguments: String,
    }
    if !message.as_str().contains("\"tool_calls\"") {
        return Vec::new();
    }
    let parsed = message.parse_as::<AssistantToolCalls>();
    let raw_calls = parsed.map(|parsed| parsed.tool_calls).unwrap_or_default();
    let call = |raw_call: RawToolCall| ToolCall {
        id: raw_call.id,
        tool: raw_call.function.name,
        arguments: raw_call.function.arguments,
    };
    raw_calls.into_iter().map(call).collect()
}

/// Formats mailbox messages as one user message, as many as fit into `room` bytes but at least one. Returns
/// it with the number of messages it contains. A message that is too long is truncated, with a hint how to
/// read the rest.
pub fn format_received_messages(
    messages: &[Message],
    room: usize,
    words: RuntimeMessages,
) -> (RawJson, usize) {
    let mut text = String::new();
    let mut count = 0;
    for message in messages {
        let payload = payload_text(&message.payload);
        if count > 0 && text.len().saturating_add(payload.len()) > room {
            break;
        }
        if count > 0 {
            text.push_str("\n\n");
        }
        text.push_str(&words.mail_header(message));
        let visible = payload.get(..payload.floor_char_boundary(room));
        let visible = visible.unwrap_or_default();
        text.push_str(visible);
        if visible.len() < payload.len() {
            text.push('\n');
            text.push_str(&words.truncated_mail_note(message, visible.len(), payload.len()));
        }
        count += 1;
    }
    (user_message(&text), count)
}

/// Returns the text of a payload: the string itself, the text of an object with only a `text` field, or else
/// the JSON.
pub fn payload_text(payload: &RawJson) -> String {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct TextOnlyPayload {
        text: String,
    }
    payload
        .parse_as::<String>()
        .or_else(|| {
            payload
                .parse_as::<TextOnlyPayload>()
                .map(|object| object.text)
        })
        .unwrap_or_else(|| payload.as_str().to_owned())
}

/// Creates the payload of a notice about a member: a text for people, with the member and the run it is
/// about.
pub fn notice_payload(agent: &AgentId, run: &RunId, text: &str) -> RawJson {
    /// The JSON of a notice.
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct NoticePayload<'a> {
        text: &'a str,
        about: &'a AgentId,
        #[serde(flatten, with = "polis_core::society::run_id_json")]
        run: &'a RunId,
    }
    let notice = NoticePayload {
        text,
        about: agent,
        run,
    };
    RawJson::from_value(&notice).unwrap_or_else(|_| RawJson::null())
}
