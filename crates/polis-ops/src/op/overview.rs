//! Overview: counts, agents with their status, tasks in progress, running commands, items that need
//! attention, and the latest events.
//!
//! All callers see the counts, agents and tasks; the rest is filtered by visibility. Call approvals, blocked
//! members and mail are only for the person. Every list is bounded. Some reads are not: the registry, the
//! workspaces, the runs and the mailboxes with unread mail. Open decisions come from a cache.

use std::collections::BTreeMap;

use polis_core::message::Message;
use polis_core::number::saturating_cast;
use polis_core::record::RecordKind;
use polis_core::society::call_approval::CallApproval;
use polis_core::society::member::{MemberState, MemberStatus};
use polis_core::society::run::{Run, RunStatus};
use polis_core::society::{MemberKey, VersionedRecord};
use polis_core::task::TaskSummary;
use polis_core::visibility::EventVisibility;
use polis_core::{
    Agent, AgentId, AgentLayer, AgentStatus, CallerKind, Event, EventPayload, RefusalCode, RunId,
    TaskId, TaskStatus, Timestamp,
};
use polis_i18n::UiLanguage;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::cache::open_decisions_cache::OpenDecision;
use crate::cache::open_decisions_cache::list_open_decisions;
use crate::error::OpError;
use crate::op::board::board_decisions::may_sign;
use crate::op::overview_counts::{OverviewCounts, count_overview};
use crate::op::society::org::{describe_member_reason, load_unread_mailboxes};
use crate::op::society::{
    ListApprovalsParams, ListRunsParams, UnreadMailboxes, list_approvals, list_open_mail, list_runs,
};
use crate::op::task::list_tasks::mark_stale;
use crate::op::workspace::commands::CommandEntry;
use crate::op::workspace::commands::command_list::list_running_commands;
use crate::op::{TaskListParams, list_tasks, load_event_visibility};
use crate::port::{EventLogQuery, PersonMailQuery};
use crate::request::Request;

/// Maximum number of agents, and of tasks, in the snapshot.
const MAX_ROWS: usize = 200;
/// Maximum number of agents with a task in progress for which that task is read.
const MAX_HOLDERS_READ: u32 = 2_000;
/// Maximum number of entries of each kind in [`AttentionItems`], and of running commands.
const MAX_ATTENTION_ITEMS: u32 = 50;
/// Maximum number of events in the snapshot.
const MAX_EVENTS: usize = 20;
/// Number of events that are read for a caller that may not see all of them.
const MAX_EVENTS_READ: u32 = 1_000;
/// Maximum number of runs whose members are read; runs that are not done come first.
const MAX_RUNS_READ: usize = 50;
/// Number of a task's latest events that are searched for an attempt to complete it.
const MAX_TASK_EVENTS_READ: u32 = 20;

/// Parameters of the overview: none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverviewParams {}

/// Overview: counts, agents, tasks in progress, running commands, items that need attention, latest
/// events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverviewSnapshot {
    /// Time of the snapshot.
    pub at: Timestamp,
    /// Counts of tasks, agents and events.
    pub counts: OverviewCounts,
    /// Active agents, working ones first; at most 200.
    pub agents: Vec<AgentActivity>,
    /// Total number of active agents.
    pub agents_total: u64,
    /// Tasks in progress, newest first; at most 200 (`counts` has the total).
    pub tasks: Vec<TaskSummary>,
    /// Running commands visible to the caller, newest first; at most 50.
    pub commands: Vec<CommandEntry>,
    /// Items that need a person's attention.
    #[serde(rename = "waiting")]
    pub attention: AttentionItems,
    /// Latest events, newest first; at most 20.
    pub events: Vec<Event>,
}

/// An agent and its current activity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentActivity {
    /// Its id.
    pub id: AgentId,
    /// Display name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// Its layer; none for `root`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<AgentLayer>,
    /// The run it works for.
    #[serde(flatten, with = "polis_core::society::run_id_json::optional")]
    #[schemars(with = "polis_core::society::run_id_json::OptionalRunIdFields<RunId>")]
    pub run: Option<RunId>,
    /// Its status. An agent that is not a member of a run is working while it holds a task in progress.
    pub status: MemberStatus,
    /// Reason, if it is paused or parked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "why")]
    pub reason: Option<String>,
    /// The agent or person that paused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<AgentId>,
    /// The tool that it is executing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "doing")]
    pub running_tool: Option<String>,
    /// The task in progress that it holds; the newest, if it holds several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Time of the task's last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// Items that need a person's attention; at most 50 of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttentionItems {
    /// Tool calls that need approval.
    pub approvals: Vec<CallApproval>,
    /// Members of runs that are paused, or whose model keeps failing: they continue when the person resumes
    /// them.
    #[serde(rename = "held")]
    pub blocked_members: Vec<AgentActivity>,
    /// Messages that the person has neither read nor answered, newest first; without the questions of
    /// dismissed members.
    pub questions: Vec<Message>,
    /// Tasks whose lease has expired.
    #[serde(rename = "stale")]
    pub stale_tasks: Vec<TaskSummary>,
    /// Tasks whose completion was refused because it needs approval first.
    #[serde(rename = "toApprove")]
    pub tasks_to_approve: Vec<TaskSummary>,
    /// Open decisions that the caller has not signed.
    pub decisions: Vec<OpenDecision>,
}

/// Returns the overview. Agents and tasks are visible to all callers; everything else is filtered
/// by the caller's visibility. Fails with `permission_denied` if the caller may not act.
pub async fn load_overview(
    request: &Request,
    _: &OverviewParams,
) -> Result<OverviewSnapshot, OpError> {
    let visibility = load_event_visibility(request).await?;
    let counts = count_overview(request).await?;
    let params = TaskListParams {
        status: Some(TaskStatus::InProgress),
        newest: true,
        limit: u32::try_from(MAX_ROWS).ok(),
        ..TaskListParams::default()
    };
    let tasks = list_tasks(request, &params).await?.tasks;
    let mut agents = list_agent_activities(request, &visibility).await?;
    let agents_total = saturating_cast::<u64>(agents.len());
    let mut attention = load_attention_items(request, &visibility).await?;
    if visibility.caller.kind == CallerKind::Person {
        let is_held = |agent: &&AgentActivity| {
            matches!(agent.status, MemberStatus::Paused | MemberStatus::Parked)
        };
        let max_items = saturating_cast::<usize>(MAX_ATTENTION_ITEMS);
        attention.blocked_members = agents
            .iter()
            .filter(is_held)
            .take(max_items)
            .cloned()
            .collect();
    }
    agents.truncate(MAX_ROWS);
    Ok(OverviewSnapshot {
        at: request.app.now(),
        counts,
        agents,
        agents_total,
        commands: list_visible_running_commands(&request.app, &visibility).await?,
        attention,
        events: list_latest_events(&request.app, &visibility, counts.events).await?,
        tasks,
    })
}

/// Returns the active agents and the `root` of each run, working ones first.
async fn list_agent_activities(
    request: &Request,
    visibility: &EventVisibility,
) -> Result<Vec<AgentActivity>, OpError> {
    let registered = if visibility.agents.is_empty() {
        request.app.store.agents().await?
    } else {
        visibility.agents.clone()
    };
    let members = load_active_members(request).await?;
    let mut held_tasks = request.app.store.held_tasks(MAX_HOLDERS_READ).await?;
    mark_stale(&mut held_tasks, request.app.clock.now_millis());
    let held_tasks: BTreeMap<&str, &TaskSummary> =
        (held_tasks.iter().map(|task| (task.owner.as_str(), task))).collect();
    let mut found = Vec::with_capacity(registered.len());
    for agent in registered {
        if agent.status != AgentStatus::Active {
            continue;
        }
        let key = agent.run.clone().map(|run| (run, agent.id.clone()));
        let state = key.as_ref().and_then(|key| members.get(key));
        let task = held_tasks.get(agent.id.as_str()).copied();
        found.push(AgentActivity::from_agent(agent, state, task));
    }
    let roots = members.iter().filter(|((_, id), _)| id.is_root());
    found.extend(roots.map(|((run, id), state)| AgentActivity {
        id: id.clone(),
        name: id.to_string(),
        role: id.to_string(),
        layer: None,
        run: Some(run.clone()),
        status: state.status,
        reason: state.given_reason().map(ToOwned::to_owned),
        paused_by: state.paused_by(),
        running_tool: running_tool(state),
        task: None,
        since: None,
    }));
    found.sort_by(|a, b| {
        (status_rank(a.status), &a.id, &a.run).cmp(&(status_rank(b.status), &b.id, &b.run))
    });
    Ok(found)
}

/// Returns the states of the members of all runs that are not stopped, without dismissed members.
async fn load_active_members(
    request: &Request,
) -> Result<BTreeMap<(RunId, AgentId), MemberState>, OpError> {
    let mut runs = list_runs(request, &ListRunsParams::default()).await?.runs;
    // Done runs accumulate and rarely have a member that waits for the person, so they only fill the
    // remaining slots.
    runs.sort_by_key(|run| run.status == RunStatus::Done);
    runs.truncate(MAX_RUNS_READ);
    let mut found = BTreeMap::new();
    if runs.is_empty() {
        return Ok(found);
    }
    let unread_mailboxes = load_unread_mailboxes(&request.app).await?;
    for run in &runs {
        add_run_members(&request.app, run, &unread_mailboxes, &mut found).await?;
    }
    Ok(found)
}

async fn add_run_members(
    app: &App,
    run: &Run,
    unread_mailboxes: &UnreadMailboxes,
    found: &mut BTreeMap<(RunId, AgentId), MemberState>,
) -> Result<(), OpError> {
    let kind = RecordKind::MemberState;
    let limit = saturating_cast::<u32>(MAX_ROWS * 2);
    let page = app
        .store
        .records_of_owner(kind, run.id.as_str(), None, limit);
    for stored in page.await? {
        let key: MemberKey = stored.id.parse()?;
        // A record that only a newer version of polis can read is skipped; the rest is still shown.
        let Ok(VersionedRecord {
            value: mut state, ..
        }) = VersionedRecord::<MemberState>::from_stored(&stored)
        else {
            continue;
        };
        if state.status != MemberStatus::Dismissed {
            state.status = unread_mailboxes.displayed_status(run, &key.agent, state.status);
            found.insert((key.run, key.agent), state);
        }
    }
    Ok(())
}

/// Returns the running commands that the caller may see, newest first.
async fn list_visible_running_commands(
    app: &App,
    visibility: &EventVisibility,
) -> Result<Vec<CommandEntry>, OpError> {
    let mut commands = list_running_commands(app).await?;
    commands.retain(|command| {
        let is_own = visibility.workspace.as_ref() == Some(&command.workspace);
        command.running && (is_own || visibility.sees_everything())
    });
    commands.sort_by_key(|command| std::cmp::Reverse(command.started_at.millis()));
    commands.truncate(saturating_cast::<usize>(MAX_ATTENTION_ITEMS));
    Ok(commands)
}

async fn load_attention_items(
    request: &Request,
    visibility: &EventVisibility,
) -> Result<AttentionItems, OpError> {
    let now = request.app.clock.now_millis();
    let max_items = saturating_cast::<usize>(MAX_ATTENTION_ITEMS);
    let mut attention = AttentionItems {
        stale_tasks: list_stale_tasks(request).await?,
        tasks_to_approve: list_tasks_to_approve(request).await?,
        decisions: list_open_decisions(&request.app, |board| {
            visibility.sees_everything() || visibility.may_read_board(board)
        })
        .await?,
        ..AttentionItems::default()
    };
    if visibility.caller.kind == CallerKind::Person {
        let open = ListApprovalsParams {
            limit: Some(MAX_ATTENTION_ITEMS),
            ..ListApprovalsParams::default()
        };
        attention.approvals = list_approvals(request, &open).await?.approvals;
        let open = PersonMailQuery {
            open_only: true,
            now,
            limit: MAX_ATTENTION_ITEMS,
            ..PersonMailQuery::default()
        };
        attention.questions = list_open_mail(&request.app, open).await?;
    }
    // Decisions that the caller has signed, or may not sign, wait for other signers.
    let caller = &visibility.caller.id;
    attention.decisions.retain(|open| {
        let mut signers = open.decision.signers.iter();
        !signers.any(|name| name == caller.as_str())
    });
    if !attention.decisions.is_empty() && !may_sign(request).await? {
        attention.decisions.clear();
    }
    attention.decisions.truncate(max_items);
    Ok(attention)
}

/// Returns the tasks whose lease has expired.
async fn list_stale_tasks(request: &Request) -> Result<Vec<TaskSummary>, OpError> {
    let claimable = TaskListParams {
        status: Some(TaskStatus::InProgress),
        ready: true,
        limit: Some(MAX_ATTENTION_ITEMS),
        ..TaskListParams::default()
    };
    let mut tasks = list_tasks(request, &claimable).await?.tasks;
    tasks.retain(|task| task.stale);
    Ok(tasks)
}

/// Returns the tasks that need approval before they can be completed, and whose completion was already
/// attempted.
async fn list_tasks_to_approve(request: &Request) -> Result<Vec<TaskSummary>, OpError> {
    let mut found = Vec::new();
    for task_type in &request.app.settings.approval_required {
        let params = TaskListParams {
            status: Some(TaskStatus::InProgress),
            task_type: Some(*task_type),
            newest: true,
            limit: Some(MAX_ATTENTION_ITEMS),
            ..TaskListParams::default()
        };
        for task in list_tasks(request, &params).await?.tasks {
            if awaits_approval(&request.app, task.id).await? {
                found.push(task);
            }
        }
    }
    found.truncate(saturating_cast::<usize>(MAX_ATTENTION_ITEMS));
    Ok(found)
}

/// Returns whether the latest relevant event of a task is a completion refused with `approval_required`.
async fn awaits_approval(app: &App, id: TaskId) -> Result<bool, OpError> {
    let query = EventLogQuery {
        subject: Some(format!("task/{id}")),
        newest: true,
        limit: MAX_TASK_EVENTS_READ,
        ..EventLogQuery::default()
    };
    let events = app.store.events(&query).await?;
    let last = events.iter().rev().find_map(|event| match event.payload() {
        // Comments and other refused attempts do not change this.
        Some(EventPayload::TaskCommented(_)) => None,
        Some(EventPayload::TaskRefused(refused)) => {
            (refused.code == RefusalCode::APPROVAL_REQUIRED.as_str()).then_some(true)
        }
        _ => Some(false),
    });
    Ok(last == Some(true))
}

/// Returns the latest events that the caller may see, newest first.
async fn list_latest_events(
    app: &App,
    visibility: &EventVisibility,
    through: u64,
) -> Result<Vec<Event>, OpError> {
    let limit = if visibility.sees_everything() {
        u32::try_from(MAX_EVENTS).unwrap_or(MAX_EVENTS_READ)
    } else {
        MAX_EVENTS_READ
    };
    let query = EventLogQuery {
        before: Some(through.saturating_add(1)),
        newest: true,
        limit,
        ..EventLogQuery::default()
    };
    let mut events = app.store.events(&query).await?;
    events.retain(|event| visibility.is_visible(event));
    events.reverse();
    events.truncate(MAX_EVENTS);
    Ok(events)
}

impl AgentActivity {
    fn from_agent(agent: Agent, state: Option<&MemberState>, task: Option<&TaskSummary>) -> Self {
        let is_working = task.is_some_and(|task| !task.stale);
        Self {
            id: agent.id,
            name: agent.name,
            role: agent.role,
            layer: Some(agent.layer),
            run: agent.run,
            status: match state {
                Some(state) => state.status,
                None if is_working => MemberStatus::Working,
                None => MemberStatus::Idle,
            },
            reason: state.and_then(|state| state.given_reason().map(ToOwned::to_owned)),
            paused_by: state.and_then(MemberState::paused_by),
            running_tool: state.and_then(running_tool),
            task: task.map(|task| task.id),
            since: task.and_then(|task| task.updated_at.clone()),
        }
    }
}

impl AgentActivity {
    /// Returns why it is in its status, in a language.
    pub fn reason_text(&self, lang: UiLanguage) -> Option<String> {
        describe_member_reason(self.reason.as_deref(), self.paused_by.as_ref(), lang)
    }
}

/// Returns the tool whose call a member is executing, if any.
fn running_tool(state: &MemberState) -> Option<String> {
    state
        .running_tool
        .clone()
        .filter(|_| state.running_call_id.is_some())
}

/// Returns the sort rank of a status: working members first, dismissed ones last.
fn status_rank(status: MemberStatus) -> u8 {
    match status {
        MemberStatus::Working => 0,
        MemberStatus::AwaitingApproval => 1,
        MemberStatus::Parked => 2,
        MemberStatus::Paused => 3,
        MemberStatus::Idle => 4,
        MemberStatus::Dismissed => 5,
    }
}
