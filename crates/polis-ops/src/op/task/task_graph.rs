//! Operations that read the task dependency graph: the whole graph, the component of one task, or a bounded
//! neighbourhood.

use std::collections::BTreeSet;

use polis_core::TaskId;
use polis_core::TaskStatus;
use polis_core::task::graph::{DependencyGraph, DependencyNode};

use crate::app::App;
use crate::error::OpError;
use crate::request::Request;

const PAGE_SIZE: u32 = 1_000;

/// Returns the graph of all tasks that have dependencies, or of the tasks connected with `center`. Fails
/// with `task_not_found` if `center` does not exist.
pub async fn task_graph(
    request: &Request,
    center: Option<TaskId>,
) -> Result<DependencyGraph, OpError> {
    match center {
        Some(id) => connected_component(&request.app, id).await,
        None => whole_graph(&request.app).await,
    }
}

/// A task and its nearest neighbours in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskNeighbourhood {
    /// The tasks, nearest first.
    pub tasks: Vec<DependencyNode>,
    /// Whether further connected tasks were omitted.
    pub has_more: bool,
}

/// Returns the part of the graph around a task, at most `limit` tasks. Only those tasks are read, regardless
/// of the size of the graph. Fails with `task_not_found` if the task does not exist.
pub async fn task_neighbourhood(
    request: &Request,
    id: TaskId,
    limit: usize,
) -> Result<TaskNeighbourhood, OpError> {
    crate::op::task::get_task::load_task(&request.app, id).await?;
    let mut visited = BTreeSet::from([id]);
    let mut frontier = vec![id];
    let mut neighbourhood = TaskNeighbourhood {
        tasks: Vec::new(),
        has_more: false,
    };
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for record in request.app.store.tasks(&frontier).await? {
            let (before, after) = (&record.task.blocked_by, &record.task.blocks);
            next.extend(before.iter().chain(after).copied());
            neighbourhood.tasks.push(graph_node(record.task));
        }
        next.sort_unstable();
        next.dedup();
        next.retain(|other| !visited.contains(other));
        let remaining = limit.saturating_sub(neighbourhood.tasks.len());
        neighbourhood.has_more |= next.len() > remaining;
        next.truncate(remaining);
        visited.extend(next.iter().copied());
        frontier = next;
    }
    Ok(neighbourhood)
}

async fn whole_graph(app: &App) -> Result<DependencyGraph, OpError> {
    let mut nodes = Vec::new();
    let mut after = None;
    loop {
        let page = app.store.scan_tasks(after, PAGE_SIZE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.task.id);
        nodes.extend(
            page.into_iter()
                .filter(|r| r.task.status != TaskStatus::Deleted)
                .map(|r| graph_node(r.task)),
        );
    }
    let connected: BTreeSet<TaskId> = nodes
        .iter()
        .flat_map(|n: &DependencyNode| {
            n.blocks
                .iter()
                .copied()
                .chain((!n.blocks.is_empty()).then_some(n.id))
        })
        .collect();
    Ok(nodes
        .into_iter()
        .filter(|n| connected.contains(&n.id))
        .collect())
}

async fn connected_component(app: &App, id: TaskId) -> Result<DependencyGraph, OpError> {
    crate::op::task::get_task::load_task(app, id).await?;
    let mut visited = BTreeSet::new();
    let mut frontier = vec![id];
    let mut nodes = Vec::new();
    while !frontier.is_empty() {
        visited.extend(frontier.iter().copied());
        let mut next = BTreeSet::new();
        for record in app.store.tasks(&frontier).await? {
            next.extend(
                record
                    .task
                    .blocks
                    .iter()
                    .chain(&record.task.blocked_by)
                    .copied(),
            );
            nodes.push(graph_node(record.task));
        }
        frontier = next
            .into_iter()
            .filter(|id| !visited.contains(id))
            .collect();
    }
    Ok(nodes.into_iter().collect())
}

fn graph_node(task: polis_core::Task) -> DependencyNode {
    DependencyNode {
        id: task.id,
        subject: task.subject,
        status: task.status,
        owner: task.owner,
        blocks: task.blocks,
    }
}
