//! Test harness of the state machine: a store, a mailbox and a model as plain values, so that events can be played in
//! any order, with a crash at any point.

use std::collections::BTreeMap;
use std::sync::Arc;

use polis_core::Raw;
use polis_core::board::template_text::Language;
use polis_core::message::{Message, NewMessage};
use polis_core::society::approval::Decision;
use polis_core::society::budget::Account;
use polis_core::society::member::{MemberState, MemberStatus};
use polis_core::society::turn::{CallEnd, Entry, Turn};
use polis_core::time::Timestamp;

use super::super::{Asked, Draft, Effect, Event, Found, Machine, Outcome, Person, with_result};
use crate::message;
use crate::model::{Answer, Call, Finish};
use crate::toolbox::{Kind, Own, Row, Toolbox};
use crate::words::Words;

/// The contents of the store.
#[derive(Debug, Clone)]
pub(in crate::machine) struct Store {
    pub(in crate::machine) state: MemberState,
    pub(in crate::machine) revision: u64,
    pub(in crate::machine) turns: Vec<(u64, Turn)>,
    /// Unread messages.
    pub(in crate::machine) unread: Vec<Message>,
    /// How often each call was executed, by its id.
    pub(in crate::machine) done: BTreeMap<String, u32>,
    /// Decisions about calls.
    pub(in crate::machine) decisions: BTreeMap<(u64, usize), Decision>,
    /// Calls for which approval was requested.
    pub(in crate::machine) asked: Vec<(u64, usize)>,
    /// Notices to the parent.
    pub(in crate::machine) told: Vec<String>,
    pub(in crate::machine) sent: u64,
}

pub(in crate::machine) fn state() -> MemberState {
    MemberState {
        status: MemberStatus::Idle,
        why: None,
        next_turn: 0,
        since: 0,
        heard: 0,
        answers: 0,
        doing: None,
        tool: None,
        account: Account::default(),
        context_tokens: 0,
        children: Vec::new(),
        worker: None,
    }
}

fn row(name: &str, kind: Kind) -> Row {
    Row {
        name: name.to_owned(),
        kind,
        approve: name == "danger",
        command: name == "run",
    }
}

/// The member under test, with the tools `look`, `put`, `mail`, `write` (idempotent), `run` (a command), `danger`
/// (needs approval), and the runtime's own.
pub(in crate::machine) fn person() -> Person {
    Person {
        key: "r1/ann".parse().unwrap(),
        tools: Arc::new(Toolbox::made(vec![
            row("look", Kind::Look),
            row("put", Kind::Inside),
            row("mail", Kind::Mail),
            row("write", Kind::Outside { again: true }),
            row("run", Kind::Outside { again: false }),
            row("danger", Kind::Outside { again: false }),
            row("compress_context", Kind::Own(Own::Compress)),
            row("get_context_status", Kind::Own(Own::Status)),
        ])),
        limit: 100_000,
        words: Words(Language::En),
        worker: "w1".to_owned(),
    }
}

impl Default for Store {
    fn default() -> Self {
        Self {
            state: state(),
            revision: 1,
            turns: Vec::new(),
            unread: Vec::new(),
            done: BTreeMap::new(),
            decisions: BTreeMap::new(),
            asked: Vec::new(),
            told: Vec::new(),
            sent: 0,
        }
    }
}

impl Store {
    /// Sends the member a message.
    pub(in crate::machine) fn send(&mut self, text: &str) {
        self.sent += 1;
        let mut message = NewMessage {
            from: "bob".parse().unwrap(),
            to: "ann".parse().unwrap(),
            created_at: Timestamp::from_millis(0),
            deliver_at: 0,
            run: None,
            reply_to: None,
            payload: Raw::of(&text).unwrap(),
        }
        .numbered(self.sent);
        message.read_at = None;
        self.unread.push(message);
    }

    /// Loads the member from the store.
    pub(in crate::machine) fn load(&self, person: Person) -> Machine {
        let since = self.state.since;
        let found = Found {
            state: self.state.clone(),
            revision: self.revision,
            turns: (self.turns.iter())
                .filter(|(turn, _)| *turn >= since)
                .cloned()
                .collect(),
        };
        Machine::load(person, message::system("be good").text(), found)
    }

    /// Applies a draft; returns false on a conflict.
    pub(in crate::machine) fn commit(&mut self, draft: &Draft, entries: &str) -> bool {
        if draft.revision != self.revision {
            return false;
        }
        for id in &draft.read {
            assert!(
                self.unread.iter().any(|message| message.id == *id),
                "{id} is read twice"
            );
        }
        self.unread
            .retain(|message| !draft.read.contains(&message.id));
        if let Some(turn) = draft.turn {
            assert_eq!(turn, self.turns.len() as u64);
            let text = format!("{{\"at\":0,\"of\":[{entries}]}}");
            self.turns
                .push((turn, serde_json::from_str(&text).unwrap()));
        } else {
            assert_eq!(entries, "");
        }
        assert_eq!(draft.state.next_turn, self.turns.len() as u64);
        self.state = draft.state.clone();
        self.revision += 1;
        if let Some(asked) = &draft.asks {
            assert!(!self.asked.contains(asked), "{asked:?} is asked twice");
        }
        self.asked.extend(draft.asks);
        self.told.extend(draft.parent_notice.iter().cloned());
        true
    }

    /// Performs an effect without faults and returns the resulting event; `None` if there is none. `answer` is the
    /// model.
    pub(in crate::machine) fn carry_out(
        &mut self,
        machine: &Machine,
        effect: Effect,
        answer: &mut dyn FnMut(&str) -> Answer,
        prompt: &str,
    ) -> Option<Event> {
        Some(match effect {
            Effect::LookForMail => Event::Mail(self.unread.clone()),
            Effect::Fund(_) => Event::Funded,
            Effect::Ask | Effect::Sum(_) => Event::Answered(Box::new(answer(prompt))),
            Effect::Call { at, join } => {
                let call = machine.call_at(at).unwrap();
                let outcome = Outcome {
                    text: format!("did {}", call.arguments),
                    end: CallEnd::Ok,
                    ms: 1,
                };
                match join {
                    None => {
                        *self.done.entry(call.id.clone()).or_default() += 1;
                        Event::Done(outcome)
                    }
                    Some(draft) => {
                        let entries = with_result(&draft.entries, &call.id, &outcome);
                        if !self.commit(&draft, &entries) {
                            return Some(self.moved());
                        }
                        *self.done.entry(call.id.clone()).or_default() += 1;
                        Event::Joined(outcome, Box::new(draft.state), self.revision)
                    }
                }
            }
            Effect::Commit(draft) => match self.commit(&draft, &draft.entries) {
                true => Event::Committed(self.revision),
                false => self.moved(),
            },
            Effect::LookForDecision { turn, call } => {
                Event::Decided(match self.decisions.get(&(turn, call)) {
                    Some(decision) => Asked::Decided(decision.clone()),
                    None if self.asked.contains(&(turn, call)) => Asked::Open,
                    None => Asked::Not,
                })
            }
            Effect::Sleep | Effect::Gone | Effect::Reload => return None,
        })
    }

    pub(in crate::machine) fn moved(&self) -> Event {
        Event::Moved(Box::new(self.state.clone()), self.revision)
    }

    /// Runs the member until it sleeps.
    pub(in crate::machine) fn play(
        &mut self,
        machine: &mut Machine,
        answer: &mut dyn FnMut(&str) -> Answer,
    ) {
        let mut effect = machine.go();
        for _ in 0..10_000 {
            let prompt = machine.context.prompt("").to_owned();
            match self.carry_out(machine, effect, answer, &prompt) {
                Some(event) => effect = machine.on(event),
                None => return,
            }
        }
        panic!("it never sleeps");
    }

    /// Returns the kinds of the entries of the conversation: `H`, `S`, `D`, `T`, `Σ`; turns are separated by a space.
    pub(in crate::machine) fn shape(&self) -> String {
        let letter = |entry: &Entry| match entry {
            Entry::Heard { .. } => 'H',
            Entry::Said { .. } => 'S',
            Entry::Did { .. } => 'D',
            Entry::Told { .. } => 'T',
            Entry::Summed { .. } => 'Σ',
        };
        let turns = self.turns.iter();
        let turns: Vec<String> = turns
            .map(|(_, turn)| turn.of.iter().map(letter).collect())
            .collect();
        turns.join(" ")
    }

    /// Returns the results of all calls, in order.
    pub(in crate::machine) fn results(&self) -> Vec<(CallEnd, String)> {
        let entries = self.turns.iter().flat_map(|(_, turn)| &turn.of);
        entries
            .filter_map(|entry| match entry {
                Entry::Did { m, end, .. } => Some((*end, message::content(m.text()))),
                _ => None,
            })
            .collect()
    }

    /// Panics if results do not follow the calls they belong to, one for each, in order.
    pub(in crate::machine) fn check_pairs(&self) {
        let mut open: Vec<Call> = Vec::new();
        for (turn, kept) in &self.turns {
            for entry in &kept.of {
                match entry {
                    Entry::Said { m, .. } => {
                        assert!(open.is_empty(), "turn {turn}: {open:?} have no results");
                        open = message::calls(m);
                    }
                    Entry::Did { m, .. } => {
                        let next = open.remove(0);
                        let id = format!("\"tool_call_id\":{:?}", next.id);
                        assert!(m.text().contains(&id), "turn {turn}: {m:?} is not of {id}");
                    }
                    Entry::Heard { .. } | Entry::Told { .. } => {
                        assert!(open.is_empty(), "turn {turn}: {open:?} have no results");
                    }
                    Entry::Summed { .. } => {}
                }
            }
        }
    }

    /// Returns the ids of the received messages, in order.
    pub(in crate::machine) fn heard(&self) -> Vec<u64> {
        let entries = self.turns.iter().flat_map(|(_, turn)| &turn.of);
        entries
            .filter_map(|entry| match entry {
                Entry::Heard { ids, .. } => Some(ids.clone()),
                _ => None,
            })
            .flatten()
            .collect()
    }
}

/// Creates a response with these calls (id, tool, arguments).
pub(in crate::machine) fn answer(text: &str, calls: &[(&str, &str, &str)]) -> Answer {
    let asked: Vec<_> = (calls.iter())
        .map(|(id, tool, arguments)| {
            serde_json::json!({"id": id, "type": "function",
                "function": {"name": tool, "arguments": arguments}})
        })
        .collect();
    let message = match asked.is_empty() {
        true => serde_json::json!({"role": "assistant", "content": text}),
        false => serde_json::json!({"role": "assistant", "content": text, "tool_calls": asked}),
    };
    let call = |(id, tool, arguments): &(&str, &str, &str)| Call {
        id: (*id).to_owned(),
        tool: (*tool).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    Answer {
        message: Raw::of(&message).unwrap(),
        text: text.to_owned(),
        calls: calls.iter().map(call).collect(),
        dropped_calls: 0,
        finish: match calls.is_empty() {
            true => Finish::Stop,
            false => Finish::Calls,
        },
        usage: None,
        micros: 0,
        model: "m".to_owned(),
        ms: 1,
        tries: 1,
        held: crate::model::Held::nothing(),
    }
}
