//! Starting a run.

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

/// How many letters of chance a run's name has.
const LETTERS: usize = 8;

/// Starts a run: its `root` has the requirement in its mailbox, and whoever drives runs wakes it.
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
            // Nothing is made for a request that is refused.
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

/// The run's name: the one that is asked for, or one that nobody has had.
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
        // Who hires without being in a run has one that is named after it.
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

/// Refuses a directory that overlaps the workspace of a team that still works, or the one of another run that has
/// hired nobody yet. A directory whose team is gone may be worked in again.
pub(super) async fn check_directory(polis: &Polis, directory: String) -> Result<Binding, OpError> {
    let mut binding = polis.live_binding(directory).await?;
    binding.workspaces.extend(promised(polis).await?);
    binding.check_for(None)?;
    Ok(binding)
}

/// The same for the first hire of a run, whose directory it is.
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

/// The directories of runs that go on.
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
    /// A directory as a workspace is bound to it, beside those of teams that still work: where the head of a run was
    /// dismissed with everybody below it, nobody works any more.
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
