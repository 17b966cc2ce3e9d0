//! Operations that read the task dependency graph: the whole graph, the component of one task, or a bounded
//! neighbourhood.

use std::collections::BTreeSet;

use polis_core::TaskId;
use polis_core::TaskStatus;
use polis_core::task::graph::{Graph, Node};

use crate::error::OpError;
use crate::polis::Polis;

const PAGE: u32 = 1_000;

/// Returns the graph of all tasks that have dependencies, or of the tasks connected with `around`.
pub async fn graph_tasks(polis: &Polis, around: Option<TaskId>) -> Result<Graph, OpError> {
    match around {
        Some(id) => connected(polis, id).await,
        None => all(polis).await,
    }
}

/// A task and its nearest neighbours in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// The tasks, nearest first.
    pub tasks: Vec<Node>,
    /// Whether further connected tasks were omitted.
    pub more: bool,
}

/// Returns the part of the graph around a task, at most `most` tasks. Only those tasks are read, regardless of the size
/// of the graph.
pub async fn graph_near(polis: &Polis, id: TaskId, most: usize) -> Result<Near, OpError> {
    super::get_task::load(polis, id).await?;
    let mut seen = BTreeSet::from([id]);
    let mut frontier = vec![id];
    let mut near = Near {
        tasks: Vec::new(),
        more: false,
    };
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for record in polis.store.tasks(&frontier).await? {
            let (before, after) = (&record.task.blocked_by, &record.task.blocks);
            next.extend(before.iter().chain(after).copied());
            near.tasks.push(node(record.task));
        }
        next.sort_unstable();
        next.dedup();
        next.retain(|other| !seen.contains(other));
        let room = most.saturating_sub(near.tasks.len());
        near.more |= next.len() > room;
        next.truncate(room);
        seen.extend(next.iter().copied());
        frontier = next;
    }
    Ok(near)
}

async fn all(polis: &Polis) -> Result<Graph, OpError> {
    let mut nodes = Vec::new();
    let mut after = None;
    loop {
        let page = polis.store.scan_tasks(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.task.id);
        nodes.extend(
            page.into_iter()
                .filter(|r| r.task.status != TaskStatus::Deleted)
                .map(|r| node(r.task)),
        );
    }
    let touched: BTreeSet<TaskId> = nodes
        .iter()
        .flat_map(|n: &Node| {
            n.blocks
                .iter()
                .copied()
                .chain((!n.blocks.is_empty()).then_some(n.id))
        })
        .collect();
    Ok(nodes
        .into_iter()
        .filter(|n| touched.contains(&n.id))
        .collect())
}

async fn connected(polis: &Polis, id: TaskId) -> Result<Graph, OpError> {
    super::get_task::load(polis, id).await?;
    let mut seen = BTreeSet::new();
    let mut frontier = vec![id];
    let mut nodes = Vec::new();
    while !frontier.is_empty() {
        seen.extend(frontier.iter().copied());
        let mut next = BTreeSet::new();
        for record in polis.store.tasks(&frontier).await? {
            next.extend(
                record
                    .task
                    .blocks
                    .iter()
                    .chain(&record.task.blocked_by)
                    .copied(),
            );
            nodes.push(node(record.task));
        }
        frontier = next.into_iter().filter(|id| !seen.contains(id)).collect();
    }
    Ok(nodes.into_iter().collect())
}

fn node(task: polis_core::Task) -> Node {
    Node {
        id: task.id,
        subject: task.subject,
        status: task.status,
        owner: task.owner,
        blocks: task.blocks,
    }
}
