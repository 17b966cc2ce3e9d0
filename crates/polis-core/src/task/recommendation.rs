//! Task recommendation: scores and ranks the ready tasks for an agent and explains the score.
//!
//! The ranking is lexicographic: assigned to the agent, then priority, then the number of tasks that wait, then
//! fit (type, role and experience), then age. The score expresses this order as one number, in which each
//! criterion has decimal digits of its own: `A P WWW FF`, as in 302030. It is a sum, because an agent reads the
//! reasons with their points, and because a store can then sort by its part of the sum. The order is exact:
//! all criteria below another one together are worth less than one step of it.
//!
//! The sum has two parts. The *standing* part (priority and waiting tasks) depends on the task alone; stores
//! keep it as a sort key, so changing these weights needs a migration that computes it again. The *personal*
//! part depends only on the task's type, its required role and its owner. So the best task overall is the best
//! of the first task of each such group, and no store has to score all tasks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Task, TaskPriority, TaskRecord, TaskSummary, TaskType};
use crate::number::saturating_cast;
use crate::permission::PermissionPolicy;

/// Points for a task that is already assigned to the agent.
const ASSIGNED_POINTS: i64 = 1_000_000;
/// Points for each step of priority above low, which has one step itself.
const POINTS_PER_PRIORITY_STEP: i64 = 100_000;
/// Points for each task that waits for it, up to `MAX_WAITING` tasks.
const POINTS_PER_WAITING: i64 = 100;
/// Number of waiting tasks above which more make no difference.
const MAX_WAITING: usize = 999;
/// Points for a task whose type matches the agent's role.
const TYPE_MATCH_POINTS: i64 = 30;
/// Points for a task that requires exactly the agent's role.
const ROLE_MATCH_POINTS: i64 = 20;
/// Points for each recently completed task of the same type, up to `MAX_COMPLETED_POINTS`.
const POINTS_PER_COMPLETED: i64 = 2;
const MAX_COMPLETED_POINTS: i64 = 10;

// What makes the order of the sums lexicographic.
const _: () = {
    let fit = TYPE_MATCH_POINTS + ROLE_MATCH_POINTS + MAX_COMPLETED_POINTS;
    assert!(fit < POINTS_PER_WAITING);
    let waiting = POINTS_PER_WAITING * MAX_WAITING as i64;
    assert!(waiting + fit < POINTS_PER_PRIORITY_STEP);
    let priority = POINTS_PER_PRIORITY_STEP * TaskPriority::ALL.len() as i64;
    assert!(priority + waiting + fit < ASSIGNED_POINTS);
};

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
    Priority(TaskPriority),
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
            Self::Priority(priority) => format!("priority {}", priority.as_str()),
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
    /// Reasons for the score, in the order in which tasks are compared.
    pub reasons: Vec<ScoreReason>,
}

/// Returns the part of a task's score that depends on the task alone. Stores sort by it.
pub fn standing_score(task: &Task) -> i64 {
    priority_points(task.priority.unwrap_or_default()) + waiting_points(task)
}

fn priority_points(priority: TaskPriority) -> i64 {
    let steps = TaskPriority::Low.rank() - priority.rank() + 1;
    i64::from(steps) * POINTS_PER_PRIORITY_STEP
}

fn waiting_points(task: &Task) -> i64 {
    saturating_cast::<i64>(task.blocks.len().min(MAX_WAITING)) * POINTS_PER_WAITING
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
    let priority = task.priority.unwrap_or_default();
    add(
        priority_points(priority),
        ScoreReasonKind::Priority(priority),
    );
    add(
        waiting_points(task),
        ScoreReasonKind::TasksWaiting(task.blocks.len()),
    );
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A free task: number, priority, number of waiting tasks, type and required role.
    fn task(
        number: u64,
        priority: &str,
        waiting: u64,
        task_type: Option<TaskType>,
        role: Option<&str>,
    ) -> TaskRecord {
        let fields = serde_json::json!({
            "id": number.to_string(), "subject": "a task", "status": "pending", "owner": "", "version": 1,
            "metadata": { "priority": priority },
            "blocks": (0..waiting).map(|n| (1_000 + n).to_string()).collect::<Vec<_>>(), "blockedBy": [],
        });
        let mut task: Task = serde_json::from_value(fields).unwrap();
        task.task_type = task_type;
        task.required_role = role.map(str::to_owned);
        TaskRecord {
            task,
            revision: 1,
            owner_role: None,
            open_blockers: 0,
        }
    }

    fn rank(records: &[TaskRecord]) -> Vec<u64> {
        let profile = AgentProfile {
            agent: "b1".to_owned(),
            role: "backend-leader".to_owned(),
            completed_by_type: [(TaskType::BackendImplementation, 50)].into(),
        };
        let policy = PermissionPolicy::default();
        let ranking = rank_tasks(records, &profile, &policy);
        assert!(ranking.is_sorted_by_key(|one| (-one.score, one.task.id)));
        for one in &ranking {
            let sum: i64 = one.reasons.iter().map(|reason| reason.points).sum();
            assert_eq!(sum, one.score);
        }
        ranking.iter().map(|one| one.task.id.number()).collect()
    }

    #[test]
    fn criteria_are_compared_in_order() {
        let backend = Some(TaskType::BackendImplementation);
        let mine = Some("backend-leader");
        let mut assigned = task(9, "low", 0, None, None);
        assigned.task.owner = "b1".to_owned();
        let tasks = [
            task(1, "low", 5_000, backend, mine),
            task(2, "normal", 0, None, None),
            task(3, "normal", 0, None, None),
            task(4, "normal", 0, backend, mine),
            task(5, "normal", 1, None, None),
            task(6, "high", 0, None, None),
            task(7, "critical", 0, None, None),
            task(8, "no such word", 2, None, None),
            assigned,
        ];
        assert_eq!(rank(&tasks), [9, 7, 6, 8, 5, 4, 2, 3, 1]);
    }

    #[test]
    fn standing_score_decides_within_a_group() {
        let mut records: Vec<TaskRecord> = Vec::new();
        for priority in TaskPriority::ALL {
            for waiting in [0, 1, 998, 999] {
                let number = 100 - records.len() as u64;
                records.push(task(number, priority.as_str(), waiting, None, None));
            }
        }
        let mut sorted = records.clone();
        sorted.sort_by_key(|record| -standing_score(&record.task));
        let numbers: Vec<u64> = sorted.iter().map(|one| one.task.id.number()).collect();
        assert_eq!(rank(&records), numbers);
    }

    #[test]
    fn absent_priority_is_normal() {
        let mut record = task(1, "normal", 0, None, None);
        let explicit = standing_score(&record.task);
        record.task.metadata = None;
        record.task.priority = None;
        assert_eq!(standing_score(&record.task), explicit);
    }
}
