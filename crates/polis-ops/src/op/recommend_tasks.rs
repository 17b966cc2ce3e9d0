//! Operation behind the `TaskRecommend` tool: ranks the tasks that are ready for an agent, best first, with reasons.

use std::collections::{BTreeMap, BTreeSet};

use polis_core::task::recommend::{Profile, Recommendation, rank};
use polis_core::{AgentId, Caller, Standing, TaskId, TaskRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::CandidateQuery;

/// Maximum number of recommendations.
const MAX_RECOMMENDED: u32 = 100;
/// Number of the agent's completed tasks that are considered as its history.
const HISTORY: u32 = 200;

/// Default number of recommendations.
const USUALLY_RECOMMENDED: u32 = 5;

/// The parameters of `TaskRecommend`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskRecommend {
    /// At most so many, up to 100; 5 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The ranking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Recommendations {
    /// Best first.
    pub recommendations: Vec<Recommendation>,
}

/// Ranks the tasks that the caller could claim.
pub async fn recommend_tasks(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskRecommend,
) -> Result<Recommendations, OpError> {
    let caller = polis.caller(caller).await?;
    let limit = params.limit.unwrap_or(USUALLY_RECOMMENDED);
    let limit = limit.clamp(1, MAX_RECOMMENDED);
    let recommendations = ranked(polis, &caller, limit, BTreeSet::new())
        .await?
        .into_iter()
        .map(|(r, _)| r)
        .collect();
    Ok(Recommendations { recommendations })
}

/// Returns the first `limit` entries of the ranking with their records; unclaimed tasks in `skip` are ignored.
pub(super) async fn ranked(
    polis: &Polis,
    caller: &Caller,
    limit: u32,
    skip: BTreeSet<TaskId>,
) -> Result<Vec<(Recommendation, TaskRecord)>, OpError> {
    let mut done = BTreeMap::new();
    for t in polis
        .store
        .completed_types(caller.id.as_str(), HISTORY)
        .await?
        .into_iter()
        .flatten()
    {
        *done.entry(t).or_default() += 1;
    }
    let profile = Profile {
        agent: caller.id.to_string(),
        role: caller.role.clone(),
        done,
    };
    let now = polis.clock.now_millis();
    let query = CandidateQuery {
        agent: profile.agent.clone(),
        role: profile.role.clone(),
        now,
        per_group: limit,
        skip,
    };
    let policy = &polis.settings.policy;
    let mut records: BTreeMap<TaskId, TaskRecord> = polis
        .store
        .candidates(&query)
        .await?
        .into_iter()
        .filter(|record| policy.allows_claim(caller, record.task.task_type))
        .filter(|record| {
            let required = record.task.required_role.as_deref();
            let assigned = record.task.owner == caller.id.as_str();
            assigned || required.is_none_or(|role| admits(caller, role))
        })
        .map(|record| (record.task.id, record))
        .collect();
    let all: Vec<TaskRecord> = records.values().cloned().collect();
    let ranking = rank(&all, &profile, policy);
    let first = ranking
        .into_iter()
        .take(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(first
        .filter_map(|r| records.remove(&r.task.id).map(|record| (r, record)))
        .collect())
}

/// Returns whether a task that requires `role` is for the caller. A name counts as its own role only while it is not
/// registered with another role.
fn admits(caller: &Caller, role: &str) -> bool {
    let named = caller.standing == Standing::Unregistered && role == caller.id.as_str();
    role == caller.role || named
}
