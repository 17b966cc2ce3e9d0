//! Task list and claim-candidate queries of the in-memory store: a literal translation of the port's
//! description, without an index. The other stores are compared with it.

use std::collections::HashMap;

use polis_core::task::recommendation::standing_score;
use polis_core::task::{Task, TaskCursor, TaskSort, TaskSummary};
use polis_core::{TaskRecord, TaskStatus, TaskType};
use polis_ops::port::{CandidateQuery, TaskQuery};

/// Returns a page of a list over these records, which are ordered by number.
pub(crate) fn list_tasks(records: &[TaskRecord], query: &TaskQuery) -> Vec<TaskSummary> {
    let mut listed: Vec<&TaskRecord> = records.iter().collect();
    listed.retain(|record| matches_query(record, query));
    listed.sort_by_key(|record| list_position(&record.task, query));
    listed.truncate(query.limit as usize);
    listed.into_iter().map(TaskSummary::from_record).collect()
}

fn matches_query(record: &TaskRecord, query: &TaskQuery) -> bool {
    let task = &record.task;
    task.status != TaskStatus::Deleted
        && query
            .role
            .as_ref()
            .is_none_or(|role| is_visible_to_role(role, record))
        && query.status.is_none_or(|status| status == task.status)
        && query
            .owner
            .as_ref()
            .is_none_or(|owner| !owner.is_empty() && *owner == task.owner)
        && query.task_type.is_none_or(|t| Some(t) == task.task_type)
        && query
            .priority
            .is_none_or(|priority| priority == task.priority.unwrap_or_default())
        && query
            .claimable_at
            .is_none_or(|now| record.is_claimable(now))
        && query
            .required_role
            .as_ref()
            .is_none_or(|role| *role == task.required_role.as_deref().unwrap_or_default())
        && query.search.matches_task(task)
        && query
            .after
            .is_none_or(|after| list_position(task, query) > cursor_position(after, query))
}

/// Returns where a task is in the list: the rank of its priority, if the list is sorted by it, and its number.
fn list_position(task: &Task, query: &TaskQuery) -> (u8, i128) {
    let cursor = TaskCursor {
        priority: task.priority,
        id: task.id,
    };
    cursor_position(cursor, query)
}

fn cursor_position(cursor: TaskCursor, query: &TaskQuery) -> (u8, i128) {
    let rank = match query.sort {
        TaskSort::Number => 0,
        TaskSort::Priority => cursor.priority.unwrap_or_default().rank(),
    };
    let number = i128::from(cursor.id.number());
    (rank, if query.newest { -number } else { number })
}

/// Returns whether a role's list contains a task: it requires the role, requires none, or is owned by a
/// member of the role.
fn is_visible_to_role(role: &str, record: &TaskRecord) -> bool {
    let required = record.task.required_role.as_deref();
    required.is_none()
        || required == Some(role)
        || record.task.owner == role
        || record.owner_role.as_deref() == Some(role)
}

/// Returns the tasks an agent could claim: assigned, stale and free ones, each kind limited per type,
/// required role and owner.
pub(crate) fn claim_candidates(records: &[TaskRecord], query: &CandidateQuery) -> Vec<TaskRecord> {
    let mut ordered: Vec<&TaskRecord> = records.iter().collect();
    ordered.sort_by_key(|record| {
        (
            std::cmp::Reverse(standing_score(&record.task)),
            record.task.id,
        )
    });
    let admits = |record: &TaskRecord| {
        let required = record.task.required_role.as_deref();
        required.is_none_or(|role| role == query.role || role == query.agent)
    };
    let kinds: [&dyn Fn(&TaskRecord) -> bool; 3] = [
        &|record| {
            let task = &record.task;
            task.status == TaskStatus::Pending && task.owner == query.agent && record.is_unblocked()
        },
        &|record| record.task.is_stale(query.now) && admits(record),
        &|record| {
            let free = record.task.owner.is_empty() && record.is_claimable(query.now);
            free && admits(record) && !query.skip.contains(&record.task.id)
        },
    ];
    let mut found = Vec::new();
    for kind in kinds {
        let mut counts: HashMap<(Option<TaskType>, Option<&str>, &str), u32> = HashMap::new();
        for record in ordered.iter().filter(|record| kind(record)) {
            let task = &record.task;
            let group = (
                task.task_type,
                task.required_role.as_deref(),
                task.owner.as_str(),
            );
            let count = counts.entry(group).or_default();
            *count += 1;
            if *count <= query.per_group {
                found.push(TaskRecord::clone(record));
            }
        }
    }
    found
}
