//! Loads the part of the dependency graph that a change of dependencies is decided on.

use std::collections::HashMap;

use polis_core::TaskId;
use polis_core::changeset::Fence;
use polis_core::task::depend::{Edges, Neighbours};

use crate::error::OpError;
use crate::polis::Polis;

/// Loads the named tasks and everything downstream of the waiting ends of the new edges.
///
/// The fence is read first: an edge that is added while the graph is being walked advances the fence, so the commit
/// conflicts.
pub(super) async fn load(
    polis: &Polis,
    own: TaskId,
    edges: Edges<'_>,
) -> Result<Neighbours, OpError> {
    let named = edges.named();
    if named.is_empty() {
        return Ok(Neighbours::default());
    }
    let mut near = Neighbours {
        fence: polis.store.fence(Fence::TaskGraph).await?,
        ..Neighbours::default()
    };
    near.tasks = polis
        .store
        .tasks(&named)
        .await?
        .into_iter()
        .map(|record| (record.task.id, record))
        .collect();
    let mut downstream: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
    let mut frontier = edges.search_from(own);
    while !frontier.is_empty() {
        frontier.sort_unstable();
        frontier.dedup();
        frontier.retain(|id| !downstream.contains_key(id));
        for id in &frontier {
            downstream.insert(*id, Vec::new());
        }
        let mut next = Vec::new();
        for (id, blocks) in polis.store.blocks_of(&frontier).await? {
            next.extend(blocks.iter().copied());
            downstream.insert(id, blocks);
        }
        frontier = next;
    }
    near.downstream = downstream;
    Ok(near)
}
