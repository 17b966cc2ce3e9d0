//! Budget of a member's run loop: before a model request or a command, checks the deadline and draws budget from
//! the agents above the member, several times the amount needed. If a limit or the deadline is reached, the
//! state machine gets `BudgetExhausted` and pauses the member.

use polis_core::RefusalCode;
use polis_core::society::budget::{BudgetAmount, BudgetResource};
use polis_i18n::{Surface, msg, render_reason};
use polis_ops::{OpError, op};

use super::member_loading;
use super::member_run_loop::MemberRunLoop;
use crate::machine::{BudgetCost, MachineEvent};

/// How many times the needed amount is drawn at once.
const DRAW_MULTIPLE: u64 = 8;

impl MemberRunLoop<'_> {
    /// Ensures that the member has budget for this cost. Returns `BudgetAvailable` or `BudgetExhausted`, or
    /// `None` if the member's state changed and it has to be reloaded.
    pub(super) async fn ensure_budget(
        &mut self,
        cost: BudgetCost,
    ) -> Result<Option<MachineEvent>, OpError> {
        if self.active.take_changed() {
            self.reload_limits().await?;
        }
        let now = self.shared.app.clock.now_millis();
        if self.limits.deadline.is_some_and(|end| now >= end) {
            return Ok(Some(MachineEvent::BudgetExhausted(
                msg::society_time_budget_used(self.lang()).to_owned(),
            )));
        }
        if !self.limits.has_any_limit() {
            return Ok(Some(MachineEvent::BudgetAvailable));
        }
        let amount = self.estimate_amount(cost);
        if self.has_drawn(&amount) {
            return Ok(Some(MachineEvent::BudgetAvailable));
        }
        let chunk = BudgetAmount {
            tokens: amount.tokens.saturating_mul(DRAW_MULTIPLE),
            micros: amount.micros.saturating_mul(DRAW_MULTIPLE),
            turns: amount.turns.saturating_mul(DRAW_MULTIPLE),
            commands: amount.commands.saturating_mul(DRAW_MULTIPLE),
        };
        match op::draw_budget(&self.shared.app, &self.active.key, &amount, &chunk).await {
            Ok(state) => Ok(self
                .machine
                .adopt_state(state.value, state.revision)
                .then_some(MachineEvent::BudgetAvailable)),
            Err(OpError::Refused(refusal)) if refusal.code == RefusalCode::BUDGET_EXHAUSTED => {
                Ok(Some(MachineEvent::BudgetExhausted(
                    render_reason(&refusal.reason, Surface::Tool, self.lang()).message,
                )))
            }
            // It was dismissed, or its run has ended.
            Err(OpError::Refused(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Estimates the amount needed. The price is known only afterwards; the cost of the last response is a
    /// good estimate.
    fn estimate_amount(&self, cost: BudgetCost) -> BudgetAmount {
        match cost {
            BudgetCost::Command => BudgetAmount {
                commands: 1,
                ..BudgetAmount::default()
            },
            BudgetCost::Response => BudgetAmount {
                tokens: self.machine.context.estimated_tokens().max(1),
                micros: self.last_micros.max(1),
                turns: 1,
                ..BudgetAmount::default()
            },
        }
    }

    /// Returns whether the member has drawn enough for this amount already; unlimited resources need no draw.
    fn has_drawn(&self, amount: &BudgetAmount) -> bool {
        let account = &self.machine.stored_state().account;
        let unsaved = self.machine.unsaved_spend();
        BudgetResource::ALL.into_iter().all(|resource| {
            let needed = account
                .used_amount(resource)
                .saturating_add(unsaved.get(resource))
                .saturating_add(amount.get(resource));
            !self.limits.is_limited(resource)
                || amount.get(resource) == 0
                || account.drawn.get(resource) >= needed
        })
    }

    /// Reloads the limits and tasks after the log reported a change.
    pub(super) async fn reload_limits(&mut self) -> Result<(), OpError> {
        let app = &self.shared.app;
        let limits = self.machine.stored_state().account.limits;
        self.limits =
            member_loading::load_limits(app, &self.active.key, &self.loaded.member, &limits)
                .await?;
        self.open_tasks = None;
        Ok(())
    }
}
