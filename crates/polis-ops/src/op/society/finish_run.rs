//! Marks a run as done, and makes a done run active again.
//!
//! The runtime (`polis-society`) decides when: its scheduler finds that the members have nothing left to do,
//! or a driver finds mail for one of them. This is not checked again here, except that a run whose record has
//! changed since the scheduler read it is not marked as done. These are not operations of an agent or a
//! person, so they take no caller.

use polis_core::society::run::{Run, RunStatus};
use polis_core::society::{RunId, pause};

use crate::app::App;
use crate::error::OpError;
use crate::op::society::load_run;
use crate::request::AttemptFuture;

/// Marks an active run as done, unless its record has changed since `revision`: the writer of that change may
/// have given its members new work. Returns whether the run is done. Fails with `run_not_found` if the run
/// does not exist.
pub async fn finish_run(app: &App, id: &RunId, revision: u64) -> Result<bool, OpError> {
    let decide = || -> AttemptFuture<'_, Run> {
        Box::pin(async move {
            let run = load_run(app, id).await?;
            Ok(pause::finish_run(&run, revision, &app.now()))
        })
    };
    let run = app
        .person_request()
        .retry_on_conflict(decide, |run, _| run)
        .await?;
    Ok(run.status == RunStatus::Done)
}

/// Makes a done run active again. Returns the run as it is afterwards. Fails with `run_not_found` if the run
/// does not exist.
pub async fn reopen_run(app: &App, id: &RunId) -> Result<Run, OpError> {
    let decide = || -> AttemptFuture<'_, Run> {
        Box::pin(async move {
            let run = load_run(app, id).await?;
            Ok(pause::reopen_run(&run, &app.now()))
        })
    };
    app.person_request()
        .retry_on_conflict(decide, |run, _| run)
        .await
}
