//! Budget operations: set the limits of a member or a run ([`set_budget`]), and draw budget for a member
//! before it spends ([`draw_budget`]).
//!
//! To draw is to reserve a part of the budget. The amount is handed down from account to account, from the
//! highest one with a limit to the member, and must fit into the limit of each. If it does not fit, the
//! accounts of all idle, paused and parked members are settled, so that unused draws return, and the draw is
//! repeated. If it still does not fit, it fails with `BudgetExhausted`, and the runtime pauses the member.

use polis_core::number::format_money;
use polis_core::refusal_serde::deserialize_object;
use polis_core::society::budget::{
    self, BudgetAccount, BudgetAmount, BudgetLimits, BudgetResource, InsufficientBudget,
};
use polis_core::society::dismiss::{MemberWithState, account_tree};
use polis_core::society::member::{self, MemberState, MemberStatus};
use polis_core::society::{MemberKey, RunId, VersionedRecord, pause};
use polis_core::{AgentId, Changeset, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{check_may_steer, member_not_found};
use crate::app::App;
use crate::error::OpError;
use crate::op::society::load_member;
use crate::op::society::load_members;
use crate::op::society::resolve_member_run;
use crate::op::society::resolve_run;
use crate::refusal_tables::OperationRefusal;
use crate::request::{AttemptFuture, Request};

/// Parameters of `set_budget`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetBudgetParams {
    /// The run; default: the agent's run.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "taskId")]
    pub run_id: Option<RunId>,
    /// The member; its budget also covers all agents below it. Default: the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Limits over its whole lifetime; omitted limits stay unchanged.
    #[serde(deserialize_with = "deserialize_object")]
    pub budget: BudgetLimits,
    /// Remove the limits that are omitted from the budget.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replace: bool,
}

/// Budget of a member of a run after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberBudget {
    /// The run.
    #[serde(flatten, with = "polis_core::society::run_id_json")]
    #[schemars(with = "polis_core::society::run_id_json::RunIdFields<RunId>")]
    pub run: RunId,
    /// The member.
    pub agent_id: AgentId,
    /// The new limits.
    pub limits: BudgetLimits,
}

/// Sets the limits of a member, or of a run. A member that was paused because its budget was used up
/// continues only when it is resumed. Fails with `run_not_found` or `agent_not_found` if there is no such
/// run or member, with `wrong_state` if the run is stopped, and with `not_descendant` if the caller may not
/// steer the member.
pub async fn set_budget(
    request: &Request,
    params: &SetBudgetParams,
) -> Result<MemberBudget, OpError> {
    let caller = &request.resolve_caller().await?;
    let decide = || -> AttemptFuture<'_, MemberBudget> {
        Box::pin(async move {
            let run = match &params.agent_id {
                Some(agent) => {
                    let run_id = params.run_id.as_ref();
                    resolve_member_run(request, caller, agent, run_id).await?
                }
                None => resolve_run(request, caller, params.run_id.as_ref()).await?,
            };
            run.value.check_open()?;
            let members = load_members(&request.app, &run.value.id).await?;
            let head = || run.value.head.clone();
            let agent = params.agent_id.clone().unwrap_or_else(head);
            check_may_steer(caller, &run.value, &members, &agent)?;
            let member = members.iter().find(|one| one.member.agent == agent);
            let current = member.ok_or_else(|| member_not_found(&agent))?;
            let defaults = if params.replace {
                BudgetLimits::default()
            } else {
                current.state.value.account.limits
            };
            let limits = params.budget.or_defaults(defaults);
            let id = run.value.id.clone();
            let changes =
                pause::decide_set_budget(&agent, limits, &id, &members, caller, &request.app.now());
            let set = MemberBudget {
                run: id,
                agent_id: agent,
                limits,
            };
            Ok((set, changes))
        })
    };
    request.retry_on_conflict(decide, |set, _| set).await
}

/// Draws budget for a member from the accounts above it: at least `minimum`, and up to `chunk` if available.
/// Returns the member's state afterwards. If the rest does not suffice, the accounts of resting members are
/// settled first. Fails with `BudgetExhausted` if it still does not suffice.
///
/// The member itself is the caller; no other permission is checked.
pub async fn draw_budget(
    app: &App,
    key: &MemberKey,
    minimum: &BudgetAmount,
    chunk: &BudgetAmount,
) -> Result<VersionedRecord<MemberState>, OpError> {
    let request = app.request(&key.agent).in_run(key.run.clone());
    let caller = &request.resolve_caller().await?;
    let until = app.retry_deadline();
    loop {
        let chain = load_ancestors(app, key).await?;
        let own = chain.first().ok_or_else(|| member_not_found(&key.agent))?;
        if own.state.value.status == MemberStatus::Dismissed {
            return Err(member_not_found(&key.agent).into());
        }
        let mut accounts = member_accounts(&chain);
        let changes = match budget::draw_budget(&mut accounts, minimum, chunk) {
            Ok(0) => return Ok(own.state.clone()),
            Ok(_) => write_changed_accounts(
                &key.run,
                &chain,
                &accounts,
                Changeset::new(caller, app.now()),
            ),
            Err(_) => {
                let members = load_members(app, &key.run).await?;
                let no_changes = Changeset::new(caller, app.now());
                draw_after_returning_credit(key, &members, minimum, chunk, no_changes)?
            }
        };
        // The member's own state after this commit.
        let name = member::member_state_record_name(key);
        let new_text = changes.record_text(&name);
        let new_state = match new_text {
            Some(text) => VersionedRecord {
                value: serde_json::from_str(text).unwrap_or_else(|_| own.state.value.clone()),
                revision: own.state.revision + 1,
            },
            None => own.state.clone(),
        };
        if let crate::port::CommitOutcome::Committed(_) = app.store.commit(changes).await? {
            return Ok(new_state);
        }
        app.check_deadline(until)?;
    }
}

/// Returns a member and the agents above it, up to the top of its run.
async fn load_ancestors(app: &App, key: &MemberKey) -> Result<Vec<MemberWithState>, OpError> {
    let mut found: Vec<MemberWithState> = Vec::new();
    let mut next = Some(key.agent.clone());
    while let Some(agent) = next {
        // Guards against a cycle: the path is never longer than the tree is deep.
        if found.iter().any(|one| one.member.agent == agent) {
            break;
        }
        let one = load_member(app, &MemberKey::new(key.run.clone(), agent)).await?;
        next = one.as_ref().and_then(|one| one.member.parent.clone());
        found.extend(one);
    }
    Ok(found)
}

fn member_accounts(members: &[MemberWithState]) -> Vec<BudgetAccount> {
    members.iter().map(|one| one.state.value.account).collect()
}

/// Adds a write for each member whose account changed.
fn write_changed_accounts(
    run: &RunId,
    members: &[MemberWithState],
    accounts: &[BudgetAccount],
    mut changes: Changeset,
) -> Changeset {
    for (one, account) in members.iter().zip(accounts) {
        if one.state.value.account == *account {
            continue;
        }
        let mut state = one.state.value.clone();
        state.account = *account;
        let key = MemberKey::new(run.clone(), one.member.agent.clone());
        changes.writes.push(
            one.state
                .update_write(member::member_state_record_name(&key), &state),
        );
    }
    changes
}

/// Settles the accounts of all idle, paused and parked members, and draws again. Returns the changeset of
/// both.
fn draw_after_returning_credit(
    key: &MemberKey,
    members: &[MemberWithState],
    minimum: &BudgetAmount,
    chunk: &BudgetAmount,
    changes: Changeset,
) -> Result<Changeset, Refusal> {
    let is_resting = |one: &MemberWithState| {
        let status = one.state.value.status;
        let is_resting = matches!(
            status,
            MemberStatus::Idle | MemberStatus::Paused | MemberStatus::Parked
        );
        is_resting && one.member.agent != key.agent && one.member.parent.is_some()
    };
    let mut tree = account_tree(members);
    budget::settle_accounts(&mut tree, |at| members.get(at).is_some_and(is_resting));
    let path = ancestor_indices(key, members);
    let mut accounts: Vec<BudgetAccount> = path
        .iter()
        .filter_map(|at| tree.get(*at).map(|node| node.account))
        .collect();
    budget::draw_budget(&mut accounts, minimum, chunk)
        .map_err(|shortfall| budget_exhausted(shortfall, &path, members))?;
    for (at, account) in path.iter().zip(accounts) {
        if let Some(node) = tree.get_mut(*at) {
            node.account = account;
        }
    }
    let all: Vec<BudgetAccount> = tree.iter().map(|node| node.account).collect();
    Ok(write_changed_accounts(&key.run, members, &all, changes))
}

/// Returns the indices of a member and the agents above it.
fn ancestor_indices(key: &MemberKey, members: &[MemberWithState]) -> Vec<usize> {
    let position = |agent: &AgentId| members.iter().position(|one| one.member.agent == *agent);
    let mut path = Vec::new();
    let mut next = position(&key.agent);
    while let Some(at) = next.filter(|at| !path.contains(at)) {
        path.push(at);
        let parent = members.get(at).and_then(|one| one.member.parent.as_ref());
        next = parent.and_then(position);
    }
    path
}

fn budget_exhausted(
    shortfall: InsufficientBudget,
    path: &[usize],
    members: &[MemberWithState],
) -> Refusal {
    let owner = path
        .get(shortfall.account_index)
        .and_then(|at| members.get(*at));
    let owner = owner.map_or(AgentId::ROOT, |one| one.member.agent.as_str());
    let limit = shortfall.limit;
    let is_one = limit == 1;
    let (resource, amount) = match shortfall.resource {
        BudgetResource::Micros => ("money", format_money(limit)),
        BudgetResource::Tokens => (if is_one { "token" } else { "tokens" }, limit.to_string()),
        BudgetResource::Turns => (if is_one { "turn" } else { "turns" }, limit.to_string()),
        BudgetResource::Commands => (
            if is_one { "command" } else { "commands" },
            limit.to_string(),
        ),
    };
    Refusal::from(OperationRefusal::BudgetExhausted {
        owner: owner.to_owned(),
        resource: resource.to_owned(),
        amount,
    })
}
