//! Operations that list runs and show one run, filtered by the caller's visibility. Only the person sees the
//! directory of a run's workspace.

use polis_core::record::RecordKind;
use polis_core::society::RunId;
use polis_core::society::run::{Run, RunStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PAGE_SIZE, check_run_visible, parse_record};
use crate::error::OpError;
use crate::op::society::resolve_run;
use crate::pagination::truncate_page;
use crate::request::Request;

/// Parameters of operations that need only a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunIdParams {
    /// The run.
    #[serde(alias = "taskId")]
    pub run_id: RunId,
}

/// Parameters of `list_runs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListRunsParams {
    /// Only runs with this status; default: all that are not stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// Include stopped runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<RunId>,
    /// Maximum number of entries; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of runs, ordered by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunList {
    /// The runs.
    pub runs: Vec<Run>,
    /// Cursor of the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<RunId>,
}

/// Returns a page of the runs that the caller may see. Fails with `permission_denied` if the caller may not
/// act.
pub async fn list_runs(request: &Request, params: &ListRunsParams) -> Result<RunList, OpError> {
    let caller = request.resolve_caller().await?;
    let mut runs = Vec::new();
    let mut after = params.cursor.as_ref().map(ToString::to_string);
    loop {
        let found = request
            .app
            .store
            .records(RecordKind::Run, after.as_deref(), PAGE_SIZE);
        let found = found.await?;
        let Some(last) = found.last() else { break };
        after = Some(last.id.clone());
        for stored in &found {
            let run = parse_record::<Run>(stored)?.value;
            let is_match = match params.status {
                Some(status) => run.status == status,
                None => params.all || run.status != RunStatus::Stopped,
            };
            if is_match && check_run_visible(&caller, &run).is_ok() {
                runs.push(run);
            }
        }
    }
    let next = truncate_page(&mut runs, params.limit).map(|last| last.id.clone());
    for run in &mut runs {
        hide_workspace_path(&caller, run);
    }
    Ok(RunList { runs, next })
}

/// Returns a run. Fails with `RunNotFound` if it does not exist or the caller may not see it.
pub async fn show_run(request: &Request, params: &RunIdParams) -> Result<Run, OpError> {
    let caller = request.resolve_caller().await?;
    let mut run = resolve_run(request, &caller, Some(&params.run_id))
        .await?
        .value;
    hide_workspace_path(&caller, &mut run);
    Ok(run)
}

/// Removes the path of the workspace directory unless the caller is the person: agents must not learn paths
/// of the host.
pub(super) fn hide_workspace_path(caller: &polis_core::Caller, run: &mut Run) {
    if caller.kind != polis_core::CallerKind::Person {
        run.workspace_path = None;
    }
}
