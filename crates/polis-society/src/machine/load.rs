//! Restores the state machine of a member from the store: replays its stored turns to rebuild the context, the pending
//! tool calls and the repetition history.

use polis_core::society::budget::Amount;
use polis_core::society::turn::Entry;

use super::repeat::Repeats;
use super::{Found, Machine, Person, Phase};
use crate::context::Context;
use crate::message;

impl Machine {
    /// Creates a machine from the stored state of a member. `head` is the system message; [`go`](Self::go) returns the
    /// first effect.
    pub fn load(person: Person, head: &str, found: Found) -> Self {
        let context = Context::new(head, person.tools.text().len());
        let mut machine = Self {
            person,
            context,
            phase: Phase::Mail,
            crashed: found.state.doing.is_some(),
            state: found.state.clone(),
            base: found.state,
            revision: found.revision,
            spend: Amount::default(),
            entries: String::new(),
            read: Vec::new(),
            parent_notice: None,
            asks: None,
            calls: Vec::new(),
            at: 0,
            said: 0,
            void: false,
            dropped: 0,
            allowed: false,
            funded: false,
            owed: false,
            repeats: Repeats::default(),
            squeezed: 0,
            too_long: false,
            compress: None,
            nudged: 0,
            model: String::new(),
        };
        for (turn, kept) in &found.turns {
            for entry in &kept.of {
                machine.recall(*turn, entry);
            }
        }
        machine
    }

    fn recall(&mut self, turn: u64, entry: &Entry) {
        self.context.add(turn, entry);
        match entry {
            Entry::Heard { .. } => {
                self.owed = true;
                self.repeats.reset();
            }
            Entry::Told { .. } => {
                self.owed = true;
                self.dropped = 0;
            }
            Entry::Summed { .. } => self.owed = true,
            Entry::Said { m, used, dropped } => {
                if let Some(model) = &used.model {
                    self.model.clone_from(model);
                }
                self.repeats.step();
                self.calls = message::calls(m);
                self.at = 0;
                self.said = turn;
                self.dropped = *dropped;
                self.owed = false;
            }
            Entry::Did { m, end, .. } => {
                if let Some(call) = self.calls.get(self.at) {
                    let result = message::content(m.text());
                    let kind = self.person.tools.find(&call.tool).map(|row| row.kind);
                    self.repeats.note(call, kind, &result, *end);
                    self.at += 1;
                }
                if self.at >= self.calls.len() {
                    self.calls.clear();
                    self.at = 0;
                    self.owed = true;
                }
            }
        }
    }
}
