//! Dashboard snapshot: counts, agents with their status, tasks in progress, running commands, items that need a
//! person's attention, and the latest events.
//!
//! Every list has a maximum length and every query a limit, so that the size of the response and the time it takes are
//! bounded however large the store is.

use std::collections::BTreeMap;

use polis_core::message::Message;
use polis_core::record::RecordKind;
use polis_core::society::approval::Approval;
use polis_core::society::member::{MemberState, MemberStatus};
use polis_core::society::run::{Run, RunStatus};
use polis_core::society::{Kept, MemberKey};
use polis_core::task::TaskSummary;
use polis_core::task::history::Refused;
use polis_core::visibility::Sight;
use polis_core::{
    Agent, AgentId, AgentStatus, Code, Event, Layer, RunId, Standing, TaskId, TaskStatus, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::board_decisions::may_sign;
use super::commands::CommandEntry;
use super::list_tasks::mark_stale;
use super::open_decisions_cache::OpenDecision;
use super::overview::{Overview, overview};
use super::society::{Awake, ListApprovals, ListRuns, list_approvals, list_runs, open_letters};
use super::{TaskList, event_sight, list_tasks};
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::{EventQuery, PersonMailQuery};

/// Maximum number of agents, and of tasks, in the snapshot.
const SHOWN: usize = 200;
/// Maximum number of agents with a task in progress for which that task is read.
const HOLDERS: u32 = 2_000;
/// Maximum number of entries of each kind in [`Waiting`], and of running commands.
const WAITING: u32 = 50;
/// Maximum number of events in the snapshot.
const EVENTS: usize = 20;
/// Number of events that are read for a caller that may not see all of them.
const LOOKED_AT: u32 = 1_000;
/// Maximum number of runs whose members are read; runs that are not done come first.
const RUNS: usize = 50;
/// Number of a task's latest events that are searched for an attempt to complete it.
const LAST_EVENTS: u32 = 20;

/// The parameters of looking around: none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LookAround {}

/// What goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Now {
    /// When this was so.
    pub at: Timestamp,
    /// How much there is of everything.
    pub counts: Overview,
    /// Who may act, those at work first; 200 at most.
    pub agents: Vec<AgentNow>,
    /// How many may act.
    pub agents_total: u64,
    /// What is being worked on, the newest first; 200 at most, `counts` says how many there are.
    pub tasks: Vec<TaskSummary>,
    /// The commands that run, of those the caller may see, the newest first; 50 at most.
    pub commands: Vec<CommandEntry>,
    /// What waits for a person.
    pub waiting: Waiting,
    /// What happened last, newest first; 20 at most.
    pub events: Vec<Event>,
}

/// An agent, and what it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentNow {
    /// Who.
    pub id: AgentId,
    /// What people call it.
    pub name: String,
    /// Its role.
    pub role: String,
    /// Its layer; none for `root`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// The run it works for.
    #[serde(rename = "taskId", skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// How it stands. One that thinks elsewhere is at work while it holds a task that is in progress.
    pub status: MemberStatus,
    /// Why, if it is held up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The tool it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// The task in progress that it holds; the newest, if it holds several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Since when the task is as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// What waits for a person; at most 50 of each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// Calls that have to be allowed.
    pub approvals: Vec<Approval>,
    /// Members of runs that are paused, or whose model keeps failing: they continue when the person resumes them.
    pub held: Vec<AgentNow>,
    /// Messages to the person that it has neither read nor answered, the newest first; without the questions of
    /// dismissed members.
    pub questions: Vec<Message>,
    /// Tasks whose owner let the lease run out.
    pub stale: Vec<TaskSummary>,
    /// Tasks whose owner tried to complete them, and that have to be approved first.
    pub to_approve: Vec<TaskSummary>,
    /// Decisions that wait for signatures, and that the caller has not signed.
    pub decisions: Vec<OpenDecision>,
}

/// Returns the dashboard snapshot. Agents and tasks are visible to all callers; everything else is filtered by the
/// caller's visibility.
pub async fn look_around(polis: &Polis, caller: &AgentId, _: &LookAround) -> Result<Now, OpError> {
    let sight = event_sight(polis, caller).await?;
    let counts = overview(polis).await?;
    let asked = TaskList {
        status: Some(TaskStatus::InProgress),
        newest: true,
        limit: u32::try_from(SHOWN).ok(),
        ..TaskList::default()
    };
    let tasks = list_tasks(polis, &asked).await?.tasks;
    let mut agents = polis.agents_now(&sight).await?;
    let agents_total = u64::try_from(agents.len()).unwrap_or(u64::MAX);
    let mut waiting = polis.what_waits(&sight).await?;
    if sight.caller.standing == Standing::Human {
        let is_held =
            |agent: &&AgentNow| matches!(agent.status, MemberStatus::Paused | MemberStatus::Parked);
        let most = usize::try_from(WAITING).unwrap_or(usize::MAX);
        waiting.held = agents.iter().filter(is_held).take(most).cloned().collect();
    }
    agents.truncate(SHOWN);
    Ok(Now {
        at: polis.now(),
        counts,
        agents,
        agents_total,
        commands: polis.commands_now(&sight).await?,
        waiting,
        events: polis.last_events(&sight, counts.events).await?,
        tasks,
    })
}

impl Polis {
    /// Returns the active agents and the `root` of each run, working ones first.
    async fn agents_now(&self, sight: &Sight) -> Result<Vec<AgentNow>, OpError> {
        let registered = match sight.agents.is_empty() {
            true => self.store.agents().await?,
            false => sight.agents.clone(),
        };
        let members = self.members_now(&sight.caller.id).await?;
        let mut held = self.store.held_tasks(HOLDERS).await?;
        mark_stale(&mut held, self.clock.now_millis());
        let held: BTreeMap<&str, &TaskSummary> =
            (held.iter().map(|task| (task.owner.as_str(), task))).collect();
        let mut found = Vec::with_capacity(registered.len());
        for agent in registered {
            if agent.status != AgentStatus::Active {
                continue;
            }
            let key = agent.run.clone().map(|run| (run, agent.id.clone()));
            let state = key.as_ref().and_then(|key| members.get(key));
            let task = held.get(agent.id.as_str()).copied();
            found.push(AgentNow::of(agent, state, task));
        }
        let roots = members.iter().filter(|((_, id), _)| id.is_root());
        found.extend(roots.map(|((run, id), state)| AgentNow {
            id: id.clone(),
            name: id.to_string(),
            role: id.to_string(),
            layer: None,
            run: Some(run.clone()),
            status: state.status,
            why: state.why.clone(),
            doing: doing(state),
            task: None,
            since: None,
        }));
        found.sort_by(|a, b| {
            (order(a.status), &a.id, &a.run).cmp(&(order(b.status), &b.id, &b.run))
        });
        Ok(found)
    }

    /// Returns the states of the members of all runs that are not stopped, without dismissed members.
    async fn members_now(
        &self,
        caller: &AgentId,
    ) -> Result<BTreeMap<(RunId, AgentId), MemberState>, OpError> {
        let mut runs = list_runs(self, caller, &ListRuns::default()).await?.runs;
        // Done runs accumulate and rarely have a member that waits for the person, so they only fill the remaining
        // slots.
        runs.sort_by_key(|run| run.status == RunStatus::Done);
        runs.truncate(RUNS);
        let mut found = BTreeMap::new();
        if runs.is_empty() {
            return Ok(found);
        }
        let awake = self.awake().await?;
        for run in &runs {
            self.members_of(run, &awake, &mut found).await?;
        }
        Ok(found)
    }

    async fn members_of(
        &self,
        run: &Run,
        awake: &Awake,
        found: &mut BTreeMap<(RunId, AgentId), MemberState>,
    ) -> Result<(), OpError> {
        let kind = RecordKind::MemberState;
        let most = u32::try_from(SHOWN * 2).unwrap_or(u32::MAX);
        let page = self.store.records_of(kind, run.id.as_str(), None, most);
        for stored in page.await? {
            let key: MemberKey = stored.id.parse()?;
            // A record that only a newer version of polis can read is skipped; the rest is still shown.
            let Ok(Kept {
                value: mut state, ..
            }) = Kept::<MemberState>::read(&stored)
            else {
                continue;
            };
            if state.status != MemberStatus::Gone {
                state.status = awake.status(run, &key.agent, state.status);
                found.insert((key.run, key.agent), state);
            }
        }
        Ok(())
    }

    /// Returns the running commands that the caller may see, newest first.
    async fn commands_now(&self, sight: &Sight) -> Result<Vec<CommandEntry>, OpError> {
        let mut commands = self.running_commands().await?;
        commands.retain(|command| {
            let own = sight.workspace.as_ref() == Some(&command.workspace);
            command.running && (own || sight.shows_everything())
        });
        commands.sort_by_key(|command| std::cmp::Reverse(command.started_at.millis()));
        commands.truncate(usize::try_from(WAITING).unwrap_or(usize::MAX));
        Ok(commands)
    }

    async fn what_waits(&self, sight: &Sight) -> Result<Waiting, OpError> {
        let now = self.clock.now_millis();
        let most = usize::try_from(WAITING).unwrap_or(usize::MAX);
        let mut waiting = Waiting {
            stale: self.stale_tasks().await?,
            to_approve: self.tasks_to_approve().await?,
            decisions: self
                .open_decisions(|board| sight.shows_everything() || sight.reads(board))
                .await?,
            ..Waiting::default()
        };
        if sight.caller.standing == Standing::Human {
            let open = ListApprovals {
                limit: Some(WAITING),
                ..ListApprovals::default()
            };
            waiting.approvals = list_approvals(self, &sight.caller.id, &open)
                .await?
                .approvals;
            let open = PersonMailQuery {
                open: true,
                now,
                limit: WAITING,
                ..PersonMailQuery::default()
            };
            waiting.questions = open_letters(self, open).await?;
        }
        // Decisions that the caller has signed, or may not sign, wait for other signers.
        let caller = &sight.caller.id;
        waiting.decisions.retain(|open| {
            let mut signers = open.decision.signers.iter();
            !signers.any(|name| name == caller.as_str())
        });
        if !waiting.decisions.is_empty() && !may_sign(self, caller).await? {
            waiting.decisions.clear();
        }
        waiting.decisions.truncate(most);
        Ok(waiting)
    }

    /// Returns the tasks whose lease has expired.
    async fn stale_tasks(&self) -> Result<Vec<TaskSummary>, OpError> {
        let claimable = TaskList {
            status: Some(TaskStatus::InProgress),
            ready: true,
            limit: Some(WAITING),
            ..TaskList::default()
        };
        let mut tasks = list_tasks(self, &claimable).await?.tasks;
        tasks.retain(|task| task.stale);
        Ok(tasks)
    }

    /// Returns the tasks that need approval before they can be completed, and whose completion was already attempted.
    async fn tasks_to_approve(&self) -> Result<Vec<TaskSummary>, OpError> {
        let mut found = Vec::new();
        for task_type in &self.settings.approval_required {
            let asked = TaskList {
                status: Some(TaskStatus::InProgress),
                task_type: Some(*task_type),
                newest: true,
                limit: Some(WAITING),
                ..TaskList::default()
            };
            for task in list_tasks(self, &asked).await?.tasks {
                if self.was_to_be_completed(task.id).await? {
                    found.push(task);
                }
            }
        }
        found.truncate(usize::try_from(WAITING).unwrap_or(usize::MAX));
        Ok(found)
    }

    /// Returns whether the latest relevant event of a task is a completion refused with `approval_required`.
    async fn was_to_be_completed(&self, id: TaskId) -> Result<bool, OpError> {
        let query = EventQuery {
            subject: Some(format!("task/{id}")),
            newest: true,
            limit: LAST_EVENTS,
            ..EventQuery::default()
        };
        let events = self.store.events(&query).await?;
        let refused = |event: &Event| event.data.to::<Refused>().map(|refused| refused.code);
        let last = events.iter().rev().find(|event| {
            // Comments and other refused attempts do not change this.
            event.kind != polis_core::event::kind::TASK_COMMENTED
                && refused(event).is_none_or(|code| code == Code::ApprovalRequired.as_str())
        });
        Ok(last.and_then(refused).is_some())
    }

    /// Returns the latest events that the caller may see, newest first.
    async fn last_events(&self, sight: &Sight, through: u64) -> Result<Vec<Event>, OpError> {
        let limit = match sight.shows_everything() {
            true => u32::try_from(EVENTS).unwrap_or(LOOKED_AT),
            false => LOOKED_AT,
        };
        let query = EventQuery {
            before: Some(through.saturating_add(1)),
            newest: true,
            limit,
            ..EventQuery::default()
        };
        let mut events = self.store.events(&query).await?;
        events.retain(|event| sight.shows(event));
        events.reverse();
        events.truncate(EVENTS);
        Ok(events)
    }
}

impl AgentNow {
    fn of(agent: Agent, state: Option<&MemberState>, task: Option<&TaskSummary>) -> Self {
        let at_work = task.is_some_and(|task| !task.stale);
        Self {
            id: agent.id,
            name: agent.name,
            role: agent.role,
            layer: Some(agent.layer),
            run: agent.run,
            status: match state {
                Some(state) => state.status,
                None if at_work => MemberStatus::Working,
                None => MemberStatus::Idle,
            },
            why: state.and_then(|state| state.why.clone()),
            doing: state.and_then(doing),
            task: task.map(|task| task.id),
            since: task.and_then(|task| task.updated_at.clone()),
        }
    }
}

/// Returns the tool whose call a member is executing, if any.
fn doing(state: &MemberState) -> Option<String> {
    state.tool.clone().filter(|_| state.doing.is_some())
}

/// Returns the sort rank of a status: working members first.
fn order(status: MemberStatus) -> u8 {
    match status {
        MemberStatus::Working => 0,
        MemberStatus::Asking => 1,
        MemberStatus::Parked => 2,
        MemberStatus::Paused => 3,
        MemberStatus::Idle => 4,
        MemberStatus::Gone => 5,
    }
}
