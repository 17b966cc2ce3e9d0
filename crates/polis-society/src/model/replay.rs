//! Replay of a recording: a model whose responses come from a file, without network access.
//!
//! A response is selected by the member's name and its position in the recording. That position is part of the
//! conversation itself (the `name` of its last response), so a process that is killed and restarted continues where it
//! was. Members may receive messages sooner or later than in the recording: a response recorded after three messages
//! waits for the third, and a response without tool calls between two messages is skipped if both arrive at once.

use std::collections::HashMap;
use std::time::Duration;

use polis_core::society::role::ModelChoice;
use polis_core::{Code, Refusal};
use tokio::time::sleep;

use super::assembly::{made_id, message};
use super::recording::{Head, Line, LineCall};
use super::{
    Answer, Answering, Ask, Call, Finish, Held, Model, ModelError, ModelFault, Watch, while_wanted,
};

/// The response while further messages are awaited.
const WAITING: &str = "(waiting for the rest)";
/// The response when the recording has no more responses.
const RESTING: &str = "(nothing more is recorded)";
/// Prefix of the position in the recording, in the message of a response.
const MARK: &str = "\"name\":\"recorded-";
/// Number of pieces in which a text is streamed: many for observers, few enough to cost nothing.
const PIECES: usize = 24;

/// A recording as a model.
#[derive(Debug)]
pub struct Replay {
    head: Head,
    /// The responses by run and member; a recording without runs uses "" as the run.
    lines: HashMap<(String, String), Vec<Line>>,
    /// The run of a recording with only one run: it is played for any run.
    only: Option<String>,
    pace: Option<Duration>,
}

impl Replay {
    /// Parses a recording. Fails with `InvalidConfig` if a line is invalid.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let wrong = |number: usize, what: &str| {
            Refusal::new(
                Code::InvalidConfig,
                format!("Line {number} of the recording {what}."),
                "make a recording with `polis run --record FILE`",
            )
        };
        let mut head = None;
        let mut lines: HashMap<(String, String), Vec<Line>> = HashMap::new();
        let ends_whole = text.ends_with('\n');
        let last = text.lines().count();
        for (at, text) in text.lines().enumerate() {
            let number = at + 1;
            if text.trim().is_empty() {
                continue;
            }
            if head.is_none() {
                let read = serde_json::from_str::<Head>(text).ok();
                let read = read.filter(|head| head.recording == 1);
                head = Some(read.ok_or_else(|| wrong(number, "does not begin one"))?);
                continue;
            }
            let line = match serde_json::from_str::<Line>(text) {
                Ok(line) => line,
                // Truncated by a crash.
                Err(_) if number == last && !ends_whole => continue,
                Err(_) => return Err(wrong(number, "is not an answer")),
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
            return Err(wrong(1, "is missing"));
        };
        for all in lines.values_mut() {
            all.sort_by_key(|line| line.number);
        }
        let mut runs = lines.keys().map(|(run, _)| run);
        let only = runs
            .next()
            .filter(|first| runs.all(|run| run == *first))
            .cloned();
        Ok(Self {
            head,
            lines,
            only,
            pace: None,
        })
    }

    /// Waits before each response as long as it took when it was recorded, but not longer than `at_most`.
    #[must_use]
    pub fn paced(mut self, at_most: Duration) -> Self {
        self.pace = Some(at_most);
        self
    }

    /// Returns the description of the recording.
    pub fn about(&self) -> Option<&str> {
        self.head.about.as_deref()
    }

    fn find(&self, ask: &Ask<'_>) -> Result<Found<'_>, ModelError> {
        let missing = |what: String| ModelError {
            kind: ModelFault::Permanent,
            message: what,
        };
        let agent = ask.member.agent.to_string();
        let run = self
            .only
            .clone()
            .unwrap_or_else(|| ask.member.run.to_string());
        let Some(lines) = self.lines.get(&(run, agent)) else {
            return Err(missing(format!(
                "The recording has no answers of {}.",
                ask.member.agent
            )));
        };
        let mut next = given(ask.messages)
            .unwrap_or_else(|| usize::try_from(ask.number).unwrap_or(usize::MAX));
        while let (Some(line), Some(after)) = (lines.get(next), lines.get(next.saturating_add(1)))
            && line.calls.is_empty()
            && after.heard <= ask.heard
            && line.heard < after.heard
        {
            next += 1;
        }
        match lines.get(next) {
            Some(line) if line.heard <= ask.heard => Ok(Found::Line(next, line)),
            Some(_) => Ok(Found::Waiting(next)),
            None if self.head.loose => Ok(Found::Resting(next)),
            None => Err(missing(format!(
                "The recording has {} answers of {}, and number {} is asked for.",
                lines.len(),
                ask.member.agent,
                next.saturating_add(1),
            ))),
        }
    }

    async fn play(&self, ask: &Ask<'_>) -> Result<Answer, ModelError> {
        let (at, line) = match self.find(ask)? {
            Found::Line(at, line) => (at, line),
            Found::Waiting(at) => return saying(WAITING, Vec::new(), at),
            Found::Resting(at) => return saying(RESTING, Vec::new(), at),
        };
        let pause = self
            .pace
            .map(|most| most.min(Duration::from_millis(line.ms)));
        show(&line.text, pause.unwrap_or_default(), ask.watch.as_deref()).await;
        let calls = line.calls.iter().enumerate();
        let calls = calls.map(|(at, call)| call.as_call(ask.number, at));
        let mut answer = saying(&line.text, calls.collect(), at + 1)?;
        answer.finish = line.finish.unwrap_or(answer.finish);
        answer.usage = line.usage;
        answer.micros = line.cost;
        if !line.model.is_empty() {
            answer.model.clone_from(&line.model);
        }
        answer.ms = line.ms;
        Ok(answer)
    }
}

/// The next step of a member: its position in the recording, and the response if there is one.
enum Found<'a> {
    Line(usize, &'a Line),
    Waiting(usize),
    Resting(usize),
}

/// Returns how many recorded responses a conversation contains, from its last response.
fn given(messages: &str) -> Option<usize> {
    // Within a JSON string the quotes would be escaped, so this cannot occur in a text.
    let at = messages.rfind(MARK)?;
    let digits = messages.get(at + MARK.len()..)?;
    digits.split('"').next()?.parse().ok()
}

/// Streams a text in pieces.
async fn show(text: &str, pause: Duration, watch: Option<&dyn Watch>) {
    let count = text.chars().count();
    let size = count.div_ceil(PIECES).max(1);
    let pieces = u32::try_from(count.div_ceil(size)).unwrap_or(1);
    let each = pause / (pieces + 1);
    if !pause.is_zero() {
        sleep(each).await;
    }
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest
            .char_indices()
            .nth(size)
            .map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        if let Some(watch) = watch {
            watch.words(piece);
        }
        rest = after;
        if !pause.is_zero() {
            sleep(each).await;
        }
    }
}

/// Creates a response after which `given` responses of the recording have been played.
fn saying(text: &str, calls: Vec<Call>, given: usize) -> Result<Answer, ModelError> {
    let name = format!("recorded-{given}");
    let message = message(text, "", &calls, &[], Some(&name)).map_err(|_| ModelError {
        kind: ModelFault::Permanent,
        message: "An answer of the recording cannot be given.".to_owned(),
    })?;
    let finish = if calls.is_empty() {
        Finish::Stop
    } else {
        Finish::Calls
    };
    Ok(Answer {
        message,
        text: text.to_owned(),
        calls,
        dropped_calls: 0,
        finish,
        usage: Some((0, 0)),
        micros: 0,
        model: "recording".to_owned(),
        ms: 0,
        tries: 1,
        held: Held::nothing(),
    })
}

impl LineCall {
    fn as_call(&self, number: u64, at: usize) -> Call {
        let id = if self.id.is_empty() {
            made_id(number, at)
        } else {
            self.id.clone()
        };
        let arguments = self.arguments.to::<String>();
        Call {
            id,
            tool: self.tool.clone(),
            arguments: arguments.unwrap_or_else(|| self.arguments.text().to_owned()),
        }
    }
}

impl Model for Replay {
    fn complete<'a>(&'a self, ask: Ask<'a>) -> Answering<'a> {
        Box::pin(async move { while_wanted(&ask.cancel, self.play(&ask)).await })
    }

    fn context_limit(&self, _: Option<&ModelChoice>) -> u64 {
        self.head.context.unwrap_or(u64::MAX)
    }
}
