//! Assembles a model response from the chunks of a stream, or from one whole body, and normalizes it so that
//! every provider accepts it back.
//!
//! A response is complete when its `finish_reason` has arrived, followed by the end marker (`[DONE]`) or the
//! end of the HTTP body. The end marker alone is not enough: servers also send it after a response that broke
//! off. Nothing of an incomplete response is ever returned.

use std::borrow::Cow;
use std::collections::HashSet;

use polis_core::RawJson;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::response_chunk::{
    FunctionDelta, LenientText, MessageDelta, ResponseChunk, ToolCallDelta,
};
use super::sse::LineTooLongError;
use super::{FinishReason, ResponseObserver, ToolCall};

/// Maximum length of a tool name that providers accept.
const MAX_TOOL_NAME_BYTES: usize = 64;
/// Maximum length of a call id that providers accept.
const MAX_CALL_ID_BYTES: usize = 64;
/// Maximum number of tool calls of one response that are read.
pub const MAX_TOOL_CALLS: usize = 128;

/// A response of which some chunks have arrived.
#[derive(Debug, Default)]
pub(super) struct ResponseAssembler {
    has_choice: bool,
    has_end_marker: bool,
    text: String,
    /// Whether there is text that is not blank; a refusal is recorded separately.
    has_text: bool,
    has_refusal: bool,
    reasoning: String,
    calls: Vec<PartialToolCall>,
    /// How many calls came after the last one that is read, and whether the newest part belongs to one of
    /// them.
    dropped_calls: usize,
    is_dropping_call: bool,
    finish: Option<FinishReason>,
    usage: Option<(u64, u64)>,
    model: String,
    partial_event: Vec<u8>,
}

/// A tool call of which some parts have arrived.
#[derive(Debug, Default)]
struct PartialToolCall {
    index: Option<u64>,
    id: String,
    tool: String,
    arguments: String,
    extra: Option<String>,
}

/// A complete, normalized response.
#[derive(Debug)]
pub(super) struct AssembledResponse {
    pub(super) message: RawJson,
    pub(super) text: String,
    pub(super) calls: Vec<ToolCall>,
    pub(super) dropped_calls: usize,
    pub(super) finish: FinishReason,
    pub(super) usage: Option<(u64, u64)>,
    pub(super) model: String,
}

/// Why a response is invalid.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InvalidResponseError {
    /// It is not JSON, or not a response.
    Malformed,
    /// It reports an error, given as JSON.
    ReportedError(String),
    /// It broke off: it has no `finish_reason`.
    Truncated,
    /// It contains no choice.
    NoChoice,
    /// It announces tool calls, and has neither a call nor text.
    MissingCalls,
}

impl From<LineTooLongError> for InvalidResponseError {
    fn from(_: LineTooLongError) -> Self {
        Self::Malformed
    }
}

impl ResponseAssembler {
    /// Returns whether the end marker has arrived.
    pub(super) fn has_end_marker(&self) -> bool {
        self.has_end_marker
    }

    /// Adds the data of one event.
    pub(super) fn push_event_data(
        &mut self,
        data: &[u8],
        observer: Option<&dyn ResponseObserver>,
    ) -> Result<(), InvalidResponseError> {
        if data == b"[DONE]" {
            self.has_end_marker = true;
            return Ok(());
        }
        if self.partial_event.is_empty() {
            return match serde_json::from_slice(data) {
                Ok(chunk) => self.push_chunk(chunk, observer),
                // An event may have several lines of data, and be split anywhere.
                Err(error) if error.is_eof() => {
                    self.partial_event.extend_from_slice(data);
                    Ok(())
                }
                Err(_) => Err(InvalidResponseError::Malformed),
            };
        }
        let mut partial = std::mem::take(&mut self.partial_event);
        partial.push(b'\n');
        partial.extend_from_slice(data);
        match serde_json::from_slice(&partial) {
            Ok(chunk) => self.push_chunk(chunk, observer),
            Err(error) if error.is_eof() => {
                self.partial_event = partial;
                Ok(())
            }
            Err(_) => Err(InvalidResponseError::Malformed),
        }
    }

    /// Adds a response that came in one piece.
    pub(super) fn push_whole_body(
        &mut self,
        body: &[u8],
        observer: Option<&dyn ResponseObserver>,
    ) -> Result<(), InvalidResponseError> {
        let chunk = serde_json::from_slice(body).map_err(|_| InvalidResponseError::Malformed)?;
        self.push_chunk(chunk, observer)
    }

    /// Adds a chunk: text, tool calls, usage and finish reason.
    fn push_chunk(
        &mut self,
        chunk: ResponseChunk<'_>,
        observer: Option<&dyn ResponseObserver>,
    ) -> Result<(), InvalidResponseError> {
        if let Some(error) = chunk.error {
            return Err(InvalidResponseError::ReportedError(error.get().to_owned()));
        }
        if let (true, Some(model)) = (self.model.is_empty(), chunk.model) {
            self.model = model.0.into_owned();
        }
        if let Some(counts) = chunk
            .usage
            .and_then(super::response_chunk::ReportedUsage::token_counts)
        {
            self.usage = Some(counts);
        }
        let Some(choice) = chunk.choices.and_then(|first| first.0) else {
            return Ok(());
        };
        self.has_choice = true;
        if let Some(counts) = choice
            .usage
            .and_then(super::response_chunk::ReportedUsage::token_counts)
        {
            self.usage = Some(counts);
        }
        if let Some(delta) = choice.delta.or(choice.message) {
            self.push_delta(delta, observer)?;
        }
        if let Some(reason) = choice.finish_reason {
            self.finish = match reason.0.as_ref() {
                "" => self.finish,
                "length" | "max_tokens" | "model_length" => Some(FinishReason::Length),
                "content_filter" | "safety" | "refusal" => Some(FinishReason::Filtered),
                "error" => return Err(InvalidResponseError::Truncated),
                "tool_calls" | "function_call" => Some(FinishReason::Calls),
                // "stop" together with calls is common, and some servers use values of their own. The
                // presence of calls decides in the end.
                _ => Some(FinishReason::Stop),
            };
        }
        Ok(())
    }

    /// Adds a delta of the message, and streams its text to the observer.
    fn push_delta(
        &mut self,
        delta: MessageDelta<'_>,
        observer: Option<&dyn ResponseObserver>,
    ) -> Result<(), InvalidResponseError> {
        for (text, is_refusal) in [(delta.content, false), (delta.refusal, true)] {
            let Some(text) = text.filter(|text| !text.0.is_empty()) else {
                continue;
            };
            if is_refusal {
                self.has_refusal = true;
            } else if !text.0.trim().is_empty() {
                self.has_text = true;
            }
            if let Some(observer) = observer {
                observer.on_text(&text.0);
            }
            self.text.push_str(&text.0);
        }
        if let Some(text) = delta.reasoning_content {
            self.reasoning.push_str(&text.0);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.push_call_delta(call)?;
        }
        if let Some(function) = delta.function_call {
            self.push_call_delta(ToolCallDelta {
                index: Some(0),
                id: None,
                function: Some(function),
                extra_content: None,
            })?;
        }
        Ok(())
    }

    /// Finds the call that a part belongs to, and adds the part to it.
    fn push_call_delta(&mut self, delta: ToolCallDelta<'_>) -> Result<(), InvalidResponseError> {
        let id = delta.id.as_ref().map_or("", |id| id.0.as_ref());
        let function = delta.function.unwrap_or(FunctionDelta {
            name: None,
            arguments: None,
        });
        let LenientText(name) = function.name.unwrap_or_default();
        let belongs = |call: &PartialToolCall| {
            let same_id = id.is_empty() || call.id.is_empty() || call.id == id;
            let same_name = name.is_empty() || call.tool.is_empty() || call.tool == name;
            match delta.index {
                // Some servers give the same index to all calls of a response: then id and name distinguish
                // them.
                Some(index) => call.index == Some(index) && same_id && same_name,
                None if !id.is_empty() => call.id == id,
                // Without index and id, a name begins a new call.
                None => name.is_empty(),
            }
        };
        let begins_call = !name.is_empty();
        // A part without a name, id and index belongs to the newest call.
        let is_anonymous = !begins_call && id.is_empty() && delta.index.is_none();
        let is_of_dropped = self.is_dropping_call && is_anonymous;
        let at = match self
            .calls
            .iter()
            .rposition(belongs)
            .filter(|_| !is_of_dropped)
        {
            Some(at) => at,
            None if self.calls.len() >= MAX_TOOL_CALLS => {
                self.is_dropping_call = true;
                self.dropped_calls += usize::from(begins_call);
                return Ok(());
            }
            None => {
                self.calls.push(PartialToolCall {
                    index: delta.index,
                    ..PartialToolCall::default()
                });
                self.calls.len() - 1
            }
        };
        let Some(call) = self.calls.get_mut(at) else {
            return Ok(());
        };
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.tool.is_empty() {
            call.tool = name.into_owned();
        }
        if let Some(arguments) = function.arguments {
            append_arguments(&mut call.arguments, arguments)?;
        }
        if let Some(extra) = delta.extra_content {
            call.extra = Some(extra.get().to_owned());
        }
        Ok(())
    }

    /// Returns the normalized response; fails if it is incomplete or invalid. `number` is the number of the
    /// response, used for generated call ids.
    pub(super) fn finish_response(
        mut self,
        number: u64,
        keep_reasoning: bool,
    ) -> Result<AssembledResponse, InvalidResponseError> {
        if !self.partial_event.is_empty() {
            return Err(InvalidResponseError::Malformed);
        }
        if !self.has_choice {
            return Err(InvalidResponseError::NoChoice);
        }
        let Some(mut finish) = self.finish else {
            return Err(InvalidResponseError::Truncated);
        };
        // A call without a name and without arguments is a server error; ignore it.
        self.calls
            .retain(|call| !(call.tool.is_empty() && call.arguments.trim().is_empty()));
        if finish == FinishReason::Stop && !self.calls.is_empty() {
            finish = FinishReason::Calls;
        }
        let is_silent = !self.has_text && !self.has_refusal && self.calls.is_empty();
        if finish == FinishReason::Calls && is_silent {
            return Err(InvalidResponseError::MissingCalls);
        }
        // A refusal in a separate field comes with the finish reason of a normal end.
        if finish == FinishReason::Stop && self.has_refusal && !self.has_text {
            finish = FinishReason::Filtered;
        }
        let mut used_ids = HashSet::new();
        let mut calls = Vec::with_capacity(self.calls.len());
        let mut extras = Vec::with_capacity(self.calls.len());
        for (at, call) in self.calls.into_iter().enumerate() {
            let is_valid =
                call.id.len() <= MAX_CALL_ID_BYTES && call.id.bytes().all(|c| c.is_ascii_graphic());
            let mut id = call.id;
            if id.is_empty() || !is_valid || used_ids.contains(&id) {
                id = generated_call_id(number, at);
            }
            used_ids.insert(id.clone());
            extras.push(call.extra);
            calls.push(ToolCall {
                id,
                tool: call.tool,
                arguments: normalise_arguments(call.arguments),
            });
        }
        let reasoning = if keep_reasoning { &self.reasoning } else { "" };
        let message = build_assistant_message(&self.text, reasoning, &calls, &extras, None)?;
        Ok(AssembledResponse {
            message,
            text: self.text,
            calls,
            dropped_calls: self.dropped_calls,
            finish,
            usage: self.usage,
            model: self.model,
        })
    }
}

/// Returns a generated call id of nine letters and digits, which the strictest provider accepts.
pub(super) fn generated_call_id(number: u64, at: usize) -> String {
    format!("c{:05}{:03}", number % 100_000, at % 1000)
}

/// Appends a part of the arguments: a JSON string is decoded, other JSON is appended as it is.
fn append_arguments(
    arguments: &mut String,
    fragment: &RawValue,
) -> Result<(), InvalidResponseError> {
    let text = fragment.get();
    if text.starts_with('"') {
        let LenientText(text) =
            serde_json::from_str(text).map_err(|_| InvalidResponseError::Malformed)?;
        arguments.push_str(&text);
    } else if text != "null" {
        arguments.push_str(text);
    }
    Ok(())
}

/// Normalizes arguments: missing arguments become an empty object, and an object that was encoded as a string
/// twice is decoded.
fn normalise_arguments(arguments: String) -> String {
    let trimmed = arguments.trim();
    if trimmed.is_empty() || trimmed == "null" {
        return "{}".to_owned();
    }
    if trimmed.starts_with('"')
        && let Ok(inner) = serde_json::from_str::<String>(trimmed)
        && is_json_object(&inner)
    {
        return inner;
    }
    arguments
}

/// Returns whether a text is a JSON object.
fn is_json_object(text: &str) -> bool {
    // Parse it completely: a number such as 1e999 is well-formed JSON, but cannot be represented.
    text.trim_start().starts_with('{') && serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

/// Returns the message in the form in which it is stored in the conversation.
///
/// The JSON is written directly instead of through `serde_json::Value`: it is built once for every response,
/// text and arguments may be large, and a tree of values would copy them. Strings are still escaped by serde,
/// `extra_content` is copied unchanged, and the result is validated once at the end.
pub(super) fn build_assistant_message(
    text: &str,
    reasoning: &str,
    calls: &[ToolCall],
    extras: &[Option<String>],
    name: Option<&str>,
) -> Result<RawJson, InvalidResponseError> {
    let mut out = Vec::with_capacity(text.len() + 160 * calls.len() + 64);
    out.extend_from_slice(br#"{"role":"assistant""#);
    if let Some(name) = name {
        out.extend_from_slice(br#","name":"#);
        write_json_string(&mut out, name)?;
    }
    out.extend_from_slice(br#","content":"#);
    if text.is_empty() && !calls.is_empty() {
        out.extend_from_slice(b"null");
    } else {
        write_json_string(&mut out, text)?;
    }
    if !reasoning.is_empty() {
        out.extend_from_slice(br#","reasoning_content":"#);
        write_json_string(&mut out, reasoning)?;
    }
    for (at, call) in calls.iter().enumerate() {
        let begin: &[u8] = if at == 0 {
            br#","tool_calls":[{"id":"#
        } else {
            br#",{"id":"#
        };
        out.extend_from_slice(begin);
        write_json_string(&mut out, &call.id)?;
        out.extend_from_slice(br#","type":"function","function":{"name":"#);
        write_json_string(&mut out, &sanitise_tool_name(&call.tool))?;
        out.extend_from_slice(br#","arguments":"#);
        write_json_string(&mut out, &sanitise_arguments(&call.arguments))?;
        out.push(b'}');
        if let Some(Some(extra)) = extras.get(at) {
            out.extend_from_slice(br#","extra_content":"#);
            out.extend_from_slice(extra.as_bytes());
        }
        out.push(b'}');
    }
    if !calls.is_empty() {
        out.push(b']');
    }
    out.push(b'}');
    let text = String::from_utf8(out).map_err(|_| InvalidResponseError::Malformed)?;
    RawJson::parse(&text).map_err(|_| InvalidResponseError::Malformed)
}

/// Writes a text as a JSON string.
fn write_json_string(out: &mut Vec<u8>, text: &str) -> Result<(), InvalidResponseError> {
    serde_json::to_writer(out, text).map_err(|_| InvalidResponseError::Malformed)
}

/// Returns a tool name that every provider accepts back.
fn sanitise_tool_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= MAX_TOOL_NAME_BYTES && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let sanitised: String = name
        .chars()
        .take(MAX_TOOL_NAME_BYTES)
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    if sanitised.is_empty() {
        Cow::Borrowed("unknown")
    } else {
        Cow::Owned(sanitised)
    }
}

/// Returns arguments that every provider accepts back: some parse them as JSON, and refuse the conversation
/// if they are not.
fn sanitise_arguments(arguments: &str) -> Cow<'_, str> {
    if is_json_object(arguments) {
        return Cow::Borrowed(arguments);
    }
    let wrapped = serde_json::json!({ "malformed": arguments });
    Cow::Owned(wrapped.to_string())
}

#[cfg(test)]
mod tests;
