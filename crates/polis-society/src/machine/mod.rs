//! State machine of a member: takes events (messages, model responses, tool results, commits) and returns the next
//! effect to perform. Pure: no clock, no store, no model; effects are performed by `driver`.
//!
//! There is one effect at a time, and the next event answers it. Anything not yet committed may be lost: a machine that
//! is restored from the store continues from the stored state.

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

/// Configuration of a machine.
#[derive(Debug, Clone)]
pub struct Person {
    /// The member.
    pub key: MemberKey,
    /// Its tools.
    pub tools: Arc<Toolbox>,
    /// Context limit, in tokens.
    pub limit: u64,
    /// The language of the runtime's texts.
    pub words: Words,
    /// The worker that drives it.
    pub worker: String,
}

/// The event that the machine waits for.
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

/// The state machine of a member.
#[derive(Debug)]
pub struct Machine {
    person: Person,
    /// The context that is sent to its model.
    pub context: Context,
    phase: Phase,
    /// The member state in the store.
    base: MemberState,
    revision: u64,
    /// The new member state, except its account and its children.
    state: MemberState,
    /// Budget spent since the last commit.
    spend: Amount,
    /// Entries added since the last commit, as JSON separated by commas.
    entries: String,
    /// Messages read since the last commit.
    read: Vec<u64>,
    /// The notice for the parent in the next commit: why the member is blocked. The human user sees that in the
    /// member's status, and an approval in the list of approvals; neither is a message to the human user.
    parent_notice: Option<String>,
    /// The call whose approval is requested with the next commit.
    asks: Option<(u64, usize)>,
    /// The calls of the newest response, until all of them are done.
    calls: Vec<Call>,
    /// The index of the first call that is not done.
    at: usize,
    /// The turn of that response.
    said: u64,
    /// The response was incomplete, so its calls are not executed.
    void: bool,
    /// How many calls of the newest response are not executed because there were too many; the model gets a note about
    /// it after the results of the others.
    dropped: u64,
    /// The current call was approved.
    allowed: bool,
    /// The current call is paid for.
    funded: bool,
    /// The current call was started by a process that has ended.
    crashed: bool,
    /// The model has to respond next.
    owed: bool,
    repeats: Repeats,
    /// Number of compactions since the last response.
    squeezed: u32,
    /// The model refused the context as too long since the last response.
    too_long: bool,
    /// The member requested compaction: with this summary, or with one that the model is asked for.
    compress: Option<Option<String>>,
    /// How many responses in a row were incomplete (cut off, filtered, empty or without the announced calls).
    nudged: u32,
    /// The model of the last response.
    model: String,
}

impl Machine {
    /// Returns the member state, including changes that are not committed.
    pub fn state(&self) -> &MemberState {
        &self.state
    }

    /// Returns the last known revision of the member state.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Takes over the stored state after a budget draw. Returns whether that state matches the known one.
    #[must_use]
    pub fn adopt(&mut self, state: MemberState, revision: u64) -> bool {
        let same = state.next_turn == self.base.next_turn && state.status == self.base.status;
        if same {
            self.base = state;
            self.revision = revision;
        }
        same
    }

    /// Returns the last known member state in the store.
    pub fn base(&self) -> &MemberState {
        &self.base
    }

    /// Returns the budget spent since the last commit.
    pub fn unwritten(&self) -> Amount {
        self.spend
    }

    /// Returns its toolbox.
    pub fn tools(&self) -> Arc<Toolbox> {
        Arc::clone(&self.person.tools)
    }

    /// Returns the call with this index.
    pub fn call_at(&self, at: usize) -> Option<&Call> {
        self.calls.get(at)
    }

    /// Returns how many messages the member has received, including those in its prompt.
    pub fn heard(&self) -> u64 {
        self.state.heard
    }

    /// Handles an event, and returns the next effect.
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

    /// Returns the next effect when no operation is in progress.
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

    /// Handles a member state changed by another writer: takes over the fields that only others change, and keeps those
    /// that only this machine changes.
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
            // The response is kept; its calls wait.
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

    /// Adds an entry to the conversation; it is stored with the next commit.
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

    /// Returns the contents of a commit at this moment.
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

    /// Handles a successful commit.
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

    /// Handles a call that was committed together with the turn.
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

/// Returns the stored form of an entry.
fn written(entry: &Entry) -> String {
    // Our own types always serialise; if not, the entry would be stored as an empty note.
    serde_json::to_string(entry).unwrap_or_else(|_| "{\"told\":{\"m\":null}}".to_owned())
}

/// Returns the entry for the result of a call.
fn did(call: &str, outcome: &Outcome) -> Entry {
    Entry::Did {
        m: message::tool(call, &outcome.text),
        end: outcome.end,
        ms: outcome.ms,
    }
}

/// Returns the entries of a draft followed by the result of the call that it joins.
pub fn with_result(entries: &str, call: &str, outcome: &Outcome) -> String {
    let did = written(&did(call, outcome));
    match entries.is_empty() {
        true => did,
        false => format!("{entries},{did}"),
    }
}
