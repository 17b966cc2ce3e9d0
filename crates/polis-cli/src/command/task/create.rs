//! `polis task create`: creates a task.

use clap::Args;
use polis_core::task::create::TaskCreate;
use polis_ops::op;

use super::super::text_or_stdin;
use super::{ids, metadata, render};
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// Create a task.
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What is to be done, in one line
    #[arg(long)]
    subject: String,
    /// What is to be done, at length; - reads standard input
    #[arg(long, default_value = "", hide_default_value = true)]
    description: String,
    /// How it reads while being done
    #[arg(long)]
    active_form: Option<String>,
    /// The role its owner must have
    #[arg(long, value_name = "ROLE")]
    required_role: Option<String>,
    /// What sort of work it is
    #[arg(long = "type", alias = "task-type", value_name = "TYPE")]
    task_type: Option<String>,
    /// Anything else, a JSON object; `priority` (critical, high, normal, low) is understood
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Tasks that have to wait for it
    #[arg(long, value_name = "ID")]
    add_blocks: Vec<String>,
    /// Tasks it has to wait for
    #[arg(long, value_name = "ID")]
    add_blocked_by: Vec<String>,
}

impl Create {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = TaskCreate {
            subject: self.subject,
            description: text_or_stdin(self.description)?,
            active_form: self.active_form,
            metadata: metadata(self.metadata)?,
            required_role: self.required_role,
            task_type: self.task_type,
            add_blocks: ids(&self.add_blocks)?,
            add_blocked_by: ids(&self.add_blocked_by)?,
        };
        let view = context.run(op::create_task(&context.polis, &context.agent, &params))?;
        out.answer(&view, |v| {
            format!("Task #{} created\n{}", v.task.id, render::task(v, out))
        })
    }
}
