//! Operations on task comments: the `TaskComment` tool, and reading comments in pages.

use polis_core::number::saturating_cast;
use polis_core::task::NewComment;
use polis_core::task::comment::{self, Comment};
use polis_core::{Caller, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::op::task::get_task::load_task;
use crate::port::{CommentQuery, Receipt};
use crate::request::{AttemptFuture, Request};
use crate::text_range::text_from_offset;

/// Parameters of `TaskComment`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskCommentParams {
    /// The task's number.
    pub task_id: TaskId,
    /// The text; @name mentions an agent.
    pub body: String,
    /// Id of the comment it replies to.
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

/// Adds a comment to a task; the task's version does not change. Fails with `task_not_found` if the
/// task does not exist or is deleted, with `permission_denied` if the caller may not comment on it,
/// with `invalid_text` if the text is empty or invalid, and with `comment_not_found` if there is no
/// comment to reply to.
pub async fn comment_task(
    request: &Request,
    params: &TaskCommentParams,
) -> Result<CommentView, OpError> {
    let caller = request.resolve_caller().await?;
    let answer = add_comment(request, &caller, params).await;
    request
        .log_refusal("comment", params.task_id, &caller, answer)
        .await
}

async fn add_comment(
    request: &Request,
    caller: &Caller,
    params: &TaskCommentParams,
) -> Result<CommentView, OpError> {
    let decide = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let current = load_task(&request.app, params.task_id).await?;
            let last = match params.reply_to {
                None => 0,
                Some(_) => {
                    let newest = CommentQuery {
                        newest: true,
                        limit: 1,
                        ..CommentQuery::for_task(params.task_id)
                    };
                    let comments = request.app.store.comments(&newest).await?;
                    comments.last().map_or(0, |c| c.id)
                }
            };
            let decided = comment::decide_comment(
                &current,
                &params.body,
                params.reply_to,
                last,
                &request.app.settings.policy,
                caller,
                &request.app.now(),
            )?;
            Ok(decided)
        })
    };
    let task_id = params.task_id;
    let view = move |new: NewComment, receipt: &Receipt| CommentView {
        task_id,
        comment: new.with_id(receipt.comment.unwrap_or_default()),
    };
    request.retry_on_conflict(decide, view).await
}

/// Parameters of `TaskComments`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskCommentsParams {
    /// The task's number.
    pub task_id: TaskId,
    /// Only comments after this id: `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<u64>,
    /// Read backwards, in ascending order: only comments before this id (`earlier` of the later page).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Read backwards from the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub newest: bool,
    /// Maximum number of entries; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Start offset in the first comment, in bytes, to continue a long one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

impl TaskCommentsParams {
    /// Creates a request for all comments of a task.
    pub fn for_task(task_id: TaskId) -> Self {
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
pub struct CommentPage {
    /// The comments.
    pub comments: Vec<Comment>,
    /// Cursor of the next page; omitted on the last page and when reading backwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// When reading backwards: cursor of the earlier page; omitted on the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<u64>,
}

/// Returns a task's comments: all, or a page from either end. Fails with `task_not_found` if the task
/// does not exist.
pub async fn list_task_comments(
    request: &Request,
    params: &TaskCommentsParams,
) -> Result<CommentPage, OpError> {
    load_task(&request.app, params.task_id).await?;
    let backwards = params.newest || params.before.is_some();
    let limit = params.limit.map_or(u32::MAX, |limit| limit.max(1));
    let query = CommentQuery {
        task: params.task_id,
        after: params.cursor.unwrap_or(0),
        before: params.before,
        newest: backwards,
        limit: limit.saturating_add(1),
    };
    let mut comments = request.app.store.comments(&query).await?;
    let max_comments = saturating_cast::<usize>(limit);
    let left = comments.len().saturating_sub(max_comments);
    let (mut next, mut earlier) = (None, None);
    if backwards {
        comments.drain(..left);
        earlier = comments.first().filter(|_| left > 0).map(|first| first.id);
    } else {
        comments.truncate(max_comments);
        next = comments.last().filter(|_| left > 0).map(|last| last.id);
    }
    if let (Some(first), Some(offset)) = (comments.first_mut(), params.offset) {
        first.body = text_from_offset(&first.body, offset).to_owned();
    }
    Ok(CommentPage {
        comments,
        next,
        earlier,
    })
}

/// Returns one comment of a task, untruncated. Fails with `task_not_found` or `comment_not_found` if
/// there is no such task or comment.
pub async fn get_task_comment(
    request: &Request,
    id: TaskId,
    number: u64,
) -> Result<Comment, OpError> {
    load_task(&request.app, id).await?;
    let query = CommentQuery {
        after: number.saturating_sub(1),
        limit: 1,
        ..CommentQuery::for_task(id)
    };
    let found = request.app.store.comments(&query).await?.pop();
    let found = found.filter(|comment| comment.id == number);
    Ok(found.ok_or_else(|| comment::comment_not_found(id, number))?)
}
