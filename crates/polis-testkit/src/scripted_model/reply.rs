//! Replies of the scripted model to chat-completions requests: valid and faulty ones.
//!
//! A reply is built with [`ScriptedReply`] and encoded as one JSON body or as server-sent events. Faults are
//! error responses, invalid content, and replies that stop early or never arrive.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::model_http_request::ModelHttpRequest;

/// A tool call in a reply.
#[derive(Debug, Clone)]
pub struct ScriptedToolCall {
    /// The call's id, assigned by the model.
    pub id: String,
    /// Name of the tool to call.
    pub name: String,
    /// The arguments as text, which need not be valid JSON.
    pub arguments: String,
}

impl ScriptedToolCall {
    /// Creates a call with valid JSON arguments.
    pub fn new(id: &str, name: &str, arguments: &Value) -> Self {
        Self::with_raw_arguments(id, name, &arguments.to_string())
    }

    /// Creates a call with arbitrary argument text.
    pub fn with_raw_arguments(id: &str, name: &str, arguments: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        }
    }
}

/// Where and how a reply breaks off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyFault {
    /// The connection is reset before the first byte of the reply.
    ResetBeforeReply,
    /// The connection is reset after half of the reply.
    ResetHalfway,
    /// The body ends regularly after half of the reply: no finish reason, no `[DONE]`.
    TruncatedBody,
    /// The reply ends after its finish reason, without `[DONE]`.
    MissingDoneMarker,
    /// `[DONE]` is sent without a finish reason before it.
    MissingFinishReason,
    /// The connection is closed (not reset) after `[DONE]`, before the end of the body.
    CloseAfterDoneMarker,
    /// The connection stays open after half of the reply, but nothing more is sent.
    StallHalfway,
    /// Nothing is ever sent.
    NoReply,
}

/// A reply: its content, delays, additional headers and fault.
#[derive(Debug, Clone)]
pub struct ScriptedReply {
    pub(super) kind: ReplyKind,
    pub(super) delay: Duration,
    pub(super) chunk_delay: Option<Duration>,
    pub(super) fault: Option<ReplyFault>,
    pub(super) extra_headers: String,
}

#[derive(Debug, Clone)]
pub(super) enum ReplyKind {
    Completion(ScriptedCompletion),
    /// The data of the stream's events, verbatim.
    RawEvents(Vec<String>),
    /// A complete response, verbatim.
    RawResponse(u16, &'static str, String),
}

#[derive(Debug, Clone)]
pub(super) struct ScriptedCompletion {
    text: String,
    tool_calls: Vec<ScriptedToolCall>,
    finish_reason: Option<String>,
    usage: Option<(u64, u64)>,
    model: Option<String>,
}

impl ScriptedReply {
    fn from_kind(kind: ReplyKind) -> Self {
        Self {
            kind,
            delay: Duration::ZERO,
            chunk_delay: None,
            fault: None,
            extra_headers: String::new(),
        }
    }

    /// Creates a reply with text and without tool calls.
    pub fn text(text: impl Into<String>) -> Self {
        Self::from_kind(ReplyKind::Completion(ScriptedCompletion {
            text: text.into(),
            tool_calls: Vec::new(),
            finish_reason: None,
            usage: Some((10, 5)),
            model: None,
        }))
    }

    /// Creates a reply with one tool call.
    pub fn tool_call(id: &str, tool: &str, arguments: &Value) -> Self {
        Self::tool_calls([ScriptedToolCall::new(id, tool, arguments)])
    }

    /// Creates a reply with tool calls.
    pub fn tool_calls(calls: impl IntoIterator<Item = ScriptedToolCall>) -> Self {
        Self::text("").with_tool_calls(calls)
    }

    /// Adds tool calls to the reply.
    #[must_use]
    pub fn with_tool_calls(mut self, calls: impl IntoIterator<Item = ScriptedToolCall>) -> Self {
        if let ReplyKind::Completion(completion) = &mut self.kind {
            completion.tool_calls.extend(calls);
        }
        self
    }

    /// Sets the finish reason.
    #[must_use]
    pub fn with_finish_reason(mut self, reason: &str) -> Self {
        if let ReplyKind::Completion(completion) = &mut self.kind {
            completion.finish_reason = Some(reason.to_owned());
        }
        self
    }

    /// Sets the reported token usage.
    #[must_use]
    pub fn with_usage(mut self, prompt: u64, answer: u64) -> Self {
        if let ReplyKind::Completion(completion) = &mut self.kind {
            completion.usage = Some((prompt, answer));
        }
        self
    }

    /// Removes the token usage from the reply.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        if let ReplyKind::Completion(completion) = &mut self.kind {
            completion.usage = None;
        }
        self
    }

    /// Reports another model name than the requested one.
    #[must_use]
    pub fn with_model(mut self, model: &str) -> Self {
        if let ReplyKind::Completion(completion) = &mut self.kind {
            completion.model = Some(model.to_owned());
        }
        self
    }

    /// Creates a stream of exactly these events' data, followed by the end of the body.
    pub fn raw_events(data: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::from_kind(ReplyKind::RawEvents(
            data.into_iter().map(Into::into).collect(),
        ))
    }

    /// Creates a complete response, verbatim.
    pub fn raw_response(status: u16, content_type: &'static str, body: impl Into<String>) -> Self {
        Self::from_kind(ReplyKind::RawResponse(status, content_type, body.into()))
    }

    /// Creates an error response in the format of most providers.
    pub fn error_response(status: u16, code: &str, message: &str) -> Self {
        let kind = if status == 429 {
            "rate_limit"
        } else {
            "invalid_request_error"
        };
        let body =
            json!({ "error": { "message": message, "type": kind, "param": null, "code": code } });
        Self::raw_response(status, "application/json", body.to_string())
    }

    /// Creates an error response without a body.
    pub fn empty_error(status: u16) -> Self {
        Self::raw_response(status, "text/plain", "")
    }

    /// Creates a 429 response with a Retry-After header.
    pub fn rate_limited(retry_after: &str) -> Self {
        Self::error_response(429, "rate_limit_exceeded", "Slow down.")
            .with_header("retry-after", retry_after)
    }

    /// Creates a reply without choices.
    pub fn without_choices() -> Self {
        Self::raw_events([
            r#"{"id":"x","object":"chat.completion.chunk","choices":[]}"#,
            "[DONE]",
        ])
    }

    /// Creates a reply with invalid JSON.
    pub fn invalid_json() -> Self {
        Self::raw_events([
            "{\"choices\":[{\"delta\":{\"content\":\"hal",
            "]]>\u{1}{{",
            "[DONE]",
        ])
    }

    /// Creates a reply that is never sent.
    pub fn no_reply() -> Self {
        Self::text("never").with_fault(ReplyFault::NoReply)
    }

    /// Resets the connection instead of replying.
    pub fn connection_reset() -> Self {
        Self::text("reset").with_fault(ReplyFault::ResetBeforeReply)
    }

    /// Makes the reply break off.
    #[must_use]
    pub fn with_fault(mut self, broken: ReplyFault) -> Self {
        self.fault = Some(broken);
        self
    }

    /// Adds a header to the response.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        let _ = write!(self.extra_headers, "{name}: {value}\r\n");
        self
    }

    /// Delays the start of the reply: the think time.
    #[must_use]
    pub fn with_delay(mut self, time: Duration) -> Self {
        self.delay = time;
        self
    }

    /// Sets the delay between the chunks of a stream.
    #[must_use]
    pub fn with_chunk_delay(mut self, time: Duration) -> Self {
        self.chunk_delay = Some(time);
        self
    }
}

impl ScriptedCompletion {
    fn effective_finish_reason(&self) -> &str {
        match &self.finish_reason {
            Some(reason) => reason,
            None if self.tool_calls.is_empty() => "stop",
            None => "tool_calls",
        }
    }

    fn usage_json(&self) -> Option<Value> {
        self.usage.map(|(prompt, answer)| {
            json!({ "prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer })
        })
    }

    /// Returns the reply as a single response.
    pub(super) fn to_response_body(&self, request: &ModelHttpRequest) -> String {
        let call = |call: &ScriptedToolCall| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": call.id, "type": "function", "function": function })
        };
        let calls: Vec<Value> = self.tool_calls.iter().map(call).collect();
        let content = (!self.text.is_empty()).then_some(&self.text);
        let mut message = json!({ "role": "assistant", "content": content });
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        let mut all = json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1,
            "model": self.model.as_deref().unwrap_or_else(|| request.model()),
            "choices": [{ "index": 0, "message": message, "finish_reason": self.effective_finish_reason() }],
        });
        if let Some(usage) = self.usage_json() {
            all["usage"] = usage;
        }
        all.to_string()
    }

    /// Returns the data of the stream's events, including `[DONE]`.
    pub(super) fn to_stream_events(
        &self,
        request: &ModelHttpRequest,
        broken: Option<ReplyFault>,
    ) -> Vec<String> {
        let model = model_name_json(self.model.as_deref(), &request.body);
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
            all.push(chunk(
                &format!(r#"{{"content":{}}}"#, quote_json(piece)),
                "null",
            ));
            rest = after;
        }
        for (index, call) in self.tool_calls.iter().enumerate() {
            let (id, name) = (quote_json(&call.id), quote_json(&call.name));
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
                let piece = quote_json(piece);
                let delta = format!(
                    r#"{{"tool_calls":[{{"index":{index},"function":{{"arguments":{piece}}}}}]}}"#
                );
                all.push(chunk(&delta, "null"));
            }
        }
        if broken != Some(ReplyFault::MissingFinishReason) {
            all.push(chunk("{}", &quote_json(self.effective_finish_reason())));
        }
        if let Some(usage) = self.usage_json().filter(|_| request.wants_usage()) {
            all.push(format!(r#"{head}],"usage":{usage}}}"#));
        }
        if broken != Some(ReplyFault::MissingDoneMarker) {
            all.push("[DONE]".to_owned());
        }
        all
    }
}

/// Returns the model's name as JSON: the configured one, else the requested one, which is found without
/// parsing the request.
fn model_name_json(set: Option<&str>, body: &str) -> String {
    if let Some(model) = set {
        return quote_json(model);
    }
    let requested = body.find("\"model\":").and_then(|at| {
        let rest = serde_json::Deserializer::from_str(&body[at + 8..]);
        rest.into_iter::<String>().next()?.ok()
    });
    quote_json(requested.as_deref().unwrap_or("scripted"))
}

fn quote_json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}
