//! Store reads of a driver: a member's state, role and run, the turns in its context, its open tasks, which
//! resources are limited on the path to the root, and the earliest deadline there. Also builds the query for
//! its unread messages. One read writes: loading a member with unread messages reopens its run if that is
//! done.

use polis_core::record::RecordName;
use polis_core::society::budget::{self, BudgetLimits, BudgetResource};
use polis_core::society::member::{self, Member, MemberState, MemberStatus};
use polis_core::society::run::{self, Run, RunStatus};
use polis_core::society::society_role::{self, SocietyRole};
use polis_core::society::turn::ConversationTurn;
use polis_core::society::{MemberKey, VersionedRecord};
use polis_core::task::TaskSummary;
use polis_core::{AgentId, TaskStatus};
use polis_ops::port::{MailboxQuery, TaskQuery};
use polis_ops::{App, OpError, op};
use serde::de::DeserializeOwned;

use super::damaged_record_error;
use crate::prompt::MAX_SHOWN_TASKS;

/// Page size for reading turns.
const TURN_PAGE_SIZE: u32 = 64;
/// Maximum number of messages read at once; the embedded store runs reads of this size inline.
pub(super) const MAX_MESSAGES_PER_READ: u32 = 20;

/// A member with its role and run.
#[derive(Debug)]
pub(super) struct LoadedMember {
    pub(super) member: Member,
    pub(super) role: Option<SocietyRole>,
    pub(super) run: Run,
}

/// Limits that apply to a member: its own and those of the agents above it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct EffectiveLimits {
    /// Whether a resource is limited, in the order of `BudgetResource::ALL`.
    limited: [bool; 4],
    /// Deadline of the time budget (milliseconds since 1970).
    pub(super) deadline: Option<i64>,
}

impl EffectiveLimits {
    /// Returns whether any resource is limited.
    pub(super) fn has_any_limit(&self) -> bool {
        self.limited.contains(&true)
    }

    /// Returns whether this resource is limited.
    pub(super) fn is_limited(&self, resource: BudgetResource) -> bool {
        let at = BudgetResource::ALL.iter().position(|one| *one == resource);
        at.and_then(|at| self.limited.get(at))
            .is_some_and(|limited| *limited)
    }
}

/// Reads a record. Fails with `StoreCorrupt` if it cannot be parsed.
async fn read_record<T: DeserializeOwned>(
    app: &App,
    name: &RecordName,
) -> Result<Option<VersionedRecord<T>>, OpError> {
    let stored = app.store.record(name).await?;
    let read = stored
        .as_ref()
        .map(VersionedRecord::from_stored)
        .transpose();
    read.map_err(|_| damaged_record_error(&format!("The record {}", name.id)))
}

/// Returns the state of a member.
pub(super) async fn load_state(
    app: &App,
    key: &MemberKey,
) -> Result<Option<VersionedRecord<MemberState>>, OpError> {
    read_record(app, &member::member_state_record_name(key)).await
}

/// Returns a member with its role and run, and reopens a run that is done if the member has unread messages.
/// Returns `None` if the member is not driven, because its run is not active or it is an outside agent.
pub(super) async fn load_member(
    app: &App,
    key: &MemberKey,
) -> Result<Option<LoadedMember>, OpError> {
    let Some(run) = read_record::<Run>(app, &run::run_record_name(&key.run)).await? else {
        return Ok(None);
    };
    let run = match run.value.status {
        // A message to a member reopens a run that was done.
        RunStatus::Done if has_unread_messages(app, key).await? => {
            op::reopen_run(app, &key.run).await?
        }
        _ => run.value,
    };
    if run.status != RunStatus::Active {
        return Ok(None);
    }
    let Some(member) = read_record::<Member>(app, &member::member_record_name(key)).await? else {
        return Ok(None);
    };
    if member.value.outside {
        return Ok(None);
    }
    let role = match &member.value.role_id {
        Some(id) => {
            read_record::<SocietyRole>(app, &society_role::role_record_name(&key.run, id)).await?
        }
        None => None,
    };
    Ok(Some(LoadedMember {
        member: member.value,
        role: role.map(|stored| stored.value),
        run,
    }))
}

/// Returns whether a member has unread messages.
async fn has_unread_messages(app: &App, key: &MemberKey) -> Result<bool, OpError> {
    let query = MailboxQuery {
        limit: 1,
        ..unread_messages_query(key, app.clock.now_millis())
    };
    Ok(!app.store.mailbox(&query).await?.is_empty())
}

/// Returns the limits on the path from a member up to the root.
pub(super) async fn load_limits(
    app: &App,
    key: &MemberKey,
    own_member: &Member,
    account: &BudgetLimits,
) -> Result<EffectiveLimits, OpError> {
    let created_millis = |member: &Member| member.created_at.unix_millis();
    let mut chain = vec![(*account, created_millis(own_member))];
    let mut parent = own_member.parent.clone();
    // The path is never longer than the tree is deep; this bound ends the loop in case of a cycle.
    while let Some(agent) = parent.filter(|_| chain.len() < 100) {
        let supervisor = MemberKey::new(key.run.clone(), agent);
        let Some(member) =
            read_record::<Member>(app, &member::member_record_name(&supervisor)).await?
        else {
            break;
        };
        if let Some(state) = load_state(app, &supervisor).await? {
            chain.push((state.value.account.limits, created_millis(&member.value)));
        }
        parent = member.value.parent;
    }
    let limits = |resource: BudgetResource| {
        chain
            .iter()
            .any(|(limits, _)| limits.get(resource).is_some())
    };
    Ok(EffectiveLimits {
        limited: BudgetResource::ALL.map(limits),
        deadline: budget::earliest_deadline(chain.iter().copied()),
    })
}

/// Returns the conversation of a member, from the first turn that is in its context.
pub(super) async fn load_turns(
    app: &App,
    key: &MemberKey,
    state: &MemberState,
) -> Result<Vec<(u64, ConversationTurn)>, OpError> {
    let mut found = Vec::new();
    let mut from = state.first_context_turn;
    while from < state.next_turn {
        let page = app.store.turns(key, from, TURN_PAGE_SIZE).await?;
        let Some(last) = page.last() else { break };
        from = last.turn + 1;
        for stored in page {
            // Turns added after the state was read belong to another driver.
            if stored.turn >= state.next_turn {
                break;
            }
            let turn = serde_json::from_str(&stored.body);
            let turn =
                turn.map_err(|_| damaged_record_error(&format!("Turn {} of {key}", stored.turn)))?;
            found.push((stored.turn, turn));
        }
    }
    Ok(found)
}

/// Returns the query for the unread messages of a member. For `root`, only messages of its run are included.
pub(super) fn unread_messages_query(key: &MemberKey, now: i64) -> MailboxQuery {
    MailboxQuery {
        recipient: key.agent.clone(),
        run: key.agent.is_root().then(|| key.run.clone()),
        unread: true,
        now,
        after: 0,
        limit: MAX_MESSAGES_PER_READ,
    }
}

/// Returns the tasks that an agent owns and has not completed.
pub(super) async fn load_open_tasks(
    app: &App,
    agent: &AgentId,
) -> Result<Vec<TaskSummary>, OpError> {
    let query = |status| TaskQuery {
        owner: Some(agent.as_str().to_owned()),
        status: Some(status),
        limit: MAX_SHOWN_TASKS,
        ..TaskQuery::default()
    };
    let mut found = app.store.list_tasks(&query(TaskStatus::InProgress)).await?;
    found.extend(app.store.list_tasks(&query(TaskStatus::Pending)).await?);
    Ok(found)
}

/// Returns whether a member with this status is driven: it is working, or a message or an approval can set it
/// to work.
pub(super) fn may_act(status: MemberStatus) -> bool {
    matches!(
        status,
        MemberStatus::Idle | MemberStatus::Working | MemberStatus::AwaitingApproval
    )
}
