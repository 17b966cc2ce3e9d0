//! `TaskCreate`.

use polis_core::task::create::{self, TaskCreate};
use polis_core::{AgentId, TaskId};

use super::TaskView;
use super::neighbours;
use crate::error::OpError;
use crate::polis::Polis;

/// Creates a task.
pub async fn create_task(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskCreate,
) -> Result<TaskView, OpError> {
    let caller = polis.caller(caller).await?;
    let attempts = polis.attempts();
    loop {
        let number = if params.edges().is_empty() {
            None
        } else {
            TaskId::new(polis.store.last_task_number().await? + 1)
        };
        let near = match number {
            Some(own) => neighbours::load(polis, own, params.edges()).await?,
            None => Default::default(),
        };
        let now = polis.now();
        let settings = &polis.settings;
        let (mut record, changes) = create::decide(
            params,
            number,
            &near,
            &settings.roles,
            &settings.policy,
            &caller,
            &now,
        )?;
        if let Some(receipt) = polis.commit(changes, attempts).await? {
            record.task.id = receipt.created.or(number).unwrap_or(record.task.id);
            return Ok(TaskView::of(record, polis.clock.now_millis(), Vec::new()));
        }
    }
}
