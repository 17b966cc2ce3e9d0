//! Assembles a model response from the chunks of a stream, and normalises it so that every provider accepts it back.
//!
//! A response is complete when its `finish_reason` has arrived, followed by the end marker (`[DONE]`) or the end of the
//! HTTP body. The end marker alone is not enough: servers also send it after a response that broke off. Nothing of an
//! incomplete response is ever returned.

use std::borrow::Cow;
use std::collections::HashSet;

use polis_core::Raw;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::chunk::{CallPart, Chunk, Function, Part, Text};
use super::sse::TooLongALine;
use super::{Call, Finish, Watch};

/// Maximum length of a tool name that providers accept.
const LONGEST_NAME: usize = 64;
/// Maximum length of a call id that providers accept.
const LONGEST_ID: usize = 64;
/// Maximum number of tool calls of one response that are read.
pub const MAX_CALLS: usize = 128;

/// A partial response.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    any: bool,
    marked: bool,
    text: String,
    /// Whether there is any text, and whether there is a refusal.
    said: bool,
    refused: bool,
    reasoning: String,
    calls: Vec<Building>,
    /// How many calls came after the last one that is read, and whether the newest part belongs to one of them.
    dropped_calls: usize,
    is_dropping: bool,
    finish: Option<Finish>,
    usage: Option<(u64, u64)>,
    model: String,
    torn: Vec<u8>,
}

#[derive(Debug, Default)]
struct Building {
    index: Option<u64>,
    id: String,
    tool: String,
    arguments: String,
    extra: Option<String>,
}

/// A complete, normalised response.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) message: Raw,
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    pub(super) dropped_calls: usize,
    pub(super) finish: Finish,
    pub(super) usage: Option<(u64, u64)>,
    pub(super) model: String,
}

/// Why a response is invalid.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// It is not JSON, or not a response.
    Garbage,
    /// It reports an error, given as JSON.
    Failed(String),
    /// It broke off: it has no `finish_reason`.
    BrokeOff,
    /// It contains no choice.
    NoChoice,
    /// It announces tool calls, and has neither a call nor text.
    Empty,
}

impl From<TooLongALine> for Flaw {
    fn from(_: TooLongALine) -> Self {
        Self::Garbage
    }
}

impl Assembly {
    /// Returns whether the end marker has arrived.
    pub(super) fn marked(&self) -> bool {
        self.marked
    }

    /// Adds the data of one event.
    pub(super) fn data(&mut self, data: &[u8], watch: Option<&dyn Watch>) -> Result<(), Flaw> {
        if data == b"[DONE]" {
            self.marked = true;
            return Ok(());
        }
        if self.torn.is_empty() {
            return match serde_json::from_slice(data) {
                Ok(chunk) => self.chunk(chunk, watch),
                // An event may have several lines of data, and be split anywhere.
                Err(error) if error.is_eof() => {
                    self.torn.extend_from_slice(data);
                    Ok(())
                }
                Err(_) => Err(Flaw::Garbage),
            };
        }
        let mut torn = std::mem::take(&mut self.torn);
        torn.push(b'\n');
        torn.extend_from_slice(data);
        match serde_json::from_slice(&torn) {
            Ok(chunk) => self.chunk(chunk, watch),
            Err(error) if error.is_eof() => {
                self.torn = torn;
                Ok(())
            }
            Err(_) => Err(Flaw::Garbage),
        }
    }

    /// Adds a response that came in one piece.
    pub(super) fn whole(&mut self, body: &[u8], watch: Option<&dyn Watch>) -> Result<(), Flaw> {
        let chunk = serde_json::from_slice(body).map_err(|_| Flaw::Garbage)?;
        self.chunk(chunk, watch)
    }

    fn chunk(&mut self, chunk: Chunk<'_>, watch: Option<&dyn Watch>) -> Result<(), Flaw> {
        if let Some(error) = chunk.error {
            return Err(Flaw::Failed(error.get().to_owned()));
        }
        if let (true, Some(model)) = (self.model.is_empty(), chunk.model) {
            self.model = model.0.into_owned();
        }
        if let Some(counts) = chunk.usage.and_then(super::chunk::Usage::counts) {
            self.usage = Some(counts);
        }
        let Some(choice) = chunk.choices.and_then(|first| first.0) else {
            return Ok(());
        };
        self.any = true;
        if let Some(counts) = choice.usage.and_then(super::chunk::Usage::counts) {
            self.usage = Some(counts);
        }
        if let Some(part) = choice.delta.or(choice.message) {
            self.part(part, watch)?;
        }
        if let Some(reason) = choice.finish_reason {
            self.finish = match reason.0.as_ref() {
                "" => self.finish,
                "length" | "max_tokens" | "model_length" => Some(Finish::Length),
                "content_filter" | "safety" | "refusal" => Some(Finish::Filtered),
                "error" => return Err(Flaw::BrokeOff),
                "tool_calls" | "function_call" => Some(Finish::Calls),
                // "stop" together with calls is common, and some servers use values of their own. The presence of calls
                // decides in the end.
                _ => Some(Finish::Stop),
            };
        }
        Ok(())
    }

    fn part(&mut self, part: Part<'_>, watch: Option<&dyn Watch>) -> Result<(), Flaw> {
        for (text, refused) in [(part.content, false), (part.refusal, true)] {
            let Some(text) = text.filter(|text| !text.0.is_empty()) else {
                continue;
            };
            if refused {
                self.refused = true;
            } else if !text.0.trim().is_empty() {
                self.said = true;
            }
            if let Some(watch) = watch {
                watch.words(&text.0);
            }
            self.text.push_str(&text.0);
        }
        if let Some(text) = part.reasoning_content {
            self.reasoning.push_str(&text.0);
        }
        for call in part.tool_calls.into_iter().flatten() {
            self.call(call)?;
        }
        if let Some(function) = part.function_call {
            self.call(CallPart {
                index: Some(0),
                id: None,
                function: Some(function),
                extra_content: None,
            })?;
        }
        Ok(())
    }

    /// Finds the call that a part belongs to, and adds the part to it.
    fn call(&mut self, part: CallPart<'_>) -> Result<(), Flaw> {
        let id = part.id.as_ref().map_or("", |id| id.0.as_ref());
        let function = part.function.unwrap_or(Function {
            name: None,
            arguments: None,
        });
        let Text(name) = function.name.unwrap_or_default();
        let belongs = |call: &Building| {
            let same_id = id.is_empty() || call.id.is_empty() || call.id == id;
            let same_name = name.is_empty() || call.tool.is_empty() || call.tool == name;
            match part.index {
                // Some servers give the same index to all calls of a response: then id and name distinguish them.
                Some(index) => call.index == Some(index) && same_id && same_name,
                None if !id.is_empty() => call.id == id,
                // Without index and id, a name begins a new call.
                None => name.is_empty(),
            }
        };
        let begins_call = !name.is_empty();
        // A part without a name, id and index belongs to the newest call.
        let is_anonymous = !begins_call && id.is_empty() && part.index.is_none();
        let is_of_dropped = self.is_dropping && is_anonymous;
        let at = match self
            .calls
            .iter()
            .rposition(belongs)
            .filter(|_| !is_of_dropped)
        {
            Some(at) => at,
            None if self.calls.len() >= MAX_CALLS => {
                self.is_dropping = true;
                self.dropped_calls += usize::from(begins_call);
                return Ok(());
            }
            None => {
                self.calls.push(Building {
                    index: part.index,
                    ..Building::default()
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
            push_arguments(&mut call.arguments, arguments)?;
        }
        if let Some(extra) = part.extra_content {
            call.extra = Some(extra.get().to_owned());
        }
        Ok(())
    }

    /// Returns the response if it is complete. `number` is the number of the response, used for generated call ids.
    pub(super) fn end(mut self, number: u64, keep_reasoning: bool) -> Result<Draft, Flaw> {
        if !self.torn.is_empty() {
            return Err(Flaw::Garbage);
        }
        if !self.any {
            return Err(Flaw::NoChoice);
        }
        let Some(mut finish) = self.finish else {
            return Err(Flaw::BrokeOff);
        };
        // A call without a name and without arguments is a server error; ignore it.
        self.calls
            .retain(|call| !(call.tool.is_empty() && call.arguments.trim().is_empty()));
        if finish == Finish::Stop && !self.calls.is_empty() {
            finish = Finish::Calls;
        }
        let is_silent = !self.said && !self.refused && self.calls.is_empty();
        if finish == Finish::Calls && is_silent {
            return Err(Flaw::Empty);
        }
        // A refusal in a separate field comes with the finish reason of a normal end.
        if finish == Finish::Stop && self.refused && !self.said {
            finish = Finish::Filtered;
        }
        let mut taken = HashSet::new();
        let mut calls = Vec::with_capacity(self.calls.len());
        let mut extras = Vec::with_capacity(self.calls.len());
        for (at, call) in self.calls.into_iter().enumerate() {
            let sound =
                call.id.len() <= LONGEST_ID && call.id.bytes().all(|c| c.is_ascii_graphic());
            let mut id = call.id;
            if id.is_empty() || !sound || taken.contains(&id) {
                id = made_id(number, at);
            }
            taken.insert(id.clone());
            extras.push(call.extra);
            calls.push(Call {
                id,
                tool: call.tool,
                arguments: plain_arguments(call.arguments),
            });
        }
        let reasoning = if keep_reasoning { &self.reasoning } else { "" };
        let message = message(&self.text, reasoning, &calls, &extras, None)?;
        Ok(Draft {
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
pub(super) fn made_id(number: u64, at: usize) -> String {
    format!("c{:05}{:03}", number % 100_000, at % 1000)
}

fn push_arguments(all: &mut String, part: &RawValue) -> Result<(), Flaw> {
    let text = part.get();
    if text.starts_with('"') {
        let Text(text) = serde_json::from_str(text).map_err(|_| Flaw::Garbage)?;
        all.push_str(&text);
    } else if text != "null" {
        all.push_str(text);
    }
    Ok(())
}

/// Normalises arguments: missing arguments become an empty object, and an object that was encoded as a string twice is
/// decoded.
fn plain_arguments(arguments: String) -> String {
    let trimmed = arguments.trim();
    if trimmed.is_empty() || trimmed == "null" {
        return "{}".to_owned();
    }
    if trimmed.starts_with('"')
        && let Ok(inner) = serde_json::from_str::<String>(trimmed)
        && is_object(&inner)
    {
        return inner;
    }
    arguments
}

fn is_object(text: &str) -> bool {
    // Parse it completely: a number such as 1e999 is well-formed JSON, but cannot be represented.
    text.trim_start().starts_with('{') && serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

/// Returns the message in the form in which it is stored in the conversation.
pub(super) fn message(
    text: &str,
    reasoning: &str,
    calls: &[Call],
    extras: &[Option<String>],
    name: Option<&str>,
) -> Result<Raw, Flaw> {
    let mut out = Vec::with_capacity(text.len() + 160 * calls.len() + 64);
    out.extend_from_slice(br#"{"role":"assistant""#);
    if let Some(name) = name {
        out.extend_from_slice(br#","name":"#);
        quote(&mut out, name)?;
    }
    out.extend_from_slice(br#","content":"#);
    if text.is_empty() && !calls.is_empty() {
        out.extend_from_slice(b"null");
    } else {
        quote(&mut out, text)?;
    }
    if !reasoning.is_empty() {
        out.extend_from_slice(br#","reasoning_content":"#);
        quote(&mut out, reasoning)?;
    }
    for (at, call) in calls.iter().enumerate() {
        let begin: &[u8] = if at == 0 {
            br#","tool_calls":[{"id":"#
        } else {
            br#",{"id":"#
        };
        out.extend_from_slice(begin);
        quote(&mut out, &call.id)?;
        out.extend_from_slice(br#","type":"function","function":{"name":"#);
        quote(&mut out, &sound_name(&call.tool))?;
        out.extend_from_slice(br#","arguments":"#);
        quote(&mut out, &sound_arguments(&call.arguments))?;
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
    let text = String::from_utf8(out).map_err(|_| Flaw::Garbage)?;
    Raw::parse(&text).map_err(|_| Flaw::Garbage)
}

fn quote(out: &mut Vec<u8>, text: &str) -> Result<(), Flaw> {
    serde_json::to_writer(out, text).map_err(|_| Flaw::Garbage)
}

/// Returns a tool name that every provider accepts back.
fn sound_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let made: String = name
        .chars()
        .take(LONGEST_NAME)
        .map(|c| if fits(c) { c } else { '_' })
        .collect();
    if made.is_empty() {
        Cow::Borrowed("unknown")
    } else {
        Cow::Owned(made)
    }
}

/// Returns arguments that every provider accepts back: some parse them as JSON, and refuse the conversation if they are
/// not.
fn sound_arguments(arguments: &str) -> Cow<'_, str> {
    if is_object(arguments) {
        return Cow::Borrowed(arguments);
    }
    let wrapped = serde_json::json!({ "malformed": arguments });
    Cow::Owned(wrapped.to_string())
}

#[cfg(test)]
mod tests;
