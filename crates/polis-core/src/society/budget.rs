//! Budgets: hierarchical limits on tokens, money, turns and commands.
//!
//! Every member has an account, and a member with a limit bounds itself and all members below it. A member
//! draws from the account above it in chunks that are large enough to avoid a write at every step. A drawn
//! amount is reserved: no other member can spend it. So the sum of all draws never exceeds the limit, even
//! after a crash. The unused rest is returned when a member is dismissed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount of everything that is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Amount {
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
    reason = "serde asks with a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What may be spent; what is left out is not limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Limits {
    /// Tokens of prompts and answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money, in millionths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub micros: Option<u64>,
    /// Answers of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<u64>,
    /// Milliseconds since its owner was hired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

/// What a member may spend, has spent and has handed down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Account {
    /// Its own limit, for itself and everybody below it.
    pub limits: Limits,
    /// What it has drawn from above, over its whole life.
    pub drawn: Amount,
    /// What it has spent itself.
    pub spent: Amount,
    /// What those below it have drawn from it and not given back.
    pub lent: Amount,
}

/// A resource that budgets limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resource {
    /// Tokens of prompts and answers.
    Tokens,
    /// Money.
    Micros,
    /// Answers of a model.
    Turns,
    /// Commands.
    Commands,
}

impl Resource {
    /// All resources.
    pub const ALL: [Self; 4] = [Self::Tokens, Self::Micros, Self::Turns, Self::Commands];

    /// Returns the resource's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tokens => "tokens",
            Self::Micros => "money",
            Self::Turns => "turns",
            Self::Commands => "commands",
        }
    }
}

impl Amount {
    /// Returns the amount of one resource.
    pub fn of(&self, what: Resource) -> u64 {
        match what {
            Resource::Tokens => self.tokens,
            Resource::Micros => self.micros,
            Resource::Turns => self.turns,
            Resource::Commands => self.commands,
        }
    }

    fn slot(&mut self, what: Resource) -> &mut u64 {
        match what {
            Resource::Tokens => &mut self.tokens,
            Resource::Micros => &mut self.micros,
            Resource::Turns => &mut self.turns,
            Resource::Commands => &mut self.commands,
        }
    }

    /// Adds another amount.
    pub fn add(&mut self, other: &Self) {
        for what in Resource::ALL {
            let slot = self.slot(what);
            *slot = slot.saturating_add(other.of(what));
        }
    }
}

impl Limits {
    /// Returns the limit of one resource.
    pub fn of(&self, what: Resource) -> Option<u64> {
        match what {
            Resource::Tokens => self.tokens,
            Resource::Micros => self.micros,
            Resource::Turns => self.turns,
            Resource::Commands => self.commands,
        }
    }

    /// Returns these limits, with missing ones taken from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.or(other.tokens),
            micros: self.micros.or(other.micros),
            turns: self.turns.or(other.turns),
            commands: self.commands.or(other.commands),
            wall_ms: self.wall_ms.or(other.wall_ms),
        }
    }
}

impl Account {
    /// Creates an account with its own limits.
    pub fn with(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Records spending. It may exceed the drawn amount, because the length of an answer is not known in
    /// advance; the next draw makes up for it.
    pub fn spend(&mut self, amount: &Amount) {
        self.spent.add(amount);
    }

    /// Returns the used amount: its own spending and what the members below it have drawn.
    pub fn used(&self, what: Resource) -> u64 {
        self.spent.of(what).saturating_add(self.lent.of(what))
    }

    /// Returns the rest of its own limit.
    pub fn left(&self, what: Resource) -> Option<u64> {
        let limit = self.limits.of(what)?;
        Some(limit.saturating_sub(self.used(what)))
    }

    /// Returns the amount that is drawn but not used.
    fn held(&self, what: Resource) -> u64 {
        self.drawn.of(what).saturating_sub(self.used(what))
    }

    /// Returns the amount that is used but not drawn.
    fn owed(&self, what: Resource) -> u64 {
        self.used(what).saturating_sub(self.drawn.of(what))
    }

    /// Sets the drawn amount to the used amount and adjusts the account above: unused amounts are returned,
    /// overdrawn amounts are booked.
    fn square(&mut self, above: Option<&mut Self>) {
        let Some(above) = above else { return };
        for what in Resource::ALL {
            let (before, now) = (self.drawn.of(what), self.used(what));
            *self.drawn.slot(what) = now;
            let lent = above.lent.slot(what);
            *lent = lent.saturating_add(now).saturating_sub(before);
        }
    }
}

/// An insufficient budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Short {
    /// The exhausted resource.
    pub what: Resource,
    /// Index in the chain of the account whose limit is reached.
    pub whose: usize,
    /// The limit.
    pub limit: u64,
}

/// A draw beyond the required amount takes at most 1/`SHARE` of the rest, so that other members get a share
/// too.
const SHARE: u64 = 4;

/// Draws budget so that the first account of the chain may spend `want`, and up to `chunk` if enough is left.
/// The chain leads from a member up to `root`. Returns how many accounts of the chain have to be written: 0 if
/// nothing changed.
///
/// Fails with [`Short`], without any change, if the budget is insufficient.
pub fn draw(chain: &mut [Account], want: &Amount, chunk: &Amount) -> Result<usize, Short> {
    let mut drawn = chain.to_vec();
    let mut touched = 0;
    for what in Resource::ALL {
        touched = touched.max(draw_one(&mut drawn, what, want.of(what), chunk.of(what))?);
    }
    chain.copy_from_slice(&drawn);
    Ok(touched)
}

fn draw_one(chain: &mut [Account], what: Resource, want: u64, chunk: u64) -> Result<usize, Short> {
    let Some(top) = chain.iter().rposition(|a| a.limits.of(what).is_some()) else {
        return Ok(0);
    };
    if want == 0 {
        return Ok(0);
    }
    let (mut room, mut whose) = (0, top);
    for (at, account) in chain.iter().enumerate().take(top + 1).rev() {
        // What it could spend: what it holds, and what the account above could hand down.
        let could = match at == top {
            true => u64::MAX,
            false => (account.held(what).saturating_add(room)).saturating_sub(account.owed(what)),
        };
        room = match account.left(what) {
            Some(left) if left <= could => {
                whose = at;
                left
            }
            _ => could,
        };
    }
    if room < want {
        let limit = chain.get(whose).and_then(|a| a.limits.of(what));
        let limit = limit.unwrap_or_default();
        return Err(Short { what, whose, limit });
    }
    let goal = want.max(chunk.min(room / SHARE));
    let mut touched = 0;
    let mut wanted = goal;
    for at in 0..top {
        let Some([account, above]) = chain.get_mut(at..at + 2) else {
            break;
        };
        // Only the first account draws in advance; those above it just hand the amount down.
        let lack = account
            .owed(what)
            .saturating_add(wanted)
            .saturating_sub(account.held(what));
        if lack == 0 || (at == 0 && account.held(what) >= want) {
            break;
        }
        let drawn = account.drawn.slot(what);
        *drawn = drawn.saturating_add(lack);
        let lent = above.lent.slot(what);
        *lent = lent.saturating_add(lack);
        touched = at + 2;
        wanted = 0;
    }
    Ok(touched)
}

/// A node in a tree of accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Index of its parent in the list.
    pub above: Option<usize>,
    /// Its depth below the top.
    pub depth: u32,
    /// Its account.
    pub account: Account,
}

/// Squares the accounts selected by `which` with their parents, deepest first: unused draws are returned,
/// overdrawn amounts are booked. The total is preserved.
pub fn square(tree: &mut [Leaf], which: impl Fn(usize) -> bool) {
    let mut order: Vec<usize> = (0..tree.len()).filter(|at| which(*at)).collect();
    order.sort_by_key(|at| std::cmp::Reverse(tree.get(*at).map_or(0, |leaf| leaf.depth)));
    for at in order {
        let Some(mut account) = tree.get(at).map(|leaf| leaf.account) else {
            continue;
        };
        let above = tree.get(at).and_then(|leaf| leaf.above);
        let above = above.filter(|above| *above != at);
        account.square(
            above
                .and_then(|above| tree.get_mut(above))
                .map(|leaf| &mut leaf.account),
        );
        if let Some(leaf) = tree.get_mut(at) {
            leaf.account = account;
        }
    }
}

/// Returns the deadline of the first member of a chain (milliseconds): the earliest end of its own time limit
/// and those above it. Each limit comes with the time its owner was hired.
pub fn deadline(chain: impl IntoIterator<Item = (Limits, i64)>) -> Option<i64> {
    let ends = chain.into_iter().filter_map(|(limits, from)| {
        let wall = i64::try_from(limits.wall_ms?).unwrap_or(i64::MAX);
        Some(from.saturating_add(wall))
    });
    ends.min()
}

#[cfg(test)]
mod tests;
