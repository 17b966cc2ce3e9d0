//! Comments on tasks, with replies and `@name` mentions.
//!
//! The store numbers comments within their task.

use crate::event::kind;
use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TaskRecord, TaskStatus, not_found, text};
use crate::caller::Caller;
use crate::changeset::{Changeset, Write};
use crate::event::{NewEvent, Subject};
use crate::id::{AgentId, TaskId};
use crate::permission::Policy;
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// A comment on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Comment {
    /// Its number within the task.
    pub id: u64,
    /// Who wrote it.
    pub author: String,
    /// When.
    pub at: Timestamp,
    /// What it says.
    pub body: String,
    /// The comment it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
    /// Agents it mentions as `@name`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<String>,
}

/// A comment that the store has not yet numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewComment {
    /// The author.
    pub author: String,
    /// When it was written.
    pub at: Timestamp,
    /// Its text.
    pub body: String,
    /// The comment it replies to.
    pub reply_to: Option<u64>,
    /// Agents it mentions.
    pub mentions: Vec<String>,
}

impl NewComment {
    /// Returns the comment with its number.
    pub fn numbered(&self, id: u64) -> Comment {
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

/// Decides a comment. `last` is the highest comment number of the task.
pub fn decide(
    current: &TaskRecord,
    body: &str,
    reply_to: Option<u64>,
    last: u64,
    policy: &Policy,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(NewComment, Changeset), Refusal> {
    let task = &current.task;
    if task.status == TaskStatus::Deleted {
        return Err(not_found(task.id));
    }
    policy.check_comment(caller, &task.owner)?;
    if body.trim().is_empty() {
        return Err(Refusal::new(
            Code::InvalidText,
            "Invalid comment: it is empty.",
            "say something",
        ));
    }
    text::check_text("comment", body)?;
    if let Some(to) = reply_to
        && !(1..=last).contains(&to)
    {
        return Err(no_comment(task.id, to));
    }
    let comment = NewComment {
        author: caller.id.to_string(),
        at: now.clone(),
        body: body.to_owned(),
        reply_to,
        mentions: mentions(body),
    };
    let data =
        serde_json::json!({ "replyTo": reply_to, "mentions": comment.mentions, "body": body });
    let changes = Changeset::by(caller, now.clone())
        .write(Write::AddComment {
            task: task.id,
            comment: comment.clone(),
        })
        .event(NewEvent::of(
            kind::TASK_COMMENTED,
            Subject::Task(task.id),
            &data,
        ));
    Ok((comment, changes))
}

/// Returns the refusal for a comment that the task does not have.
pub fn no_comment(task: TaskId, number: u64) -> Refusal {
    Refusal::new(
        Code::CommentNotFound,
        format!("Comment {number} of task #{task} not found."),
        format!("see its comments with `polis task comments {task}`"),
    )
}

/// Returns the agents a text mentions: `@name` at the start of a word, without duplicates, sorted by name.
pub fn mentions(text: &str) -> Vec<String> {
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
    fn mentions_are_names_not_addresses() {
        assert_eq!(
            mentions("@architect, see @backend-leader-2. @architect!"),
            ["architect", "backend-leader-2"]
        );
        assert!(mentions("mail me@example.com or @ nobody").is_empty());
        assert_eq!(mentions("请 @程序员 看一下"), ["程序员"]);
    }
}
