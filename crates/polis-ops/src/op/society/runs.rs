//! Lists runs and shows one run, filtered by the caller's visibility. Only the person sees the directory of a run's
//! workspace.

use polis_core::AgentId;
use polis_core::record::RecordKind;
use polis_core::society::RunId;
use polis_core::society::run::{Run, RunStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PAGE, check_sight, read};
use crate::error::OpError;
use crate::op::pagination::page;
use crate::polis::Polis;

/// The parameters of whatever is about a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OfRun {
    /// The run.
    pub task_id: RunId,
}

/// The parameters of listing runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListRuns {
    /// Only those that stand like this; all that are not over if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// Those that are over, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// The `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<RunId>,
    /// At most so many; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Runs, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunList {
    /// The runs.
    pub runs: Vec<Run>,
    /// Where the next page begins; left out if this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<RunId>,
}

/// Returns a page of the runs that the caller may see.
pub async fn list_runs(
    polis: &Polis,
    caller: &AgentId,
    params: &ListRuns,
) -> Result<RunList, OpError> {
    let caller = polis.caller(caller).await?;
    let mut runs = Vec::new();
    let mut after = params.cursor.as_ref().map(ToString::to_string);
    loop {
        let found = polis.store.records(RecordKind::Run, after.as_deref(), PAGE);
        let found = found.await?;
        let Some(last) = found.last() else { break };
        after = Some(last.id.clone());
        for stored in &found {
            let run = read::<Run>(stored)?.value;
            let wanted = match params.status {
                Some(status) => run.status == status,
                None => params.all || run.status != RunStatus::Stopped,
            };
            if wanted && check_sight(&caller, &run).is_ok() {
                runs.push(run);
            }
        }
    }
    let next = page(&mut runs, params.limit).map(|last| last.id.clone());
    for run in &mut runs {
        hide(&caller, run);
    }
    Ok(RunList { runs, next })
}

/// Returns a run. Fails with `RunNotFound` if it does not exist or the caller may not see it.
pub async fn show_run(polis: &Polis, caller: &AgentId, params: &OfRun) -> Result<Run, OpError> {
    let caller = polis.caller(caller).await?;
    let mut run = polis.meant(&caller, Some(&params.task_id)).await?.value;
    hide(&caller, &mut run);
    Ok(run)
}

/// Removes the path of the workspace directory unless the caller is the person: agents must not learn paths of the
/// host.
pub(super) fn hide(caller: &polis_core::Caller, run: &mut Run) {
    if caller.standing != polis_core::Standing::Human {
        run.workspace_path = None;
    }
}
