//! Requests received by the scripted model, with accessors for tests.

use std::sync::OnceLock;
use std::time::Instant;

use serde_json::Value;

/// A request as it was received.
#[derive(Debug)]
pub struct ModelHttpRequest {
    /// Zero-based index of the request on its server.
    pub index: usize,
    /// Method and path, such as `POST /v1/chat/completions`.
    pub method_and_path: String,
    /// The headers as received, one per line.
    pub headers: String,
    /// The body as text.
    pub body: String,
    /// When the whole request had been received.
    pub received_at: Instant,
    pub(super) parsed_body: OnceLock<Value>,
}

impl ModelHttpRequest {
    /// Returns a header's value.
    pub fn header_value(&self, name: &str) -> Option<&str> {
        self.headers.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Returns the body as JSON; `null` if it is not JSON.
    pub fn body_json(&self) -> &Value {
        self.parsed_body
            .get_or_init(|| serde_json::from_str(&self.body).unwrap_or(Value::Null))
    }

    /// Returns the requested model.
    pub fn model(&self) -> &str {
        self.body_json()["model"].as_str().unwrap_or_default()
    }

    /// Returns the messages.
    pub fn messages(&self) -> &[Value] {
        self.body_json()["messages"]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
    }

    /// Returns the text of a message; a negative index counts from the end.
    pub fn message_text(&self, at: isize) -> &str {
        let all = self.messages();
        let at = if at < 0 {
            all.len().checked_add_signed(at)
        } else {
            usize::try_from(at).ok()
        };
        at.and_then(|at| all.get(at))
            .and_then(|message| message["content"].as_str())
            .unwrap_or_default()
    }

    /// Returns the content of the system message.
    pub fn system_message(&self) -> &str {
        self.messages()
            .iter()
            .find(|message| message["role"] == "system")
            .and_then(|message| message["content"].as_str())
            .unwrap_or_default()
    }

    /// Returns the names of the offered tools.
    pub fn tool_names(&self) -> Vec<&str> {
        let tools = self.body_json()["tools"].as_array();
        tools
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect()
    }

    /// Returns the number of assistant messages in the conversation.
    pub fn assistant_message_count(&self) -> usize {
        let answered = |message: &&Value| message["role"] == "assistant";
        self.messages().iter().filter(answered).count()
    }

    /// Returns whether a streamed response was requested.
    pub fn is_streaming(&self) -> bool {
        // Searched as text, so that a benchmark's script does not parse every conversation.
        self.body.contains("\"stream\":true") || self.body.contains("\"stream\": true")
    }

    /// Returns whether the stream should report token usage.
    pub(super) fn wants_usage(&self) -> bool {
        self.body.contains("\"include_usage\"")
    }
}
