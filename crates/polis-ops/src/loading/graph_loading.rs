//! Loads the part of the dependency graph that is needed to check a change of dependencies (do the tasks
//! exist, is there a cycle).

use std::collections::HashMap;

use polis_core::TaskId;
use polis_core::changeset::Fence;
use polis_core::task::dependency::{DependencyChange, DependencyNeighbours};

use crate::app::App;
use crate::error::OpError;

/// Loads the named tasks and everything downstream of the waiting ends of the new edges.
///
/// The fence is read first: an edge that is added while the graph is being walked advances the fence, so the
/// commit conflicts.
pub(crate) async fn load_neighbours(
    app: &App,
    task_id: TaskId,
    edges: DependencyChange<'_>,
) -> Result<DependencyNeighbours, OpError> {
    let task_ids = edges.task_ids();
    if task_ids.is_empty() {
        return Ok(DependencyNeighbours::default());
    }
    let mut neighbours = DependencyNeighbours {
        fence: app.store.fence_revision(Fence::TaskGraph).await?,
        ..DependencyNeighbours::default()
    };
    neighbours.tasks = app
        .store
        .tasks(&task_ids)
        .await?
        .into_iter()
        .map(|record| (record.task.id, record))
        .collect();
    let mut downstream: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
    let mut frontier = edges.cycle_search_starts(task_id);
    while !frontier.is_empty() {
        frontier.sort_unstable();
        frontier.dedup();
        frontier.retain(|id| !downstream.contains_key(id));
        for id in &frontier {
            downstream.insert(*id, Vec::new());
        }
        let mut next = Vec::new();
        for (id, blocks) in app.store.tasks_waiting_for(&frontier).await? {
            next.extend(blocks.iter().copied());
            downstream.insert(id, blocks);
        }
        frontier = next;
    }
    neighbours.downstream = downstream;
    Ok(neighbours)
}
