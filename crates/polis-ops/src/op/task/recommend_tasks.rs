//! Operation that recommends tasks (`TaskRecommend`): ranks the tasks that the caller could claim, best
//! first, with reasons.
//!
//! It loads the candidates and the agent's history; `polis_core::task::recommendation` computes the scores.
//! `claim_task` uses the same ranking to choose a task if none is named.

use std::collections::{BTreeMap, BTreeSet};

use polis_core::number::saturating_cast;
use polis_core::task::recommendation::{AgentProfile, TaskRecommendation, rank_tasks};
use polis_core::{Caller, CallerKind, TaskId, TaskRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::OpError;
use crate::port::CandidateQuery;
use crate::request::Request;

/// Maximum number of recommendations.
const MAX_RECOMMENDATIONS: u32 = 100;
/// Number of the agent's completed tasks that are considered as its history.
const MAX_HISTORY_TASKS: u32 = 200;

/// Default number of recommendations.
const DEFAULT_RECOMMENDATIONS: u32 = 5;

/// Parameters of `TaskRecommend`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskRecommendParams {
    /// Maximum number of tasks; default: 5, up to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Tasks recommended to an agent, best first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecommendationList {
    /// The recommendations, best first.
    pub recommendations: Vec<TaskRecommendation>,
}

/// Ranks the tasks that the caller could claim. Fails with `permission_denied` if the caller may not act.
pub async fn recommend_tasks(
    request: &Request,
    params: &TaskRecommendParams,
) -> Result<RecommendationList, OpError> {
    let caller = request.resolve_caller().await?;
    let limit = params.limit.unwrap_or(DEFAULT_RECOMMENDATIONS);
    let limit = limit.clamp(1, MAX_RECOMMENDATIONS);
    let recommendations = rank_candidates(&request.app, &caller, limit, BTreeSet::new())
        .await?
        .into_iter()
        .map(|(r, _)| r)
        .collect();
    Ok(RecommendationList { recommendations })
}

/// Returns the first `limit` entries of the ranking with their records; unclaimed tasks in `skip` are
/// ignored. Fails only if the store does.
pub(crate) async fn rank_candidates(
    app: &App,
    caller: &Caller,
    limit: u32,
    skip: BTreeSet<TaskId>,
) -> Result<Vec<(TaskRecommendation, TaskRecord)>, OpError> {
    let mut done = BTreeMap::new();
    for t in app
        .store
        .completed_types(caller.id.as_str(), MAX_HISTORY_TASKS)
        .await?
        .into_iter()
        .flatten()
    {
        *done.entry(t).or_default() += 1;
    }
    let profile = AgentProfile {
        agent: caller.id.to_string(),
        role: caller.role.clone(),
        completed_by_type: done,
    };
    let now = app.clock.now_millis();
    let query = CandidateQuery {
        agent: profile.agent.clone(),
        role: profile.role.clone(),
        now,
        per_group: limit,
        skip,
    };
    let policy = &app.settings.policy;
    let mut records: BTreeMap<TaskId, TaskRecord> = app
        .store
        .claim_candidates(&query)
        .await?
        .into_iter()
        .filter(|record| policy.allows_claim(caller, record.task.task_type))
        .filter(|record| {
            let required = record.task.required_role.as_deref();
            let assigned = record.task.owner == caller.id.as_str();
            assigned || required.is_none_or(|role| fits_role(caller, role))
        })
        .map(|record| (record.task.id, record))
        .collect();
    let all: Vec<TaskRecord> = records.values().cloned().collect();
    let ranking = rank_tasks(&all, &profile, policy);
    let first = ranking.into_iter().take(saturating_cast::<usize>(limit));
    Ok(first
        .filter_map(|r| records.remove(&r.task.id).map(|record| (r, record)))
        .collect())
}

/// Returns whether a task that requires `role` is for the caller. A name counts as its own role only while it
/// is not registered with another role.
fn fits_role(caller: &Caller, role: &str) -> bool {
    let named = caller.kind == CallerKind::Unregistered && role == caller.id.as_str();
    role == caller.role || named
}
