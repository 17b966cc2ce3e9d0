//! Helpers shared by the workspace operations: resolving the workspace a caller acts in, and logging its
//! actions.
//!
//! A file is changed first and logged afterwards, because the file cannot be part of the store's commit. If
//! logging then fails, the response still reports the change of the file, and states that it is not in the
//! log.

use polis_core::event::FileRefusedEvent;
use polis_core::workspace::workspace_record::{self, AncestorWalk, AssignedWorkspace};
use polis_core::{
    AgentId, Caller, CallerKind, Changeset, EventPayload, EventSubject, NewEvent, RefusalCode,
    RegisteredAgent,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::error::OpError;
use crate::port::{CommitOutcome, PortError, WorkspaceLocation};
use crate::request::{Request, load_registry_entry};

/// A result, and whether it was logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoggedResult<T> {
    /// The result.
    #[serde(flatten)]
    pub result: T,
    /// False if the action succeeded but could not be logged; omitted otherwise.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub logged: bool,
}

/// A caller with its resolved workspace.
#[derive(Debug)]
pub(crate) struct WorkspaceActor {
    pub(crate) caller: Caller,
    pub(crate) location: WorkspaceLocation,
}

pub(crate) fn workspace_location(assigned: &AssignedWorkspace) -> WorkspaceLocation {
    WorkspaceLocation {
        owner: assigned.workspace.workspace_id.clone(),
        bound_directory: assigned.workspace.workspace_path.clone(),
    }
}

/// Truncates a text for the log.
pub(crate) fn truncate_for_log(text: &str, max_bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(max_bytes))
        .unwrap_or(text)
}

/// Resolves the caller and a workspace: that of `owner`, or the one that the caller works in. Fails with
/// `workspace_not_assigned` if there is none, and with `permission_denied` if a caller other than the person
/// names a workspace that it does not work in. `op` and `path` are used to log a refusal.
pub(crate) async fn resolve_workspace(
    request: &Request,
    owner: Option<&AgentId>,
    op: &'static str,
    path: Option<&str>,
) -> Result<WorkspaceActor, OpError> {
    let caller = request.resolve_caller().await?;
    let entry = request.caller_entry().await?;
    let own = find_workspace(&request.app, request.agent(), entry).await;
    let Some(owner) = owner else {
        let location = workspace_location(&own?);
        return Ok(WorkspaceActor { caller, location });
    };
    let of_entry = request.registry_entry(owner).await?;
    let location = workspace_location(&find_workspace(&request.app, owner, of_entry).await?);
    let own_id = own.ok().map(|found| found.workspace.workspace_id);
    if let Err(refusal) =
        workspace_record::check_workspace_use(&caller, own_id.as_ref(), &location.owner)
    {
        let actor = WorkspaceActor { caller, location };
        log_workspace_refusal(&request.app, &actor, op, path, refusal.code).await;
        return Err(refusal.into());
    }
    Ok(WorkspaceActor { caller, location })
}

/// Returns the workspace an agent works in: its own, or that of its nearest supervisor that has one.
async fn find_workspace(
    app: &App,
    agent: &AgentId,
    entry: Option<RegisteredAgent>,
) -> Result<AssignedWorkspace, OpError> {
    let registered = entry.is_some();
    let mut entry = entry;
    let mut walk = AncestorWalk::new(agent);
    while let Some(current) = walk.current() {
        if let Some(found) = app.store.workspace(current).await? {
            return Ok(found);
        }
        let supervisor = entry.take().and_then(|found| found.agent.supervisor);
        walk.move_up(supervisor.as_ref());
        if let Some(next) = walk.current() {
            entry = load_registry_entry(app, next).await?;
        }
    }
    Err(workspace_record::workspace_not_assigned(agent, registered).into())
}

/// Logs an action in a workspace. Returns whether it was committed.
pub(crate) async fn log_action(app: &App, actor: &WorkspaceActor, payload: EventPayload) -> bool {
    let event = NewEvent::new(actor.event_subject(), payload);
    let outcome = app
        .store
        .commit(Changeset::new(&actor.caller, app.now()).with_event(event))
        .await;
    matches!(outcome, Ok(CommitOutcome::Committed(_)))
}

async fn log_workspace_refusal(
    app: &App,
    actor: &WorkspaceActor,
    op: &'static str,
    path: Option<&str>,
    code: RefusalCode,
) {
    const MAX_LOGGED_PATH_BYTES: usize = 200;
    let path = path.map(|path| truncate_for_log(path, MAX_LOGGED_PATH_BYTES));
    let data = FileRefusedEvent {
        op: op.to_owned(),
        path: path.map(ToOwned::to_owned),
        code: code.as_str().to_owned(),
    };
    log_action(app, actor, EventPayload::FileRefused(data)).await;
}

/// Returns the result of a file operation. If it was refused as an attempt to leave the workspace, that
/// is logged; it is refused even if logging fails.
pub(crate) async fn log_escape_attempt<T>(
    app: &App,
    actor: &WorkspaceActor,
    op: &'static str,
    path: Option<&str>,
    answer: Result<T, PortError>,
) -> Result<T, OpError> {
    if let Err(error) = &answer
        && error.code == RefusalCode::PATH_TRAVERSAL_BLOCKED
    {
        log_workspace_refusal(app, actor, op, path, error.code).await;
    }
    Ok(answer?)
}

impl WorkspaceActor {
    /// Returns the subject of this caller's events.
    pub(crate) fn event_subject(&self) -> EventSubject {
        EventSubject::Workspace(self.location.owner.clone())
    }

    /// Returns whether the caller may see the location of a workspace on this machine.
    pub(crate) fn may_see_location(&self) -> bool {
        self.caller.kind == CallerKind::Person
    }
}
