//! Recordings: [`RecordingModel`] writes the responses of a model to a file, one line of JSON for each, so
//! that they can be replayed without the model (`replay_model`).
//!
//! A line identifies the response (run, agent, role, number, and how many messages the member had received)
//! and contains its text, tool calls, usage and duration. Of the prompt it contains only a digest, and no
//! API key. The first line is a header. If a line cannot be written, that is logged once and the response is
//! returned all the same.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use polis_core::society::society_role::ModelChoice;
use polis_core::{RawJson, digest};
use serde::{Deserialize, Serialize};

use super::{FinishReason, LanguageModel, ModelRequest, ModelResponse, ResponseFuture};

/// The header: the first line of a recording.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct RecordingHeader {
    /// The format version: 1.
    pub(super) recording: u32,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) about: Option<String>,
    /// The context limit in tokens; the same limit applies in the replay, so that conversations are compacted
    /// at the same points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) context: Option<u64>,
    /// Whether a member without further recorded responses just becomes idle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) loose: bool,
}

/// A recorded response: one line of a recording.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RecordedResponse {
    /// The run; a recording written by hand has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<String>,
    pub(super) agent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) role: String,
    /// The number of the response; if omitted, the order of the lines counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) number: Option<u64>,
    /// How many messages the member had received.
    #[serde(default)]
    pub(super) heard: u64,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<RecordedCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) finish: Option<FinishReason>,
    /// Tokens of prompt and response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<(u64, u64)>,
    /// Cost in millionths.
    #[serde(default)]
    pub(super) cost: u64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) model: String,
    #[serde(default)]
    pub(super) ms: u64,
    /// A digest of the prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) prompt: String,
}

/// A tool call of a response.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RecordedCall {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) id: String,
    pub(super) tool: String,
    /// An object, or the text as the model wrote it.
    pub(super) arguments: RawJson,
}

/// A model whose responses are recorded.
#[derive(Debug)]
pub struct RecordingModel {
    model: Arc<dyn LanguageModel>,
    file: Mutex<File>,
    has_failed: AtomicBool,
}

impl RecordingModel {
    /// Creates a recorder that appends the responses of this model to a file, which is created if it does not
    /// exist. An incomplete last line, left by a crash, is removed first. Fails if the file cannot be opened,
    /// read or written.
    pub fn new(model: Arc<dyn LanguageModel>, path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        let valid_length = end_of_last_line(&mut file)?;
        file.set_len(valid_length)?;
        if valid_length == 0 {
            let head = RecordingHeader {
                recording: 1,
                context: Some(model.context_limit(None)),
                ..RecordingHeader::default()
            };
            write_line(&mut file, &head)?;
        }
        Ok(Self {
            model,
            file: Mutex::new(file),
            has_failed: AtomicBool::new(false),
        })
    }

    /// Appends a response to the file. A failure is logged once.
    fn write_response(&self, line: &RecordedResponse) {
        let mut file = self.file.lock();
        if let Err(error) = write_line(&mut file, line)
            && !self.has_failed.swap(true, Ordering::Relaxed)
        {
            // The response itself is valid; the caller continues.
            tracing::warn!(kind = %error.kind(), "the recording is incomplete: a response could not be written");
        }
    }
}

/// Returns where the last complete line ends.
fn end_of_last_line(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut buffer = vec![0; 64 << 10];
    while end > 0 {
        let begin = end.saturating_sub(buffer.len() as u64);
        let size = usize::try_from(end - begin).unwrap_or(buffer.len());
        let Some(read) = buffer.get_mut(..size) else {
            break;
        };
        file.seek(SeekFrom::Start(begin))?;
        file.read_exact(read)?;
        if let Some(at) = memchr::memrchr(b'\n', read) {
            return Ok(begin + at as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

/// Writes a line with a single call, so that a crash leaves it complete or truncated, but never mixes two
/// lines.
fn write_line(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)
}

impl LanguageModel for RecordingModel {
    fn complete<'a>(&'a self, request: ModelRequest<'a>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let mut line = RecordedResponse {
                run: Some(request.member.run.to_string()),
                agent: request.member.agent.to_string(),
                role: request.role.to_owned(),
                number: Some(request.response_index),
                heard: request.received_message_count,
                text: String::new(),
                calls: Vec::new(),
                finish: None,
                usage: None,
                cost: 0,
                model: String::new(),
                ms: 0,
                prompt: digest::sha256_hex_of_parts(&[request.messages, request.tools]),
            };
            let answer = self.model.complete(request).await?;
            line.set_response(&answer);
            self.write_response(&line);
            Ok(answer)
        })
    }

    fn context_limit(&self, choice: Option<&ModelChoice>) -> u64 {
        self.model.context_limit(choice)
    }
}

impl RecordedResponse {
    /// Adds the response to the line.
    fn set_response(&mut self, answer: &ModelResponse) {
        self.text.clone_from(&answer.text);
        self.calls = answer
            .calls
            .iter()
            .filter_map(RecordedCall::from_tool_call)
            .collect();
        self.finish = Some(answer.finish);
        self.usage = answer.usage;
        self.cost = answer.cost_micros;
        self.model.clone_from(&answer.model);
        self.ms = answer.duration_ms;
    }
}

impl RecordedCall {
    /// Converts a tool call; arguments that are not a JSON object are stored as a string. Returns `None` if
    /// they cannot be stored.
    fn from_tool_call(call: &super::ToolCall) -> Option<Self> {
        let object = call.arguments.trim_start().starts_with('{');
        let object = object
            .then(|| RawJson::parse(&call.arguments).ok())
            .flatten();
        Some(Self {
            id: call.id.clone(),
            tool: call.tool.clone(),
            arguments: object.or_else(|| RawJson::from_value(&call.arguments).ok())?,
        })
    }
}
