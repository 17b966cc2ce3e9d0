//! `polis task comment` and `comments`: adds comments to a task and lists them as threads.

use clap::Args;
use polis_core::task::Comment;
use polis_i18n::msg;
use polis_ops::op::{self, TaskCommentParams, TaskCommentsParams};

use super::super::read_text_arg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextStyle, sanitize_line, sanitize_lines};

/// Comment on a task; @name mentions an agent.
#[derive(Debug, Args)]
pub(crate) struct TaskCommentArgs {
    /// Task number
    id: String,
    /// Text; - reads standard input
    #[arg(long, alias = "content")]
    body: String,
    /// Number of the comment that this one answers
    #[arg(long, value_name = "N")]
    reply_to: Option<u64>,
}

impl TaskCommentArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = TaskCommentParams {
            task_id: self.id.parse()?,
            body: read_text_arg(self.body)?,
            reply_to: self.reply_to,
        };
        let view = context.block_on(op::comment_task(&context.request(), &params))?;
        out.print_result(&view, |v| {
            msg::cli_task_comment_added(out.lang(), v.comment.id, v.task_id)
        })
    }
}

/// List a task's comments as threads.
#[derive(Debug, Args)]
pub(crate) struct TaskCommentsArgs {
    /// Task number
    id: String,
    /// Only the newest N comments
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    /// Only comments before this one
    #[arg(long, value_name = "N")]
    before: Option<u64>,
}

impl TaskCommentsArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = TaskCommentsParams {
            newest: self.limit.is_some(),
            limit: self.limit,
            before: self.before,
            ..TaskCommentsParams::for_task(self.id.parse()?)
        };
        let all = context.block_on(op::list_task_comments(&context.request(), &params))?;
        out.print_result(&all, |all| {
            let mut text = render_threads(&all.comments, out);
            if let Some(earlier) = all.earlier {
                text.push_str(&msg::cli_task_earlier_comments(out.lang(), earlier));
                text.push('\n');
            }
            text
        })
    }
}

fn render_threads(comments: &[Comment], out: &CliOutput) -> String {
    if comments.is_empty() {
        return msg::cli_task_no_comments(out.lang()).to_owned();
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
        let head = format!(
            "[{}] {} {}",
            comment.id,
            sanitize_line(&comment.author),
            comment.at
        );
        text.push_str(&format!("{indent}{}\n", out.paint(TextStyle::Dim, &head)));
        for line in sanitize_lines(&comment.body).lines() {
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
