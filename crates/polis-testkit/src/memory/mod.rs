//! In-memory store used as the reference in tests ([`MemoryStore`]): the simplest possible implementation of
//! the store ports.
//!
//! Tests compare the SQLite store and the PostgreSQL store with it, or use it in place of a database. A
//! commit copies the whole state, changes the copy, and keeps it if nothing conflicts. Generic records are in
//! `generic_records`, mailboxes in `messages`, conversations in `turns`, boards in `memory_boards`, task
//! list queries in `task_queries`.

mod generic_records;
mod messages;
mod turns;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use parking_lot::Mutex;
use polis_core::board::{BoardHead, BoardName, VersionEntry};
use polis_core::changeset::{Fence, StoreWrite};
use polis_core::record::RecordBody;
use polis_core::society::RunId;
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::workspace_record::{AssignedWorkspace, Workspace};
use polis_core::{
    Agent, AgentId, Changeset, Event, RawJson, RecordKey, RegisteredAgent, TaskId, TaskRecord,
    TaskStatus, TaskType, Timestamp, WritePrecondition,
};
use polis_ops::port::{
    AgentReader, BoardFileGuard, BoardReader, BoardState, BoardText, CandidateQuery,
    ChangesetSource, CommentQuery, CommitOutcome, EventLogQuery, EventLogReader, Ledger,
    StatusCounts, TaskQuery, TaskReader, WorkspaceReader,
};
use polis_ops::{PortError, PortFuture, Receipt};
use tokio::sync::watch;

use crate::clock::START_MILLIS;
use crate::memory_boards;
use crate::task_queries;

/// A store without persistence.
#[derive(Debug)]
pub struct MemoryStore {
    state: Mutex<MemoryState>,
    sequence: watch::Sender<u64>,
    agent_lookups: Mutex<Vec<AgentId>>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            sequence: watch::Sender::new(0),
            agent_lookups: Mutex::default(),
        }
    }
}

impl MemoryStore {
    /// Returns the registry entries that were looked up since the last call.
    pub fn take_agent_lookups(&self) -> Vec<AgentId> {
        std::mem::take(&mut *self.agent_lookups.lock())
    }
}

#[derive(Debug, Clone, Default)]
struct MemoryState {
    tasks: BTreeMap<TaskId, StoredTask>,
    comments: HashMap<TaskId, Vec<Comment>>,
    agents: BTreeMap<AgentId, (Agent, u64)>,
    workspaces: BTreeMap<AgentId, AssignedWorkspace>,
    boards: memory_boards::MemoryBoards,
    generic_records: generic_records::GenericRecords,
    mailboxes: messages::MemoryMailboxes,
    turns: turns::MemoryConversations,
    events: Vec<Event>,
    raised_task_number: u64,
    fences: HashMap<Fence, u64>,
}

/// Returns whether an expectation does not hold for the revision found.
fn violates_expectation(expect: WritePrecondition, found: Option<u64>) -> bool {
    match expect {
        WritePrecondition::Absent => found.is_some(),
        WritePrecondition::Revision(revision) => found != Some(revision),
    }
}

/// A task with its open blockers, which may be negative while a changeset is partially applied.
#[derive(Debug, Clone)]
struct StoredTask {
    record: TaskRecord,
    open_blockers: i64,
}

impl StoredTask {
    fn to_record(&self) -> TaskRecord {
        TaskRecord {
            open_blockers: u32::try_from(self.open_blockers).unwrap_or(0),
            ..self.record.clone()
        }
    }
}

impl MemoryState {
    fn last_sequence(&self) -> u64 {
        self.events.len() as u64
    }

    fn last_task_number(&self) -> u64 {
        let highest = self.tasks.keys().next_back().map_or(0, |id| id.number());
        highest.max(self.raised_task_number)
    }

    fn task_records(&self) -> Vec<TaskRecord> {
        self.tasks.values().map(StoredTask::to_record).collect()
    }

    fn find_conflict(&self, write: &StoreWrite) -> Option<RecordKey> {
        match write {
            StoreWrite::PutTask { expect, record, .. } => {
                let id = record.task.id;
                let found = self.tasks.get(&id).map(|stored| stored.record.revision);
                violates_expectation(*expect, found).then_some(RecordKey::Task(id))
            }
            StoreWrite::PutAgent { expect, agent } => {
                let found = self.agents.get(&agent.id).map(|(_, revision)| *revision);
                violates_expectation(*expect, found).then(|| RecordKey::Agent(agent.id.clone()))
            }
            StoreWrite::PutWorkspace { expect, workspace } => {
                let id = &workspace.workspace_id;
                let found = self.workspaces.get(id).map(|found| found.revision);
                violates_expectation(*expect, found).then(|| RecordKey::Workspace(id.clone()))
            }
            StoreWrite::TouchFence { fence, expected } => {
                let found = self.fences.get(fence).copied().unwrap_or(0);
                (found != *expected).then_some(RecordKey::Fence(*fence))
            }
            StoreWrite::PutRecord { expect, name, .. }
            | StoreWrite::DeleteRecord { expect, name } => {
                self.generic_records.find_conflict(*expect, name)
            }
            StoreWrite::ReadMessages { recipient, ids } => {
                self.mailboxes.find_conflict(recipient, ids)
            }
            StoreWrite::AppendTurn { member, turn, .. } => self.turns.find_conflict(member, *turn),
            StoreWrite::DeleteExpiredRecords { .. }
            | StoreWrite::SendMessage(_)
            | StoreWrite::CreateTask(_)
            | StoreWrite::CloseBlocker { .. }
            | StoreWrite::RaiseTaskNumber(_)
            | StoreWrite::ReserveTaskNumber
            | StoreWrite::AddComment { .. }
            | StoreWrite::ChangeBoard(_)
            | StoreWrite::LeaseBoard(_) => None,
        }
    }

    /// Applies a changeset to this copy of the state, or returns the record it conflicts on.
    fn apply_changeset(&mut self, changes: Changeset) -> Result<Receipt, ApplyError> {
        let mut receipt = Receipt::default();
        if let Some(key) = turns::find_duplicate_turn(&changes.writes) {
            return Err(ApplyError::Conflict(key));
        }
        for write in &changes.writes {
            if let Some(key) = self.find_conflict(write) {
                return Err(ApplyError::Conflict(key));
            }
            self.apply_board_write(write, &changes, &mut receipt)
                .map_err(ApplyError::Conflict)?;
        }
        let of_receipt = |write: &StoreWrite| match write {
            StoreWrite::PutRecord { body, .. } | StoreWrite::AppendTurn { body, .. } => {
                matches!(body, RecordBody::FromReceipt(_))
            }
            _ => false,
        };
        let (last, writes): (Vec<_>, Vec<_>) = changes.writes.into_iter().partition(of_receipt);
        for write in writes {
            self.apply_write(write, &changes.at, &mut receipt)?;
        }
        for event in changes.events {
            let data = RawJson::parse(&event.payload.to_json())
                .map_err(|e| PortError::internal("Reading an event", e))?;
            self.events.push(Event {
                seq: self.last_sequence() + 1,
                at: changes.at.clone(),
                actor: changes.actor.to_string(),
                kind: event.kind().as_str().to_owned(),
                subject: event.subject.to_log_text(receipt.created),
                data,
            });
        }
        receipt.sequence = self.last_sequence();
        for write in last {
            self.apply_write(write, &changes.at, &mut receipt)?;
        }
        Ok(receipt)
    }

    /// Applies a write if it is one of a board. Boards are changed while conflicts are checked, because each
    /// change sees those before it.
    fn apply_board_write(
        &mut self,
        write: &StoreWrite,
        changes: &Changeset,
        receipt: &mut Receipt,
    ) -> Result<(), RecordKey> {
        match write {
            StoreWrite::ChangeBoard(write) => {
                let version = self
                    .boards
                    .apply_write(write, &changes.actor, &changes.at)?;
                receipt.board = Some(version);
            }
            StoreWrite::LeaseBoard(write) => self.boards.apply_lease(write)?,
            _ => {}
        }
        Ok(())
    }

    fn apply_write(
        &mut self,
        write: StoreWrite,
        at: &Timestamp,
        receipt: &mut Receipt,
    ) -> Result<(), PortError> {
        match write {
            StoreWrite::CreateTask(mut record) => {
                let id = TaskId::new(self.last_task_number() + 1).ok_or_else(|| {
                    PortError::internal("Numbering a task", "the task numbers are exhausted")
                })?;
                record.task.id = id;
                receipt.created = Some(id);
                self.put_task(*record, 0);
            }
            StoreWrite::PutTask {
                record,
                blocker_change,
                ..
            } => {
                let before = self.tasks.get(&record.task.id);
                let open = before.map_or(0, |stored| stored.open_blockers);
                self.put_task(*record, open + blocker_change);
            }
            StoreWrite::CloseBlocker { dependents } => {
                for id in dependents {
                    if let Some(stored) = self.tasks.get_mut(&id) {
                        stored.open_blockers -= 1;
                        let pending = stored.record.task.status == TaskStatus::Pending;
                        if stored.open_blockers == 0 && pending {
                            receipt.unblocked.push(id);
                        }
                    }
                }
            }
            StoreWrite::ReserveTaskNumber => {
                let next = self.last_task_number() + 1;
                receipt.created = TaskId::new(next);
                self.raised_task_number = next;
            }
            StoreWrite::RaiseTaskNumber(to) => {
                self.raised_task_number = self.raised_task_number.max(to);
            }
            StoreWrite::AddComment { task, comment } => {
                let comments = self.comments.entry(task).or_default();
                let number = comments.len() as u64 + 1;
                comments.push(comment.with_id(number));
                receipt.comment = Some(number);
            }
            StoreWrite::PutAgent { agent, .. } => {
                let revision = self.agents.get(&agent.id).map_or(0, |(_, r)| *r) + 1;
                self.agents.insert(agent.id.clone(), (agent, revision));
            }
            StoreWrite::PutWorkspace { workspace, .. } => {
                let id = workspace.workspace_id.clone();
                let revision = self.workspaces.get(&id).map_or(0, |found| found.revision) + 1;
                let stored = AssignedWorkspace {
                    workspace,
                    revision,
                };
                self.workspaces.insert(id, stored);
            }
            StoreWrite::TouchFence { fence, expected } => {
                self.fences.insert(fence, expected + 1);
            }
            StoreWrite::PutRecord {
                name,
                expires_at,
                body,
                ..
            } => self
                .generic_records
                .put_record(name, expires_at, &body, receipt),
            StoreWrite::DeleteRecord { name, .. } => self.generic_records.delete_record(&name),
            StoreWrite::DeleteExpiredRecords { kind, before } => {
                self.generic_records.delete_expired(kind, before);
            }
            StoreWrite::SendMessage(message) => {
                receipt.messages.push(self.mailboxes.send(*message));
            }
            StoreWrite::ReadMessages { ids, .. } => self.mailboxes.mark_read(&ids, at),
            StoreWrite::AppendTurn { member, turn, body } => {
                self.turns.append_turn(member, turn, &body, receipt);
            }
            // Already written by `apply_board_write`.
            StoreWrite::ChangeBoard(_) | StoreWrite::LeaseBoard(_) => {}
        }
        Ok(())
    }

    fn put_task(&mut self, record: TaskRecord, open_blockers: i64) {
        let stored = StoredTask {
            record,
            open_blockers,
        };
        self.tasks.insert(stored.record.task.id, stored);
    }
}

/// Why a changeset was not applied.
enum ApplyError {
    Conflict(RecordKey),
    Failed(PortError),
}

impl From<PortError> for ApplyError {
    fn from(error: PortError) -> Self {
        Self::Failed(error)
    }
}

impl MemoryStore {
    /// Runs `work` on a copy of the state, and keeps the copy if it succeeds.
    fn update_state(
        &self,
        work: impl FnOnce(&mut MemoryState) -> Result<Receipt, ApplyError>,
    ) -> Result<CommitOutcome, PortError> {
        let mut state = self.state.lock();
        let mut copy = state.clone();
        match work(&mut copy) {
            Ok(receipt) => {
                *state = copy;
                self.sequence.send_replace(state.last_sequence());
                Ok(CommitOutcome::Committed(receipt))
            }
            Err(ApplyError::Conflict(key)) => Ok(CommitOutcome::Conflict(key)),
            Err(ApplyError::Failed(error)) => Err(error),
        }
    }

    fn read_state<'a, T: Send + 'a>(
        &self,
        work: impl FnOnce(&MemoryState) -> T,
    ) -> PortFuture<'a, T> {
        let state = self.state.lock();
        Box::pin(std::future::ready(Ok(work(&state))))
    }
}

impl Ledger for MemoryStore {
    fn fence_revision(&self, fence: Fence) -> PortFuture<'_, u64> {
        self.read_state(|state| state.fences.get(&fence).copied().unwrap_or(0))
    }

    fn commit(&self, changes: Changeset) -> PortFuture<'_, CommitOutcome> {
        let outcome = self.update_state(|state| state.apply_changeset(changes));
        Box::pin(std::future::ready(outcome))
    }

    fn commit_stream<'a>(
        &'a self,
        source: &'a mut dyn ChangesetSource,
    ) -> PortFuture<'a, CommitOutcome> {
        let outcome = self.update_state(|state| {
            let mut all = Receipt::default();
            while let Some(changes) = source.next()? {
                let one = state.apply_changeset(changes)?;
                all.unblocked.extend(one.unblocked);
            }
            all.sequence = state.last_sequence();
            Ok(all)
        });
        Box::pin(std::future::ready(outcome))
    }
}

impl TaskReader for MemoryStore {
    fn tasks<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<TaskRecord>> {
        self.read_state(|state| {
            let mut all = state.task_records();
            all.retain(|record| ids.contains(&record.task.id));
            all
        })
    }

    fn scan_tasks(&self, after: Option<TaskId>, limit: u32) -> PortFuture<'_, Vec<TaskRecord>> {
        self.read_state(|state| {
            let all = state.task_records().into_iter();
            all.filter(|record| after.is_none_or(|after| record.task.id > after))
                .take(limit as usize)
                .collect()
        })
    }

    fn list_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, Vec<TaskSummary>> {
        self.read_state(|state| task_queries::list_tasks(&state.task_records(), query))
    }

    fn claim_candidates<'a>(
        &'a self,
        query: &'a CandidateQuery,
    ) -> PortFuture<'a, Vec<TaskRecord>> {
        self.read_state(|state| task_queries::claim_candidates(&state.task_records(), query))
    }

    fn tasks_waiting_for<'a>(
        &'a self,
        ids: &'a [TaskId],
    ) -> PortFuture<'a, Vec<(TaskId, Vec<TaskId>)>> {
        self.read_state(|state| {
            let found = ids.iter().filter_map(|id| state.tasks.get(id));
            found
                .filter(|stored| stored.record.task.status != TaskStatus::Deleted)
                .map(|stored| (stored.record.task.id, stored.record.task.blocks.clone()))
                .collect()
        })
    }

    fn comments<'a>(&'a self, query: &'a CommentQuery) -> PortFuture<'a, Vec<Comment>> {
        self.read_state(|state| {
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
        self.read_state(|state| {
            let newest = state
                .task_records()
                .into_iter()
                .rev()
                .map(|record| record.task);
            newest
                .filter(|task| task.status == TaskStatus::Completed)
                .filter(|task| !owner.is_empty() && task.owner == owner)
                .map(|task| task.task_type)
                .take(limit as usize)
                .collect()
        })
    }

    fn last_task_number(&self) -> PortFuture<'_, u64> {
        self.read_state(MemoryState::last_task_number)
    }

    fn count_matching_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, u64> {
        self.read_state(|state| {
            let whole = TaskQuery {
                after: None,
                limit: u32::MAX,
                ..query.clone()
            };
            task_queries::list_tasks(&state.task_records(), &whole).len() as u64
        })
    }

    fn unfinished_tasks_by_owner(&self) -> PortFuture<'_, Vec<(String, u64)>> {
        self.read_state(|state| {
            let mut loads = BTreeMap::<String, u64>::new();
            for record in state.task_records() {
                let task = record.task;
                if !task.owner.is_empty() && !task.status.is_finished() {
                    *loads.entry(task.owner).or_default() += 1;
                }
            }
            loads.into_iter().collect()
        })
    }

    fn held_tasks(&self, limit: u32) -> PortFuture<'_, Vec<TaskSummary>> {
        self.read_state(|state| {
            let mut newest = BTreeMap::new();
            for record in state.task_records() {
                let task = &record.task;
                if !task.owner.is_empty() && task.status == TaskStatus::InProgress {
                    newest.insert(task.owner.clone(), record);
                }
            }
            let mut tasks: Vec<_> = newest.values().map(TaskSummary::from_record).collect();
            tasks.sort_by_key(|task| std::cmp::Reverse(task.id));
            tasks.truncate(limit as usize);
            tasks
        })
    }

    fn count_tasks_by_status(&self) -> PortFuture<'_, StatusCounts> {
        self.read_state(|state| {
            let mut counts = StatusCounts::default();
            for stored in state.tasks.values() {
                *match stored.record.task.status {
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

impl AgentReader for MemoryStore {
    fn agent<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<RegisteredAgent>> {
        self.agent_lookups.lock().push(id.clone());
        self.read_state(|state| {
            let found = state.agents.get(id).cloned();
            found.map(|(agent, revision)| RegisteredAgent { agent, revision })
        })
    }

    fn agents(&self) -> PortFuture<'_, Vec<Agent>> {
        self.read_state(|state| state.agents.values().map(|(a, _)| a.clone()).collect())
    }

    fn agents_by_id<'a>(&'a self, ids: &'a [AgentId]) -> PortFuture<'a, Vec<Agent>> {
        self.read_state(|state| {
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
        self.read_state(|state| {
            let all = state.agents.values().map(|(agent, _)| agent);
            all.filter(|agent| agent.run.as_ref() == run)
                .filter(|agent| role.is_none_or(|role| agent.role == role))
                .cloned()
                .collect()
        })
    }
}

impl WorkspaceReader for MemoryStore {
    fn workspace<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<AssignedWorkspace>> {
        self.read_state(|state| state.workspaces.get(id).cloned())
    }

    fn workspaces(&self) -> PortFuture<'_, Vec<Workspace>> {
        self.read_state(|state| {
            let all = state.workspaces.values();
            all.map(|found| found.workspace.clone()).collect()
        })
    }
}

impl BoardReader for MemoryStore {
    fn board<'a>(&'a self, name: &'a BoardName) -> PortFuture<'a, Option<BoardState>> {
        self.read_state(|state| state.boards.board_state(name))
    }

    fn boards(&self) -> PortFuture<'_, Vec<BoardHead>> {
        self.read_state(|state| state.boards.board_heads())
    }

    fn board_text<'a>(
        &'a self,
        name: &'a BoardName,
        version: u64,
    ) -> PortFuture<'a, Option<BoardText>> {
        self.read_state(|state| state.boards.board_text(name, version))
    }

    fn board_versions<'a>(
        &'a self,
        name: &'a BoardName,
        limit: u32,
    ) -> PortFuture<'a, Vec<VersionEntry>> {
        self.read_state(|state| state.boards.board_versions(name, limit))
    }

    fn lock_board_file<'a>(
        &'a self,
        _: &'a BoardName,
        _: Duration,
    ) -> PortFuture<'a, Option<BoardFileGuard>> {
        let guard: BoardFileGuard = Box::new(());
        Box::pin(std::future::ready(Ok(Some(guard))))
    }

    fn store_created_at(&self) -> PortFuture<'_, Timestamp> {
        self.read_state(|_| Timestamp::from_millis(START_MILLIS))
    }
}

impl EventLogReader for MemoryStore {
    fn events<'a>(&'a self, query: &'a EventLogQuery) -> PortFuture<'a, Vec<Event>> {
        self.read_state(|state| {
            let matches_query = |event: &&Event| {
                let subject = query.subject.as_ref();
                event.seq > query.after
                    && query.before.is_none_or(|before| event.seq < before)
                    && subject.is_none_or(|s| *s == event.subject)
                    && event
                        .known_kind()
                        .is_none_or(|kind| !query.excluded_kinds.contains(&kind))
            };
            let mut found: Vec<Event> =
                state.events.iter().filter(matches_query).cloned().collect();
            let limit = query.limit as usize;
            if query.newest {
                found.drain(..found.len().saturating_sub(limit));
            }
            found.truncate(limit);
            found
        })
    }

    fn last_sequence(&self) -> PortFuture<'_, u64> {
        self.read_state(MemoryState::last_sequence)
    }

    fn wait_for_event_after(&self, after: u64, timeout: Duration) -> PortFuture<'_, u64> {
        let mut sequence = self.sequence.subscribe();
        Box::pin(async move {
            let beyond = sequence.wait_for(|&last| last > after);
            // On an event as on timeout, the answer is the current end of the log.
            let _ = tokio::time::timeout(timeout, beyond).await;
            self.last_sequence().await
        })
    }
}
