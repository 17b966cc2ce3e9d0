//! Starts a run: chooses its name, checks that its workspace directory overlaps no other one in use, and commits the
//! run with the requirement in the mailbox of its `root`.

use polis_core::record::RecordKind;
use polis_core::society::RunId;
use polis_core::society::run::{Run, RunStatus};
use polis_core::society::start::{self, StartRun};
use polis_core::workspace::record::{Binding, Workspace};
use polis_core::{AgentId, Changeset, Code, Refusal};

use super::read;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::tool::check_names;

/// Number of random characters in a generated run name.
const LETTERS: usize = 8;

/// Starts a run. The requirement is delivered to the mailbox of its `root`, and a worker that drives runs wakes it.
pub async fn start_run(polis: &Polis, caller: &AgentId, params: &StartRun) -> Result<Run, OpError> {
    let caller = &polis.caller(caller).await?;
    check_names(&params.approve, false)?;
    check_names(&polis.settings.society.approve, false)?;
    for role in &params.roles {
        super::roles::check_tools(role)?;
    }
    let decide = || -> Attempt<'_, Run> {
        Box::pin(async move {
            let id = name(polis, params).await?;
            let settings = &polis.settings;
            let decide = |directory: Option<String>| {
                start::decide_start(
                    params,
                    id.clone(),
                    directory,
                    settings.society.limits,
                    &settings.policy,
                    caller,
                    polis.clock.now_millis(),
                )
            };
            let decided = decide(None)?;
            let Some(directory) = &params.workspace_path else {
                return Ok(decided);
            };
            let resolved = polis.files.resolve(directory).await?;
            // A refused request must not create the directory.
            check_directory(polis, resolved).await?;
            let bound = polis.files.bind(directory).await?;
            let fence = check_directory(polis, bound.clone()).await?;
            let (run, mut changes): (Run, Changeset) = decide(Some(bound))?;
            changes.writes.push(fence.touch());
            Ok((run, changes))
        })
    };
    polis.settle(decide, |run, _| run).await
}

/// Returns the run's name: the requested one, or a random one. Fails with `InvalidInput` if the requested name is
/// taken.
async fn name(polis: &Polis, params: &StartRun) -> Result<RunId, OpError> {
    let taken = |id: &RunId| -> OpError {
        Refusal::new(
            Code::InvalidInput,
            format!("There is a run \"{id}\", or an agent of this name."),
            "choose another name, or leave it out",
        )
        .into()
    };
    if let Some(id) = &params.task_id {
        // An agent outside of any run hires for a run named after it, so agent names are taken as well.
        let agent: AgentId = id.as_str().parse()?;
        let fixed = AgentId::FIXED.contains(&agent.as_str());
        if fixed || polis.run(id).await.is_ok() || polis.entry(&agent).await?.is_some() {
            return Err(taken(id));
        }
        return Ok(id.clone());
    }
    let token = polis.chance.token();
    let from = token.len().saturating_sub(LETTERS);
    let token = token.get(from..).unwrap_or_default();
    Ok(format!("run-{token}").parse()?)
}

/// Fails with `workspace_overlaps` if the directory overlaps the workspace of an active team, or the directory of a run
/// that has not hired yet. The directory of a dismissed team may be used again.
pub(super) async fn check_directory(polis: &Polis, directory: String) -> Result<Binding, OpError> {
    let mut binding = polis.live_binding(directory).await?;
    binding.workspaces.extend(promised(polis).await?);
    binding.check_for(None)?;
    Ok(binding)
}

/// Returns the binding of a run's directory for its first hire. Like [`check_directory`], but the run's own claim on
/// the directory is left out, and the caller's decision checks for overlaps.
pub(super) async fn check_own_directory(
    polis: &Polis,
    directory: String,
    run: &RunId,
) -> Result<Binding, OpError> {
    let mut binding = polis.live_binding(directory).await?;
    let own = run.as_str();
    let others = promised(polis).await?.into_iter();
    let others: Vec<Workspace> = others
        .filter(|one| one.workspace_id.as_str() != own)
        .collect();
    binding.workspaces.extend(others);
    Ok(binding)
}

/// Returns the directories reserved by runs that are not stopped.
async fn promised(polis: &Polis) -> Result<Vec<Workspace>, OpError> {
    let mut found = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = polis
            .store
            .records(RecordKind::Run, after.as_deref(), super::PAGE);
        let page = page.await?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        after = Some(last.id.clone());
        for stored in &page {
            let run = read::<Run>(stored)?.value;
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

impl Polis {
    /// Returns the binding of a workspace to a directory, together with the workspaces of active teams. A workspace is
    /// left out if its owner was a member of a run and is retired: dismissing the owner dismissed its whole team.
    pub(super) async fn live_binding(&self, directory: String) -> Result<Binding, OpError> {
        let mut binding = self.binding(directory).await?;
        let owners: Vec<AgentId> = (binding.workspaces.iter())
            .filter(|workspace| workspace.workspace_path.is_some())
            .map(|workspace| workspace.workspace_id.clone())
            .collect();
        let gone: Vec<AgentId> = (self.store.named(&owners).await?.into_iter())
            .filter(|agent| agent.run.is_some() && agent.status == polis_core::AgentStatus::Retired)
            .map(|agent| agent.id)
            .collect();
        binding
            .workspaces
            .retain(|workspace| !gone.contains(&workspace.workspace_id));
        Ok(binding)
    }
}
