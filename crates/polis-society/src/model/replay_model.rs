//! Replay of a recording: a model whose responses come from a file, without network access.
//!
//! A response is selected by run, member and position in the recording (a recording with a single run is
//! played for any run). That position is part of the conversation itself (the `name` of its last response),
//! so a process that is killed and restarted continues where it was. Members may receive messages sooner or
//! later than in the recording: if the next response was recorded after three messages, the model responds
//! only that it is waiting until the third has arrived, and a response without tool calls between two
//! messages is skipped if both arrive at once. At the end of the recording a request fails, unless the header
//! is `loose`.

use std::collections::HashMap;
use std::time::Duration;

use polis_core::Refusal;
use polis_core::number::saturating_cast;
use polis_core::society::society_role::ModelChoice;
use polis_i18n::{UiLanguage, msg};
use tokio::time::sleep;

use super::assembly::{build_assistant_message, generated_call_id};
use super::recording::{RecordedCall, RecordedResponse, RecordingHeader};
use super::{
    EndpointPermit, FinishReason, LanguageModel, ModelError, ModelErrorKind, ModelRequest,
    ModelResponse, ResponseFuture, ResponseObserver, ToolCall, complete_unless_cancelled,
};
use crate::refusal_tables::ModelRefusal;

/// Prefix of the position in the recording, in the message of a response.
const POSITION_PREFIX: &str = "\"name\":\"recorded-";
/// Number of pieces in which a text is streamed: many for observers, few enough to cost nothing.
const MAX_STREAMED_PIECES: usize = 24;

/// A recording as a model.
#[derive(Debug)]
pub struct ReplayModel {
    header: RecordingHeader,
    /// The responses by run and member; a recording without runs uses "" as the run.
    responses: HashMap<(String, String), Vec<RecordedResponse>>,
    /// The run of a recording with only one run: it is played for any run.
    single_run: Option<String>,
    max_delay: Option<Duration>,
}

impl ReplayModel {
    /// Parses a recording. Fails with `InvalidConfig` if a line is invalid.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let invalid_recording = |number: usize, problem: &str| {
            Refusal::from(ModelRefusal::InvalidRecording {
                number,
                problem: problem.to_owned(),
            })
        };
        let mut head = None;
        let mut lines: HashMap<(String, String), Vec<RecordedResponse>> = HashMap::new();
        let ends_whole = text.ends_with('\n');
        let last = text.lines().count();
        for (at, text) in text.lines().enumerate() {
            let number = at + 1;
            if text.trim().is_empty() {
                continue;
            }
            if head.is_none() {
                let read = serde_json::from_str::<RecordingHeader>(text).ok();
                let read = read.filter(|head| head.recording == 1);
                head = Some(read.ok_or_else(|| invalid_recording(number, "header"))?);
                continue;
            }
            let line = match serde_json::from_str::<RecordedResponse>(text) {
                Ok(line) => line,
                // Truncated by a crash.
                Err(_) if number == last && !ends_whole => continue,
                Err(_) => return Err(invalid_recording(number, "response")),
            };
            let key = (line.run.clone().unwrap_or_default(), line.agent.clone());
            let all = lines.entry(key).or_default();
            // A request repeated after a crash has two responses; the later one counts.
            match all
                .iter_mut()
                .find(|one| one.number.is_some() && one.number == line.number)
            {
                Some(one) => *one = line,
                None => all.push(line),
            }
        }
        let Some(head) = head else {
            return Err(invalid_recording(1, "missing"));
        };
        for all in lines.values_mut() {
            all.sort_by_key(|line| line.number);
        }
        let mut runs = lines.keys().map(|(run, _)| run);
        let single = runs
            .next()
            .filter(|first| runs.all(|run| run == *first))
            .cloned();
        Ok(Self {
            header: head,
            responses: lines,
            single_run: single,
            max_delay: None,
        })
    }

    /// Waits before each response as long as it took when it was recorded, but not longer than `max_delay`.
    #[must_use]
    pub fn with_recorded_delays(mut self, max_delay: Duration) -> Self {
        self.max_delay = Some(max_delay);
        self
    }

    /// Returns the description of the recording.
    pub fn description(&self) -> Option<&str> {
        self.header.about.as_deref()
    }

    /// Finds the next response of a member. Fails with `Permanent` if the recording has none, unless it is
    /// `loose`.
    fn find_response(&self, request: &ModelRequest<'_>) -> Result<ReplayPosition<'_>, ModelError> {
        let missing = |detail: String| ModelError {
            kind: ModelErrorKind::Permanent,
            message: detail,
        };
        let agent = request.member.agent.to_string();
        let run = self
            .single_run
            .clone()
            .unwrap_or_else(|| request.member.run.to_string());
        let Some(lines) = self.responses.get(&(run, agent)) else {
            let agent = &request.member.agent;
            return Err(missing(msg::model_not_recorded(request.lang, agent)));
        };
        let mut next = count_replayed(request.messages)
            .unwrap_or_else(|| saturating_cast::<usize>(request.response_index));
        while let (Some(line), Some(after)) = (lines.get(next), lines.get(next.saturating_add(1)))
            && line.calls.is_empty()
            && after.heard <= request.received_message_count
            && line.heard < after.heard
        {
            next += 1;
        }
        match lines.get(next) {
            Some(line) if line.heard <= request.received_message_count => {
                Ok(ReplayPosition::Response(next, line))
            }
            Some(_) => Ok(ReplayPosition::AwaitingMessages(next)),
            None if self.header.loose => Ok(ReplayPosition::EndOfRecording(next)),
            None => Err(missing(msg::model_recording_ended(
                request.lang,
                lines.len(),
                &request.member.agent,
                next.saturating_add(1),
            ))),
        }
    }

    /// Returns the next response, streamed to the observer.
    async fn replay_response(
        &self,
        request: &ModelRequest<'_>,
    ) -> Result<ModelResponse, ModelError> {
        let (at, line) = match self.find_response(request)? {
            ReplayPosition::Response(at, line) => (at, line),
            ReplayPosition::AwaitingMessages(at) => {
                let text = msg::model_waiting_text(request.lang);
                return build_response(text, Vec::new(), at, request.lang);
            }
            ReplayPosition::EndOfRecording(at) => {
                let text = msg::model_end_of_recording_text(request.lang);
                return build_response(text, Vec::new(), at, request.lang);
            }
        };
        let pause = self
            .max_delay
            .map(|limit| limit.min(Duration::from_millis(line.ms)));
        stream_text(
            &line.text,
            pause.unwrap_or_default(),
            request.observer.as_deref(),
        )
        .await;
        let calls = line.calls.iter().enumerate();
        let calls = calls.map(|(at, call)| call.to_tool_call(request.response_index, at));
        let mut answer = build_response(&line.text, calls.collect(), at + 1, request.lang)?;
        answer.finish = line.finish.unwrap_or(answer.finish);
        answer.usage = line.usage;
        answer.cost_micros = line.cost;
        if !line.model.is_empty() {
            answer.model.clone_from(&line.model);
        }
        answer.duration_ms = line.ms;
        Ok(answer)
    }
}

/// The next step of a member: its position in the recording, and the response if there is one.
enum ReplayPosition<'a> {
    Response(usize, &'a RecordedResponse),
    AwaitingMessages(usize),
    EndOfRecording(usize),
}

/// Returns how many recorded responses a conversation contains, from its last response.
fn count_replayed(messages: &str) -> Option<usize> {
    // Within a JSON string the quotes would be escaped, so this cannot occur in a text.
    let at = messages.rfind(POSITION_PREFIX)?;
    let digits = messages.get(at + POSITION_PREFIX.len()..)?;
    digits.split('"').next()?.parse().ok()
}

/// Streams a text in pieces.
async fn stream_text(text: &str, pause: Duration, observer: Option<&dyn ResponseObserver>) {
    let count = text.chars().count();
    let size = count.div_ceil(MAX_STREAMED_PIECES).max(1);
    let pieces = u32::try_from(count.div_ceil(size)).unwrap_or(1);
    let step_delay = pause / (pieces + 1);
    if !pause.is_zero() {
        sleep(step_delay).await;
    }
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest
            .char_indices()
            .nth(size)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        if let Some(observer) = observer {
            observer.on_text(piece);
        }
        rest = after;
        if !pause.is_zero() {
            sleep(step_delay).await;
        }
    }
}

/// Creates a response after which `count` responses of the recording have been played.
fn build_response(
    text: &str,
    calls: Vec<ToolCall>,
    count: usize,
    lang: UiLanguage,
) -> Result<ModelResponse, ModelError> {
    let name = format!("recorded-{count}");
    let message =
        build_assistant_message(text, "", &calls, &[], Some(&name)).map_err(|_| ModelError {
            kind: ModelErrorKind::Permanent,
            message: msg::model_not_replayable(lang).to_owned(),
        })?;
    let finish = if calls.is_empty() {
        FinishReason::Stop
    } else {
        FinishReason::Calls
    };
    Ok(ModelResponse {
        message,
        text: text.to_owned(),
        calls,
        dropped_calls: 0,
        finish,
        usage: Some((0, 0)),
        cost_micros: 0,
        model: "recording".to_owned(),
        duration_ms: 0,
        attempts: 1,
        permit: EndpointPermit::none(),
    })
}

impl RecordedCall {
    /// Converts a recorded call; generates an id if it has none.
    fn to_tool_call(&self, number: u64, at: usize) -> ToolCall {
        let id = if self.id.is_empty() {
            generated_call_id(number, at)
        } else {
            self.id.clone()
        };
        let arguments = self.arguments.parse_as::<String>();
        ToolCall {
            id,
            tool: self.tool.clone(),
            arguments: arguments.unwrap_or_else(|| self.arguments.as_str().to_owned()),
        }
    }
}

impl LanguageModel for ReplayModel {
    fn complete<'a>(&'a self, request: ModelRequest<'a>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let replay = self.replay_response(&request);
            complete_unless_cancelled(&request.cancel, request.lang, replay).await
        })
    }

    fn context_limit(&self, _: Option<&ModelChoice>) -> u64 {
        self.header.context.unwrap_or(u64::MAX)
    }
}
