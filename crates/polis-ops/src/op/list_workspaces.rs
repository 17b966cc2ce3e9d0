//! Operations that list all workspaces, and report the contents of one.

use polis_core::workspace::file::WorkspaceInfo;
use polis_core::workspace::record::Workspace;
use polis_core::{AgentId, Standing, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::workspace_resolution::Desk;
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::Site;

/// What is in a workspace, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceReport {
    /// What is in it.
    #[serde(flatten)]
    pub info: WorkspaceInfo,
    /// The agent it belongs to.
    pub workspace_id: AgentId,
    /// Where it is; told to the person only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_path: Option<String>,
}

/// One workspace of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkspaceEntry {
    /// The agent it belongs to.
    pub workspace_id: AgentId,
    /// Where it is; told to the person only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_path: Option<String>,
    /// Whether it is bound to a directory of somebody's choice.
    pub bound: bool,
    /// Whether its directory is there; a default one is made by the first write.
    pub created: bool,
    /// When it was assigned.
    pub created_at: Timestamp,
}

/// All workspaces, by agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WorkspaceList {
    /// The workspaces.
    pub workspaces: Vec<WorkspaceEntry>,
}

/// Returns a summary of the contents of a workspace.
pub async fn get_workspace_info(polis: &Polis, desk: Desk<'_>) -> Result<WorkspaceReport, OpError> {
    let worker = polis.at_desk(desk, "get_workspace_info", None).await?;
    let info = polis.files.info(&worker.site).await?;
    let shown = worker.owns_the_machine();
    Ok(WorkspaceReport {
        info,
        workspace_path: shown.then(|| polis.files.location(&worker.site)),
        workspace_id: worker.site.workspace,
    })
}

/// Lists all workspaces.
pub async fn list_workspaces(polis: &Polis, caller: &AgentId) -> Result<WorkspaceList, OpError> {
    let caller = polis.caller(caller).await?;
    let shown = caller.standing == Standing::Human;
    let mut workspaces = Vec::new();
    for workspace in polis.store.workspaces().await? {
        workspaces.push(entry(polis, workspace, shown).await);
    }
    Ok(WorkspaceList { workspaces })
}

pub(super) async fn entry(polis: &Polis, workspace: Workspace, shown: bool) -> WorkspaceEntry {
    let bound = workspace.workspace_path.is_some();
    let site = Site {
        workspace: workspace.workspace_id,
        bound: workspace.workspace_path,
    };
    WorkspaceEntry {
        // If the directory cannot be checked, for example because it is on another machine, it counts as missing.
        created: polis.files.exists(&site).await.unwrap_or(false),
        workspace_path: shown.then(|| polis.files.location(&site)),
        workspace_id: site.workspace,
        bound,
        created_at: workspace.created_at,
    }
}
