//! Operations on task comments: the `TaskComment` tool, and reading comments in pages.

use polis_core::task::NewComment;
use polis_core::task::comment::{self, Comment};
use polis_core::{AgentId, Caller, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_task::load;
use super::text_range::from;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::{CommentQuery, Receipt};

/// The parameters of `TaskComment`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskComment {
    /// The task's number.
    pub task_id: TaskId,
    /// The text; @name mentions an agent.
    pub body: String,
    /// The comment it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
}

/// A comment and the task it is on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommentView {
    /// The task's number.
    pub task_id: TaskId,
    /// The comment.
    #[serde(flatten)]
    pub comment: Comment,
}

/// Adds a comment to a task; the task's version does not change.
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
                    let newest = CommentQuery {
                        newest: true,
                        limit: 1,
                        ..CommentQuery::of(params.task_id)
                    };
                    let comments = polis.store.comments(&newest).await?;
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
    /// The task's number.
    pub task_id: TaskId,
    /// Only those after this one: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<u64>,
    /// Read backwards: the newest before this one, oldest first all the same: the `earlier` of the page after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Read backwards from the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub newest: bool,
    /// At most so many; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Begin the first comment here, in bytes, to go on with a long one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

impl TaskComments {
    /// Creates a request for all comments of a task.
    pub fn of(task_id: TaskId) -> Self {
        Self {
            task_id,
            cursor: None,
            before: None,
            newest: false,
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
    /// Where the next page begins; left out if this is the last, or was read backwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Read backwards: where the page before this one ends; left out if this is the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<u64>,
}

/// Returns a task's comments: all, or a page from either end.
pub async fn task_comments(polis: &Polis, params: &TaskComments) -> Result<Comments, OpError> {
    load(polis, params.task_id).await?;
    let backwards = params.newest || params.before.is_some();
    let limit = params.limit.map_or(u32::MAX, |most| most.max(1));
    let query = CommentQuery {
        task: params.task_id,
        after: params.cursor.unwrap_or(0),
        before: params.before,
        newest: backwards,
        limit: limit.saturating_add(1),
    };
    let mut comments = polis.store.comments(&query).await?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let left = comments.len().saturating_sub(most);
    let (mut next, mut earlier) = (None, None);
    if backwards {
        comments.drain(..left);
        earlier = comments.first().filter(|_| left > 0).map(|first| first.id);
    } else {
        comments.truncate(most);
        next = comments.last().filter(|_| left > 0).map(|last| last.id);
    }
    if let (Some(first), Some(offset)) = (comments.first_mut(), params.offset) {
        first.body = from(&first.body, offset).to_owned();
    }
    Ok(Comments {
        comments,
        next,
        earlier,
    })
}

/// Returns one comment of a task, untruncated.
pub async fn task_comment(polis: &Polis, id: TaskId, number: u64) -> Result<Comment, OpError> {
    load(polis, id).await?;
    let query = CommentQuery {
        after: number.saturating_sub(1),
        limit: 1,
        ..CommentQuery::of(id)
    };
    let found = polis.store.comments(&query).await?.pop();
    let found = found.filter(|comment| comment.id == number);
    Ok(found.ok_or_else(|| comment::no_comment(id, number))?)
}
