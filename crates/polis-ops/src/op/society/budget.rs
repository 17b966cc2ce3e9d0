//! Budgets: sets the limits of a member or a run, and draws credit for a member before it spends.
//!
//! A member draws credit from the accounts above it, up to the top of its run. If that fails, unused credit of resting
//! members is returned first, and the draw is repeated.

use polis_core::refusal_serde::object;
use polis_core::society::budget::{self, Account, Amount, Limits, Short};
use polis_core::society::dismiss::{Someone, leaves};
use polis_core::society::member::{self, MemberState, MemberStatus};
use polis_core::society::{Kept, MemberKey, RunId, pause};
use polis_core::{AgentId, Changeset, Code, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{check_steer, no_member};
use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// The parameters of setting a budget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetBudget {
    /// The run; the agent's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<RunId>,
    /// Whose budget, for it and everybody below it; the whole run's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// What may be spent, over its whole life; what is left out stays as it is.
    #[serde(deserialize_with = "object")]
    pub budget: Limits,
    /// What is left out of the budget is not limited any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
}

/// A member's budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberBudget {
    /// The run.
    #[serde(rename = "taskId")]
    pub run: RunId,
    /// Whose.
    pub agent_id: AgentId,
    /// What may be spent now.
    pub limits: Limits,
}

/// Sets the limits of a member, or of a run. A member that was paused because its budget was used up continues when it
/// is resumed.
pub async fn set_budget(
    polis: &Polis,
    caller: &AgentId,
    params: &SetBudget,
) -> Result<MemberBudget, OpError> {
    let caller = &polis.caller(caller).await?;
    let decide = || -> Attempt<'_, MemberBudget> {
        Box::pin(async move {
            let run = match &params.agent_id {
                Some(agent) => {
                    let named = params.task_id.as_ref();
                    polis.run_of(caller, agent, named).await?
                }
                None => polis.meant(caller, params.task_id.as_ref()).await?,
            };
            run.value.check_open()?;
            let members = polis.everybody(&run.value.id).await?;
            let head = || run.value.head.clone();
            let agent = params.agent_id.clone().unwrap_or_else(head);
            check_steer(caller, &run.value, &members, &agent)?;
            let there = members.iter().find(|one| one.member.agent == agent);
            let current = there.ok_or_else(|| no_member(&agent))?;
            let limits = match params.replace {
                true => params.budget,
                false => params.budget.or(current.state.value.account.limits),
            };
            let id = run.value.id.clone();
            let changes = pause::decide_budget(&agent, limits, &id, &members, caller, &polis.now());
            let set = MemberBudget {
                run: id,
                agent_id: agent,
                limits,
            };
            Ok((set, changes))
        })
    };
    polis.settle(decide, |set, _| set).await
}

/// Draws credit from the accounts above a member: at least `want`, and up to `chunk` if available. Returns the member's
/// state afterwards. If the credit does not suffice, unused credit of resting members is taken back first. Fails with
/// `BudgetExhausted` if it still does not suffice.
///
/// The member itself is the caller; no other permission is checked.
pub async fn draw_budget(
    polis: &Polis,
    key: &MemberKey,
    want: &Amount,
    chunk: &Amount,
) -> Result<Kept<MemberState>, OpError> {
    let caller = &polis.within(key.run.clone()).caller(&key.agent).await?;
    let until = polis.deadline();
    loop {
        let chain = chain(polis, key).await?;
        let own = chain.first().ok_or_else(|| no_member(&key.agent))?;
        if own.state.value.status == MemberStatus::Gone {
            return Err(no_member(&key.agent).into());
        }
        let mut accounts = accounts(&chain);
        let changes = match budget::draw(&mut accounts, want, chunk) {
            Ok(0) => return Ok(own.state.clone()),
            Ok(_) => rewrite(
                &key.run,
                &chain,
                &accounts,
                Changeset::by(caller, polis.now()),
            ),
            Err(_) => {
                let everybody = polis.everybody(&key.run).await?;
                let nothing = Changeset::by(caller, polis.now());
                collected(key, &everybody, want, chunk, nothing)?
            }
        };
        // The member's own state after this commit.
        let name = member::state_name(key);
        let written = changes.text_of(&name);
        let after = match written {
            Some(text) => Kept {
                value: serde_json::from_str(text).unwrap_or_else(|_| own.state.value.clone()),
                revision: own.state.revision + 1,
            },
            None => own.state.clone(),
        };
        if let crate::port::Outcome::Committed(_) = polis.store.commit(changes).await? {
            return Ok(after);
        }
        polis.may_go_on(until)?;
    }
}

/// Returns a member and its ancestors, up to the top of its run.
async fn chain(polis: &Polis, key: &MemberKey) -> Result<Vec<Someone>, OpError> {
    let mut found: Vec<Someone> = Vec::new();
    let mut here = Some(key.agent.clone());
    while let Some(agent) = here {
        // Guards against a cycle: the path is never longer than the tree is deep.
        if found.iter().any(|one| one.member.agent == agent) {
            break;
        }
        let one = polis
            .somebody(&MemberKey::new(key.run.clone(), agent))
            .await?;
        here = one.as_ref().and_then(|one| one.member.parent.clone());
        found.extend(one);
    }
    Ok(found)
}

fn accounts(of: &[Someone]) -> Vec<Account> {
    of.iter().map(|one| one.state.value.account).collect()
}

/// Adds a write for each member whose account changed.
fn rewrite(run: &RunId, of: &[Someone], accounts: &[Account], mut changes: Changeset) -> Changeset {
    for (one, account) in of.iter().zip(accounts) {
        if one.state.value.account == *account {
            continue;
        }
        let mut state = one.state.value.clone();
        state.account = *account;
        let key = MemberKey::new(run.clone(), one.member.agent.clone());
        changes
            .writes
            .push(one.state.put(member::state_name(&key), &state));
    }
    changes
}

/// Draws again after all idle, paused and parked members have returned their unused credit.
fn collected(
    key: &MemberKey,
    everybody: &[Someone],
    want: &Amount,
    chunk: &Amount,
    changes: Changeset,
) -> Result<Changeset, Refusal> {
    let rests = |one: &Someone| {
        let status = one.state.value.status;
        let rests = matches!(
            status,
            MemberStatus::Idle | MemberStatus::Paused | MemberStatus::Parked
        );
        rests && one.member.agent != key.agent && one.member.parent.is_some()
    };
    let mut tree = leaves(everybody);
    budget::square(&mut tree, |at| everybody.get(at).is_some_and(rests));
    let way = way_up(key, everybody);
    let mut accounts: Vec<Account> = way
        .iter()
        .filter_map(|at| tree.get(*at).map(|leaf| leaf.account))
        .collect();
    budget::draw(&mut accounts, want, chunk).map_err(|short| exhausted(short, &way, everybody))?;
    for (at, account) in way.iter().zip(accounts) {
        if let Some(leaf) = tree.get_mut(*at) {
            leaf.account = account;
        }
    }
    let all: Vec<Account> = tree.iter().map(|leaf| leaf.account).collect();
    Ok(rewrite(&key.run, everybody, &all, changes))
}

/// Returns the indices of a member and its ancestors.
fn way_up(key: &MemberKey, everybody: &[Someone]) -> Vec<usize> {
    let place = |of: &AgentId| everybody.iter().position(|one| one.member.agent == *of);
    let mut way = Vec::new();
    let mut here = place(&key.agent);
    while let Some(at) = here.filter(|at| !way.contains(at)) {
        way.push(at);
        let parent = everybody.get(at).and_then(|one| one.member.parent.as_ref());
        here = parent.and_then(place);
    }
    way
}

fn exhausted(short: Short, way: &[usize], everybody: &[Someone]) -> Refusal {
    let whose = way.get(short.whose).and_then(|at| everybody.get(*at));
    let whose = whose.map_or(AgentId::ROOT, |one| one.member.agent.as_str());
    Refusal::new(
        Code::BudgetExhausted,
        format!(
            "The budget of \"{whose}\" is used up: {} {} at most.",
            short.limit,
            short.what.as_str()
        ),
        "raise it with `polis society budget`, then let it go on with `polis society resume`",
    )
}
