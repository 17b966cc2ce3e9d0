//! `polis task comment` and `comments`: adds comments to a task and lists them as threads.

use clap::Args;
use polis_core::task::Comment;
use polis_ops::op::{self, TaskComment, TaskComments};

use super::super::text_or_stdin;
use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Style, clean, clean_lines};

/// Comment on a task; @name mentions an agent.
#[derive(Debug, Args)]
pub(crate) struct Add {
    /// Its number
    id: String,
    /// What to say; - reads standard input
    #[arg(long, alias = "content")]
    body: String,
    /// The number of the comment this one answers
    #[arg(long, value_name = "N")]
    reply_to: Option<u64>,
}

impl Add {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = TaskComment {
            task_id: self.id.parse()?,
            body: text_or_stdin(self.body)?,
            reply_to: self.reply_to,
        };
        let view = context.run(op::comment_task(&context.polis, &context.agent, &params))?;
        out.answer(&view, |v| {
            format!("Comment {} added to task #{}", v.comment.id, v.task_id)
        })
    }
}

/// Read a task's comments, answers below what they answer.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Its number
    id: String,
    /// Only the newest so many
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Only those before this comment
    #[arg(long, value_name = "N")]
    before: Option<u64>,
}

impl List {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = TaskComments {
            newest: self.limit.is_some(),
            limit: self.limit,
            before: self.before,
            ..TaskComments::of(self.id.parse()?)
        };
        let all = context.run(op::task_comments(&context.polis, &params))?;
        out.answer(&all, |all| {
            let mut text = threads(&all.comments, out);
            if let Some(earlier) = all.earlier {
                text.push_str(&format!("Earlier ones: --before {earlier}\n"));
            }
            text
        })
    }
}

fn threads(comments: &[Comment], out: &Output) -> String {
    if comments.is_empty() {
        return "No comments yet. Write one: polis task comment ID --body \"...\"".to_owned();
    }
    let mut text = String::new();
    // This is one page: a comment may reply to one on an earlier page, and is shown at the top level then.
    let first = comments.first().map_or(0, |c| c.id);
    let mut stack: Vec<(&Comment, usize)> = comments
        .iter()
        .rev()
        .filter(|c| c.reply_to.is_none_or(|to| to < first))
        .map(|c| (c, 0))
        .collect();
    while let Some((comment, depth)) = stack.pop() {
        let indent = "  ".repeat(depth.min(10));
        let head = format!("[{}] {} {}", comment.id, clean(&comment.author), comment.at);
        text.push_str(&format!("{indent}{}\n", out.paint(Style::Dim, &head)));
        for line in clean_lines(&comment.body).lines() {
            text.push_str(&format!("{indent}  {line}\n"));
        }
        stack.extend(
            comments
                .iter()
                .rev()
                .filter(|c| c.reply_to == Some(comment.id))
                .map(|c| (c, depth + 1)),
        );
    }
    text
}
