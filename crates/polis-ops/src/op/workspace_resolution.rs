//! Helpers shared by the workspace operations: resolving the workspace a caller acts in, and logging its actions.
//!
//! A file is changed first and logged afterwards, because the file cannot be part of the store's commit. If logging
//! then fails, the response still reports the change of the file, and states that it is not in the log.

use polis_core::workspace::record::{self, AssignedWorkspace, Climb};
use polis_core::{AgentId, Caller, Changeset, Code, NewEvent, Registered, Standing, Subject};
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::{Outcome, PortError, Site};
use polis_core::event::kind;

/// Selects a workspace: the acting agent, and whose workspace it uses.
#[derive(Debug, Clone, Copy)]
pub struct Desk<'a> {
    /// The acting agent.
    pub by: &'a AgentId,
    /// Whose workspace; the one that `by` works in if `None`. Only the person may name a workspace that it does not
    /// work in.
    pub of: Option<&'a AgentId>,
}

impl<'a> Desk<'a> {
    /// Selects the workspace that an agent works in.
    pub fn own(by: &'a AgentId) -> Self {
        Self { by, of: None }
    }
}

/// An answer, and whether the log has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Noted<T> {
    /// The answer.
    #[serde(flatten)]
    pub answer: T,
    /// False if it was done, but the log could not be written; left out otherwise.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub logged: bool,
}

/// A caller with its resolved workspace.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) caller: Caller,
    pub(super) site: Site,
}

/// Event payload of a refused attempt.
#[derive(Debug, Serialize)]
struct RefusedUse<'a> {
    op: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    code: Code,
}

pub(super) fn site_of(found: &AssignedWorkspace) -> Site {
    Site {
        workspace: found.workspace.workspace_id.clone(),
        bound: found.workspace.workspace_path.clone(),
    }
}

/// Truncates a text for the log.
pub(super) fn cut(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

impl Polis {
    /// Resolves the caller and its workspace, or fails. `op` and `path` are used to log a refusal.
    pub(super) async fn at_desk(
        &self,
        desk: Desk<'_>,
        op: &'static str,
        path: Option<&str>,
    ) -> Result<Worker, OpError> {
        let entry = self.entry(desk.by).await?;
        let caller = self.resolve(desk.by, entry.as_ref())?;
        let own = self.workspace_of(desk.by, entry).await;
        let Some(of) = desk.of else {
            let site = site_of(&own?);
            return Ok(Worker { caller, site });
        };
        let of_entry = self.entry(of).await?;
        let site = site_of(&self.workspace_of(of, of_entry).await?);
        let own = own.ok().map(|found| found.workspace.workspace_id);
        if let Err(refusal) = record::check_use(&caller, own.as_ref(), &site.workspace) {
            let worker = Worker { caller, site };
            self.note_refusal(&worker, op, path, refusal.code).await;
            return Err(refusal.into());
        }
        Ok(Worker { caller, site })
    }

    /// Returns the workspace an agent works in: its own, or that of its nearest supervisor that has one.
    async fn workspace_of(
        &self,
        agent: &AgentId,
        entry: Option<Registered>,
    ) -> Result<AssignedWorkspace, OpError> {
        let registered = entry.is_some();
        let mut entry = entry;
        let mut climb = Climb::from(agent);
        while let Some(here) = climb.here() {
            if let Some(found) = self.store.workspace(here).await? {
                return Ok(found);
            }
            let above = entry.take().and_then(|found| found.agent.supervisor);
            climb.up(above.as_ref());
            if let Some(next) = climb.here() {
                entry = self.entry(next).await?;
            }
        }
        Err(record::not_assigned(agent, registered).into())
    }

    /// Logs an action in a workspace. Returns whether it was committed.
    pub(super) async fn note(
        &self,
        worker: &Worker,
        kind: &'static str,
        data: &(impl Serialize + Sync),
    ) -> bool {
        let event = NewEvent::of(kind, worker.subject(), data);
        self.note_event(worker, event).await
    }

    /// Like [`Self::note`], for an existing event.
    pub(super) async fn note_event(&self, worker: &Worker, event: NewEvent) -> bool {
        let told = self
            .store
            .commit(Changeset::by(&worker.caller, self.now()).event(event))
            .await;
        matches!(told, Ok(Outcome::Committed(_)))
    }

    async fn note_refusal(
        &self,
        worker: &Worker,
        op: &'static str,
        path: Option<&str>,
        code: Code,
    ) {
        const SHOWN: usize = 200;
        let path = path.map(|path| cut(path, SHOWN));
        let data = RefusedUse { op, path, code };
        self.note(worker, kind::FILE_REFUSED, &data).await;
    }

    /// Returns the answer unchanged. An attempt to escape from the workspace is logged; it is refused even if logging
    /// fails.
    pub(super) async fn guarded<T>(
        &self,
        worker: &Worker,
        op: &'static str,
        path: Option<&str>,
        answer: Result<T, PortError>,
    ) -> Result<T, OpError> {
        if let Err(error) = &answer
            && error.code == Code::PathTraversalBlocked
        {
            self.note_refusal(worker, op, path, error.code).await;
        }
        Ok(answer?)
    }
}

impl Worker {
    /// Returns the subject of this caller's events.
    pub(super) fn subject(&self) -> Subject {
        Subject::Workspace(self.site.workspace.clone())
    }

    /// Returns whether the caller may see the location of a workspace on this machine.
    pub(super) fn owns_the_machine(&self) -> bool {
        self.caller.standing == Standing::Human
    }
}
