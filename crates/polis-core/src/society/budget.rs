//! Budgets: what may be spent, what was, and how a child spends its parent's.
//!
//! Whoever has a limit has a purse. A member draws from the purse above it in parts large enough that it does
//! not have to ask at every step; what it has drawn is reserved: nobody else can spend it. The sum of all that
//! was drawn never exceeds the limit, whatever crashes. What is left goes back when a member is dismissed.

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

/// What is counted.
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
    /// Everything that is counted.
    pub const ALL: [Self; 4] = [Self::Tokens, Self::Micros, Self::Turns, Self::Commands];

    /// In words.
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
    /// How much of one thing.
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
    /// The limit of one thing.
    pub fn of(&self, what: Resource) -> Option<u64> {
        match what {
            Resource::Tokens => self.tokens,
            Resource::Micros => self.micros,
            Resource::Turns => self.turns,
            Resource::Commands => self.commands,
        }
    }

    /// These, and those of `other` where these say nothing.
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
    /// An account with limits of its own.
    pub fn with(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Notes what was spent. It may be more than was drawn, because nobody knows before how long an answer gets;
    /// the next draw makes up for it.
    pub fn spend(&mut self, amount: &Amount) {
        self.spent.add(amount);
    }

    /// What it has used up: what it spent, and what those below it hold or spent.
    pub fn used(&self, what: Resource) -> u64 {
        self.spent.of(what).saturating_add(self.lent.of(what))
    }

    /// What is left of its own limit.
    pub fn left(&self, what: Resource) -> Option<u64> {
        let limit = self.limits.of(what)?;
        Some(limit.saturating_sub(self.used(what)))
    }

    /// What it drew and has not used.
    fn held(&self, what: Resource) -> u64 {
        self.drawn.of(what).saturating_sub(self.used(what))
    }

    /// What it used without having drawn it.
    fn owed(&self, what: Resource) -> u64 {
        self.used(what).saturating_sub(self.drawn.of(what))
    }

    /// Makes what it drew what it used, and tells the account above: what was left goes back, what was owed is
    /// booked.
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

/// A budget that does not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Short {
    /// Of what.
    pub what: Resource,
    /// Whose limit it is: the place in the chain.
    pub whose: usize,
    /// The limit.
    pub limit: u64,
}

/// The part of what is left that is drawn at most beyond what is needed: the others want some too.
const SHARE: u64 = 4;

/// Draws so that the first of the chain may spend `want`, and up to `chunk` if there is plenty. The chain goes from a
/// member up to `root`. Answers how many accounts of the chain have to be written: none if nothing changed.
///
/// Nothing is changed if it does not suffice.
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
        // What it could have: what it holds, and what the one above it could hand down.
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
        // The first wants to hold something; those above it only hand down.
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

/// A member of a tree of accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// Who is above it: its place in the list.
    pub above: Option<usize>,
    /// How far below the top it is.
    pub depth: u32,
    /// Its account.
    pub account: Account,
}

/// Squares the accounts that `which` names with those above them, the deepest first: what they drew and do not use
/// goes back, what they used and did not draw is booked. Nothing is lost, and nothing is made.
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

/// When time is up for the first of a chain (milliseconds): the earliest end of all above it. Each comes with when
/// its owner was hired.
pub fn deadline(chain: impl IntoIterator<Item = (Limits, i64)>) -> Option<i64> {
    let ends = chain.into_iter().filter_map(|(limits, from)| {
        let wall = i64::try_from(limits.wall_ms?).unwrap_or(i64::MAX);
        Some(from.saturating_add(wall))
    });
    ends.min()
}

#[cfg(test)]
mod tests;
