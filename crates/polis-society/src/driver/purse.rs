//! Budget of a driver session: draws budget from the ancestors before a model request or a command, and refuses it when
//! a limit or the deadline is reached.

use polis_core::Code;
use polis_core::society::budget::{Amount, Resource};
use polis_ops::{OpError, op};

use super::carry::Life;
use super::place;
use crate::machine::{Cost, Event};

/// How many times the needed amount is drawn at once.
const CHUNK: u64 = 8;

impl Life<'_> {
    /// Ensures that the member has budget for this cost; returns `None` if its state changed and it has to be reloaded.
    pub(super) async fn fund(&mut self, cost: Cost) -> Result<Option<Event>, OpError> {
        if self.seat.has_news() {
            self.refresh().await?;
        }
        let now = self.ground.clock.now_millis();
        if self.bounds.deadline.is_some_and(|end| now >= end) {
            return Ok(Some(Event::Broke("The time for it is up.".to_owned())));
        }
        if !self.bounds.any() {
            return Ok(Some(Event::Funded));
        }
        let want = self.want(cost);
        if self.has(&want) {
            return Ok(Some(Event::Funded));
        }
        let chunk = Amount {
            tokens: want.tokens.saturating_mul(CHUNK),
            micros: want.micros.saturating_mul(CHUNK),
            turns: want.turns.saturating_mul(CHUNK),
            commands: want.commands.saturating_mul(CHUNK),
        };
        match op::draw_budget(&self.shared.polis, &self.seat.key, &want, &chunk).await {
            Ok(kept) => Ok(self
                .machine
                .adopt(kept.value, kept.revision)
                .then_some(Event::Funded)),
            Err(OpError::Refused(refusal)) if refusal.code == Code::BudgetExhausted => {
                Ok(Some(Event::Broke(refusal.message)))
            }
            // It was dismissed, or its run has ended.
            Err(OpError::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Estimates the amount needed. The price is known only afterwards; the cost of the last response is a good
    /// estimate.
    fn want(&self, cost: Cost) -> Amount {
        match cost {
            Cost::Command => Amount {
                commands: 1,
                ..Amount::default()
            },
            Cost::Answer => Amount {
                tokens: self.machine.context.tokens().max(1),
                micros: self.last_micros.max(1),
                turns: 1,
                ..Amount::default()
            },
        }
    }

    /// Returns whether the member has drawn enough already.
    fn has(&self, want: &Amount) -> bool {
        let account = &self.machine.base().account;
        let unwritten = self.machine.unwritten();
        Resource::ALL.into_iter().all(|what| {
            let needed = account
                .used(what)
                .saturating_add(unwritten.of(what))
                .saturating_add(want.of(what));
            !self.bounds.limits(what) || want.of(what) == 0 || account.drawn.of(what) >= needed
        })
    }

    /// Reloads the limits and tasks after the log reported a change.
    pub(super) async fn refresh(&mut self) -> Result<(), OpError> {
        let polis = &self.shared.polis;
        let limits = self.machine.base().account.limits;
        self.bounds = place::bounds(polis, &self.seat.key, &self.place.member, &limits).await?;
        self.tasks = None;
        Ok(())
    }
}
