//! Operations that dismiss an agent with all agents below it, and stop a run. Both load the unread mail and
//! the open tasks of the dismissed members, so that one commit marks the mail as read and releases the tasks.

use polis_core::society::dismiss::{
    self, AgentHoldings, DismissContext, MemberWithState, TerminateAgentParams,
    TerminateAgentResult,
};
use polis_core::society::member::MemberStatus;
use polis_core::society::run::Run;
use polis_core::society::{RunId, VersionedRecord};
use polis_core::{AgentId, TaskId, TaskRecord, TaskStatus};
use polis_i18n::msg;

use super::{RunIdParams, check_may_steer, member_not_found};
use crate::app::App;
use crate::error::OpError;
use crate::op::society::load_members;
use crate::op::society::resolve_member_run;
use crate::op::society::resolve_run;
use crate::port::{MailboxQuery, TaskQuery};
use crate::request::{AttemptFuture, Request};

/// Number of messages or tasks read per store query.
const PAGE_SIZE: u32 = 1_000;

/// Dismisses an agent and all agents below it. Fails with `AgentNotFound` if it is the top of its run or
/// already dismissed.
pub async fn terminate_agent(
    request: &Request,
    params: &TerminateAgentParams,
) -> Result<TerminateAgentResult, OpError> {
    let caller = &request.resolve_caller().await?;
    let agent = &params.agent_id;
    let decide = || -> AttemptFuture<'_, TerminateAgentResult> {
        Box::pin(async move {
            // Read the run first: every hire writes it, so a concurrent hire makes the commit conflict.
            let run = resolve_member_run(request, caller, agent, None).await?;
            let members = load_members(&request.app, &run.value.id).await?;
            check_may_steer(caller, &run.value, &members, agent)?;
            let member = members.iter().find(|one| one.member.agent == *agent);
            let member = member.filter(|one| {
                one.state.value.status != MemberStatus::Dismissed && one.member.parent.is_some()
            });
            if member.is_none() {
                return Err(member_not_found(agent).into());
            }
            let dismissed_ids = dismiss::active_subtree(&members, agent);
            let holdings = load_possessions(&request.app, &run, &dismissed_ids).await?;
            let context = DismissContext {
                run: &run,
                members: &members,
                holdings: &holdings,
                ends_run: false,
            };
            let reason = params.reason.as_deref();
            Ok(dismiss::decide_dismiss_member(
                agent,
                reason,
                context,
                caller,
                &request.app.now(),
            ))
        })
    };
    request
        .retry_on_conflict(decide, |dismissed, _| dismissed)
        .await
}

/// Stops a run: dismisses all its members. The run of an agent outside of any run is not ended: the agents it
/// hired are dismissed, and it may hire again. Fails with `run_not_found` if the run does not exist or the
/// caller may not see it, and with `not_descendant` if the caller may not steer it.
pub async fn stop_run(
    request: &Request,
    params: &RunIdParams,
) -> Result<TerminateAgentResult, OpError> {
    let caller = &request.resolve_caller().await?;
    let decide = || -> AttemptFuture<'_, TerminateAgentResult> {
        Box::pin(async move {
            let run = resolve_run(request, caller, Some(&params.run_id)).await?;
            let members = load_members(&request.app, &run.value.id).await?;
            let head = run.value.head.clone();
            if caller.id != head {
                check_may_steer(caller, &run.value, &members, &head)?;
            }
            let is_active =
                |one: &&MemberWithState| one.state.value.status != MemberStatus::Dismissed;
            let mut dismissed_ids: Vec<AgentId> = members
                .iter()
                .filter(is_active)
                .map(|one| one.member.agent.clone())
                .collect();
            let ends = head.is_root();
            if !ends {
                dismissed_ids.retain(|agent| *agent != head);
            }
            if dismissed_ids.is_empty() {
                let no_changes = polis_core::Changeset::new(caller, request.app.now());
                return Ok((no_dismissals(&head), no_changes));
            }
            let holdings = load_possessions(&request.app, &run, &dismissed_ids).await?;
            let context = DismissContext {
                run: &run,
                members: &members,
                holdings: &holdings,
                ends_run: ends,
            };
            Ok(dismiss::decide_dismiss_member(
                &head,
                Some(msg::tool_society_run_was_stopped(
                    request.app.settings.boards.language.into(),
                )),
                context,
                caller,
                &request.app.now(),
            ))
        })
    };
    request
        .retry_on_conflict(decide, |dismissed, _| dismissed)
        .await
}

fn no_dismissals(head: &AgentId) -> TerminateAgentResult {
    TerminateAgentResult {
        agent_id: head.clone(),
        dismissed: Vec::new(),
        messages: 0,
        tasks: 0,
    }
}

/// Returns the registry entry, unread mail and open tasks of each agent to dismiss.
async fn load_possessions(
    app: &App,
    run: &VersionedRecord<Run>,
    dismissed_ids: &[AgentId],
) -> Result<Vec<AgentHoldings>, OpError> {
    let mut found = Vec::with_capacity(dismissed_ids.len());
    for agent in dismissed_ids {
        let (entry, tasks) = if agent.is_root() {
            (None, Vec::new())
        } else {
            (
                app.store.agent(agent).await?,
                load_open_tasks(app, agent).await?,
            )
        };
        found.push(AgentHoldings {
            agent: agent.clone(),
            entry,
            mail: unread_message_ids(app, &run.value.id, agent).await?,
            tasks,
        });
    }
    Ok(found)
}

/// Returns the ids of an agent's unread messages, including delayed ones.
async fn unread_message_ids(app: &App, run: &RunId, agent: &AgentId) -> Result<Vec<u64>, OpError> {
    let mut query = MailboxQuery {
        recipient: agent.clone(),
        // Root has a mailbox in every run.
        run: agent.is_root().then(|| run.clone()),
        unread: true,
        now: i64::MAX,
        after: 0,
        limit: PAGE_SIZE,
    };
    let mut found: Vec<u64> = Vec::new();
    loop {
        let page = app.store.mailbox(&query).await?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        query.after = last.id;
        found.extend(page.iter().map(|message| message.id));
    }
}

/// Returns the unfinished tasks that an agent owns.
async fn load_open_tasks(app: &App, agent: &AgentId) -> Result<Vec<TaskRecord>, OpError> {
    let mut ids: Vec<TaskId> = Vec::new();
    for status in [TaskStatus::InProgress, TaskStatus::Pending] {
        let mut query = TaskQuery {
            owner: Some(agent.to_string()),
            status: Some(status),
            limit: PAGE_SIZE,
            ..TaskQuery::default()
        };
        loop {
            let page = app.store.list_tasks(&query).await?;
            let Some(last) = page.last() else { break };
            query.after = Some(last.id.into());
            ids.extend(page.iter().map(|task| task.id));
        }
    }
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut tasks = app.store.tasks(&ids).await?;
    tasks.retain(|record| record.task.owner == agent.as_str());
    Ok(tasks)
}
