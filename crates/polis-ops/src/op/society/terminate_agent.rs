//! Dismisses an agent with all its descendants, and stops a run. Both load the unread mail and the open tasks of the
//! dismissed members, so that one commit marks the mail as read and releases the tasks.

use polis_core::society::dismiss::{self, Dismissed, Estate, Known, Someone, TerminateAgent};
use polis_core::society::member::MemberStatus;
use polis_core::society::run::Run;
use polis_core::society::{Kept, RunId};
use polis_core::{AgentId, TaskId, TaskRecord, TaskStatus};

use super::{OfRun, check_steer, no_member};
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::{MailboxQuery, TaskQuery};

/// Number of messages or tasks read per store query.
const PAGE: u32 = 1_000;

/// Dismisses an agent and all its descendants.
pub async fn terminate_agent(
    polis: &Polis,
    caller: &AgentId,
    params: &TerminateAgent,
) -> Result<Dismissed, OpError> {
    let caller = &polis.caller(caller).await?;
    let agent = &params.agent_id;
    let decide = || -> Attempt<'_, Dismissed> {
        Box::pin(async move {
            // Read the run first: every hire writes it, so a concurrent hire makes the commit conflict.
            let run = polis.run_of(caller, agent, None).await?;
            let members = polis.everybody(&run.value.id).await?;
            check_steer(caller, &run.value, &members, agent)?;
            let there = members.iter().find(|one| one.member.agent == *agent);
            let there = there.filter(|one| {
                one.state.value.status != MemberStatus::Gone && one.member.parent.is_some()
            });
            if there.is_none() {
                return Err(no_member(agent).into());
            }
            let going = dismiss::subtree(&members, agent);
            let estates = estates(polis, &run, &going).await?;
            let known = Known {
                run: &run,
                members: &members,
                estates: &estates,
                ends: false,
            };
            let reason = params.reason.as_deref();
            Ok(dismiss::decide_dismiss(
                agent,
                reason,
                known,
                caller,
                &polis.now(),
            ))
        })
    };
    polis.settle(decide, |dismissed, _| dismissed).await
}

/// Stops a run: dismisses all its members. The run of an agent outside of any run is not stopped: the agents it hired
/// are dismissed, and it may hire again.
pub async fn stop_run(
    polis: &Polis,
    caller: &AgentId,
    params: &OfRun,
) -> Result<Dismissed, OpError> {
    let caller = &polis.caller(caller).await?;
    let decide = || -> Attempt<'_, Dismissed> {
        Box::pin(async move {
            let run = polis.meant(caller, Some(&params.task_id)).await?;
            let members = polis.everybody(&run.value.id).await?;
            let head = run.value.head.clone();
            if caller.id != head {
                check_steer(caller, &run.value, &members, &head)?;
            }
            let alive = |one: &&Someone| one.state.value.status != MemberStatus::Gone;
            let mut going: Vec<AgentId> = members
                .iter()
                .filter(alive)
                .map(|one| one.member.agent.clone())
                .collect();
            let ends = head.is_root();
            if !ends {
                going.retain(|agent| *agent != head);
            }
            if going.is_empty() {
                let nothing = polis_core::Changeset::by(caller, polis.now());
                return Ok((nobody(&head), nothing));
            }
            let estates = estates(polis, &run, &going).await?;
            let known = Known {
                run: &run,
                members: &members,
                estates: &estates,
                ends,
            };
            Ok(dismiss::decide_dismiss(
                &head,
                Some("the run was ended"),
                known,
                caller,
                &polis.now(),
            ))
        })
    };
    polis.settle(decide, |dismissed, _| dismissed).await
}

fn nobody(head: &AgentId) -> Dismissed {
    Dismissed {
        agent_id: head.clone(),
        dismissed: Vec::new(),
        messages: 0,
        tasks: 0,
    }
}

/// Returns the registry entry, unread mail and open tasks of each agent to dismiss.
async fn estates(
    polis: &Polis,
    run: &Kept<Run>,
    going: &[AgentId],
) -> Result<Vec<Estate>, OpError> {
    let mut found = Vec::with_capacity(going.len());
    for agent in going {
        let (entry, tasks) = match agent.is_root() {
            true => (None, Vec::new()),
            false => (
                polis.store.agent(agent).await?,
                open_tasks(polis, agent).await?,
            ),
        };
        found.push(Estate {
            agent: agent.clone(),
            entry,
            mail: unread(polis, &run.value.id, agent).await?,
            tasks,
        });
    }
    Ok(found)
}

/// Returns the ids of an agent's unread messages, including delayed ones.
async fn unread(polis: &Polis, run: &RunId, agent: &AgentId) -> Result<Vec<u64>, OpError> {
    let mut query = MailboxQuery {
        recipient: agent.clone(),
        // Root has a mailbox in every run.
        run: agent.is_root().then(|| run.clone()),
        unread: true,
        now: i64::MAX,
        after: 0,
        limit: PAGE,
    };
    let mut found: Vec<u64> = Vec::new();
    loop {
        let page = polis.store.mailbox(&query).await?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        query.after = last.id;
        found.extend(page.iter().map(|message| message.id));
    }
}

/// Returns the unfinished tasks that an agent owns.
async fn open_tasks(polis: &Polis, agent: &AgentId) -> Result<Vec<TaskRecord>, OpError> {
    let mut ids: Vec<TaskId> = Vec::new();
    for status in [TaskStatus::InProgress, TaskStatus::Pending] {
        let mut query = TaskQuery {
            owner: Some(agent.to_string()),
            status: Some(status),
            limit: PAGE,
            ..TaskQuery::default()
        };
        loop {
            let page = polis.store.list_tasks(&query).await?;
            let Some(last) = page.last() else { break };
            query.after = Some(last.id);
            ids.extend(page.iter().map(|task| task.id));
        }
    }
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut tasks = polis.store.tasks(&ids).await?;
    tasks.retain(|record| record.task.owner == agent.as_str());
    Ok(tasks)
}
