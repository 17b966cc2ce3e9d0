//! Task dependencies: keeps both ends of a dependency consistent and refuses cycles, reporting their path.
//!
//! An edge leads from a blocker to the task that waits for it. It is stored on both tasks, so both change.
//! Writers that share no task could also close a cycle together, so every new edge touches
//! [`Fence::TaskGraph`](crate::changeset::Fence).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{TaskRecord, task_not_found};
use crate::changeset::{Changeset, Fence, StoreWrite, WritePrecondition};
use crate::event::{EventPayload, EventSubject, NewEvent, TaskChangedEvent};
use crate::id::TaskId;
use crate::refusal::{CycleStep, ListArg, ListStyle, ReasonArg, Refusal, TaskRefusal};
use crate::task::TaskStatus;
use crate::timestamp::Timestamp;

/// Requested changes to a task's edges.
#[derive(Debug, Clone, Copy, Default)]
pub struct DependencyChange<'a> {
    /// Tasks that will wait for it.
    pub add_blocks: &'a [TaskId],
    /// Tasks it will wait for.
    pub add_blocked_by: &'a [TaskId],
    /// Tasks that will no longer wait for it.
    pub remove_blocks: &'a [TaskId],
    /// Tasks it will no longer wait for.
    pub remove_blocked_by: &'a [TaskId],
}

impl DependencyChange<'_> {
    /// Returns all tasks named in the request, without duplicates.
    pub fn task_ids(&self) -> Vec<TaskId> {
        let mut all: Vec<TaskId> = [
            self.add_blocks,
            self.add_blocked_by,
            self.remove_blocks,
            self.remove_blocked_by,
        ]
        .concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns whether no change is requested.
    pub fn is_empty(&self) -> bool {
        self.task_ids().is_empty()
    }

    /// Returns the tasks where cycle detection starts: the waiting end of every new edge.
    pub fn cycle_search_starts(&self, id: TaskId) -> Vec<TaskId> {
        let mut from = self.add_blocks.to_vec();
        if !self.add_blocked_by.is_empty() {
            from.push(id);
        }
        from
    }
}

/// The part of the graph that a decision needs.
#[derive(Debug, Clone, Default)]
pub struct DependencyNeighbours {
    /// The tasks named by the request.
    pub tasks: BTreeMap<TaskId, TaskRecord>,
    /// For every task reachable from [`DependencyChange::cycle_search_starts`], the tasks that wait for it.
    pub downstream: HashMap<TaskId, Vec<TaskId>>,
    /// The fence's revision, read before the graph.
    pub fence: u64,
}

/// A checked change of edges: the task's new lists, and the writes to other tasks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DependencyUpdate {
    /// The task's new `blocks`.
    pub blocks: Vec<TaskId>,
    /// The task's new `blockedBy`.
    pub blocked_by: Vec<TaskId>,
    /// Change of the task's number of open blockers.
    pub blocker_change: i64,
    writes: Vec<StoreWrite>,
    events: Vec<NewEvent>,
}

impl DependencyUpdate {
    /// Adds the writes and events of the other tasks, and of the fence, to a changeset.
    pub fn add_to(self, changes: &mut Changeset) {
        changes.writes.extend(self.writes);
        changes.events.extend(self.events);
    }
}

/// Checks a change of edges of `current`, which may be a task that is being created. Fails with `task_not_found`
/// if a named task does not exist, and with `dependency_cycle` if a new edge would close a cycle.
///
/// `settles` means that the same request completes or deletes the task. An edge it adds then never counts as
/// open, and an existing edge that it keeps is settled by the caller's
/// [`StoreWrite::CloseBlocker`](crate::changeset::StoreWrite).
pub fn decide_dependencies(
    current: &TaskRecord,
    edges: DependencyChange<'_>,
    neighbours: &DependencyNeighbours,
    settles: bool,
    now: &Timestamp,
) -> Result<DependencyUpdate, Refusal> {
    let id = current.task.id;
    let mut update = DependencyUpdate {
        blocks: current.task.blocks.clone(),
        blocked_by: current.task.blocked_by.clone(),
        ..DependencyUpdate::default()
    };
    if edges.is_empty() {
        return Ok(update);
    }
    let mut others: BTreeMap<TaskId, (TaskRecord, i64)> = BTreeMap::new();
    for other in edges.task_ids() {
        if other == id {
            return Err(dependency_cycle(&[id, id]));
        }
        let record = neighbours
            .tasks
            .get(&other)
            .ok_or_else(|| task_not_found(other))?;
        let added = edges.add_blocks.contains(&other) || edges.add_blocked_by.contains(&other);
        if added && record.task.status == TaskStatus::Deleted {
            return Err(task_not_found(other));
        }
        others.insert(other, (record.clone(), 0));
    }
    let open = |record: &TaskRecord| i64::from(!record.task.status.is_finished());
    let own_open = open(current);
    let mut new_edges = Vec::new();
    for &other in edges.add_blocks {
        if insert_id(&mut update.blocks, other)
            && let Some((record, change)) = others.get_mut(&other)
        {
            insert_id(&mut record.task.blocked_by, id);
            *change += if settles { 0 } else { own_open };
            new_edges.push((id, other));
        }
    }
    for &other in edges.add_blocked_by {
        if insert_id(&mut update.blocked_by, other)
            && let Some((record, _)) = others.get_mut(&other)
        {
            insert_id(&mut record.task.blocks, id);
            update.blocker_change += open(record);
            new_edges.push((other, id));
        }
    }
    for &other in edges.remove_blocks {
        if remove_id(&mut update.blocks, other)
            && let Some((record, change)) = others.get_mut(&other)
        {
            remove_id(&mut record.task.blocked_by, id);
            let added_here = !current.task.blocks.contains(&other);
            *change -= if settles && added_here { 0 } else { own_open };
        }
    }
    for &other in edges.remove_blocked_by {
        if remove_id(&mut update.blocked_by, other)
            && let Some((record, _)) = others.get_mut(&other)
        {
            remove_id(&mut record.task.blocks, id);
            update.blocker_change -= open(record);
        }
    }
    if let Some(path) = find_cycle(&neighbours.downstream, &new_edges) {
        return Err(dependency_cycle(&path));
    }
    if !new_edges.is_empty() {
        update.writes.push(StoreWrite::TouchFence {
            fence: Fence::TaskGraph,
            expected: neighbours.fence,
        });
    }
    for (other, (mut record, blocker_change)) in others {
        let before = &neighbours.tasks[&other].task;
        if record.task == *before {
            continue;
        }
        record.task.version += 1;
        record.task.updated_at = Some(now.clone());
        let data = TaskChangedEvent::from_change(before, &record.task);
        update.events.push(NewEvent::new(
            EventSubject::Task(other),
            EventPayload::TaskLinked(data),
        ));
        let expect = WritePrecondition::Revision(record.revision);
        record.revision += 1;
        update.writes.push(StoreWrite::PutTask {
            expect,
            record: Box::new(record),
            blocker_change,
        });
    }
    Ok(update)
}

fn insert_id(list: &mut Vec<TaskId>, id: TaskId) -> bool {
    let new = !list.contains(&id);
    if new {
        list.push(id);
    }
    new
}

fn remove_id(list: &mut Vec<TaskId>, id: TaskId) -> bool {
    let before = list.len();
    list.retain(|&other| other != id);
    list.len() < before
}

fn dependency_cycle(path: &[TaskId]) -> Refusal {
    let step = |id: &TaskId| match *id {
        TaskId::UNASSIGNED => ReasonArg::from(CycleStep::NewTask),
        id => ReasonArg::from(format!("#{id}")),
    };
    TaskRefusal::DependencyCycle {
        path: ListArg::new(ListStyle::Arrows, path.iter().map(step)),
    }
    .into()
}

/// Returns a cycle that one of the new edges would close, if any. The path begins and ends with the same
/// task.
///
/// Iterative, so that long chains do not overflow the stack.
pub fn find_cycle(
    downstream: &HashMap<TaskId, Vec<TaskId>>,
    new_edges: &[(TaskId, TaskId)],
) -> Option<Vec<TaskId>> {
    let mut added: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
    for &(from, to) in new_edges {
        added.entry(from).or_default().push(to);
    }
    let next = |id: &TaskId| {
        let old = downstream.get(id).into_iter().flatten();
        old.chain(added.get(id).into_iter().flatten()).copied()
    };
    for &(blocker, waiting) in new_edges {
        let mut predecessors: HashMap<TaskId, TaskId> = HashMap::new();
        let mut visited = HashSet::from([waiting]);
        let mut stack = vec![waiting];
        while let Some(at) = stack.pop() {
            if at == blocker {
                let mut path = vec![at];
                let mut step = at;
                while let Some(&previous) = predecessors.get(&step) {
                    path.push(previous);
                    step = previous;
                }
                path.push(blocker);
                path.reverse();
                return Some(path);
            }
            for to in next(&at) {
                if visited.insert(to) {
                    predecessors.insert(to, at);
                    stack.push(to);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn id(n: u64) -> TaskId {
        TaskId::new(n).unwrap()
    }

    fn downstream_graph(edges: &[(u64, u64)]) -> HashMap<TaskId, Vec<TaskId>> {
        let mut map: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
        for &(a, b) in edges {
            map.entry(id(a)).or_default().push(id(b));
        }
        map
    }

    #[test]
    fn cycle_path_starts_and_ends_at_the_blocker() {
        let path = find_cycle(&downstream_graph(&[(1, 2), (2, 3)]), &[(id(3), id(1))]).unwrap();
        assert_eq!(path, [3, 1, 2, 3].map(id));
        assert!(find_cycle(&downstream_graph(&[(1, 2), (2, 3)]), &[(id(1), id(3))]).is_none());
    }

    #[test]
    fn two_new_edges_can_close_a_cycle_together() {
        assert!(
            find_cycle(
                &downstream_graph(&[(2, 3)]),
                &[(id(1), id(2)), (id(3), id(1))]
            )
            .is_some()
        );
    }

    #[test]
    fn long_chain_is_searched_without_recursion() {
        let edges: Vec<_> = (1..200_000).map(|n| (n, n + 1)).collect();
        assert_eq!(
            find_cycle(&downstream_graph(&edges), &[(id(200_000), id(1))])
                .unwrap()
                .len(),
            200_001
        );
    }

    proptest! {
        #[test]
        fn cycle_is_found_exactly_when_the_blocker_is_reachable(
            edges in prop::collection::vec((1_u64..12, 1_u64..12), 0..30),
            a in 1_u64..12, b in 1_u64..12,
        ) {
            // Compared with Floyd–Warshall as an independent implementation.
            let mut reach = [[false; 12]; 12];
            for &(x, y) in &edges { reach[x as usize][y as usize] = true; }
            for k in 0..12 { for i in 0..12 { for j in 0..12 {
                reach[i][j] |= reach[i][k] && reach[k][j];
            } } }
            let expected = a == b || reach[b as usize][a as usize];
            prop_assert_eq!(find_cycle(&downstream_graph(&edges), &[(id(a), id(b))]).is_some(), expected);
        }
    }
}
