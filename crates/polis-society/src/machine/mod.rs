//! A member as a machine: what it knows, what comes to it, and what it wants done next. Pure: no clock, no store,
//! no model; those who carry out its wishes are in `driver`.
//!
//! It wants one thing at a time, and the next event answers it. Whatever it has not seen committed it may lose:
//! a machine that is made anew from the store goes on where the store is.

mod call;
mod event;
mod load;
mod repeat;
mod think;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use polis_core::society::MemberKey;
use polis_core::society::budget::Amount;
use polis_core::society::member::{MemberState, MemberStatus};
use polis_core::society::turn::Entry;

pub(crate) use call::{params, refused};
pub use event::{Asked, Cost, Draft, Effect, Event, Found, Outcome};

use crate::compact::Plan;
use crate::context::Context;
use crate::message;
use crate::model::Call;
use crate::toolbox::Toolbox;
use crate::words::Words;
use repeat::Repeats;

/// What a machine is made for.
#[derive(Debug, Clone)]
pub struct Person {
    /// Which member it is.
    pub key: MemberKey,
    /// Its tools.
    pub tools: Arc<Toolbox>,
    /// How many tokens its context may have.
    pub limit: u64,
    /// The language it is spoken to in.
    pub words: Words,
    /// The worker that drives it.
    pub worker: String,
}

/// What it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Phase {
    Mail,
    Funding(Cost),
    Asking,
    Summing(Plan),
    Calling { joined: bool },
    Committing,
    Deciding,
    Over,
}

/// A member.
#[derive(Debug)]
pub struct Machine {
    person: Person,
    /// What its model is shown.
    pub context: Context,
    phase: Phase,
    /// How it stands in the store.
    base: MemberState,
    revision: u64,
    /// How it shall stand, but for its account and its children.
    state: MemberState,
    /// What it spent since the last commit.
    spend: Amount,
    /// What was added since the last commit, as JSON with commas.
    entries: String,
    /// What it read since the last commit.
    read: Vec<u64>,
    /// What its parent is told with the next commit: why it is held up. The person sees that in the member's status,
    /// and an approval in the list of approvals; neither is a message to the person.
    parent_notice: Option<String>,
    /// The call that is to be allowed, asked with the next commit.
    asks: Option<(u64, usize)>,
    /// The calls of the newest answer that are not all done.
    calls: Vec<Call>,
    /// The first that is not done.
    at: usize,
    /// The turn that answer is in.
    said: u64,
    /// The calls are of an answer that was cut off.
    void: bool,
    /// How many calls of the newest answer are not carried out because they were too many; its model is told so after
    /// the results of the others.
    dropped: u64,
    /// The call at hand was allowed.
    allowed: bool,
    /// The call at hand is paid.
    funded: bool,
    /// The call at hand was begun by a process that ended.
    crashed: bool,
    /// The model owes an answer.
    owed: bool,
    repeats: Repeats,
    /// How often the context was made smaller since the last answer.
    squeezed: u32,
    /// The model said that the context is too long, since the last answer.
    too_long: bool,
    /// The member wants its context made smaller: with this summary, or with one it is asked for.
    compress: Option<Option<String>>,
    /// How many answers in a row were cut off or held back.
    nudged: u32,
    /// The model that answered last.
    model: String,
}

impl Machine {
    /// How it stands, as far as it knows.
    pub fn state(&self) -> &MemberState {
        &self.state
    }

    /// The revision it knows of.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// It drew money: how it stands in the store now. Whether that fits what is known.
    #[must_use]
    pub fn adopt(&mut self, state: MemberState, revision: u64) -> bool {
        let same = state.next_turn == self.base.next_turn && state.status == self.base.status;
        if same {
            self.base = state;
            self.revision = revision;
        }
        same
    }

    /// How it stands in the store, as far as it knows.
    pub fn base(&self) -> &MemberState {
        &self.base
    }

    /// What it spent since the last commit.
    pub fn unwritten(&self) -> Amount {
        self.spend
    }

    /// Its tools.
    pub fn tools(&self) -> Arc<Toolbox> {
        Arc::clone(&self.person.tools)
    }

    /// The call of this place.
    pub fn call_at(&self, at: usize) -> Option<&Call> {
        self.calls.get(at)
    }

    /// How many messages it has heard, those in its prompt too.
    pub fn heard(&self) -> u64 {
        self.state.heard
    }

    /// Something comes: what is to be done?
    pub fn on(&mut self, event: Event) -> Effect {
        match (self.phase.clone(), event) {
            (Phase::Over, _) => Effect::Gone,
            (phase, Event::Moved(state, revision)) => self.moved(&phase, *state, revision),
            (Phase::Mail, Event::Mail(letters)) => self.hear(&letters),
            (Phase::Funding(Cost::Answer), Event::Funded) => self.think(),
            (Phase::Funding(Cost::Command), Event::Funded) => {
                self.spend.commands = self.spend.commands.saturating_add(1);
                self.funded = true;
                self.call()
            }
            (Phase::Funding(cost), Event::Broke(why)) => self.broke(cost, &why),
            (Phase::Asking, Event::Answered(answer)) => self.answered(*answer),
            (Phase::Summing(plan), Event::Answered(answer)) => self.summed(&plan, &answer),
            (Phase::Asking | Phase::Summing(_), Event::Failed(error)) => self.failed(&error),
            (Phase::Calling { .. }, Event::Done(outcome)) => {
                self.settle(&outcome);
                self.call()
            }
            (Phase::Calling { joined: true }, Event::Joined(outcome, state, revision)) => {
                self.joined(&outcome, *state, revision)
            }
            (Phase::Committing, Event::Committed(revision)) => {
                let state = self.drafted();
                self.took(state, revision);
                self.go()
            }
            (Phase::Deciding, Event::Decided(asked)) => self.decided(asked),
            _ => Effect::Reload,
        }
    }

    /// What is next, when nothing is under way.
    pub fn go(&mut self) -> Effect {
        match self.state.status {
            MemberStatus::Gone => {
                self.phase = Phase::Over;
                Effect::Gone
            }
            MemberStatus::Paused | MemberStatus::Parked if self.entries.is_empty() => Effect::Sleep,
            MemberStatus::Paused | MemberStatus::Parked => self.commit(),
            _ if self.at < self.calls.len() => self.call(),
            _ if !self.entries.is_empty() => self.commit(),
            _ => {
                self.phase = Phase::Mail;
                Effect::LookForMail
            }
        }
    }

    /// Somebody else wrote how it stands. What only they change is taken over; what only this changes stays.
    fn moved(&mut self, phase: &Phase, state: MemberState, revision: u64) -> Effect {
        if state.status == MemberStatus::Gone {
            self.phase = Phase::Over;
            return Effect::Gone;
        }
        let mine =
            state.worker == self.base.worker || state.worker.as_ref() == Some(&self.person.worker);
        if state.next_turn != self.base.next_turn
            || !mine
            || !matches!(phase, Phase::Committing | Phase::Calling { joined: true })
        {
            return Effect::Reload;
        }
        let held = matches!(state.status, MemberStatus::Paused | MemberStatus::Parked);
        if held && state.status != self.base.status {
            // The answer is kept, its calls wait.
            self.state.status = state.status;
            self.state.why.clone_from(&state.why);
            if self.state.doing != self.base.doing && self.base.doing.is_none() {
                self.state.doing = None;
                self.state.tool = None;
            }
            self.asks = None;
            self.parent_notice = None;
        }
        self.base = state;
        self.revision = revision;
        match phase {
            Phase::Calling { .. } if !held => self.call(),
            _ if held => self.go(),
            _ => self.commit(),
        }
    }

    /// Adds to the conversation; written with the next commit.
    fn push(&mut self, entry: &Entry) {
        self.context.add(self.base.next_turn, entry);
        if !self.entries.is_empty() {
            self.entries.push(',');
        }
        self.entries.push_str(&written(entry));
    }

    fn commit(&mut self) -> Effect {
        self.phase = Phase::Committing;
        let turn = !self.entries.is_empty();
        Effect::Commit(Box::new(self.draft(turn)))
    }

    /// What a commit is made of now.
    fn draft(&self, turn: bool) -> Draft {
        let state = match turn {
            true => self.with_turn(),
            false => self.without_turn(),
        };
        let cared = |status| {
            use MemberStatus::{Asking, Parked, Paused};
            matches!(status, Asking | Paused | Parked)
        };
        let changed = self.base.status != state.status;
        let has_no_answer = state.status == MemberStatus::Idle && state.why.is_some();
        Draft {
            stands: changed && (has_no_answer || cared(state.status) || cared(self.base.status)),
            state,
            revision: self.revision,
            spend: self.spend,
            turn: turn.then_some(self.base.next_turn),
            entries: self.entries.clone(),
            read: self.read.clone(),
            asks: self.asks,
            parent_notice: self.parent_notice.clone(),
        }
    }

    fn drafted(&self) -> MemberState {
        match self.entries.is_empty() {
            true => self.without_turn(),
            false => self.with_turn(),
        }
    }

    fn with_turn(&self) -> MemberState {
        let mut state = self.without_turn();
        state.next_turn = state.next_turn.saturating_add(1);
        state
    }

    fn without_turn(&self) -> MemberState {
        let mut state = self.state.clone();
        state.account = self.base.account;
        state.account.spend(&self.spend);
        state.children.clone_from(&self.base.children);
        state.worker = Some(self.person.worker.clone());
        state.next_turn = self.base.next_turn;
        state.context_tokens = self.context.tokens();
        state
    }

    /// What was drafted is in the store.
    fn took(&mut self, state: MemberState, revision: u64) {
        self.state = state.clone();
        self.base = state;
        self.revision = revision;
        self.spend = Amount::default();
        self.entries.clear();
        self.read.clear();
        self.parent_notice = None;
        self.asks = None;
    }

    /// A call was committed with the turn.
    fn joined(&mut self, outcome: &Outcome, state: MemberState, revision: u64) -> Effect {
        let turn = self.base.next_turn;
        self.took(state, revision);
        if let Some(call) = self.calls.get(self.at) {
            let entry = did(&call.id, outcome);
            self.context.add(turn, &entry);
            let kind = self.person.tools.find(&call.tool).map(|row| row.kind);
            self.repeats.note(call, kind, &outcome.text, outcome.end);
        }
        self.next_call();
        self.call()
    }
}

/// An entry as it is kept.
fn written(entry: &Entry) -> String {
    // Our own types serialise; an entry that did not would be told as nothing.
    serde_json::to_string(entry).unwrap_or_else(|_| "{\"told\":{\"m\":null}}".to_owned())
}

/// The entry of a call's result.
fn did(call: &str, outcome: &Outcome) -> Entry {
    Entry::Did {
        m: message::tool(call, &outcome.text),
        end: outcome.end,
        ms: outcome.ms,
    }
}

/// A draft's entries and the result of the call it goes along with.
pub fn with_result(entries: &str, call: &str, outcome: &Outcome) -> String {
    let did = written(&did(call, outcome));
    match entries.is_empty() {
        true => did,
        false => format!("{entries},{did}"),
    }
}
