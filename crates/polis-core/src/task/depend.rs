//! Dependencies between tasks: keeps both ends consistent and refuses cycles, reporting their path.
//!
//! An edge leads from a blocker to the task that waits for it. It is stored on both tasks, so both change.
//! Writers that share no task could also close a cycle together, so every new edge touches
//! [`Fence::TaskGraph`](crate::changeset::Fence).

use crate::event::kind;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::history::Changed;
use super::{TaskRecord, not_found};
use crate::changeset::{Changeset, Expect, Fence, Write};
use crate::event::{NewEvent, Subject};
use crate::id::TaskId;
use crate::refusal::{Code, Refusal};
use crate::task::TaskStatus;
use crate::time::Timestamp;

/// Requested changes to a task's edges.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edges<'a> {
    /// Tasks that will wait for it.
    pub add_blocks: &'a [TaskId],
    /// Tasks it will wait for.
    pub add_blocked_by: &'a [TaskId],
    /// Tasks that will no longer wait for it.
    pub remove_blocks: &'a [TaskId],
    /// Tasks it will no longer wait for.
    pub remove_blocked_by: &'a [TaskId],
}

impl Edges<'_> {
    /// Returns all tasks named in the request, without duplicates.
    pub fn named(&self) -> Vec<TaskId> {
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
        self.named().is_empty()
    }

    /// Returns the tasks where cycle detection starts: the waiting end of every new edge.
    pub fn search_from(&self, own: TaskId) -> Vec<TaskId> {
        let mut from = self.add_blocks.to_vec();
        if !self.add_blocked_by.is_empty() {
            from.push(own);
        }
        from
    }
}

/// The part of the graph that a decision needs.
#[derive(Debug, Clone, Default)]
pub struct Neighbours {
    /// The tasks named by the request.
    pub tasks: BTreeMap<TaskId, TaskRecord>,
    /// For every task reachable from [`Edges::search_from`], the tasks that wait for it.
    pub downstream: HashMap<TaskId, Vec<TaskId>>,
    /// The fence's revision, read before the graph.
    pub fence: u64,
}

/// Result of a decision about edges: the task's new lists, and the writes to other tasks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Wired {
    /// The task's new `blocks`.
    pub blocks: Vec<TaskId>,
    /// The task's new `blockedBy`.
    pub blocked_by: Vec<TaskId>,
    /// Change of the task's number of open blockers.
    pub blocker_change: i64,
    writes: Vec<Write>,
    events: Vec<NewEvent>,
}

impl Wired {
    /// Adds the writes and events of the other tasks, and of the fence, to a changeset.
    pub fn add_to(self, changes: &mut Changeset) {
        changes.writes.extend(self.writes);
        changes.events.extend(self.events);
    }
}

/// Decides a change of edges of `own`, which may be a task that is being created.
///
/// `settles` means that the same request completes or deletes the task. An edge it adds then never counts as
/// open, and an existing edge that it keeps is settled by the caller's
/// [`Write::SettleBlocker`](crate::changeset::Write).
pub fn wire(
    own: &TaskRecord,
    edges: Edges<'_>,
    near: &Neighbours,
    settles: bool,
    now: &Timestamp,
) -> Result<Wired, Refusal> {
    let id = own.task.id;
    let mut wired = Wired {
        blocks: own.task.blocks.clone(),
        blocked_by: own.task.blocked_by.clone(),
        ..Wired::default()
    };
    if edges.is_empty() {
        return Ok(wired);
    }
    let mut others: BTreeMap<TaskId, (TaskRecord, i64)> = BTreeMap::new();
    for other in edges.named() {
        if other == id {
            return Err(cycle(&[id, id]));
        }
        let record = near.tasks.get(&other).ok_or_else(|| not_found(other))?;
        let added = edges.add_blocks.contains(&other) || edges.add_blocked_by.contains(&other);
        if added && record.task.status == TaskStatus::Deleted {
            return Err(not_found(other));
        }
        others.insert(other, (record.clone(), 0));
    }
    let open = |record: &TaskRecord| i64::from(!record.task.status.is_settled());
    let own_open = open(own);
    let mut new_edges = Vec::new();
    for &other in edges.add_blocks {
        if insert(&mut wired.blocks, other)
            && let Some((record, change)) = others.get_mut(&other)
        {
            insert(&mut record.task.blocked_by, id);
            *change += if settles { 0 } else { own_open };
            new_edges.push((id, other));
        }
    }
    for &other in edges.add_blocked_by {
        if insert(&mut wired.blocked_by, other)
            && let Some((record, _)) = others.get_mut(&other)
        {
            insert(&mut record.task.blocks, id);
            wired.blocker_change += open(record);
            new_edges.push((other, id));
        }
    }
    for &other in edges.remove_blocks {
        if remove(&mut wired.blocks, other)
            && let Some((record, change)) = others.get_mut(&other)
        {
            remove(&mut record.task.blocked_by, id);
            let added_here = !own.task.blocks.contains(&other);
            *change -= if settles && added_here { 0 } else { own_open };
        }
    }
    for &other in edges.remove_blocked_by {
        if remove(&mut wired.blocked_by, other)
            && let Some((record, _)) = others.get_mut(&other)
        {
            remove(&mut record.task.blocks, id);
            wired.blocker_change -= open(record);
        }
    }
    if let Some(path) = find_cycle(&near.downstream, &new_edges) {
        return Err(cycle(&path));
    }
    if !new_edges.is_empty() {
        wired.writes.push(Write::TouchFence {
            fence: Fence::TaskGraph,
            expected: near.fence,
        });
    }
    for (other, (mut record, blocker_change)) in others {
        let before = &near.tasks[&other].task;
        if record.task == *before {
            continue;
        }
        record.task.version += 1;
        record.task.updated_at = Some(now.clone());
        let data = Changed::between(before, &record.task);
        wired
            .events
            .push(NewEvent::of(kind::TASK_LINKED, Subject::Task(other), &data));
        let expect = Expect::Revision(record.revision);
        record.revision += 1;
        wired.writes.push(Write::PutTask {
            expect,
            record: Box::new(record),
            blocker_change,
        });
    }
    Ok(wired)
}

fn insert(list: &mut Vec<TaskId>, id: TaskId) -> bool {
    let new = !list.contains(&id);
    if new {
        list.push(id);
    }
    new
}

fn remove(list: &mut Vec<TaskId>, id: TaskId) -> bool {
    let before = list.len();
    list.retain(|&other| other != id);
    list.len() < before
}

fn cycle(path: &[TaskId]) -> Refusal {
    let name = |id: &TaskId| match *id {
        TaskId::UNASSIGNED => "the new task".to_owned(),
        id => format!("#{id}"),
    };
    let shown: Vec<_> = path.iter().map(name).collect();
    Refusal::new(
        Code::DependencyCycle,
        format!("Dependency cycle: {}.", shown.join(" -> ")),
        "leave out one of these dependencies, or remove one with --remove-blocks / --remove-blocked-by",
    )
}

/// Returns a cycle that one of the new edges would close. The path begins and ends with the same task.
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
        let mut came_from: HashMap<TaskId, TaskId> = HashMap::new();
        let mut seen = HashSet::from([waiting]);
        let mut stack = vec![waiting];
        while let Some(at) = stack.pop() {
            if at == blocker {
                let mut path = vec![at];
                let mut step = at;
                while let Some(&previous) = came_from.get(&step) {
                    path.push(previous);
                    step = previous;
                }
                path.push(blocker);
                path.reverse();
                return Some(path);
            }
            for to in next(&at) {
                if seen.insert(to) {
                    came_from.insert(to, at);
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

    fn graph(edges: &[(u64, u64)]) -> HashMap<TaskId, Vec<TaskId>> {
        let mut map: HashMap<TaskId, Vec<TaskId>> = HashMap::new();
        for &(a, b) in edges {
            map.entry(id(a)).or_default().push(id(b));
        }
        map
    }

    #[test]
    fn the_path_is_shown_from_the_blocker_round_to_itself() {
        let path = find_cycle(&graph(&[(1, 2), (2, 3)]), &[(id(3), id(1))]).unwrap();
        assert_eq!(path, [3, 1, 2, 3].map(id));
        assert!(find_cycle(&graph(&[(1, 2), (2, 3)]), &[(id(1), id(3))]).is_none());
    }

    #[test]
    fn two_new_edges_can_close_a_circle_together() {
        assert!(find_cycle(&graph(&[(2, 3)]), &[(id(1), id(2)), (id(3), id(1))]).is_some());
    }

    #[test]
    fn a_chain_of_any_length_is_walked_without_recursion() {
        let edges: Vec<_> = (1..200_000).map(|n| (n, n + 1)).collect();
        assert_eq!(
            find_cycle(&graph(&edges), &[(id(200_000), id(1))])
                .unwrap()
                .len(),
            200_001
        );
    }

    proptest! {
        #[test]
        fn a_cycle_is_found_exactly_when_the_blocker_is_reachable(
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
            prop_assert_eq!(find_cycle(&graph(&edges), &[(id(a), id(b))]).is_some(), expected);
        }
    }
}
