//! `TaskComment`, and reading comments.

use polis_core::task::comment::{self, Comment};
use polis_core::{AgentId, Caller, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_task::load;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// The parameters of `TaskComment`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskComment {
    /// The task.
    pub task_id: TaskId,
    /// What to say; `@name` mentions an agent.
    pub body: String,
    /// The comment it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
}

/// A comment and the task it is on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommentView {
    /// The task.
    pub task_id: TaskId,
    /// The comment.
    #[serde(flatten)]
    pub comment: Comment,
}

/// Comments on a task; its version does not change.
pub async fn comment_task(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskComment,
) -> Result<CommentView, OpError> {
    let caller = polis.caller(caller).await?;
    let answer = attempt(polis, &caller, params).await;
    polis
        .audited("comment", params.task_id, &caller, answer)
        .await
}

async fn attempt(
    polis: &Polis,
    caller: &Caller,
    params: &TaskComment,
) -> Result<CommentView, OpError> {
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let current = load(polis, params.task_id).await?;
            let last = match params.reply_to {
                None => 0,
                Some(_) => {
                    let comments = polis.store.comments(params.task_id).await?;
                    comments.last().map_or(0, |c| c.id)
                }
            };
            let decided = comment::decide(
                &current,
                &params.body,
                params.reply_to,
                last,
                &polis.settings.policy,
                caller,
                &polis.now(),
            )?;
            Ok(decided)
        })
    };
    let (new, receipt) = polis.settle(decide).await?;
    Ok(CommentView {
        task_id: params.task_id,
        comment: new.numbered(receipt.comment.unwrap_or_default()),
    })
}

/// A task's comments, in order.
pub async fn task_comments(polis: &Polis, id: TaskId) -> Result<Vec<Comment>, OpError> {
    load(polis, id).await?;
    Ok(polis.store.comments(id).await?)
}
