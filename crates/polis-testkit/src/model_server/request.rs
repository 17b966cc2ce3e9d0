//! Requests received by the scripted model, with accessors for tests.

use std::sync::OnceLock;
use std::time::Instant;

use serde_json::Value;

/// A request as it was received.
#[derive(Debug)]
pub struct Request {
    /// Zero-based index of the request on its server.
    pub number: usize,
    /// Method and path, such as `POST /v1/chat/completions`.
    pub line: String,
    /// The headers as received, one per line.
    pub head: String,
    /// The body.
    pub body: String,
    /// When it was received.
    pub at: Instant,
    pub(super) parsed: OnceLock<Value>,
}

impl Request {
    /// Returns a header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Returns the body as JSON; `null` if it is not JSON.
    pub fn json(&self) -> &Value {
        self.parsed
            .get_or_init(|| serde_json::from_str(&self.body).unwrap_or(Value::Null))
    }

    /// Returns the requested model.
    pub fn model(&self) -> &str {
        self.json()["model"].as_str().unwrap_or_default()
    }

    /// Returns the messages.
    pub fn messages(&self) -> &[Value] {
        self.json()["messages"]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
    }

    /// Returns the text of a message; a negative index counts from the end.
    pub fn text(&self, at: isize) -> &str {
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
    pub fn system(&self) -> &str {
        self.messages()
            .iter()
            .find(|message| message["role"] == "system")
            .and_then(|message| message["content"].as_str())
            .unwrap_or_default()
    }

    /// Returns the names of the offered tools.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.json()["tools"].as_array();
        tools
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect()
    }

    /// Returns the number of assistant messages in the conversation.
    pub fn answers(&self) -> usize {
        let answered = |message: &&Value| message["role"] == "assistant";
        self.messages().iter().filter(answered).count()
    }

    /// Whether a streamed response was requested.
    pub fn streams(&self) -> bool {
        // Searched as text, so that a benchmark's script does not parse every conversation.
        self.body.contains("\"stream\":true") || self.body.contains("\"stream\": true")
    }

    /// Whether the stream should report token usage.
    pub(super) fn wants_usage(&self) -> bool {
        self.body.contains("\"include_usage\"")
    }
}
