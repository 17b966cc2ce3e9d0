//! `polis task approve`: records a task approval, by the team lead or another caller that may approve tasks.
//! It allows the owner to complete the task; the status does not change.

use clap::Args;
use polis_core::TaskStatus;
use polis_i18n::msg;
use polis_ops::op::{self, TaskApproveParams};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;

/// Approve a task's completion (team lead).
#[derive(Debug, Args)]
pub(crate) struct TaskApproveArgs {
    /// Task number
    id: String,
    /// Note on the approval
    #[arg(long)]
    note: Option<String>,
    /// Version you have read; refused if the task has changed since
    #[arg(long, value_name = "VERSION")]
    expected_version: Option<u64>,
}

impl TaskApproveArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = TaskApproveParams {
            task_id: self.id.parse()?,
            note: self.note,
            expected_version: self.expected_version,
        };
        let view = context.block_on(op::approve_task(&context.request(), &params))?;
        out.print_result(&view, |v| match v.task.status {
            TaskStatus::Completed => msg::cli_task_approved_when_completed(out.lang(), v.task.id),
            _ => msg::cli_task_approved(out.lang(), v.task.id),
        })
    }
}
