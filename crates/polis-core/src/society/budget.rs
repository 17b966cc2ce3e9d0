//! Budgets: hierarchical limits on tokens, money, turns, commands and time. Pure decisions on accounts.
//!
//! A limit bounds its member and all members below it. Before it spends, a member draws from the accounts
//! above it ([`draw_budget`]), up to the highest one with a limit, in chunks that save writes. A drawn amount
//! is reserved: no other member can spend it, even after a crash. Spending may exceed the draw, because the
//! length of an answer is not known before; the next draw, or settling, books the overdraft. So a limit stops
//! further draws, but the last answers may exceed it. Settling ([`settle_accounts`]) also returns unused
//! amounts, for example when a member is dismissed. Time limits need no account; see [`earliest_deadline`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::saturating_cast;

/// An amount of each resource that budgets limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BudgetAmount {
    /// Tokens of prompts and answers.
    #[serde(skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Money, in millionths of the currency of the prices.
    #[serde(skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// Answers of a model.
    #[serde(skip_serializing_if = "is_zero")]
    pub turns: u64,
    /// Commands that were run.
    #[serde(skip_serializing_if = "is_zero")]
    pub commands: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Limits of a budget; an absent field is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BudgetLimits {
    /// Tokens of prompts and answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money, in millionths of the currency of the prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    /// Answers of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<u64>,
    /// Wall-clock time since its owner was hired, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

/// Budget account of a member: its limits, spending and draws.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetAccount {
    /// Limits of the member and all members below it.
    pub limits: BudgetLimits,
    /// Total amount drawn from the account above.
    pub drawn: BudgetAmount,
    /// Amount that the member itself has spent.
    pub spent: BudgetAmount,
    /// Amount that members below it have drawn and not returned.
    #[serde(rename = "lent")]
    pub drawn_by_children: BudgetAmount,
}

/// A resource that budgets limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BudgetResource {
    /// Tokens of prompts and answers.
    Tokens,
    /// Money.
    Micros,
    /// Responses of a model.
    Turns,
    /// Commands.
    Commands,
}

impl BudgetResource {
    /// All resources.
    pub const ALL: [Self; 4] = [Self::Tokens, Self::Micros, Self::Turns, Self::Commands];
}

impl BudgetAmount {
    /// Returns the amount of one resource.
    pub fn get(&self, resource: BudgetResource) -> u64 {
        match resource {
            BudgetResource::Tokens => self.tokens,
            BudgetResource::Micros => self.micros,
            BudgetResource::Turns => self.turns,
            BudgetResource::Commands => self.commands,
        }
    }

    fn get_mut(&mut self, resource: BudgetResource) -> &mut u64 {
        match resource {
            BudgetResource::Tokens => &mut self.tokens,
            BudgetResource::Micros => &mut self.micros,
            BudgetResource::Turns => &mut self.turns,
            BudgetResource::Commands => &mut self.commands,
        }
    }

    /// Adds another amount.
    pub fn add(&mut self, other: &Self) {
        for resource in BudgetResource::ALL {
            let slot = self.get_mut(resource);
            *slot = slot.saturating_add(other.get(resource));
        }
    }
}

impl BudgetLimits {
    /// Returns the limit of one resource.
    pub fn get(&self, resource: BudgetResource) -> Option<u64> {
        match resource {
            BudgetResource::Tokens => self.tokens,
            BudgetResource::Micros => self.micros,
            BudgetResource::Turns => self.turns,
            BudgetResource::Commands => self.commands,
        }
    }

    /// A requested limit of this value removes the limit that would apply without it. Never stored.
    pub const NO_LIMIT: u64 = u64::MAX;

    /// Returns these limits, with missing ones taken from `other`, and [`NO_LIMIT`](Self::NO_LIMIT) removed.
    #[must_use]
    pub fn or_defaults(self, other: Self) -> Self {
        let choose = |own: Option<u64>, other: Option<u64>| {
            let limit = own.or(other);
            limit.filter(|limit| *limit != Self::NO_LIMIT)
        };
        Self {
            tokens: choose(self.tokens, other.tokens),
            micros: choose(self.micros, other.micros),
            turns: choose(self.turns, other.turns),
            commands: choose(self.commands, other.commands),
            wall_ms: choose(self.wall_ms, other.wall_ms),
        }
    }
}

impl BudgetAccount {
    /// Creates an account with its own limits.
    pub fn with_limits(limits: BudgetLimits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Records spending. It may exceed the drawn amount, because the length of an answer is not known in
    /// advance; the next draw makes up for it.
    pub fn spend(&mut self, amount: &BudgetAmount) {
        self.spent.add(amount);
    }

    /// Returns the used amount: its own spending and what the members below it have drawn.
    pub fn used_amount(&self, resource: BudgetResource) -> u64 {
        self.spent
            .get(resource)
            .saturating_add(self.drawn_by_children.get(resource))
    }

    /// Returns the rest of its own limit, or `None` if it has no limit.
    pub fn remaining(&self, resource: BudgetResource) -> Option<u64> {
        let limit = self.limits.get(resource)?;
        Some(limit.saturating_sub(self.used_amount(resource)))
    }

    /// Returns the amount that is drawn but not used.
    fn unused_draw(&self, resource: BudgetResource) -> u64 {
        self.drawn
            .get(resource)
            .saturating_sub(self.used_amount(resource))
    }

    /// Returns the amount that is used but not drawn.
    fn overdraft(&self, resource: BudgetResource) -> u64 {
        self.used_amount(resource)
            .saturating_sub(self.drawn.get(resource))
    }

    /// Sets the drawn amount to the used amount and adjusts the account above: unused amounts are returned,
    /// overdrawn amounts are booked.
    fn settle_with_parent(&mut self, parent: Option<&mut Self>) {
        let Some(parent) = parent else { return };
        for resource in BudgetResource::ALL {
            let (before, now) = (self.drawn.get(resource), self.used_amount(resource));
            *self.drawn.get_mut(resource) = now;
            let lent = parent.drawn_by_children.get_mut(resource);
            *lent = lent.saturating_add(now).saturating_sub(before);
        }
    }
}

/// An insufficient budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InsufficientBudget {
    /// The exhausted resource.
    pub resource: BudgetResource,
    /// Index in the chain of the account whose limit is reached.
    pub account_index: usize,
    /// Limit of that account.
    pub limit: u64,
}

/// A draw beyond the required amount takes at most 1/`DRAW_DIVISOR` of the rest, so that other members get a
/// share too.
const DRAW_DIVISOR: u64 = 4;

/// Draws budget so that the first account of the chain may spend `requested`, and up to `chunk` if enough is
/// left. The chain leads from a member up to `root`. Returns how many accounts of the chain have to be
/// written: 0 if nothing changed.
///
/// Fails with [`InsufficientBudget`], without any change, if the budget is insufficient.
pub fn draw_budget(
    chain: &mut [BudgetAccount],
    requested: &BudgetAmount,
    chunk: &BudgetAmount,
) -> Result<usize, InsufficientBudget> {
    let mut updated = chain.to_vec();
    let mut changed_count = 0;
    for resource in BudgetResource::ALL {
        changed_count = changed_count.max(draw_resource(
            &mut updated,
            resource,
            requested.get(resource),
            chunk.get(resource),
        )?);
    }
    chain.copy_from_slice(&updated);
    Ok(changed_count)
}

fn draw_resource(
    chain: &mut [BudgetAccount],
    resource: BudgetResource,
    requested: u64,
    chunk: u64,
) -> Result<usize, InsufficientBudget> {
    let Some(top) = chain.iter().rposition(|a| a.limits.get(resource).is_some()) else {
        return Ok(0);
    };
    if requested == 0 {
        return Ok(0);
    }
    let (mut available, mut limiting_index) = (0, top);
    for (at, account) in chain.iter().enumerate().take(top + 1).rev() {
        // What it could spend: what it holds, and what the account above could hand down.
        let obtainable = if at == top {
            u64::MAX
        } else {
            (account.unused_draw(resource).saturating_add(available))
                .saturating_sub(account.overdraft(resource))
        };
        available = match account.remaining(resource) {
            Some(left) if left <= obtainable => {
                limiting_index = at;
                left
            }
            _ => obtainable,
        };
    }
    if available < requested {
        let limit = chain
            .get(limiting_index)
            .and_then(|a| a.limits.get(resource));
        let limit = limit.unwrap_or_default();
        return Err(InsufficientBudget {
            resource,
            account_index: limiting_index,
            limit,
        });
    }
    let goal = requested.max(chunk.min(available / DRAW_DIVISOR));
    let mut changed_count = 0;
    let mut pending = goal;
    for at in 0..top {
        let Some([account, parent]) = chain.get_mut(at..at + 2) else {
            break;
        };
        // Only the first account draws in advance; those above it just hand the amount down.
        let shortfall = account
            .overdraft(resource)
            .saturating_add(pending)
            .saturating_sub(account.unused_draw(resource));
        if shortfall == 0 || (at == 0 && account.unused_draw(resource) >= requested) {
            break;
        }
        let drawn = account.drawn.get_mut(resource);
        *drawn = drawn.saturating_add(shortfall);
        let lent = parent.drawn_by_children.get_mut(resource);
        *lent = lent.saturating_add(shortfall);
        changed_count = at + 2;
        pending = 0;
    }
    Ok(changed_count)
}

/// A node in a tree of accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountNode {
    /// Index of its parent in the list.
    pub parent: Option<usize>,
    /// Depth of the member below the top.
    pub depth: u32,
    /// Account of the member.
    pub account: BudgetAccount,
}

/// Settles the accounts for which `is_selected` returns true with their parents, deepest first: unused draws
/// are returned, overdrawn amounts are booked. The total is preserved.
pub fn settle_accounts(tree: &mut [AccountNode], is_selected: impl Fn(usize) -> bool) {
    let mut order: Vec<usize> = (0..tree.len()).filter(|at| is_selected(*at)).collect();
    order.sort_by_key(|at| std::cmp::Reverse(tree.get(*at).map_or(0, |leaf| leaf.depth)));
    for at in order {
        let Some(mut account) = tree.get(at).map(|leaf| leaf.account) else {
            continue;
        };
        let parent = tree.get(at).and_then(|leaf| leaf.parent);
        let parent = parent.filter(|parent| *parent != at);
        account.settle_with_parent(
            parent
                .and_then(|parent| tree.get_mut(parent))
                .map(|leaf| &mut leaf.account),
        );
        if let Some(leaf) = tree.get_mut(at) {
            leaf.account = account;
        }
    }
}

/// Returns the deadline of the first member of a chain (milliseconds): the earliest end of its own time limit
/// and those above it. Each limit comes with the time its owner was hired. Returns `None` if there is no time
/// limit.
pub fn earliest_deadline(chain: impl IntoIterator<Item = (BudgetLimits, i64)>) -> Option<i64> {
    let ends = chain.into_iter().filter_map(|(limits, from)| {
        let wall = saturating_cast::<i64>(limits.wall_ms?);
        Some(from.saturating_add(wall))
    });
    ends.min()
}

#[cfg(test)]
mod tests;
