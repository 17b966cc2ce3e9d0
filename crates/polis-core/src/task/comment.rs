//! Comments on tasks, with replies and `@name` mentions.
//!
//! The store numbers comments within their task.

use crate::refusal::{TaskRefusal, TextField};
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TaskRecord, TaskStatus, task_not_found, text_limits};
use crate::caller::Caller;
use crate::changeset::{Changeset, StoreWrite};
use crate::event::{EventPayload, EventSubject, NewEvent, TaskCommentedEvent};
use crate::id::{AgentId, TaskId};
use crate::permission::PermissionPolicy;
use crate::refusal::Refusal;
use crate::timestamp::Timestamp;

/// A comment on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    /// Number within the task.
    pub id: u64,
    /// The author.
    pub author: String,
    /// When it was written.
    pub at: Timestamp,
    /// Text of the comment.
    pub body: String,
    /// The comment it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
    /// Agents it mentions as `@name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<String>,
}

/// A comment that the store has not yet numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewComment {
    /// Id of the agent or person that wrote it.
    pub author: String,
    /// When it was written.
    pub at: Timestamp,
    /// Text of the comment.
    pub body: String,
    /// The comment it replies to.
    pub reply_to: Option<u64>,
    /// Agents it mentions, as found by [`parse_mentions`].
    pub mentions: Vec<String>,
}

impl NewComment {
    /// Returns the comment with its number.
    pub fn with_id(&self, id: u64) -> Comment {
        Comment {
            id,
            author: self.author.clone(),
            at: self.at.clone(),
            body: self.body.clone(),
            reply_to: self.reply_to,
            mentions: self.mentions.clone(),
        }
    }
}

/// Checks a comment and returns it with the changeset. `last` is the highest comment number of the task.
/// Fails if the caller may not comment, the text is invalid, or the comment it replies to does not exist.
pub fn decide_comment(
    current: &TaskRecord,
    body: &str,
    reply_to: Option<u64>,
    last: u64,
    policy: &PermissionPolicy,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(NewComment, Changeset), Refusal> {
    let task = &current.task;
    if task.status == TaskStatus::Deleted {
        return Err(task_not_found(task.id));
    }
    policy.check_comment(caller, &task.owner)?;
    if body.trim().is_empty() {
        return Err(Refusal::from(TaskRefusal::EmptyComment));
    }
    text_limits::check_text(TextField::Comment, body)?;
    if let Some(to) = reply_to
        && !(1..=last).contains(&to)
    {
        return Err(comment_not_found(task.id, to));
    }
    let comment = NewComment {
        author: caller.id.to_string(),
        at: now.clone(),
        body: body.to_owned(),
        reply_to,
        mentions: parse_mentions(body),
    };
    let data = TaskCommentedEvent {
        body: body.to_owned(),
        mentions: comment.mentions.clone(),
        reply_to,
    };
    let changes = Changeset::new(caller, now.clone())
        .with_write(StoreWrite::AddComment {
            task: task.id,
            comment: comment.clone(),
        })
        .with_event(NewEvent::new(
            EventSubject::Task(task.id),
            EventPayload::TaskCommented(data),
        ));
    Ok((comment, changes))
}

/// Returns the refusal for a comment that the task does not have.
pub fn comment_not_found(task: TaskId, number: u64) -> Refusal {
    Refusal::from(TaskRefusal::CommentNotFound { number, task })
}

/// Returns the agents a text mentions: `@name` at the start of a word, without duplicates, sorted by name.
pub fn parse_mentions(text: &str) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c == '@' && !before.is_alphanumeric() {
            let name: String = text[at + 1..]
                .chars()
                .take_while(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'))
                .collect();
            // A full stop after a name belongs to the sentence, not to the name.
            let name = name.trim_end_matches(['.', '-', '_']);
            if name.parse::<AgentId>().is_ok() {
                found.insert(name.to_owned());
            }
        }
        before = c;
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_are_agent_names_not_addresses() {
        assert_eq!(
            parse_mentions("@architect, see @backend-leader-2. @architect!"),
            ["architect", "backend-leader-2"]
        );
        assert!(parse_mentions("mail me@example.com or @ nobody").is_empty());
        assert_eq!(parse_mentions("请 @程序员 看一下"), ["程序员"]);
    }
}
