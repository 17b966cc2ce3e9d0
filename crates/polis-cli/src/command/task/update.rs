//! `polis task update` and `delete`: changes or deletes a task.

use clap::Args;
use polis_core::TaskStatus;
use polis_core::task::update::TaskUpdateParams;
use polis_i18n::{UiLanguage, msg};
use polis_ops::op;
use polis_ops::op::TaskView;

use super::super::read_text_arg;
use super::{parse_metadata, parse_priority, parse_task_ids, task_render};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;

/// Change a task. A refused change changes nothing.
#[derive(Debug, Args)]
pub(crate) struct TaskUpdateArgs {
    /// Task number
    id: String,
    /// New status: in_progress, completed or deleted
    #[arg(long)]
    status: Option<String>,
    /// New subject
    #[arg(long)]
    subject: Option<String>,
    /// New description; - reads standard input
    #[arg(long)]
    description: Option<String>,
    /// Text shown while the task is in progress; empty removes it
    #[arg(long)]
    active_form: Option<String>,
    /// New owner; empty releases the task
    #[arg(long, value_name = "AGENT")]
    owner: Option<String>,
    /// Metadata to merge, a JSON object; null removes a key
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Add tasks that this task blocks
    #[arg(long, value_name = "ID")]
    add_blocks: Vec<String>,
    /// Add tasks that block this task
    #[arg(long, value_name = "ID")]
    add_blocked_by: Vec<String>,
    /// Remove tasks that this task blocks
    #[arg(long, value_name = "ID")]
    remove_blocks: Vec<String>,
    /// Remove tasks that block this task
    #[arg(long, value_name = "ID")]
    remove_blocked_by: Vec<String>,
    /// New required role (team lead); empty removes it
    #[arg(long, value_name = "ROLE")]
    required_role: Option<String>,
    /// New type (team lead); empty removes it
    #[arg(long = "type", alias = "task-type", value_name = "TYPE")]
    task_type: Option<String>,
    /// New priority: critical, high, normal or low
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<String>,
    /// Version you have read; refused if the task has changed since
    #[arg(long, value_name = "VERSION")]
    expected_version: Option<u64>,
    /// Assign across roles (team lead)
    #[arg(long)]
    force_assign: bool,
}

impl TaskUpdateArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = TaskUpdateParams {
            task_id: self.id.parse()?,
            status: self.status.as_deref().map(TaskStatus::parse).transpose()?,
            subject: self.subject,
            description: self.description.map(read_text_arg).transpose()?,
            active_form: self.active_form,
            owner: self.owner,
            metadata: parse_metadata(self.metadata)?,
            add_blocks: parse_task_ids(&self.add_blocks)?,
            add_blocked_by: parse_task_ids(&self.add_blocked_by)?,
            remove_blocks: parse_task_ids(&self.remove_blocks)?,
            remove_blocked_by: parse_task_ids(&self.remove_blocked_by)?,
            required_role: self.required_role,
            task_type: self.task_type,
            priority: parse_priority(self.priority.as_deref())?,
            expected_version: self.expected_version,
            force_assign: self.force_assign,
        };
        apply_update(context, out, &params)
    }
}

/// Delete a task; its history is kept.
#[derive(Debug, Args)]
pub(crate) struct TaskDeleteArgs {
    /// Task number
    id: String,
    /// Version you have read; refused if the task has changed since
    #[arg(long, value_name = "VERSION")]
    expected_version: Option<u64>,
}

impl TaskDeleteArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = TaskUpdateParams {
            status: Some(TaskStatus::Deleted),
            expected_version: self.expected_version,
            ..TaskUpdateParams::new(self.id.parse()?)
        };
        apply_update(context, out, &params)
    }
}

fn apply_update(
    context: &CommandContext,
    out: &CliOutput,
    params: &TaskUpdateParams,
) -> Result<(), CliError> {
    let view = context.block_on(op::update_task(&context.request(), params))?;
    out.print_result(&view, |v| {
        format!(
            "{}\n{}{}",
            update_headline(v, params, out.lang()),
            task_render::render_unblocked(v, out.lang()),
            task_render::render_task(v, out)
        )
    })
}

fn update_headline(view: &TaskView, params: &TaskUpdateParams, lang: UiLanguage) -> String {
    let task = &view.task;
    match (&params.owner, &task.required_role) {
        (Some(owner), Some(required)) if params.force_assign && !owner.is_empty() => {
            msg::cli_task_force_assigned(lang, task.id, owner, required)
        }
        _ if params.status == Some(TaskStatus::Deleted) => msg::cli_task_deleted(lang, task.id),
        _ => msg::cli_task_updated(lang, task.id, task.version - 1, task.version),
    }
}
