//! Members of a run and their status: the tree of one run, a single member, and a paginated list over all
//! runs.
//!
//! A message to an idle member does not change its stored status; the member's own next commit does. So, in an
//! active run, an idle member with unread mail is reported as working (`UnreadMailboxes`), except an outside agent
//! at the head of the run.

use std::collections::{BTreeMap, BTreeSet};

use polis_core::number::saturating_cast;
use polis_core::record::RecordKind;
use polis_core::society::budget::{BudgetAmount, BudgetLimits};
use polis_core::society::dismiss::MemberWithState;
use polis_core::society::member::{self, Member, MemberState, MemberStatus};
use polis_core::society::run::{Run, RunStatus};
use polis_core::society::{MemberKey, RunId};
use polis_core::{AgentId, CallerKind, Timestamp};
use polis_i18n::{UiLanguage, msg};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PAGE_SIZE, check_run_visible, parse_record};
use crate::app::App;
use crate::error::OpError;
use crate::op::society::load_member;
use crate::op::society::load_members;
use crate::op::society::load_record;
use crate::op::society::load_run;
use crate::op::society::resolve_run;
use crate::port::{MailboxKey, MailboxQuery};
use crate::request::Request;

/// Maximum number of members per page.
const MAX_PAGE_SIZE: u32 = 1_000;

/// Parameters of `get_org`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetOrgParams {
    /// The run; default: your own.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "taskId")]
    pub run_id: Option<RunId>,
    /// Include dismissed members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

/// The tree of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrgChart {
    /// The run.
    #[serde(flatten, with = "polis_core::society::run_id_json")]
    #[schemars(with = "polis_core::society::run_id_json::RunIdFields<RunId>")]
    pub run: RunId,
    /// Its status.
    pub status: RunStatus,
    /// Its members, each after the one that hired it.
    pub members: Vec<OrgMember>,
}

/// A member of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrgMember {
    /// Its agent id.
    pub agent_id: AgentId,
    /// The run, in a list over several.
    #[serde(flatten, with = "polis_core::society::run_id_json::optional")]
    #[schemars(with = "polis_core::society::run_id_json::OptionalRunIdFields<RunId>")]
    pub run: Option<RunId>,
    /// The member that hired it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    /// Its role.
    pub role_name: String,
    /// Depth below the top of the run.
    pub depth: u32,
    /// Its status.
    pub status: MemberStatus,
    /// Reason, if it is paused or parked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "why")]
    pub reason: Option<String>,
    /// The agent or person that paused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<AgentId>,
    /// Tool of the call that it is executing, if the call acts outside the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "doing")]
    pub running_tool: Option<String>,
    /// Objective of its brief.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub objective: String,
    /// Members that it hired.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<AgentId>,
    /// Spending of the member itself.
    pub spent: BudgetAmount,
    /// Total spending of the member and all agents below it, including dismissed ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent_below: Option<BudgetAmount>,
    /// Budget of the member and all agents below it.
    #[serde(skip_serializing_if = "is_unlimited")]
    pub limits: BudgetLimits,
    /// Context size in tokens, as last reported by the model.
    pub context_tokens: u64,
    /// Number of turns of its conversation.
    pub turns: u64,
    /// When it was hired.
    pub created_at: Timestamp,
}

fn is_unlimited(limits: &BudgetLimits) -> bool {
    *limits == BudgetLimits::default()
}

impl OrgMember {
    fn from_member(member: Member, state: MemberState) -> Self {
        Self {
            agent_id: member.agent,
            run: None,
            parent_agent_id: member.parent,
            role_name: member.role,
            depth: member.depth,
            status: state.status,
            reason: state.given_reason().map(ToOwned::to_owned),
            paused_by: state.paused_by(),
            running_tool: state
                .running_tool
                .filter(|_| state.running_call_id.is_some()),
            objective: member.brief.objective,
            children: state.children,
            spent: state.account.spent,
            spent_below: None,
            limits: state.account.limits,
            context_tokens: state.context_tokens,
            turns: state.next_turn,
            created_at: member.created_at,
        }
    }

    /// Returns why it is in its status, in a language.
    pub fn reason_text(&self, lang: UiLanguage) -> Option<String> {
        describe_member_reason(self.reason.as_deref(), self.paused_by.as_ref(), lang)
    }
}

/// Returns why a member is in its status: the given reason, else who paused it.
pub(crate) fn describe_member_reason(
    reason: Option<&str>,
    paused_by: Option<&AgentId>,
    lang: UiLanguage,
) -> Option<String> {
    let given = reason.map(ToOwned::to_owned);
    given.or_else(|| paused_by.map(|agent| msg::society_paused_by(lang, agent)))
}

/// Returns the tree of a run: its members, each after its parent, with what they and all members below them
/// have spent. Fails with `run_not_found` if the run does not exist or the caller may not see it.
pub async fn get_org(request: &Request, params: &GetOrgParams) -> Result<OrgChart, OpError> {
    let caller = request.resolve_caller().await?;
    let run = resolve_run(request, &caller, params.run_id.as_ref())
        .await?
        .value;
    let all_members = load_members(&request.app, &run.id).await?;
    let totals = total_spending(&all_members);
    let unread_mailboxes = load_unread_mailboxes(&request.app).await?;
    let mut members: Vec<OrgMember> = Vec::new();
    for at in tree_order(&all_members) {
        let (Some(one), Some(total)) = (all_members.get(at), totals.get(at)) else {
            continue;
        };
        if one.state.value.status == MemberStatus::Dismissed && !params.all {
            continue;
        }
        let mut view = OrgMember::from_member(one.member.clone(), one.state.value.clone());
        view.status = unread_mailboxes.displayed_status(&run, &one.member.agent, view.status);
        view.spent_below = Some(*total);
        members.push(view);
    }
    Ok(OrgChart {
        run: run.id,
        status: run.status,
        members,
    })
}

/// Returns one member of a run, which may be a dismissed one. The total spent below it is left out: it would
/// require reading all members. Fails with `run_not_found` if the run does not exist or the caller may not see
/// it, and with `agent_not_found` if it has no such member.
pub async fn show_member(
    request: &Request,
    run: &RunId,
    agent: &AgentId,
) -> Result<OrgMember, OpError> {
    let caller = request.resolve_caller().await?;
    let run = resolve_run(request, &caller, Some(run)).await?.value;
    let key = MemberKey::new(run.id.clone(), agent.clone());
    let found = load_member(&request.app, &key).await?;
    let found = found.ok_or_else(|| super::member_not_found(agent))?;
    let mut view = OrgMember::from_member(found.member, found.state.value);
    if view.status == MemberStatus::Idle {
        let query = MailboxQuery {
            recipient: agent.clone(),
            run: Some(run.id.clone()),
            unread: true,
            now: request.app.clock.now_millis(),
            after: 0,
            limit: 1,
        };
        let mail = request.app.store.mailbox(&query).await?;
        let mailboxes = mail.into_iter().map(|message| MailboxKey {
            run: message.run,
            recipient: message.to,
        });
        view.status =
            UnreadMailboxes(mailboxes.collect()).displayed_status(&run, agent, view.status);
    }
    Ok(view)
}

/// The mailboxes with unread mail. A member with unread mail is working on it, or will be in a moment; the
/// store records that it is no longer idle only in the commit of its answer.
pub(crate) struct UnreadMailboxes(BTreeSet<MailboxKey>);

impl UnreadMailboxes {
    fn has_mail(&self, run: &RunId, agent: &AgentId) -> bool {
        self.0.contains(&MailboxKey {
            run: Some(run.clone()),
            recipient: agent.clone(),
        })
    }

    /// Returns the status of a member as shown to others: working instead of idle if it has unread mail. An
    /// outside agent at the head of a run is not woken by its mail; its own program decides when to read it.
    pub(crate) fn displayed_status(
        &self,
        run: &Run,
        agent: &AgentId,
        status: MemberStatus,
    ) -> MemberStatus {
        let is_awake = status == MemberStatus::Idle
            && run.status == RunStatus::Active
            && (agent.is_root() || *agent != run.head)
            && self.has_mail(&run.id, agent);
        if is_awake {
            MemberStatus::Working
        } else {
            status
        }
    }
}

/// Returns all mailboxes with unread mail. Fails only if the store does.
pub(crate) async fn load_unread_mailboxes(app: &App) -> Result<UnreadMailboxes, OpError> {
    let now = app.clock.now_millis();
    let mut found = BTreeSet::new();
    loop {
        let page = app
            .store
            .unread_mailboxes(now, found.last(), PAGE_SIZE)
            .await?;
        let more = page.len() >= saturating_cast::<usize>(PAGE_SIZE);
        found.extend(page);
        if !more {
            return Ok(UnreadMailboxes(found));
        }
    }
}

/// Returns the indices of all members in tree order (depth first): each after its parent, siblings in the
/// order of hiring.
fn tree_order(members: &[MemberWithState]) -> Vec<usize> {
    let positions: BTreeMap<&AgentId, usize> = (members.iter().enumerate())
        .map(|(at, one)| (&one.member.agent, at))
        .collect();
    let mut children_of: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
    let mut roots = Vec::new();
    let mut by_age: Vec<usize> = (0..members.len()).collect();
    let age = |at: &usize| {
        let one = members.get(*at);
        one.map(|one| (one.member.created_at.as_str(), one.member.agent.as_str()))
    };
    by_age.sort_by(|a, b| age(a).cmp(&age(b)));
    for at in by_age {
        let parent = members.get(at).and_then(|one| one.member.parent.as_ref());
        match parent
            .and_then(|id| positions.get(id).copied())
            .and_then(|parent_position| children_of.get_mut(parent_position))
        {
            Some(children) => children.push(at),
            None => roots.push(at),
        }
    }
    let mut order = Vec::with_capacity(members.len());
    let mut left: Vec<usize> = roots.into_iter().rev().collect();
    while let Some(at) = left.pop() {
        order.push(at);
        if let Some(children) = children_of.get_mut(at) {
            left.extend(std::mem::take(children).into_iter().rev());
        }
    }
    order
}

/// Returns, for each member, what it and all members below it have spent, dismissed ones included.
fn total_spending(members: &[MemberWithState]) -> Vec<BudgetAmount> {
    let leaves = polis_core::society::dismiss::account_tree(members);
    let mut totals: Vec<BudgetAmount> = leaves.iter().map(|node| node.account.spent).collect();
    let mut deepest: Vec<usize> = (0..leaves.len()).collect();
    deepest.sort_by_key(|at| std::cmp::Reverse(leaves.get(*at).map_or(0, |node| node.depth)));
    for at in deepest {
        let parent_position = leaves.get(at).and_then(|node| node.parent);
        let Some(spent) = totals.get(at).copied() else {
            continue;
        };
        if let Some(total) =
            parent_position.and_then(|parent_position| totals.get_mut(parent_position))
        {
            total.add(&spent);
        }
    }
    totals
}

/// Parameters of `list_members`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListMembersParams {
    /// Only in this run.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "taskId")]
    pub run_id: Option<RunId>,
    /// Only members with this status; default: all that are not dismissed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<MemberStatus>,
    /// `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Maximum number of members; up to 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MemberList {
    /// The members, ordered by run and name.
    pub members: Vec<OrgMember>,
    /// Cursor of the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Returns a page of members. The person may list the members of all runs, other callers those of one run.
/// Fails with `run_not_found` if the run does not exist or the caller may not see it.
pub async fn list_members(
    request: &Request,
    params: &ListMembersParams,
) -> Result<MemberList, OpError> {
    let caller = request.resolve_caller().await?;
    // Only the person sees more than one run at a time.
    let run = match (&params.run_id, caller.kind) {
        (None, CallerKind::Person) => None,
        (run_id, _) => {
            let run = resolve_run(request, &caller, run_id.as_ref()).await?.value;
            check_run_visible(&caller, &run)?;
            Some(run.id)
        }
    };
    let limit = params
        .limit
        .unwrap_or(MAX_PAGE_SIZE)
        .clamp(1, MAX_PAGE_SIZE);
    let max_members = saturating_cast::<usize>(limit);
    let kind = RecordKind::MemberState;
    let unread_mailboxes = load_unread_mailboxes(&request.app).await?;
    let mut runs: BTreeMap<RunId, Run> = BTreeMap::new();
    let mut members = Vec::new();
    let mut after = params.cursor.clone();
    loop {
        let page = |kind| match &run {
            Some(run) => (request.app.store).records_of_owner(
                kind,
                run.as_str(),
                after.as_deref(),
                PAGE_SIZE,
            ),
            None => request.app.store.records(kind, after.as_deref(), PAGE_SIZE),
        };
        let found = page(kind).await?;
        // `Member` and `MemberState` records have the same ids, so the two pages cover the same members.
        let mut members_by_id = BTreeMap::new();
        for stored in page(RecordKind::Member).await? {
            members_by_id.insert(stored.id.clone(), parse_record::<Member>(&stored)?.value);
        }
        if found.is_empty() {
            return Ok(MemberList {
                members,
                next: None,
            });
        }
        for stored in found {
            if members.len() >= max_members {
                return Ok(MemberList {
                    members,
                    next: after,
                });
            }
            let mut state = parse_record::<MemberState>(&stored)?.value;
            let key: MemberKey = stored.id.parse()?;
            if state.status == MemberStatus::Idle && unread_mailboxes.has_mail(&key.run, &key.agent)
            {
                if !runs.contains_key(&key.run) {
                    let run = load_run(&request.app, &key.run).await?.value;
                    runs.insert(key.run.clone(), run);
                }
                if let Some(run) = runs.get(&key.run) {
                    state.status = unread_mailboxes.displayed_status(run, &key.agent, state.status);
                }
            }
            let is_match = match params.status {
                Some(status) => state.status == status,
                None => state.status != MemberStatus::Dismissed,
            };
            after = Some(stored.id.clone());
            if !is_match {
                continue;
            }
            let member = match members_by_id.remove(&stored.id) {
                Some(member) => Some(member),
                // The member was hired between the two reads.
                None => {
                    let record =
                        load_record::<Member>(&request.app, &member::member_record_name(&key))
                            .await?;
                    record.map(|record| record.value)
                }
            };
            if let Some(member) = member {
                let mut view = OrgMember::from_member(member, state);
                view.run = Some(key.run);
                members.push(view);
            }
        }
    }
}
