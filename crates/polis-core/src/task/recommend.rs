//! Task recommendation: ranks the ready tasks for an agent and explains the score (004 §10.1).
//!
//! The score is a sum of two parts. The *standing* part depends on the task alone; stores keep it as a sort
//! key. The *personal* part depends only on the task's type, its required role and its owner. So the best task
//! overall is the best of the first task of each such group, and no store has to score all tasks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Task, TaskRecord, TaskSummary, TaskType};
use crate::permission::Policy;

/// Points for a task that is already assigned to the agent.
const ASSIGNED: i64 = 1_000;
/// Points for a task whose type matches the agent's role.
const TYPE_FITS: i64 = 30;
/// Points for a task that requires exactly the agent's role.
const ROLE_FITS: i64 = 20;
/// Points for each recently completed task of the same type, up to `MAX_DONE`.
const PER_DONE: i64 = 2;
const MAX_DONE: i64 = 10;
/// Points for each task that waits for it, up to `MAX_WAITING`.
const PER_WAITING: i64 = 4;
const MAX_WAITING: i64 = 20;

/// Priorities: their names, including the numbers that some trackers use, and their points.
const PRIORITIES: [(&[&str], i64); 5] = [
    (&["critical", "urgent", "highest", "p0", "0"], 40),
    (&["high", "p1", "1"], 30),
    (&["normal", "medium", "p2", "2"], 20),
    (&["low", "p3", "3"], 10),
    (&["lowest", "someday", "p4", "4"], 0),
];
const NORMAL: i64 = 20;

/// The agent that tasks are ranked for.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// Its name.
    pub agent: String,
    /// Its role.
    pub role: String,
    /// Its recently completed tasks, by type.
    pub done: BTreeMap<TaskType, u32>,
}

/// One reason for a task's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Reason {
    /// Points it gives.
    pub points: i64,
    /// Why.
    pub why: String,
}

/// A task and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Recommendation {
    /// The task.
    pub task: TaskSummary,
    /// The sum of the reasons' points.
    pub score: i64,
    /// Why it stands there.
    pub reasons: Vec<Reason>,
}

/// Returns the part of a task's score that depends on the task alone. Stores sort by it.
pub fn standing(task: &Task) -> i64 {
    priority(task).0 + waiting(task)
}

fn waiting(task: &Task) -> i64 {
    i64::try_from(task.blocks.len())
        .unwrap_or(i64::MAX)
        .saturating_mul(PER_WAITING)
        .min(MAX_WAITING)
}

/// Returns a task's priority as points and as text.
pub fn priority(task: &Task) -> (i64, String) {
    let value = task.metadata.as_ref().and_then(|m| m.get("priority"));
    let word = value
        .map(|raw| {
            raw.to::<String>()
                .unwrap_or_else(|| raw.text().to_owned())
                .to_lowercase()
        })
        .unwrap_or_default();
    let points = PRIORITIES
        .iter()
        .find(|(names, _)| names.contains(&word.as_str()))
        .map(|(_, points)| *points);
    points.map_or((NORMAL, "normal".to_owned()), |points| (points, word))
}

/// Scores a task for an agent.
pub fn score(record: &TaskRecord, profile: &Profile, policy: &Policy) -> Recommendation {
    let task = &record.task;
    let mut reasons = Vec::new();
    let mut add = |points: i64, why: String| {
        if points != 0 {
            reasons.push(Reason { points, why });
        }
    };
    if task.owner == profile.agent && !task.owner.is_empty() {
        add(ASSIGNED, "assigned to you".to_owned());
    }
    if let Some(t) = task.task_type {
        if policy
            .type_roles
            .get(&t)
            .is_some_and(|roles| roles.contains(&profile.role))
        {
            add(
                TYPE_FITS,
                format!("{} is work for {}", t.as_str(), profile.role),
            );
        }
        let done = profile.done.get(&t).copied().unwrap_or(0);
        add(
            (i64::from(done) * PER_DONE).min(MAX_DONE),
            format!("you completed {done} of this type"),
        );
    }
    if task.required_role.as_deref() == Some(profile.role.as_str()) {
        add(ROLE_FITS, format!("requires {}", profile.role));
    }
    let (points, word) = priority(task);
    add(points, format!("priority {word}"));
    add(
        waiting(task),
        format!("{} task(s) wait for it", task.blocks.len()),
    );
    let score = reasons.iter().map(|r| r.points).sum();
    Recommendation {
        task: TaskSummary::of(record),
        score,
        reasons,
    }
}

/// Ranks tasks for an agent: highest score first; of equal scores, the oldest task first.
pub fn rank(records: &[TaskRecord], profile: &Profile, policy: &Policy) -> Vec<Recommendation> {
    let mut all: Vec<_> = records
        .iter()
        .map(|record| score(record, profile, policy))
        .collect();
    all.sort_by_key(|r| (std::cmp::Reverse(r.score), r.task.id));
    all.dedup_by_key(|r| r.task.id);
    all
}
