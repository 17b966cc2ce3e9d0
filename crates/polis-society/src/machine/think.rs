//! Model requests of a member: receives messages, compacts the context if needed, handles the response, and parks or
//! pauses the member when the model fails or the budget is exhausted.

use polis_core::message::Message;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{Entry, Used};

use super::{Cost, Effect, Machine, Phase};
use crate::compact::{self, Plan};
use crate::message;
use crate::model::{Answer, Finish, ModelError, ModelFault};

/// Maximum bytes of messages received at once.
const MOST_HEARD: u64 = 64 * 1024;
/// How many times in a row the model gets a note that its response was incomplete before the member is parked.
const NUDGES: u32 = 2;

/// Why a member is idle whose model responded with nothing, also on a second request.
const NO_ANSWER: &str = "the model's answer was empty, also when it was asked again";

impl Machine {
    /// Handles the unread messages of the mailbox.
    pub(super) fn hear(&mut self, letters: &[Message]) -> Effect {
        if !letters.is_empty() {
            let room = (self.person.limit.saturating_mul(7) / 8).clamp(1, MOST_HEARD);
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            let (m, taken) = message::heard(letters, room, self.person.words);
            let ids: Vec<u64> = letters.iter().take(taken).map(|one| one.id).collect();
            self.state.heard = self.state.heard.saturating_add(ids.len() as u64);
            self.read.extend(&ids);
            self.push(&Entry::Heard { ids, m });
            self.repeats.reset();
            self.owed = true;
        }
        if self.owed {
            self.state.status = MemberStatus::Working;
            self.phase = Phase::Funding(Cost::Answer);
            return Effect::Fund(Cost::Answer);
        }
        if self.base.status == MemberStatus::Idle {
            return Effect::Sleep;
        }
        self.state.status = MemberStatus::Idle;
        self.state.why = None;
        self.commit()
    }

    /// The request is paid for: sends it, unless the context has to be compacted first.
    pub(super) fn think(&mut self) -> Effect {
        let wanted = matches!(self.compress, Some(None));
        let full = compact::needed(self.context.tokens(), self.person.limit);
        if wanted || full || self.too_long && self.squeezed == 0 {
            return self.squeeze();
        }
        self.phase = Phase::Asking;
        Effect::Ask
    }

    /// Compacts the context, each time more strongly.
    fn squeeze(&mut self) -> Effect {
        let attempt = match self.too_long {
            true => self.squeezed.max(1),
            false => self.squeezed,
        };
        let next = self.base.next_turn;
        let plan = compact::plan(
            &self.context,
            self.person.limit,
            attempt,
            next,
            self.person.words,
        );
        self.compress = None;
        match plan {
            Plan::Ask { .. } => {
                self.phase = Phase::Summing(plan.clone());
                Effect::Sum(plan)
            }
            // A digest also replaces messages that were just received, so they are committed first.
            Plan::Digest(_) if !self.entries.is_empty() => {
                self.compress = Some(None);
                self.commit()
            }
            Plan::Digest(text) => self.sum_up(&text, next, Used::default()),
            Plan::Hopeless if self.too_long => {
                let why = "the context is too small for what the role and the brief say";
                self.park(why)
            }
            // This is only an estimate; the model decides.
            Plan::Hopeless => {
                self.phase = Phase::Asking;
                Effect::Ask
            }
        }
    }

    /// Handles the summary by the model.
    pub(super) fn summed(&mut self, plan: &Plan, answer: &Answer) -> Effect {
        let used = self.used(answer);
        self.spent(&used);
        let Plan::Ask { since, .. } = plan else {
            return Effect::Reload;
        };
        if answer.text.trim().is_empty() {
            self.squeezed = self.squeezed.max(2);
            return self.squeeze();
        }
        let text = self.person.words.summary(answer.text.trim());
        self.sum_up(&text, *since, used)
    }

    fn sum_up(&mut self, text: &str, since: u64, used: Used) -> Effect {
        let m = message::user(text);
        self.push(&Entry::Summed { m, used });
        self.context.cut(since);
        self.state.since = since;
        self.squeezed = self.squeezed.saturating_add(1);
        self.commit()
    }

    /// Handles a response of the model.
    pub(super) fn answered(&mut self, answer: Answer) -> Effect {
        let used = self.used(&answer);
        self.spent(&used);
        self.squeezed = 0;
        self.too_long = false;
        self.said = self.base.next_turn;
        self.owed = false;
        self.state.why = None;
        self.dropped = u64::try_from(answer.dropped_calls).unwrap_or(u64::MAX);
        self.push(&Entry::Said {
            m: answer.message,
            used,
            dropped: self.dropped,
        });
        let words = self.person.words;
        let is_empty = answer.calls.is_empty() && answer.text.trim().is_empty();
        let nudge = match answer.finish {
            Finish::Length => Some(words.cut_off()),
            Finish::Filtered => Some(words.held_back()),
            // Some servers set this finish reason on every response, also on the last one of a turn: text that comes a
            // second time without calls is the final response.
            Finish::Calls if answer.calls.is_empty() && (is_empty || self.nudged == 0) => {
                Some(words.calls_missing())
            }
            // Also after tool calls: an empty response does not show whether the work is done or the response got lost.
            // The model is asked once more.
            Finish::Stop if is_empty && self.nudged == 0 => Some(words.empty_answer()),
            Finish::Stop | Finish::Calls => None,
        };
        self.model = answer.model;
        self.void = nudge.is_some();
        self.repeats.step();
        self.calls = answer.calls;
        self.at = 0;
        let Some(nudge) = nudge else {
            self.nudged = 0;
            if self.calls.is_empty() {
                self.state.status = MemberStatus::Idle;
            }
            if is_empty {
                // The turn ends, but not silently: the parent gets a notice, and the state contains the reason.
                self.state.why = Some(NO_ANSWER.to_owned());
                self.parent_notice = Some(words.no_answer(&self.person.key.agent));
            }
            return self.call();
        };
        self.nudged = self.nudged.saturating_add(1);
        if self.nudged > NUDGES {
            self.hold(
                MemberStatus::Parked,
                "the model's answers are cut off, held back or incomplete again and again",
            );
            let text = words.parked(
                &self.person.key.agent,
                "its answers are cut off, held back or incomplete again and again",
            );
            self.parent_notice = Some(text);
            self.void_calls();
            return self.commit();
        }
        self.void_calls();
        if self.owed {
            // The results of the calls already contain the note.
            return self.commit();
        }
        self.owed = true;
        self.push(&Entry::Told {
            m: message::user(nudge),
        });
        self.commit()
    }

    /// Handles a failed model request.
    pub(super) fn failed(&mut self, error: &ModelError) -> Effect {
        match error.kind {
            ModelFault::Cancelled => Effect::Reload,
            ModelFault::Permanent => self.park(&error.message),
            ModelFault::TooLong => {
                if self.too_long || matches!(self.phase, Phase::Summing(_)) {
                    self.squeezed = self.squeezed.saturating_add(1);
                }
                self.too_long = true;
                self.squeeze()
            }
        }
    }

    /// Pauses the member because its budget is exhausted.
    pub(super) fn broke(&mut self, cost: Cost, why: &str) -> Effect {
        let text = self.person.words.broke(&self.person.key.agent, why);
        self.parent_notice = Some(text);
        self.hold(MemberStatus::Paused, why);
        if cost == Cost::Answer {
            self.unhear();
        }
        self.commit()
    }

    fn park(&mut self, why: &str) -> Effect {
        let text = self.person.words.parked(&self.person.key.agent, why);
        self.parent_notice = Some(text);
        self.hold(MemberStatus::Parked, why);
        self.unhear();
        self.commit()
    }

    pub(super) fn hold(&mut self, status: MemberStatus, why: &str) {
        self.state.status = status;
        self.state.why = Some(why.to_owned());
    }

    /// Discards received messages without a response, so that they stay unread.
    fn unhear(&mut self) {
        self.state.heard = self.base.heard;
        self.entries.clear();
        self.read.clear();
    }

    /// Returns the usage of a response; estimated if the endpoint did not report it.
    fn used(&self, answer: &Answer) -> Used {
        let (prompt, out) = answer.usage.unwrap_or_else(|| {
            let out = crate::context::estimate(answer.message.text().len());
            (self.context.tokens(), out)
        });
        Used {
            prompt,
            answer: out,
            estimated: answer.usage.is_none(),
            micros: answer.micros,
            ms: answer.ms,
            tries: if answer.tries > 1 { answer.tries } else { 0 },
            model: (self.model != answer.model).then(|| answer.model.clone()),
        }
    }

    fn spent(&mut self, used: &Used) {
        self.state.answers = self.state.answers.saturating_add(1);
        let tokens = used.prompt.saturating_add(used.answer);
        self.spend.tokens = self.spend.tokens.saturating_add(tokens);
        self.spend.micros = self.spend.micros.saturating_add(used.micros);
        self.spend.turns = self.spend.turns.saturating_add(1);
    }
}
