//! Store reads of a driver: loads a member's state, role, run, conversation and open tasks, and the budget limits on the
//! path from the member to the root; builds the query for its unread messages.

use polis_core::record::RecordName;
use polis_core::society::budget::{self, Limits, Resource};
use polis_core::society::member::{self, Member, MemberState, MemberStatus};
use polis_core::society::role::{self, SocietyRole};
use polis_core::society::run::{self, Run, RunStatus};
use polis_core::society::turn::Turn;
use polis_core::society::{Kept, MemberKey};
use polis_core::task::TaskSummary;
use polis_core::{AgentId, TaskStatus};
use polis_ops::port::{MailboxQuery, TaskQuery};
use polis_ops::{OpError, Polis, op};
use serde::de::DeserializeOwned;

use super::damaged;
use crate::prompt::SHOWN_TASKS;

/// Page size for reading turns.
const PAGE: u32 = 64;
/// Maximum number of messages read at once; the embedded store runs reads of this size inline.
pub(super) const MAIL: u32 = 20;

/// A member with its role and run.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) member: Member,
    pub(super) role: Option<SocietyRole>,
    pub(super) run: Run,
}

/// Limits that apply to a member: its own and those of its ancestors.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bounds {
    /// Whether a resource is limited, in the order of `Resource::ALL`.
    limited: [bool; 4],
    /// Deadline (milliseconds).
    pub(super) deadline: Option<i64>,
}

impl Bounds {
    pub(super) fn any(&self) -> bool {
        self.limited.contains(&true)
    }

    pub(super) fn limits(&self, what: Resource) -> bool {
        let at = Resource::ALL.iter().position(|one| *one == what);
        at.and_then(|at| self.limited.get(at)).is_some_and(|is| *is)
    }
}

async fn read<T: DeserializeOwned>(
    polis: &Polis,
    name: &RecordName,
) -> Result<Option<Kept<T>>, OpError> {
    let stored = polis.store.record(name).await?;
    let read = stored.as_ref().map(Kept::read).transpose();
    read.map_err(|_| damaged(&format!("The record {}", name.id)))
}

/// Returns the state of a member.
pub(super) async fn state(
    polis: &Polis,
    key: &MemberKey,
) -> Result<Option<Kept<MemberState>>, OpError> {
    read(polis, &member::state_name(key)).await
}

/// Returns a member with its role and run; `None` if it is not driven, because its run is not active or it is an
/// outside agent.
pub(super) async fn place(polis: &Polis, key: &MemberKey) -> Result<Option<Place>, OpError> {
    let Some(run) = read::<Run>(polis, &run::record_name(&key.run)).await? else {
        return Ok(None);
    };
    let run = match run.value.status {
        // A message to a member reopens a run that was done.
        RunStatus::Done if has_mail(polis, key).await? => op::reopen_run(polis, &key.run).await?,
        _ => run.value,
    };
    if run.status != RunStatus::Active {
        return Ok(None);
    }
    let Some(member) = read::<Member>(polis, &member::record_name(key)).await? else {
        return Ok(None);
    };
    if member.value.outside {
        return Ok(None);
    }
    let role = match &member.value.role_id {
        Some(id) => read::<SocietyRole>(polis, &role::record_name(&key.run, id)).await?,
        None => None,
    };
    Ok(Some(Place {
        member: member.value,
        role: role.map(|kept| kept.value),
        run,
    }))
}

/// Returns whether a member has unread messages.
async fn has_mail(polis: &Polis, key: &MemberKey) -> Result<bool, OpError> {
    let query = MailboxQuery {
        limit: 1,
        ..mailbox(key, polis.clock.now_millis())
    };
    Ok(!polis.store.mailbox(&query).await?.is_empty())
}

/// Returns the limits on the path from a member up to the root.
pub(super) async fn bounds(
    polis: &Polis,
    key: &MemberKey,
    own: &Member,
    account: &Limits,
) -> Result<Bounds, OpError> {
    let created = |member: &Member| member.created_at.millis().unwrap_or(0);
    let mut chain = vec![(*account, created(own))];
    let mut parent = own.parent.clone();
    // The path is never longer than the tree is deep; this bound ends the loop in case of a cycle.
    while let Some(agent) = parent.filter(|_| chain.len() < 100) {
        let above = MemberKey::new(key.run.clone(), agent);
        let Some(member) = read::<Member>(polis, &member::record_name(&above)).await? else {
            break;
        };
        if let Some(state) = state(polis, &above).await? {
            chain.push((state.value.account.limits, created(&member.value)));
        }
        parent = member.value.parent;
    }
    let limits = |what: Resource| chain.iter().any(|(limits, _)| limits.of(what).is_some());
    Ok(Bounds {
        limited: Resource::ALL.map(limits),
        deadline: budget::deadline(chain.iter().copied()),
    })
}

/// Returns the conversation of a member, from the first turn that is in its context.
pub(super) async fn turns(
    polis: &Polis,
    key: &MemberKey,
    state: &MemberState,
) -> Result<Vec<(u64, Turn)>, OpError> {
    let mut found = Vec::new();
    let mut from = state.since;
    while from < state.next_turn {
        let page = polis.store.turns(key, from, PAGE).await?;
        let Some(last) = page.last() else { break };
        from = last.turn + 1;
        for stored in page {
            // Turns added after the state was read belong to another session.
            if stored.turn >= state.next_turn {
                break;
            }
            let turn = serde_json::from_str(&stored.body);
            let turn = turn.map_err(|_| damaged(&format!("Turn {} of {key}", stored.turn)))?;
            found.push((stored.turn, turn));
        }
    }
    Ok(found)
}

/// Returns the query for the unread messages of a member. For `root`, only messages of its run are included.
pub(super) fn mailbox(key: &MemberKey, now: i64) -> MailboxQuery {
    MailboxQuery {
        recipient: key.agent.clone(),
        run: key.agent.is_root().then(|| key.run.clone()),
        unread: true,
        now,
        after: 0,
        limit: MAIL,
    }
}

/// Returns the tasks that an agent owns and has not completed.
pub(super) async fn open_tasks(
    polis: &Polis,
    agent: &AgentId,
) -> Result<Vec<TaskSummary>, OpError> {
    let query = |status| TaskQuery {
        owner: Some(agent.as_str().to_owned()),
        status: Some(status),
        limit: SHOWN_TASKS,
        ..TaskQuery::default()
    };
    let mut found = polis
        .store
        .list_tasks(&query(TaskStatus::InProgress))
        .await?;
    found.extend(polis.store.list_tasks(&query(TaskStatus::Pending)).await?);
    Ok(found)
}

/// Returns whether a member in this state acts, by itself or on a message.
pub(super) fn may_act(status: MemberStatus) -> bool {
    matches!(
        status,
        MemberStatus::Idle | MemberStatus::Working | MemberStatus::Asking
    )
}
