//! The dependency graph.

use std::collections::BTreeSet;

use polis_core::TaskId;
use polis_core::TaskStatus;
use polis_core::task::graph::{Graph, Node};

use crate::error::OpError;
use crate::polis::Polis;

const PAGE: u32 = 1_000;

/// The graph of all tasks that have dependencies, or of those connected with `around`.
pub async fn graph_tasks(polis: &Polis, around: Option<TaskId>) -> Result<Graph, OpError> {
    match around {
        Some(id) => connected(polis, id).await,
        None => all(polis).await,
    }
}

/// A task and those nearest to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// The tasks, the nearest first.
    pub tasks: Vec<Node>,
    /// Whether others are connected that were left out.
    pub more: bool,
}

/// The part of the graph around a task, at most so many tasks of it: however large the graph is, only those
/// are read.
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
