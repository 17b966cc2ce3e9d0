//! What a client asked, as tests look at it.

use std::sync::OnceLock;
use std::time::Instant;

use serde_json::Value;

/// A request as it came.
#[derive(Debug)]
pub struct Request {
    /// The how-manieth it is of its server, from 0.
    pub number: usize,
    /// The method and the path, such as `POST /v1/chat/completions`.
    pub line: String,
    /// The headers as they came, one a line.
    pub head: String,
    /// The body.
    pub body: String,
    /// When it was there.
    pub at: Instant,
    pub(super) parsed: OnceLock<Value>,
}

impl Request {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The body as JSON; `null` if it is none.
    pub fn json(&self) -> &Value {
        self.parsed
            .get_or_init(|| serde_json::from_str(&self.body).unwrap_or(Value::Null))
    }

    /// The model that is asked for.
    pub fn model(&self) -> &str {
        self.json()["model"].as_str().unwrap_or_default()
    }

    /// The messages.
    pub fn messages(&self) -> &[Value] {
        self.json()["messages"]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
    }

    /// The text of a message, from the first (0) on; from the last (-1) back.
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

    /// What the system message says.
    pub fn system(&self) -> &str {
        self.messages()
            .iter()
            .find(|message| message["role"] == "system")
            .and_then(|message| message["content"].as_str())
            .unwrap_or_default()
    }

    /// The names of the tools that are offered.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.json()["tools"].as_array();
        tools
            .into_iter()
            .flatten()
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect()
    }

    /// How many answers of a model are in the conversation.
    pub fn answers(&self) -> usize {
        let answered = |message: &&Value| message["role"] == "assistant";
        self.messages().iter().filter(answered).count()
    }

    /// Whether the answer is wanted piece by piece.
    pub fn streams(&self) -> bool {
        // Looked for as text, so that a benchmark's script does not parse every conversation.
        self.body.contains("\"stream\":true") || self.body.contains("\"stream\": true")
    }

    /// Whether the stream is to say what it used.
    pub(super) fn wants_usage(&self) -> bool {
        self.body.contains("\"include_usage\"")
    }
}
