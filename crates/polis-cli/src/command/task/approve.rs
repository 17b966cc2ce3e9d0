//! `polis task approve`: approves the completion of a task.

use clap::Args;
use polis_ops::op::{self, TaskApprove};

use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// Approve a task's completion (team lead).
#[derive(Debug, Args)]
pub(crate) struct Approve {
    /// Its number
    id: String,
    /// What to say about it
    #[arg(long)]
    note: Option<String>,
    /// The version you have read; refused if the task has moved on
    #[arg(long, value_name = "VERSION")]
    expected_version: Option<u64>,
}

impl Approve {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = TaskApprove {
            task_id: self.id.parse()?,
            note: self.note,
            expected_version: self.expected_version,
        };
        let view = context.run(op::approve_task(&context.polis, &context.agent, &params))?;
        out.answer(&view, |v| {
            format!(
                "Task #{} approved; its owner may complete it now",
                v.task.id
            )
        })
    }
}
