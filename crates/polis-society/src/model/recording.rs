//! Recordings: writes the responses of a model to a file, one line of JSON for each, so that they can be replayed
//! without the model.
//!
//! A line contains the run and the agent, the number of the response, how many messages the member had received, the
//! text and the tool calls, and a digest of the prompt. It contains nothing else of the request, and so no key. The
//! first line is a header.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use polis_core::society::role::ModelChoice;
use polis_core::{Raw, digest};
use serde::{Deserialize, Serialize};

use super::{Answer, Answering, Ask, Finish, Model};

/// The header line.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Head {
    /// The format version: 1.
    pub(super) recording: u32,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) about: Option<String>,
    /// The context limit in tokens; the same limit applies in the replay, so that conversations are compacted at the
    /// same points.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) context: Option<u64>,
    /// Whether a member without further recorded responses just becomes idle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) loose: bool,
}

/// A recorded response.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Line {
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
    pub(super) calls: Vec<LineCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) finish: Option<Finish>,
    /// Tokens of prompt and response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<(u64, u64)>,
    /// Millionths.
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
pub(super) struct LineCall {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) id: String,
    pub(super) tool: String,
    /// An object, or the text as the model wrote it.
    pub(super) arguments: Raw,
}

/// A model whose responses are recorded.
#[derive(Debug)]
pub struct Recorder {
    model: Arc<dyn Model>,
    file: Mutex<File>,
    failed: AtomicBool,
}

impl Recorder {
    /// Creates a recorder that appends the responses of this model to a file. An incomplete last line, left by a crash,
    /// is removed first.
    pub fn new(model: Arc<dyn Model>, path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        let kept = whole_lines(&mut file)?;
        file.set_len(kept)?;
        if kept == 0 {
            let head = Head {
                recording: 1,
                context: Some(model.context_limit(None)),
                ..Head::default()
            };
            write_line(&mut file, &head)?;
        }
        Ok(Self {
            model,
            file: Mutex::new(file),
            failed: AtomicBool::new(false),
        })
    }

    fn write(&self, line: &Line) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = write_line(&mut file, line)
            && !self.failed.swap(true, Ordering::Relaxed)
        {
            // The response itself is valid; the caller continues.
            tracing::warn!(kind = %error.kind(), "the recording is not whole: an answer could not be written");
        }
    }
}

/// Returns where the last complete line ends.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut part = vec![0; 64 << 10];
    while end > 0 {
        let begin = end.saturating_sub(part.len() as u64);
        let size = usize::try_from(end - begin).unwrap_or(part.len());
        let Some(read) = part.get_mut(..size) else {
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

/// Writes a line with a single call, so that a crash leaves it complete or truncated, but never mixes two lines.
fn write_line(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    file.write_all(&text)
}

impl Model for Recorder {
    fn complete<'a>(&'a self, ask: Ask<'a>) -> Answering<'a> {
        Box::pin(async move {
            let mut line = Line {
                run: Some(ask.member.run.to_string()),
                agent: ask.member.agent.to_string(),
                role: ask.role.to_owned(),
                number: Some(ask.number),
                heard: ask.heard,
                text: String::new(),
                calls: Vec::new(),
                finish: None,
                usage: None,
                cost: 0,
                model: String::new(),
                ms: 0,
                prompt: digest::of_parts(&[ask.messages, ask.tools]),
            };
            let answer = self.model.complete(ask).await?;
            line.say(&answer);
            self.write(&line);
            Ok(answer)
        })
    }

    fn context_limit(&self, choice: Option<&ModelChoice>) -> u64 {
        self.model.context_limit(choice)
    }
}

impl Line {
    fn say(&mut self, answer: &Answer) {
        self.text.clone_from(&answer.text);
        self.calls = answer.calls.iter().filter_map(LineCall::of).collect();
        self.finish = Some(answer.finish);
        self.usage = answer.usage;
        self.cost = answer.micros;
        self.model.clone_from(&answer.model);
        self.ms = answer.ms;
    }
}

impl LineCall {
    fn of(call: &super::Call) -> Option<Self> {
        let object = call.arguments.trim_start().starts_with('{');
        let object = object.then(|| Raw::parse(&call.arguments).ok()).flatten();
        Some(Self {
            id: call.id.clone(),
            tool: call.tool.clone(),
            arguments: object.or_else(|| Raw::of(&call.arguments).ok())?,
        })
    }
}
