//! Operations that list the workspaces of all agents, and summarize one: number of files and directories,
//! total size and time of the last change. Only the person sees absolute paths.

use polis_core::workspace::file_tools::WorkspaceInfo;
use polis_core::workspace::workspace_record::Workspace;
use polis_core::{AgentId, CallerKind, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::error::OpError;
use crate::loading::workspace_resolution::resolve_workspace;
use crate::port::WorkspaceLocation;
use crate::request::Request;

/// Contents and owner of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceReport {
    /// Summary of its contents.
    #[serde(flatten)]
    pub info: WorkspaceInfo,
    /// The agent it belongs to.
    pub workspace_id: AgentId,
    /// Its absolute path; shown to the person only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_path: Option<String>,
}

/// One workspace of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceEntry {
    /// The agent it belongs to.
    pub workspace_id: AgentId,
    /// Its absolute path; shown to the person only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_path: Option<String>,
    /// Whether it is bound to a directory that a person chose.
    pub bound: bool,
    /// Whether its directory exists; a default one is created by the first write.
    pub created: bool,
    /// When it was assigned.
    pub created_at: Timestamp,
}

/// All workspaces, ordered by agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkspaceList {
    /// The workspaces.
    pub workspaces: Vec<WorkspaceEntry>,
}

/// Returns a summary of the contents of a workspace. Fails with `workspace_not_assigned` if the agent has
/// none, and with `permission_denied` if the caller may not use it.
pub async fn get_workspace_info(
    request: &Request,
    owner: Option<&AgentId>,
) -> Result<WorkspaceReport, OpError> {
    let actor = resolve_workspace(request, owner, "get_workspace_info", None).await?;
    let info = request.app.files.info(&actor.location).await?;
    let show_location = actor.may_see_location();
    Ok(WorkspaceReport {
        info,
        workspace_path: show_location.then(|| request.app.files.location(&actor.location)),
        workspace_id: actor.location.owner,
    })
}

/// Returns all workspaces, ordered by agent. Only the person sees their directories. Fails with
/// `permission_denied` if the caller may not act.
pub async fn list_workspaces(request: &Request) -> Result<WorkspaceList, OpError> {
    let caller = request.resolve_caller().await?;
    let show_location = caller.kind == CallerKind::Person;
    let mut workspaces = Vec::new();
    for workspace in request.app.store.workspaces().await? {
        workspaces.push(workspace_entry(&request.app, workspace, show_location).await);
    }
    Ok(WorkspaceList { workspaces })
}

pub(crate) async fn workspace_entry(
    app: &App,
    workspace: Workspace,
    show_location: bool,
) -> WorkspaceEntry {
    let bound = workspace.workspace_path.is_some();
    let location = WorkspaceLocation {
        owner: workspace.workspace_id,
        bound_directory: workspace.workspace_path,
    };
    WorkspaceEntry {
        // If the directory cannot be checked, for example because it is on another machine, it counts as
        // missing.
        created: app.files.exists(&location).await.unwrap_or(false),
        workspace_path: show_location.then(|| app.files.location(&location)),
        workspace_id: location.owner,
        bound,
        created_at: workspace.created_at,
    }
}
