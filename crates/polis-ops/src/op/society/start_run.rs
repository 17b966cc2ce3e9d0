//! Operation that starts a run: chooses its name, checks that its workspace directory overlaps no other one
//! in use, and commits the run with its first message in the mailbox of its `root`.

use polis_core::record::RecordKind;
use polis_core::society::RunId;
use polis_core::society::run::{Run, RunStatus};
use polis_core::society::start_run::{self, StartRunParams};
use polis_core::workspace::workspace_record::{Workspace, WorkspaceBinding};
use polis_core::{AgentId, Changeset, Refusal};

use super::parse_record;
use crate::app::App;
use crate::error::OpError;
use crate::op::society::load_run;
use crate::op::workspace::bind_workspace::load_binding;
use crate::refusal_tables::OperationRefusal;
use crate::request::{AttemptFuture, Request};
use crate::tool::check_tool_names;

/// Number of random characters in a generated run name.
const RANDOM_NAME_CHARS: usize = 8;

/// Starts a run. The requirement, or the message of the request, is delivered to the mailbox of its `root`,
/// and a worker that drives runs wakes it. Fails with `permission_denied` if the caller may not manage agents
/// or is a member of a run, with `invalid_brief` if the requirement or a role is invalid, with
/// `invalid_input` if the name is taken or a tool does not exist, and with `invalid_workspace` or
/// `workspace_overlaps` if the directory cannot be bound.
pub async fn start_run(request: &Request, params: &StartRunParams) -> Result<Run, OpError> {
    let caller = &request.resolve_caller().await?;
    check_tool_names(&params.approve, false)?;
    check_tool_names(&request.app.settings.society.approval_tools, false)?;
    for role in &params.roles {
        super::roles::check_role_tools(role)?;
    }
    let decide = || -> AttemptFuture<'_, Run> {
        Box::pin(async move {
            let id = choose_run_id(request, params).await?;
            let settings = &request.app.settings;
            let decide = |directory: Option<String>| {
                start_run::decide_start_run(
                    params,
                    id.clone(),
                    directory,
                    settings.society.default_budget,
                    &settings.policy,
                    caller,
                    request.app.clock.now_millis(),
                )
            };
            let decided = decide(None)?;
            let Some(directory) = &params.workspace_path else {
                return Ok(decided);
            };
            let resolved = request.app.files.resolve(directory).await?;
            // A refused request must not create the directory.
            check_run_directory(&request.app, resolved).await?;
            let bound = request.app.files.bind(directory).await?;
            let fence = check_run_directory(&request.app, bound.clone()).await?;
            let (run, mut changes): (Run, Changeset) = decide(Some(bound))?;
            changes.writes.push(fence.touch_fence());
            Ok((run, changes))
        })
    };
    request.retry_on_conflict(decide, |run, _| run).await
}

/// Returns the run's name: the requested one, or a random one. Fails with `InvalidInput` if the requested
/// name is taken.
async fn choose_run_id(request: &Request, params: &StartRunParams) -> Result<RunId, OpError> {
    let name_taken = |id: &RunId| -> OpError {
        Refusal::from(OperationRefusal::RunNameTaken { id: id.to_string() }).into()
    };
    if let Some(id) = &params.run_id {
        // An agent outside of any run hires for a run named after it, so agent names are taken as well.
        let agent: AgentId = id.as_str().parse()?;
        let fixed = AgentId::RESERVED_NAMES.contains(&agent.as_str());
        if fixed
            || load_run(&request.app, id).await.is_ok()
            || request.registry_entry(&agent).await?.is_some()
        {
            return Err(name_taken(id));
        }
        return Ok(id.clone());
    }
    let token = request.app.random.random_token();
    let from = token.len().saturating_sub(RANDOM_NAME_CHARS);
    let token = token.get(from..).unwrap_or_default();
    Ok(format!("run-{token}").parse()?)
}

/// Fails with `WorkspaceOverlaps` if the directory overlaps the workspace of an active team, or the directory
/// of a run that has not hired yet. The directory of a dismissed team may be used again.
pub(super) async fn check_run_directory(
    app: &App,
    directory: String,
) -> Result<WorkspaceBinding, OpError> {
    let mut binding = load_active_binding(app, directory).await?;
    binding
        .workspaces
        .extend(list_reserved_directories(app).await?);
    binding.check_no_overlap_for(None)?;
    Ok(binding)
}

/// Returns the binding of a run's directory for its first hire. Like [`check_run_directory`], but the run's
/// own claim on the directory is left out, and the caller's rule checks for overlaps. Fails only if the store
/// does.
pub(super) async fn load_run_binding(
    app: &App,
    directory: String,
    run: &RunId,
) -> Result<WorkspaceBinding, OpError> {
    let mut binding = load_active_binding(app, directory).await?;
    let own_id = run.as_str();
    let reserved = list_reserved_directories(app).await?.into_iter();
    let reserved: Vec<Workspace> = reserved
        .filter(|one| one.workspace_id.as_str() != own_id)
        .collect();
    binding.workspaces.extend(reserved);
    Ok(binding)
}

/// Returns the directories reserved by runs that are not stopped.
async fn list_reserved_directories(app: &App) -> Result<Vec<Workspace>, OpError> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = app
            .store
            .records(RecordKind::Run, after.as_deref(), super::PAGE_SIZE);
        let page = page.await?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        after = Some(last.id.clone());
        for stored in &page {
            let run = parse_record::<Run>(stored)?.value;
            if run.status == RunStatus::Stopped || run.workspace_path.is_none() {
                continue;
            }
            found.push(Workspace {
                workspace_id: run.id.as_str().parse()?,
                workspace_path: run.workspace_path,
                created_at: run.created_at,
            });
        }
    }
}

/// Returns the binding of a workspace to a directory, together with the workspaces of active teams. A
/// workspace is left out if its owner was a member of a run and is retired: dismissing the owner
/// dismissed its whole team. Fails only if the store does.
pub(super) async fn load_active_binding(
    app: &App,
    directory: String,
) -> Result<WorkspaceBinding, OpError> {
    let mut binding = load_binding(app, directory).await?;
    let owners: Vec<AgentId> = (binding.workspaces.iter())
        .filter(|workspace| workspace.workspace_path.is_some())
        .map(|workspace| workspace.workspace_id.clone())
        .collect();
    let retired: Vec<AgentId> = (app.store.agents_by_id(&owners).await?.into_iter())
        .filter(|agent| agent.run.is_some() && agent.status == polis_core::AgentStatus::Retired)
        .map(|agent| agent.id)
        .collect();
    binding
        .workspaces
        .retain(|workspace| !retired.contains(&workspace.workspace_id));
    Ok(binding)
}
