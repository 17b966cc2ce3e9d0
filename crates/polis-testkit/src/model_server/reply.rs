//! Scripted replies: valid answers, and every kind of faulty answer.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::request::Request;

/// A tool call in a reply.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The call's id, assigned by the model.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as text, which need not be valid JSON.
    pub arguments: String,
}

impl ToolCall {
    /// Creates a call with valid JSON arguments.
    pub fn new(id: &str, name: &str, arguments: &Value) -> Self {
        Self::raw(id, name, &arguments.to_string())
    }

    /// Creates a call with arbitrary argument text.
    pub fn raw(id: &str, name: &str, arguments: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }
}

/// Where and how a reply breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The connection is reset before the first byte of the reply.
    Before,
    /// The connection is reset after half of the reply.
    Half,
    /// The body ends regularly after half of the reply: no finish reason, no `[DONE]`.
    Cut,
    /// The reply ends after its finish reason, without `[DONE]`.
    NoMark,
    /// `[DONE]` is sent without a finish reason before it.
    NoReason,
    /// The connection is closed (not reset) after `[DONE]`, before the end of the body.
    AfterMark,
    /// The connection stays open after half of the reply, but nothing more is sent.
    Stall,
    /// Nothing is ever sent.
    Never,
}

/// A reply.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(super) kind: Kind,
    pub(super) after: Duration,
    pub(super) between: Option<Duration>,
    pub(super) broken: Option<Break>,
    pub(super) headers: String,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Answer(Said),
    /// The data of the stream's events, verbatim.
    Events(Vec<String>),
    /// A complete response, verbatim.
    Raw(u16, &'static str, String),
}

#[derive(Debug, Clone)]
pub(super) struct Said {
    text: String,
    calls: Vec<ToolCall>,
    finish: Option<String>,
    usage: Option<(u64, u64)>,
    model: Option<String>,
}

impl Reply {
    fn of(kind: Kind) -> Self {
        Self {
            kind,
            after: Duration::ZERO,
            between: None,
            broken: None,
            headers: String::new(),
        }
    }

    /// Creates a reply with text and without tool calls.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Kind::Answer(Said {
            text: text.into(),
            calls: Vec::new(),
            finish: None,
            usage: Some((10, 5)),
            model: None,
        }))
    }

    /// Creates a reply with one tool call.
    pub fn call(id: &str, tool: &str, arguments: &Value) -> Self {
        Self::calls([ToolCall::new(id, tool, arguments)])
    }

    /// Creates a reply with tool calls.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self::text("").and_calls(calls)
    }

    /// Adds tool calls to the reply.
    #[must_use]
    pub fn and_calls(mut self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        if let Kind::Answer(said) = &mut self.kind {
            said.calls.extend(calls);
        }
        self
    }

    /// Sets the finish reason.
    #[must_use]
    pub fn ending(mut self, reason: &str) -> Self {
        if let Kind::Answer(said) = &mut self.kind {
            said.finish = Some(reason.to_owned());
        }
        self
    }

    /// Sets the reported token usage.
    #[must_use]
    pub fn using(mut self, prompt: u64, answer: u64) -> Self {
        if let Kind::Answer(said) = &mut self.kind {
            said.usage = Some((prompt, answer));
        }
        self
    }

    /// Removes the token usage from the reply.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        if let Kind::Answer(said) = &mut self.kind {
            said.usage = None;
        }
        self
    }

    /// Reports another model name than the requested one.
    #[must_use]
    pub fn as_model(mut self, model: &str) -> Self {
        if let Kind::Answer(said) = &mut self.kind {
            said.model = Some(model.to_owned());
        }
        self
    }

    /// Creates a stream of exactly these events' data, followed by the end of the body.
    pub fn events(data: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::of(Kind::Events(data.into_iter().map(Into::into).collect()))
    }

    /// Creates a complete response, verbatim.
    pub fn raw(status: u16, content_type: &'static str, body: impl Into<String>) -> Self {
        Self::of(Kind::Raw(status, content_type, body.into()))
    }

    /// Creates an error response in the format of most providers.
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        let kind = if status == 429 {
            "rate_limit"
        } else {
            "invalid_request_error"
        };
        let body =
            json!({ "error": { "message": message, "type": kind, "param": null, "code": code } });
        Self::raw(status, "application/json", body.to_string())
    }

    /// Creates an error response without a body.
    pub fn status(status: u16) -> Self {
        Self::raw(status, "text/plain", "")
    }

    /// Creates a 429 response with a Retry-After header.
    pub fn limited(retry_after: &str) -> Self {
        Self::error(429, "rate_limit_exceeded", "Slow down.").header("retry-after", retry_after)
    }

    /// Creates a reply without choices.
    pub fn no_choices() -> Self {
        Self::events([
            r#"{"id":"x","object":"chat.completion.chunk","choices":[]}"#,
            "[DONE]",
        ])
    }

    /// Creates a reply with invalid JSON.
    pub fn garbage() -> Self {
        Self::events([
            "{\"choices\":[{\"delta\":{\"content\":\"hal",
            "]]>\u{1}{{",
            "[DONE]",
        ])
    }

    /// Creates a reply that is never sent.
    pub fn never() -> Self {
        Self::text("never").breaking(Break::Never)
    }

    /// Resets the connection instead of replying.
    pub fn reset() -> Self {
        Self::text("reset").breaking(Break::Before)
    }

    /// Makes the reply break off.
    #[must_use]
    pub fn breaking(mut self, broken: Break) -> Self {
        self.broken = Some(broken);
        self
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.headers, "{name}: {value}\r\n");
        self
    }

    /// Delays the start of the reply: the think time.
    #[must_use]
    pub fn after(mut self, time: Duration) -> Self {
        self.after = time;
        self
    }

    /// Sets the delay between the chunks of a stream.
    #[must_use]
    pub fn slowly(mut self, time: Duration) -> Self {
        self.between = Some(time);
        self
    }
}

impl Said {
    fn finish(&self) -> &str {
        match &self.finish {
            Some(reason) => reason,
            None if self.calls.is_empty() => "stop",
            None => "tool_calls",
        }
    }

    fn usage(&self) -> Option<Value> {
        self.usage.map(|(prompt, answer)| {
            json!({ "prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer })
        })
    }

    /// Returns the reply as a single response.
    pub(super) fn whole(&self, request: &Request) -> String {
        let call = |call: &ToolCall| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        };
        let calls: Vec<Value> = self.calls.iter().map(call).collect();
        let content = (!self.text.is_empty()).then_some(&self.text);
        let mut message = json!({ "role": "assistant", "content": content });
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let mut all = json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1,
            "model": self.model.as_deref().unwrap_or_else(|| request.model()),
            "choices": [{ "index": 0, "message": message, "finish_reason": self.finish() }],
        });
        if let Some(usage) = self.usage() {
            all["usage"] = usage;
        }
        all.to_string()
    }

    /// Returns the data of the stream's events, including `[DONE]`.
    pub(super) fn pieces(&self, request: &Request, broken: Option<Break>) -> Vec<String> {
        let model = model_of(self.model.as_deref(), &request.body);
        let head = format!(
            r#"{{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":{model},"choices":["#
        );
        let chunk = |delta: &str, finish: &str| {
            format!(r#"{head}{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#)
        };
        let mut all = vec![chunk(r#"{"role":"assistant","content":""}"#, "null")];
        let mut rest = self.text.as_str();
        while !rest.is_empty() {
            let end = rest.char_indices().nth(24).map_or(rest.len(), |(at, _)| at);
            let (piece, after) = rest.split_at(end);
            all.push(chunk(&format!(r#"{{"content":{}}}"#, quote(piece)), "null"));
            rest = after;
        }
        for (index, call) in self.calls.iter().enumerate() {
            let (id, name) = (quote(&call.id), quote(&call.name));
            let first = format!(
                r#"{{"tool_calls":[{{"index":{index},"id":{id},"type":"function","function":{{"name":{name},"arguments":""}}}}]}}"#
            );
            all.push(chunk(&first, "null"));
            let half = call.arguments.len() / 2;
            let half = (half..=call.arguments.len())
                .find(|at| call.arguments.is_char_boundary(*at))
                .unwrap_or_default();
            let (one, two) = call.arguments.split_at(half);
            for piece in [one, two] {
                let piece = quote(piece);
                let delta = format!(
                    r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":{piece}}}}}]}}"#
                );
                all.push(chunk(&delta, "null"));
            }
        }
        if broken != Some(Break::NoReason) {
            all.push(chunk("{}", &quote(self.finish())));
        }
        if let Some(usage) = self.usage().filter(|_| request.wants_usage()) {
            all.push(format!(r#"{head}],"usage":{usage}}}"#));
        }
        if broken != Some(Break::NoMark) {
            all.push("[DONE]".to_owned());
        }
        all
    }
}

/// Returns the model's name as JSON: the configured one, else the requested one, which is found without
/// parsing the request.
fn model_of(set: Option<&str>, body: &str) -> String {
    if let Some(model) = set {
        return quote(model);
    }
    let asked = body.find("\"model\":").and_then(|at| {
        let rest = serde_json::Deserializer::from_str(&body[at + 8..]);
        rest.into_iter::<String>().next()?.ok()
    });
    quote(asked.as_deref().unwrap_or("scripted"))
}

fn quote(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}
