//! Marks a run as done when its members have nothing left to do, and reopens it when one of them has mail.
//!
//! The runtime calls these functions. They are not operations of an agent or a person, so they take no caller.

use polis_core::society::run::{Run, RunStatus};
use polis_core::society::{RunId, pause};

use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// Marks an active run as done, unless its record has changed since `revision`: the writer of that change may have
/// given its members new work. Returns whether the run is done.
pub async fn finish_run(polis: &Polis, id: &RunId, revision: u64) -> Result<bool, OpError> {
    let decide = || -> Attempt<'_, Run> {
        Box::pin(async move {
            let run = polis.run(id).await?;
            Ok(pause::finish_run(&run, revision, &polis.now()))
        })
    };
    let run = polis.settle(decide, |run, _| run).await?;
    Ok(run.status == RunStatus::Done)
}

/// Makes a done run active again. Returns the run as it is afterwards.
pub async fn reopen_run(polis: &Polis, id: &RunId) -> Result<Run, OpError> {
    let decide = || -> Attempt<'_, Run> {
        Box::pin(async move {
            let run = polis.run(id).await?;
            Ok(pause::reopen_run(&run, &polis.now()))
        })
    };
    polis.settle(decide, |run, _| run).await
}
