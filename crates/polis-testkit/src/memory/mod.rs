//! In-memory model store: the simplest possible implementation of the ports, against which the real stores
//! are compared.
//!
//! A commit copies the whole state, changes the copy, and keeps it if nothing conflicts. Generic records are
//! in `plain`, mailboxes in `mail`, conversations in `turns`.

mod mail;
mod plain;
mod turns;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use polis_core::board::{BoardHead, BoardName, VersionEntry};
use polis_core::changeset::{Fence, Write};
use polis_core::record::RecordBody;
use polis_core::society::RunId;
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::record::{AssignedWorkspace, Workspace};
use polis_core::{
    Agent, AgentId, Changeset, Event, Expect, Raw, RecordKey, Registered, TaskId, TaskRecord,
    TaskStatus, TaskType, Timestamp,
};
use polis_ops::port::{
    Agents, BoardState, BoardText, Boards, CandidateQuery, ChangesetSource, CommentQuery,
    EventQuery, Events, Held, Ledger, Outcome, StatusCounts, TaskQuery, Tasks, Workspaces,
};
use polis_ops::{PortError, PortFuture, Receipt};
use tokio::sync::watch;

use crate::boards;
use crate::clock::BEGINNING;
use crate::listing;

/// A store without persistence.
#[derive(Debug)]
pub struct MemoryStore {
    state: Mutex<State>,
    sequence: watch::Sender<u64>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            sequence: watch::Sender::new(0),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct State {
    tasks: BTreeMap<TaskId, Kept>,
    comments: HashMap<TaskId, Vec<Comment>>,
    agents: BTreeMap<AgentId, (Agent, u64)>,
    workspaces: BTreeMap<AgentId, AssignedWorkspace>,
    boards: boards::Boards,
    plain: plain::Plain,
    mail: mail::Mail,
    turns: turns::Conversations,
    events: Vec<Event>,
    raised_to: u64,
    fences: HashMap<Fence, u64>,
}

/// Whether an expectation does not hold for the revision found.
fn differs(expect: Expect, found: Option<u64>) -> bool {
    match expect {
        Expect::Absent => found.is_some(),
        Expect::Revision(revision) => found != Some(revision),
    }
}

/// A task with its open blockers, which may be negative while a changeset is partially applied.
#[derive(Debug, Clone)]
struct Kept {
    record: TaskRecord,
    open_blockers: i64,
}

impl Kept {
    fn record(&self) -> TaskRecord {
        TaskRecord {
            open_blockers: u32::try_from(self.open_blockers).unwrap_or(0),
            ..self.record.clone()
        }
    }
}

impl State {
    fn last_sequence(&self) -> u64 {
        self.events.len() as u64
    }

    fn last_task_number(&self) -> u64 {
        let here = self.tasks.keys().next_back().map_or(0, |id| id.number());
        here.max(self.raised_to)
    }

    fn records(&self) -> Vec<TaskRecord> {
        self.tasks.values().map(Kept::record).collect()
    }

    fn conflict(&self, write: &Write) -> Option<RecordKey> {
        match write {
            Write::PutTask { expect, record, .. } => {
                let id = record.task.id;
                let found = self.tasks.get(&id).map(|kept| kept.record.revision);
                differs(*expect, found).then_some(RecordKey::Task(id))
            }
            Write::PutAgent { expect, agent } => {
                let found = self.agents.get(&agent.id).map(|(_, revision)| *revision);
                differs(*expect, found).then(|| RecordKey::Agent(agent.id.clone()))
            }
            Write::PutWorkspace { expect, workspace } => {
                let id = &workspace.workspace_id;
                let found = self.workspaces.get(id).map(|found| found.revision);
                differs(*expect, found).then(|| RecordKey::Workspace(id.clone()))
            }
            Write::TouchFence { fence, expected } => {
                let found = self.fences.get(fence).copied().unwrap_or(0);
                (found != *expected).then_some(RecordKey::Fence(*fence))
            }
            Write::PutRecord { expect, name, .. } | Write::DeleteRecord { expect, name } => {
                self.plain.conflict(*expect, name)
            }
            Write::ReadMessages { recipient, ids } => self.mail.conflict(recipient, ids),
            Write::AppendTurn { member, turn, .. } => self.turns.conflict(member, *turn),
            Write::ForgetRecords { .. }
            | Write::SendMessage(_)
            | Write::CreateTask(_)
            | Write::SettleBlocker { .. }
            | Write::RaiseTaskNumber(_)
            | Write::ReserveTaskNumber
            | Write::AddComment { .. }
            | Write::ChangeBoard(_)
            | Write::LeaseBoard(_) => None,
        }
    }

    /// Applies a changeset to this copy of the state, or returns the record it conflicts on.
    fn apply(&mut self, changes: Changeset) -> Result<Receipt, Stopped> {
        let mut receipt = Receipt::default();
        if let Some(key) = turns::added_twice(&changes.writes) {
            return Err(Stopped::Conflict(key));
        }
        for write in &changes.writes {
            if let Some(key) = self.conflict(write) {
                return Err(Stopped::Conflict(key));
            }
            self.write_board(write, &changes, &mut receipt)
                .map_err(Stopped::Conflict)?;
        }
        let of_receipt = |write: &Write| match write {
            Write::PutRecord { body, .. } | Write::AppendTurn { body, .. } => {
                matches!(body, RecordBody::OfReceipt(_))
            }
            _ => false,
        };
        let (last, writes): (Vec<_>, Vec<_>) = changes.writes.into_iter().partition(of_receipt);
        for write in writes {
            self.write(write, &changes.at, &mut receipt)?;
        }
        for event in changes.events {
            let data =
                Raw::parse(&event.data).map_err(|e| PortError::internal("Reading an event", e))?;
            self.events.push(Event {
                seq: self.last_sequence() + 1,
                at: changes.at.clone(),
                actor: changes.actor.to_string(),
                kind: event.kind.to_owned(),
                subject: event.subject.text(receipt.created),
                data,
            });
        }
        receipt.sequence = self.last_sequence();
        for write in last {
            self.write(write, &changes.at, &mut receipt)?;
        }
        Ok(receipt)
    }

    /// Boards are changed while conflicts are checked, because each change sees those before it.
    fn write_board(
        &mut self,
        write: &Write,
        changes: &Changeset,
        receipt: &mut Receipt,
    ) -> Result<(), RecordKey> {
        match write {
            Write::ChangeBoard(write) => {
                let version = self.boards.change(write, &changes.actor, &changes.at)?;
                receipt.board = Some(version);
            }
            Write::LeaseBoard(write) => self.boards.lease(write)?,
            _ => {}
        }
        Ok(())
    }

    fn write(
        &mut self,
        write: Write,
        at: &Timestamp,
        receipt: &mut Receipt,
    ) -> Result<(), PortError> {
        match write {
            Write::CreateTask(mut record) => {
                let id = TaskId::new(self.last_task_number() + 1)
                    .ok_or_else(|| PortError::internal("Numbering a task", "no number is left"))?;
                record.task.id = id;
                receipt.created = Some(id);
                self.keep(*record, 0);
            }
            Write::PutTask {
                record,
                blocker_change,
                ..
            } => {
                let before = self.tasks.get(&record.task.id);
                let open = before.map_or(0, |kept| kept.open_blockers);
                self.keep(*record, open + blocker_change);
            }
            Write::SettleBlocker { dependents } => {
                for id in dependents {
                    if let Some(kept) = self.tasks.get_mut(&id) {
                        kept.open_blockers -= 1;
                        let pending = kept.record.task.status == TaskStatus::Pending;
                        if kept.open_blockers == 0 && pending {
                            receipt.unblocked.push(id);
                        }
                    }
                }
            }
            Write::ReserveTaskNumber => {
                let next = self.last_task_number() + 1;
                receipt.created = TaskId::new(next);
                self.raised_to = next;
            }
            Write::RaiseTaskNumber(to) => self.raised_to = self.raised_to.max(to),
            Write::AddComment { task, comment } => {
                let comments = self.comments.entry(task).or_default();
                let number = comments.len() as u64 + 1;
                comments.push(comment.numbered(number));
                receipt.comment = Some(number);
            }
            Write::PutAgent { agent, .. } => {
                let revision = self.agents.get(&agent.id).map_or(0, |(_, r)| *r) + 1;
                self.agents.insert(agent.id.clone(), (agent, revision));
            }
            Write::PutWorkspace { workspace, .. } => {
                let id = workspace.workspace_id.clone();
                let revision = self.workspaces.get(&id).map_or(0, |found| found.revision) + 1;
                let kept = AssignedWorkspace {
                    workspace,
                    revision,
                };
                self.workspaces.insert(id, kept);
            }
            Write::TouchFence { fence, expected } => {
                self.fences.insert(fence, expected + 1);
            }
            Write::PutRecord {
                name,
                expires_at,
                body,
                ..
            } => self.plain.put(name, expires_at, &body, receipt),
            Write::DeleteRecord { name, .. } => self.plain.delete(&name),
            Write::ForgetRecords { kind, before } => self.plain.forget(kind, before),
            Write::SendMessage(message) => receipt.messages.push(self.mail.send(*message)),
            Write::ReadMessages { ids, .. } => self.mail.mark_read(&ids, at),
            Write::AppendTurn { member, turn, body } => {
                self.turns.append(member, turn, &body, receipt);
            }
            // Already written by `write_board`.
            Write::ChangeBoard(_) | Write::LeaseBoard(_) => {}
        }
        Ok(())
    }

    fn keep(&mut self, record: TaskRecord, open_blockers: i64) {
        let kept = Kept {
            record,
            open_blockers,
        };
        self.tasks.insert(kept.record.task.id, kept);
    }
}

/// Why a changeset was not applied.
enum Stopped {
    Conflict(RecordKey),
    Failed(PortError),
}

impl From<PortError> for Stopped {
    fn from(error: PortError) -> Self {
        Self::Failed(error)
    }
}

impl MemoryStore {
    /// Runs `work` on a copy of the state, and keeps the copy if it succeeds.
    fn change(
        &self,
        work: impl FnOnce(&mut State) -> Result<Receipt, Stopped>,
    ) -> Result<Outcome, PortError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut copy = state.clone();
        match work(&mut copy) {
            Ok(receipt) => {
                *state = copy;
                self.sequence.send_replace(state.last_sequence());
                Ok(Outcome::Committed(receipt))
            }
            Err(Stopped::Conflict(key)) => Ok(Outcome::Conflict(key)),
            Err(Stopped::Failed(error)) => Err(error),
        }
    }

    fn read<'a, T: Send + 'a>(&self, work: impl FnOnce(&State) -> T) -> PortFuture<'a, T> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Box::pin(std::future::ready(Ok(work(&state))))
    }
}

impl Ledger for MemoryStore {
    fn fence(&self, fence: Fence) -> PortFuture<'_, u64> {
        self.read(|state| state.fences.get(&fence).copied().unwrap_or(0))
    }

    fn commit(&self, changes: Changeset) -> PortFuture<'_, Outcome> {
        let outcome = self.change(|state| state.apply(changes));
        Box::pin(std::future::ready(outcome))
    }

    fn commit_stream<'a>(&'a self, source: &'a mut dyn ChangesetSource) -> PortFuture<'a, Outcome> {
        let outcome = self.change(|state| {
            let mut all = Receipt::default();
            while let Some(changes) = source.next()? {
                let one = state.apply(changes)?;
                all.unblocked.extend(one.unblocked);
            }
            all.sequence = state.last_sequence();
            Ok(all)
        });
        Box::pin(std::future::ready(outcome))
    }
}

impl Tasks for MemoryStore {
    fn tasks<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<TaskRecord>> {
        self.read(|state| {
            let mut all = state.records();
            all.retain(|record| ids.contains(&record.task.id));
            all
        })
    }

    fn scan_tasks(&self, after: Option<TaskId>, limit: u32) -> PortFuture<'_, Vec<TaskRecord>> {
        self.read(|state| {
            let all = state.records().into_iter();
            all.filter(|record| after.is_none_or(|after| record.task.id > after))
                .take(limit as usize)
                .collect()
        })
    }

    fn list_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, Vec<TaskSummary>> {
        self.read(|state| listing::list(&state.records(), query))
    }

    fn candidates<'a>(&'a self, query: &'a CandidateQuery) -> PortFuture<'a, Vec<TaskRecord>> {
        self.read(|state| listing::candidates(&state.records(), query))
    }

    fn blocks_of<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<(TaskId, Vec<TaskId>)>> {
        self.read(|state| {
            let found = ids.iter().filter_map(|id| state.tasks.get(id));
            found
                .filter(|kept| kept.record.task.status != TaskStatus::Deleted)
                .map(|kept| (kept.record.task.id, kept.record.task.blocks.clone()))
                .collect()
        })
    }

    fn comments<'a>(&'a self, query: &'a CommentQuery) -> PortFuture<'a, Vec<Comment>> {
        self.read(|state| {
            let mut found = state.comments.get(&query.task).cloned().unwrap_or_default();
            found.retain(|one| {
                one.id > query.after && query.before.is_none_or(|before| one.id < before)
            });
            let limit = query.limit as usize;
            if query.newest {
                found.drain(..found.len().saturating_sub(limit));
            }
            found.truncate(limit);
            found
        })
    }

    fn completed_types<'a>(
        &'a self,
        owner: &'a str,
        limit: u32,
    ) -> PortFuture<'a, Vec<Option<TaskType>>> {
        self.read(|state| {
            let newest = state.records().into_iter().rev().map(|record| record.task);
            newest
                .filter(|task| task.status == TaskStatus::Completed)
                .filter(|task| !owner.is_empty() && task.owner == owner)
                .map(|task| task.task_type)
                .take(limit as usize)
                .collect()
        })
    }

    fn last_task_number(&self) -> PortFuture<'_, u64> {
        self.read(State::last_task_number)
    }

    fn count_list<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, u64> {
        self.read(|state| {
            let whole = TaskQuery {
                after: None,
                limit: u32::MAX,
                ..query.clone()
            };
            listing::list(&state.records(), &whole).len() as u64
        })
    }

    fn loads(&self) -> PortFuture<'_, Vec<(String, u64)>> {
        self.read(|state| {
            let mut loads = BTreeMap::<String, u64>::new();
            for record in state.records() {
                let task = record.task;
                if !task.owner.is_empty() && !task.status.is_settled() {
                    *loads.entry(task.owner).or_default() += 1;
                }
            }
            loads.into_iter().collect()
        })
    }

    fn held_tasks(&self, limit: u32) -> PortFuture<'_, Vec<TaskSummary>> {
        self.read(|state| {
            let mut newest = BTreeMap::new();
            for record in state.records() {
                let task = &record.task;
                if !task.owner.is_empty() && task.status == TaskStatus::InProgress {
                    newest.insert(task.owner.clone(), record);
                }
            }
            let mut held: Vec<_> = newest.values().map(TaskSummary::of).collect();
            held.sort_by_key(|task| std::cmp::Reverse(task.id));
            held.truncate(limit as usize);
            held
        })
    }

    fn count_tasks(&self) -> PortFuture<'_, StatusCounts> {
        self.read(|state| {
            let mut counts = StatusCounts::default();
            for kept in state.tasks.values() {
                *match kept.record.task.status {
                    TaskStatus::Pending => &mut counts.pending,
                    TaskStatus::InProgress => &mut counts.in_progress,
                    TaskStatus::Completed => &mut counts.completed,
                    TaskStatus::Deleted => &mut counts.deleted,
                } += 1;
            }
            counts
        })
    }
}

impl Agents for MemoryStore {
    fn agent<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<Registered>> {
        self.read(|state| {
            let found = state.agents.get(id).cloned();
            found.map(|(agent, revision)| Registered { agent, revision })
        })
    }

    fn agents(&self) -> PortFuture<'_, Vec<Agent>> {
        self.read(|state| state.agents.values().map(|(a, _)| a.clone()).collect())
    }

    fn named<'a>(&'a self, ids: &'a [AgentId]) -> PortFuture<'a, Vec<Agent>> {
        self.read(|state| {
            let all = state.agents.values().map(|(agent, _)| agent);
            all.filter(|agent| ids.contains(&agent.id))
                .cloned()
                .collect()
        })
    }

    fn agents_of_run<'a>(
        &'a self,
        run: Option<&'a RunId>,
        role: Option<&'a str>,
    ) -> PortFuture<'a, Vec<Agent>> {
        self.read(|state| {
            let all = state.agents.values().map(|(agent, _)| agent);
            all.filter(|agent| agent.run.as_ref() == run)
                .filter(|agent| role.is_none_or(|role| agent.role == role))
                .cloned()
                .collect()
        })
    }
}

impl Workspaces for MemoryStore {
    fn workspace<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<AssignedWorkspace>> {
        self.read(|state| state.workspaces.get(id).cloned())
    }

    fn workspaces(&self) -> PortFuture<'_, Vec<Workspace>> {
        self.read(|state| {
            let all = state.workspaces.values();
            all.map(|found| found.workspace.clone()).collect()
        })
    }
}

impl Boards for MemoryStore {
    fn board<'a>(&'a self, name: &'a BoardName) -> PortFuture<'a, Option<BoardState>> {
        self.read(|state| state.boards.state(name))
    }

    fn boards(&self) -> PortFuture<'_, Vec<BoardHead>> {
        self.read(|state| state.boards.heads())
    }

    fn board_text<'a>(
        &'a self,
        name: &'a BoardName,
        version: u64,
    ) -> PortFuture<'a, Option<BoardText>> {
        self.read(|state| state.boards.text(name, version))
    }

    fn board_versions<'a>(
        &'a self,
        name: &'a BoardName,
        limit: u32,
    ) -> PortFuture<'a, Vec<VersionEntry>> {
        self.read(|state| state.boards.versions(name, limit))
    }

    fn hold_board<'a>(&'a self, _: &'a BoardName, _: Duration) -> PortFuture<'a, Option<Held>> {
        let held: Held = Box::new(());
        Box::pin(std::future::ready(Ok(Some(held))))
    }

    fn began_at(&self) -> PortFuture<'_, Timestamp> {
        self.read(|_| Timestamp::from_millis(BEGINNING))
    }
}

impl Events for MemoryStore {
    fn events<'a>(&'a self, query: &'a EventQuery) -> PortFuture<'a, Vec<Event>> {
        self.read(|state| {
            let wanted = |event: &&Event| {
                let subject = query.subject.as_ref();
                event.seq > query.after
                    && query.before.is_none_or(|before| event.seq < before)
                    && subject.is_none_or(|s| *s == event.subject)
                    && !query.except.contains(&event.kind.as_str())
            };
            let mut found: Vec<Event> = state.events.iter().filter(wanted).cloned().collect();
            let limit = query.limit as usize;
            if query.newest {
                found.drain(..found.len().saturating_sub(limit));
            }
            found.truncate(limit);
            found
        })
    }

    fn last_sequence(&self) -> PortFuture<'_, u64> {
        self.read(State::last_sequence)
    }

    fn wait_beyond(&self, after: u64, at_most: Duration) -> PortFuture<'_, u64> {
        let mut sequence = self.sequence.subscribe();
        Box::pin(async move {
            let beyond = sequence.wait_for(|&last| last > after);
            // On an event as on timeout, the answer is the current end of the log.
            let _ = tokio::time::timeout(at_most, beyond).await;
            self.last_sequence().await
        })
    }
}
