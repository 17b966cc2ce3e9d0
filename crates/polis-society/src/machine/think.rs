//! Hearing, thinking and answering; and making the context smaller before that.

use polis_core::message::Message;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{Entry, Used};

use super::{Cost, Effect, Machine, Phase};
use crate::compact::{self, Plan};
use crate::message;
use crate::model::{Answer, Finish, ModelError, ModelFault};

/// The most bytes of messages that are heard at once.
const MOST_HEARD: u64 = 64 * 1024;
/// How often in a row a member is told that its answer was cut off or held back.
const NUDGES: u32 = 2;

/// Why a member is idle whose model answered with nothing, also when asked again.
const NO_ANSWER: &str = "the model's answer was empty, also when it was asked again";

impl Machine {
    /// Its mailbox was looked into.
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

    /// It can be paid: asks, unless the context is too long for that.
    pub(super) fn think(&mut self) -> Effect {
        let wanted = matches!(self.compress, Some(None));
        let full = compact::needed(self.context.tokens(), self.person.limit);
        if wanted || full || self.too_long && self.squeezed == 0 {
            return self.squeeze();
        }
        self.phase = Phase::Asking;
        Effect::Ask
    }

    /// Makes the context smaller, each time more.
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
            // What was heard goes too, but not before it is written down.
            Plan::Digest(_) if !self.entries.is_empty() => {
                self.compress = Some(None);
                self.commit()
            }
            Plan::Digest(text) => self.sum_up(&text, next, Used::default()),
            Plan::Hopeless if self.too_long => {
                let why = "the context is too small for what the role and the brief say";
                self.park(why)
            }
            // Only an estimate says so; the model will tell.
            Plan::Hopeless => {
                self.phase = Phase::Asking;
                Effect::Ask
            }
        }
    }

    /// The model made a summary.
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

    /// The model answered.
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
            // Some servers say so of every answer, also of the last one of a turn: text that comes a second time
            // without calls is the answer.
            Finish::Calls if answer.calls.is_empty() && (is_empty || self.nudged == 0) => {
                Some(words.calls_missing())
            }
            // Also after its calls: whether the work is done or the answer got lost cannot be told from nothing. It is
            // asked once more.
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
                // It ends its turn, but not silently: its parent is told, and its state says why.
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
            // The results already say so.
            return self.commit();
        }
        self.owed = true;
        self.push(&Entry::Told {
            m: message::user(nudge),
        });
        self.commit()
    }

    /// The model did not answer.
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

    /// What it wants cannot be paid.
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

    /// What was heard and not answered stays unread.
    fn unhear(&mut self) {
        self.state.heard = self.base.heard;
        self.entries.clear();
        self.read.clear();
    }

    /// What an answer took; estimated where the endpoint did not say.
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
