//! What a script answers: good answers, and every way in which an answer goes wrong.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::request::Request;

/// A call that the model asks for.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The model's name for it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments, as text: need not be JSON.
    pub arguments: String,
}

impl ToolCall {
    /// A call with sound arguments.
    pub fn new(id: &str, name: &str, arguments: &Value) -> Self {
        Self::raw(id, name, &arguments.to_string())
    }

    /// A call with any arguments.
    pub fn raw(id: &str, name: &str, arguments: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }
}

/// Where an answer breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// The connection is reset before a byte of the answer.
    Before,
    /// The connection is reset after half of the answer.
    Half,
    /// The body ends as if all were well after half of the answer: no reason, no end mark.
    Cut,
    /// The answer ends without its end mark, after its reason.
    NoMark,
    /// The end mark comes, but no reason before it.
    NoReason,
    /// The connection is closed (not reset) after the end mark, before the body's end.
    AfterMark,
    /// The connection stays open after half of the answer, and nothing comes.
    Stall,
    /// Nothing ever comes.
    Never,
}

/// What is answered.
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
    /// The data of a stream's events, as they are.
    Events(Vec<String>),
    /// A whole answer as it is.
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

    /// Says something and calls nothing.
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Kind::Answer(Said {
            text: text.into(),
            calls: Vec::new(),
            finish: None,
            usage: Some((10, 5)),
            model: None,
        }))
    }

    /// Calls one tool.
    pub fn call(id: &str, tool: &str, arguments: &Value) -> Self {
        Self::calls([ToolCall::new(id, tool, arguments)])
    }

    /// Calls tools.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self::text("").and_calls(calls)
    }

    /// Calls tools besides what it says.
    #[must_use]
    pub fn and_calls(mut self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        if let Kind::Answer(said) = &mut self.kind {
            said.calls.extend(calls);
        }
        self
    }

    /// Ends for this reason.
    #[must_use]
    pub fn ending(mut self, reason: &str) -> Self {
        if let Kind::Answer(said) = &mut self.kind {
            said.finish = Some(reason.to_owned());
        }
        self
    }

    /// Says that it used so many tokens.
    #[must_use]
    pub fn using(mut self, prompt: u64, answer: u64) -> Self {
        if let Kind::Answer(said) = &mut self.kind {
            said.usage = Some((prompt, answer));
        }
        self
    }

    /// Does not say what it used.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        if let Kind::Answer(said) = &mut self.kind {
            said.usage = None;
        }
        self
    }

    /// Answers under another name than was asked.
    #[must_use]
    pub fn as_model(mut self, model: &str) -> Self {
        if let Kind::Answer(said) = &mut self.kind {
            said.model = Some(model.to_owned());
        }
        self
    }

    /// A stream of just these events' data, then the body's end.
    pub fn events(data: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::of(Kind::Events(data.into_iter().map(Into::into).collect()))
    }

    /// A whole answer as it is.
    pub fn raw(status: u16, content_type: &'static str, body: impl Into<String>) -> Self {
        Self::of(Kind::Raw(status, content_type, body.into()))
    }

    /// An error as most providers word it.
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

    /// An error without any words.
    pub fn status(status: u16) -> Self {
        Self::raw(status, "text/plain", "")
    }

    /// Too many requests; come again after so long.
    pub fn limited(retry_after: &str) -> Self {
        Self::error(429, "rate_limit_exceeded", "Slow down.").header("retry-after", retry_after)
    }

    /// No choices at all.
    pub fn no_choices() -> Self {
        Self::events([
            r#"{"id":"x","object":"chat.completion.chunk","choices":[]}"#,
            "[DONE]",
        ])
    }

    /// What is no JSON.
    pub fn garbage() -> Self {
        Self::events([
            "{\"choices\":[{\"delta\":{\"content\":\"hal",
            "]]>\u{1}{{",
            "[DONE]",
        ])
    }

    /// Accepts the request and never answers it.
    pub fn never() -> Self {
        Self::text("never").breaking(Break::Never)
    }

    /// Resets the connection instead of answering.
    pub fn reset() -> Self {
        Self::text("reset").breaking(Break::Before)
    }

    /// Breaks off.
    #[must_use]
    pub fn breaking(mut self, broken: Break) -> Self {
        self.broken = Some(broken);
        self
    }

    /// With a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.headers, "{name}: {value}\r\n");
        self
    }

    /// Begins so much later: the think time.
    #[must_use]
    pub fn after(mut self, time: Duration) -> Self {
        self.after = time;
        self
    }

    /// With so much time between the pieces of a stream.
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

    /// The answer in one piece.
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

    /// The answer piece by piece: the data of a stream's events, its end mark among them.
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

/// The model's name as JSON: the one that is set, else the one that was asked for, found without parsing.
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
