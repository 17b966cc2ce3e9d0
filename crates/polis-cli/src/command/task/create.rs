//! `polis task create`: creates a task, with its dependencies on other tasks.

use clap::Args;
use polis_core::task::create::TaskCreateParams;
use polis_i18n::msg;
use polis_ops::op;

use super::super::read_text_arg;
use super::{parse_metadata, parse_priority, parse_task_ids, task_render};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;

/// Create a task.
#[derive(Debug, Args)]
pub(crate) struct TaskCreateArgs {
    /// Subject, in one line
    #[arg(long)]
    subject: String,
    /// Description; - reads standard input
    #[arg(long, default_value = "", hide_default_value = true)]
    description: String,
    /// Text shown while the task is in progress, such as "Fixing the login"
    #[arg(long)]
    active_form: Option<String>,
    /// Role that the owner must have
    #[arg(long, value_name = "ROLE")]
    required_role: Option<String>,
    /// Task type
    #[arg(long = "type", alias = "task-type", value_name = "TYPE")]
    task_type: Option<String>,
    /// Priority: critical, high, normal (default) or low; the highest is claimed first
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<String>,
    /// Metadata, a JSON object; its `priority` is the priority
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Tasks that this task blocks
    #[arg(long, value_name = "ID")]
    add_blocks: Vec<String>,
    /// Tasks that block this task
    #[arg(long, value_name = "ID")]
    add_blocked_by: Vec<String>,
}

impl TaskCreateArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = TaskCreateParams {
            subject: self.subject,
            description: read_text_arg(self.description)?,
            active_form: self.active_form,
            metadata: parse_metadata(self.metadata)?,
            required_role: self.required_role,
            task_type: self.task_type,
            priority: parse_priority(self.priority.as_deref())?,
            add_blocks: parse_task_ids(&self.add_blocks)?,
            add_blocked_by: parse_task_ids(&self.add_blocked_by)?,
        };
        let view = context.block_on(op::create_task(&context.request(), &params))?;
        out.print_result(&view, |v| {
            format!(
                "{}\n{}",
                msg::cli_task_created(out.lang(), v.task.id),
                task_render::render_task(v, out)
            )
        })
    }
}
