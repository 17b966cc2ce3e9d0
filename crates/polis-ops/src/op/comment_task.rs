//! `TaskComment`, and reading comments.

use polis_core::task::NewComment;
use polis_core::task::comment::{self, Comment};
use polis_core::{AgentId, Caller, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_task::load;
use super::page::page;
use super::window::from;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::Receipt;

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
    let task_id = params.task_id;
    let view = move |new: NewComment, receipt: &Receipt| CommentView {
        task_id,
        comment: new.numbered(receipt.comment.unwrap_or_default()),
    };
    polis.settle(decide, view).await
}

/// The parameters of reading comments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskComments {
    /// The task.
    pub task_id: TaskId,
    /// Only those after this one: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<u64>,
    /// At most so many; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Begin the first comment here, in bytes, to go on with a long one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

impl TaskComments {
    /// A request for all comments of a task.
    pub fn of(task_id: TaskId) -> Self {
        Self {
            task_id,
            cursor: None,
            limit: None,
            offset: None,
        }
    }
}

/// A task's comments, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Comments {
    /// The comments.
    pub comments: Vec<Comment>,
    /// Where the next page begins; left out if this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A task's comments.
pub async fn task_comments(polis: &Polis, params: &TaskComments) -> Result<Comments, OpError> {
    load(polis, params.task_id).await?;
    let mut comments = polis.store.comments(params.task_id).await?;
    comments.retain(|comment| params.cursor.is_none_or(|after| comment.id > after));
    if let (Some(first), Some(offset)) = (comments.first_mut(), params.offset) {
        first.body = from(&first.body, offset).to_owned();
    }
    let next = page(&mut comments, params.limit).map(|last| last.id);
    Ok(Comments { comments, next })
}
