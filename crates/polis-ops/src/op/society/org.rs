//! Members of a run and their status: the tree of one run, a single member, and a paginated list over all runs.
//!
//! The status in the store changes only with a member's next commit, so an idle member with unread mail is reported as
//! working (`Awake`).

use std::collections::{BTreeMap, BTreeSet};

use polis_core::record::RecordKind;
use polis_core::society::budget::{Amount, Limits};
use polis_core::society::dismiss::Someone;
use polis_core::society::member::{self, Member, MemberState, MemberStatus};
use polis_core::society::run::{Run, RunStatus};
use polis_core::society::{MemberKey, RunId};
use polis_core::{AgentId, Standing, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PAGE, check_sight, read};
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::{Mailbox, MailboxQuery};

/// Maximum number of members per page.
const MAX_LISTED: u32 = 1_000;

/// The parameters of `get_org`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetOrg {
    /// The run; your own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<RunId>,
    /// Those who were dismissed, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
}

/// The tree of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Org {
    /// The run.
    #[serde(rename = "taskId")]
    pub run: RunId,
    /// Whether it goes on.
    pub status: RunStatus,
    /// Its members, each after the one that hired it.
    pub members: Vec<OrgMember>,
}

/// A member of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrgMember {
    /// Who.
    pub agent_id: AgentId,
    /// The run, in a list over several.
    #[serde(rename = "taskId", skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Who hired it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    /// Its role.
    pub role_name: String,
    /// How far below the top it is.
    pub depth: u32,
    /// What it does.
    pub status: MemberStatus,
    /// Why, if it is held up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The tool of the outside call it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// What it is to reach.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub objective: String,
    /// Whom it hired.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<AgentId>,
    /// What it has spent itself.
    pub spent: Amount,
    /// What it and everybody ever below it have spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spent_below: Option<Amount>,
    /// What it and those below it may spend.
    #[serde(skip_serializing_if = "is_unlimited")]
    pub limits: Limits,
    /// Tokens of its context when a model last said so.
    pub context_tokens: u64,
    /// How many turns its conversation has.
    pub turns: u64,
    /// When it was hired.
    pub created_at: Timestamp,
}

fn is_unlimited(limits: &Limits) -> bool {
    *limits == Limits::default()
}

impl OrgMember {
    fn of(member: Member, state: MemberState) -> Self {
        Self {
            agent_id: member.agent,
            run: None,
            parent_agent_id: member.parent,
            role_name: member.role,
            depth: member.depth,
            status: state.status,
            why: state.why,
            doing: state.tool.filter(|_| state.doing.is_some()),
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
}

/// Returns the tree of a run: its members, each after its parent, with what they and their descendants have spent.
pub async fn get_org(polis: &Polis, caller: &AgentId, params: &GetOrg) -> Result<Org, OpError> {
    let caller = polis.caller(caller).await?;
    let run = polis.meant(&caller, params.task_id.as_ref()).await?.value;
    let everybody = polis.everybody(&run.id).await?;
    let totals = totals(&everybody);
    let awake = polis.awake().await?;
    let mut members: Vec<OrgMember> = Vec::new();
    for at in in_order(&everybody) {
        let (Some(one), Some(total)) = (everybody.get(at), totals.get(at)) else {
            continue;
        };
        if one.state.value.status == MemberStatus::Gone && !params.all {
            continue;
        }
        let mut view = OrgMember::of(one.member.clone(), one.state.value.clone());
        view.status = awake.status(&run, &one.member.agent, view.status);
        view.spent_below = Some(*total);
        members.push(view);
    }
    Ok(Org {
        run: run.id,
        status: run.status,
        members,
    })
}

/// Returns one member of a run, which may be a dismissed one. The total spent by its descendants is left out: it would
/// require reading all members.
pub async fn show_member(
    polis: &Polis,
    caller: &AgentId,
    run: &RunId,
    agent: &AgentId,
) -> Result<OrgMember, OpError> {
    let caller = polis.caller(caller).await?;
    let run = polis.meant(&caller, Some(run)).await?.value;
    let key = MemberKey::new(run.id.clone(), agent.clone());
    let found = polis.somebody(&key).await?;
    let found = found.ok_or_else(|| super::no_member(agent))?;
    let mut view = OrgMember::of(found.member, found.state.value);
    if view.status == MemberStatus::Idle {
        let query = MailboxQuery {
            recipient: agent.clone(),
            run: Some(run.id.clone()),
            unread: true,
            now: polis.clock.now_millis(),
            after: 0,
            limit: 1,
        };
        let mail = polis.store.mailbox(&query).await?;
        let mailboxes = mail.into_iter().map(|letter| Mailbox {
            run: letter.run,
            recipient: letter.to,
        });
        view.status = Awake(mailboxes.collect()).status(&run, agent, view.status);
    }
    Ok(view)
}

/// The mailboxes with unread mail. A member with unread mail is working on it, or will be in a moment; the store
/// records that it is no longer idle only in the commit of its answer.
pub(in crate::op) struct Awake(BTreeSet<Mailbox>);

impl Awake {
    fn has_mail(&self, run: &RunId, agent: &AgentId) -> bool {
        self.0.contains(&Mailbox {
            run: Some(run.clone()),
            recipient: agent.clone(),
        })
    }

    /// Returns the status of a member as shown to others: working instead of idle if it has unread mail. An outside
    /// agent at the head of a run is not woken by its mail; its own program decides when to read it.
    pub(in crate::op) fn status(
        &self,
        run: &Run,
        agent: &AgentId,
        status: MemberStatus,
    ) -> MemberStatus {
        let awake = status == MemberStatus::Idle
            && run.status == RunStatus::Active
            && (agent.is_root() || *agent != run.head)
            && self.has_mail(&run.id, agent);
        if awake { MemberStatus::Working } else { status }
    }
}

impl Polis {
    /// Returns all mailboxes with unread mail.
    pub(in crate::op) async fn awake(&self) -> Result<Awake, OpError> {
        let now = self.clock.now_millis();
        let mut found = BTreeSet::new();
        loop {
            let page = self.store.waiting(now, found.last(), PAGE).await?;
            let more = page.len() >= usize::try_from(PAGE).unwrap_or(usize::MAX);
            found.extend(page);
            if !more {
                return Ok(Awake(found));
            }
        }
    }
}

/// Returns the indices of all members in tree order (depth first): each after its parent, siblings in the order of
/// hiring.
fn in_order(everybody: &[Someone]) -> Vec<usize> {
    let places: BTreeMap<&AgentId, usize> = (everybody.iter().enumerate())
        .map(|(at, one)| (&one.member.agent, at))
        .collect();
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); everybody.len()];
    let mut tops = Vec::new();
    let mut by_age: Vec<usize> = (0..everybody.len()).collect();
    let age = |at: &usize| {
        let one = everybody.get(*at);
        one.map(|one| (one.member.created_at.as_str(), one.member.agent.as_str()))
    };
    by_age.sort_by(|a, b| age(a).cmp(&age(b)));
    for at in by_age {
        let parent = everybody.get(at).and_then(|one| one.member.parent.as_ref());
        match parent
            .and_then(|id| places.get(id).copied())
            .and_then(|above| below.get_mut(above))
        {
            Some(children) => children.push(at),
            None => tops.push(at),
        }
    }
    let mut order = Vec::with_capacity(everybody.len());
    let mut left: Vec<usize> = tops.into_iter().rev().collect();
    while let Some(at) = left.pop() {
        order.push(at);
        if let Some(children) = below.get_mut(at) {
            left.extend(std::mem::take(children).into_iter().rev());
        }
    }
    order
}

/// Returns, for each member, what it and all its descendants have spent, dismissed ones included.
fn totals(everybody: &[Someone]) -> Vec<Amount> {
    let leaves = polis_core::society::dismiss::leaves(everybody);
    let mut totals: Vec<Amount> = leaves.iter().map(|leaf| leaf.account.spent).collect();
    let mut deepest: Vec<usize> = (0..leaves.len()).collect();
    deepest.sort_by_key(|at| std::cmp::Reverse(leaves.get(*at).map_or(0, |leaf| leaf.depth)));
    for at in deepest {
        let above = leaves.get(at).and_then(|leaf| leaf.above);
        let Some(spent) = totals.get(at).copied() else {
            continue;
        };
        if let Some(total) = above.and_then(|above| totals.get_mut(above)) {
            total.add(&spent);
        }
    }
    totals
}

/// The parameters of listing members.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListMembers {
    /// Only of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<RunId>,
    /// Only those that stand like this; all that are not gone if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<MemberStatus>,
    /// The `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// At most so many; 1,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Members of runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MemberList {
    /// The members, by run and name.
    pub members: Vec<OrgMember>,
    /// Where the next page begins; left out if this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Returns a page of members. The person may list the members of all runs, other callers those of one run.
pub async fn list_members(
    polis: &Polis,
    caller: &AgentId,
    params: &ListMembers,
) -> Result<MemberList, OpError> {
    let caller = polis.caller(caller).await?;
    // Only the person sees more than one run at a time.
    let run = match (&params.task_id, caller.standing) {
        (None, Standing::Human) => None,
        (named, _) => {
            let run = polis.meant(&caller, named.as_ref()).await?.value;
            check_sight(&caller, &run)?;
            Some(run.id)
        }
    };
    let limit = params.limit.unwrap_or(MAX_LISTED).clamp(1, MAX_LISTED);
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let kind = RecordKind::MemberState;
    let awake = polis.awake().await?;
    let mut runs: BTreeMap<RunId, Run> = BTreeMap::new();
    let mut members = Vec::new();
    let mut after = params.cursor.clone();
    loop {
        let page = |kind| match &run {
            Some(run) => (polis.store).records_of(kind, run.as_str(), after.as_deref(), PAGE),
            None => polis.store.records(kind, after.as_deref(), PAGE),
        };
        let found = page(kind).await?;
        // `Member` and `MemberState` records have the same ids, so the two pages cover the same members.
        let mut who = BTreeMap::new();
        for stored in page(RecordKind::Member).await? {
            who.insert(stored.id.clone(), read::<Member>(&stored)?.value);
        }
        if found.is_empty() {
            return Ok(MemberList {
                members,
                next: None,
            });
        }
        for stored in found {
            if members.len() >= most {
                return Ok(MemberList {
                    members,
                    next: after,
                });
            }
            let mut state = read::<MemberState>(&stored)?.value;
            let key: MemberKey = stored.id.parse()?;
            if state.status == MemberStatus::Idle && awake.has_mail(&key.run, &key.agent) {
                if !runs.contains_key(&key.run) {
                    let run = polis.run(&key.run).await?.value;
                    runs.insert(key.run.clone(), run);
                }
                if let Some(run) = runs.get(&key.run) {
                    state.status = awake.status(run, &key.agent, state.status);
                }
            }
            let wanted = match params.status {
                Some(status) => state.status == status,
                None => state.status != MemberStatus::Gone,
            };
            after = Some(stored.id.clone());
            if !wanted {
                continue;
            }
            let member = match who.remove(&stored.id) {
                Some(member) => Some(member),
                // The member was hired between the two reads.
                None => {
                    let kept = polis.kept::<Member>(&member::record_name(&key)).await?;
                    kept.map(|kept| kept.value)
                }
            };
            if let Some(member) = member {
                let mut view = OrgMember::of(member, state);
                view.run = Some(key.run);
                members.push(view);
            }
        }
    }
}
