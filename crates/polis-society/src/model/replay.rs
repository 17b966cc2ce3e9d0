//! A recording that is played: every answer comes from a file, and no network is needed.
//!
//! An answer is found by the member's name and how far it has come. How far that is stands in the conversation itself
//! (the `name` of its last answer), so a process that is killed goes on where it was. Members hear messages
//! sooner or later than when it was recorded: an answer that was given after three messages waits for the
//! third, and one that only said something between two of them is passed over if both came at once.

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

/// What is said while the rest of the messages is waited for.
const WAITING: &str = "(waiting for the rest)";
/// What is said when everything was said.
const RESTING: &str = "(nothing more is recorded)";
/// How far an answer has come, in its message.
const MARK: &str = "\"name\":\"recorded-";
/// Many pieces for those who look on; few enough to cost nothing.
const PIECES: usize = 24;

/// A recording as a model.
#[derive(Debug)]
pub struct Replay {
    head: Head,
    /// The answers by run and member; a recording without runs has all under "".
    lines: HashMap<(String, String), Vec<Line>>,
    /// The only run there is, if there is only one: it is played for any.
    only: Option<String>,
    pace: Option<Duration>,
}

impl Replay {
    /// Reads a recording.
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
                // A crash cut it off.
                Err(_) if number == last && !ends_whole => continue,
                Err(_) => return Err(wrong(number, "is not an answer")),
            };
            let key = (line.run.clone().unwrap_or_default(), line.agent.clone());
            let all = lines.entry(key).or_default();
            // Who was asked again after a crash was answered again; what counts is the later answer.
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

    /// Waits before each answer as long as it took when it was recorded, but at most so long.
    #[must_use]
    pub fn paced(mut self, at_most: Duration) -> Self {
        self.pace = Some(at_most);
        self
    }

    /// What it is, in its maker's words.
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

/// What comes next for a member: the place of its next answer, and the answer.
enum Found<'a> {
    Line(usize, &'a Line),
    Waiting(usize),
    Resting(usize),
}

/// How many answers of the recording are in a conversation, by its last answer.
fn given(messages: &str) -> Option<usize> {
    // Within a text of JSON the quotes would be escaped, so nobody can have said this.
    let at = messages.rfind(MARK)?;
    let digits = messages.get(at + MARK.len()..)?;
    digits.split('"').next()?.parse().ok()
}

/// Shows a text piece by piece.
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

/// An answer; afterwards so many of the recording were given.
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
