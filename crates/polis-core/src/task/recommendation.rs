//! Task recommendation: scores and ranks the ready tasks for an agent and explains the score.
//!
//! The score is a sum of two parts. The *standing* part depends on the task alone; stores keep it as a sort
//! key. The *personal* part depends only on the task's type, its required role and its owner. So the best
//! task overall is the best of the first task of each such group, and no store has to score all tasks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Task, TaskRecord, TaskSummary, TaskType};
use crate::number::saturating_cast;
use crate::permission::PermissionPolicy;

/// Points for a task that is already assigned to the agent.
const ASSIGNED_POINTS: i64 = 1_000;
/// Points for a task whose type matches the agent's role.
const TYPE_MATCH_POINTS: i64 = 30;
/// Points for a task that requires exactly the agent's role.
const ROLE_MATCH_POINTS: i64 = 20;
/// Points for each recently completed task of the same type, up to `MAX_COMPLETED_POINTS`.
const POINTS_PER_COMPLETED: i64 = 2;
const MAX_COMPLETED_POINTS: i64 = 10;
/// Points for each task that waits for it, up to `MAX_WAITING_POINTS`.
const POINTS_PER_WAITING: i64 = 4;
const MAX_WAITING_POINTS: i64 = 20;

/// The priorities that are offered to choose from, highest first.
pub const PRIORITIES: [&str; 4] = ["critical", "high", "normal", "low"];
/// Priorities: their names, including the numbers that some trackers use, and their points.
const PRIORITY_POINTS: [(&[&str], i64); 5] = [
    (&["critical", "urgent", "highest", "p0", "0"], 40),
    (&["high", "p1", "1"], 30),
    (&["normal", "medium", "p2", "2"], 20),
    (&["low", "p3", "3"], 10),
    (&["lowest", "someday", "p4", "4"], 0),
];
const NORMAL_PRIORITY_POINTS: i64 = 20;

/// The agent that tasks are ranked for.
#[derive(Debug, Clone, Default)]
pub struct AgentProfile {
    /// Id of the agent.
    pub agent: String,
    /// Role of the agent.
    pub role: String,
    /// Number of its recently completed tasks, by type.
    pub completed_by_type: BTreeMap<TaskType, u32>,
}

/// One reason for a task's score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ScoreReason {
    /// Points that it adds to the score.
    pub points: i64,
    /// The reason, in words.
    #[serde(rename = "why")]
    pub reason: String,
    /// The reason, for surfaces with texts of their own.
    #[serde(skip)]
    #[schemars(skip)]
    pub kind: ScoreReasonKind,
}

/// Why a task has points for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScoreReasonKind {
    /// It is assigned to the agent.
    Assigned,
    /// Its type matches the role of the agent.
    TypeMatchesRole {
        /// The type.
        task_type: TaskType,
        /// The role.
        role: String,
    },
    /// The agent completed this many tasks of the type.
    CompletedOfType(u32),
    /// It requires the role of the agent.
    RequiresRole(String),
    /// Its priority.
    Priority(String),
    /// This many tasks wait for it.
    TasksWaiting(usize),
}

impl ScoreReasonKind {
    /// Returns the reason in English, as documents contain it.
    fn text(&self) -> String {
        match self {
            Self::Assigned => "assigned to you".to_owned(),
            Self::TypeMatchesRole { task_type, role } => {
                format!("{} matches the role {role}", task_type.as_str())
            }
            Self::CompletedOfType(count) => format!("you completed {count} of this type"),
            Self::RequiresRole(role) => format!("requires {role}"),
            Self::Priority(priority) => format!("priority {priority}"),
            Self::TasksWaiting(count) => format!("{count} task(s) wait for it"),
        }
    }
}

/// A recommended task with its score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskRecommendation {
    /// The task.
    pub task: TaskSummary,
    /// The sum of the reasons' points.
    pub score: i64,
    /// Reasons for the score.
    pub reasons: Vec<ScoreReason>,
}

/// Returns the part of a task's score that depends on the task alone. Stores sort by it.
pub fn standing_score(task: &Task) -> i64 {
    task_priority(task).0 + waiting_points(task)
}

fn waiting_points(task: &Task) -> i64 {
    saturating_cast::<i64>(task.blocks.len())
        .saturating_mul(POINTS_PER_WAITING)
        .min(MAX_WAITING_POINTS)
}

/// Returns a task's priority as points and as text.
pub fn task_priority(task: &Task) -> (i64, String) {
    let value = task.metadata.as_ref().and_then(|m| m.get("priority"));
    let word = value
        .map(|raw| {
            raw.parse_as::<String>()
                .unwrap_or_else(|| raw.as_str().to_owned())
                .to_lowercase()
        })
        .unwrap_or_default();
    let points = PRIORITY_POINTS
        .iter()
        .find(|(names, _)| names.contains(&word.as_str()))
        .map(|(_, points)| *points);
    points.map_or((NORMAL_PRIORITY_POINTS, "normal".to_owned()), |points| {
        (points, word)
    })
}

/// Scores a task for an agent.
pub fn score_task(
    record: &TaskRecord,
    profile: &AgentProfile,
    policy: &PermissionPolicy,
) -> TaskRecommendation {
    let task = &record.task;
    let mut reasons = Vec::new();
    let mut add = |points: i64, kind: ScoreReasonKind| {
        if points != 0 {
            let reason = kind.text();
            reasons.push(ScoreReason {
                points,
                reason,
                kind,
            });
        }
    };
    if task.owner == profile.agent && !task.owner.is_empty() {
        add(ASSIGNED_POINTS, ScoreReasonKind::Assigned);
    }
    if let Some(t) = task.task_type {
        if policy
            .type_roles
            .get(&t)
            .is_some_and(|roles| roles.contains(&profile.role))
        {
            let role = profile.role.clone();
            add(
                TYPE_MATCH_POINTS,
                ScoreReasonKind::TypeMatchesRole { task_type: t, role },
            );
        }
        let completed = profile.completed_by_type.get(&t).copied().unwrap_or(0);
        add(
            (i64::from(completed) * POINTS_PER_COMPLETED).min(MAX_COMPLETED_POINTS),
            ScoreReasonKind::CompletedOfType(completed),
        );
    }
    if task.required_role.as_deref() == Some(profile.role.as_str()) {
        let role = profile.role.clone();
        add(ROLE_MATCH_POINTS, ScoreReasonKind::RequiresRole(role));
    }
    let (points, word) = task_priority(task);
    add(points, ScoreReasonKind::Priority(word));
    add(
        waiting_points(task),
        ScoreReasonKind::TasksWaiting(task.blocks.len()),
    );
    let score = reasons.iter().map(|r| r.points).sum();
    TaskRecommendation {
        task: TaskSummary::from_record(record),
        score,
        reasons,
    }
}

/// Ranks tasks for an agent: highest score first; of equal scores, the oldest task first.
pub fn rank_tasks(
    records: &[TaskRecord],
    profile: &AgentProfile,
    policy: &PermissionPolicy,
) -> Vec<TaskRecommendation> {
    let mut all: Vec<_> = records
        .iter()
        .map(|record| score_task(record, profile, policy))
        .collect();
    all.sort_by_key(|r| (std::cmp::Reverse(r.score), r.task.id));
    all.dedup_by_key(|r| r.task.id);
    all
}
