//! `polis task update` and `delete`: changes or deletes a task.

use clap::Args;
use polis_core::TaskStatus;
use polis_core::task::update::TaskUpdate;
use polis_ops::op;
use polis_ops::op::TaskView;

use super::super::text_or_stdin;
use super::{ids, metadata, render};
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// Change a task. A refused change changes nothing.
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// Its number
    id: String,
    /// The new state: in_progress, completed or deleted
    #[arg(long)]
    status: Option<String>,
    /// The new subject
    #[arg(long)]
    subject: Option<String>,
    /// The new description; - reads standard input
    #[arg(long)]
    description: Option<String>,
    /// How it reads while being done; empty removes it
    #[arg(long)]
    active_form: Option<String>,
    /// The new owner; empty releases the task
    #[arg(long, value_name = "AGENT")]
    owner: Option<String>,
    /// A JSON object to merge in; null removes a key
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Tasks that shall wait for it
    #[arg(long, value_name = "ID")]
    add_blocks: Vec<String>,
    /// Tasks it shall wait for
    #[arg(long, value_name = "ID")]
    add_blocked_by: Vec<String>,
    /// Tasks that shall no longer wait for it
    #[arg(long, value_name = "ID")]
    remove_blocks: Vec<String>,
    /// Tasks it shall no longer wait for
    #[arg(long, value_name = "ID")]
    remove_blocked_by: Vec<String>,
    /// The new required role (team lead); empty removes it
    #[arg(long, value_name = "ROLE")]
    required_role: Option<String>,
    /// The new type (team lead); empty removes it
    #[arg(long = "type", alias = "task-type", value_name = "TYPE")]
    task_type: Option<String>,
    /// The version you have read; refused if the task has moved on
    #[arg(long, value_name = "VERSION")]
    expected_version: Option<u64>,
    /// Assign across roles (team lead)
    #[arg(long)]
    force_assign: bool,
}

impl Update {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = TaskUpdate {
            task_id: self.id.parse()?,
            status: self.status.as_deref().map(TaskStatus::parse).transpose()?,
            subject: self.subject,
            description: self.description.map(text_or_stdin).transpose()?,
            active_form: self.active_form,
            owner: self.owner,
            metadata: metadata(self.metadata)?,
            add_blocks: ids(&self.add_blocks)?,
            add_blocked_by: ids(&self.add_blocked_by)?,
            remove_blocks: ids(&self.remove_blocks)?,
            remove_blocked_by: ids(&self.remove_blocked_by)?,
            required_role: self.required_role,
            task_type: self.task_type,
            expected_version: self.expected_version,
            force_assign: self.force_assign,
        };
        update(context, out, &params)
    }
}

/// Delete a task; its history stays.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    /// Its number
    id: String,
    /// The version you have read; refused if the task has moved on
    #[arg(long, value_name = "VERSION")]
    expected_version: Option<u64>,
}

impl Delete {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = TaskUpdate {
            status: Some(TaskStatus::Deleted),
            expected_version: self.expected_version,
            ..TaskUpdate::of(self.id.parse()?)
        };
        update(context, out, &params)
    }
}

fn update(context: &Context, out: &Output, params: &TaskUpdate) -> Result<(), Failure> {
    let view = context.run(op::update_task(&context.polis, &context.agent, params))?;
    out.answer(&view, |v| {
        format!(
            "{}\n{}{}",
            headline(v, params),
            render::unblocked(v),
            render::task(v, out)
        )
    })
}

fn headline(view: &TaskView, params: &TaskUpdate) -> String {
    let task = &view.task;
    match (&params.owner, &task.required_role) {
        (Some(owner), Some(required)) if params.force_assign && !owner.is_empty() => {
            format!(
                "Task #{} force-assigned to \"{owner}\" (overriding requiredRole: \"{required}\")",
                task.id
            )
        }
        _ if params.status == Some(TaskStatus::Deleted) => format!("Task #{} deleted", task.id),
        _ => format!(
            "Task #{} updated, version: {} -> {}",
            task.id,
            task.version - 1,
            task.version
        ),
    }
}
