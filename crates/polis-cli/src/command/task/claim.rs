//! `polis task claim`, `release` and `heartbeat`: takes a task, gives it back, and renews its lease.

use clap::Args;
use polis_core::task::claim::TaskClaimParams;
use polis_i18n::msg;
use polis_ops::op::{self, TaskHeartbeatParams, TaskReleaseParams};

use super::task_render;
use crate::command::parse_duration_arg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;

/// Claim a task: you become its owner and it is in progress, in one commit.
#[derive(Debug, Args)]
pub(crate) struct TaskClaimArgs {
    /// Task number; default: the best ready task for your role
    id: Option<String>,
    /// Lease, such as 30m; the claim expires without heartbeats
    #[arg(long, value_name = "DURATION")]
    lease: Option<String>,
    /// Version you have read; refused if the task has changed since
    #[arg(long, value_name = "VERSION", requires = "id")]
    expected_version: Option<u64>,
    /// Claim across roles (team lead)
    #[arg(long, requires = "id")]
    force_assign: bool,
}

impl TaskClaimArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = TaskClaimParams {
            task_id: self.id.as_deref().map(str::parse).transpose()?,
            expected_version: self.expected_version,
            lease_ms: self.lease.as_deref().map(parse_duration_arg).transpose()?,
            force_assign: self.force_assign,
        };
        let view = context.block_on(op::claim_task(&context.request(), &params))?;
        out.print_result(&view, |v| {
            format!(
                "{}\n{}",
                msg::cli_task_claimed(out.lang(), v.task.id, &v.task.owner),
                task_render::render_task(v, out)
            )
        })
    }
}

/// Release a task.
#[derive(Debug, Args)]
pub(crate) struct TaskReleaseArgs {
    /// Task number
    id: String,
    /// Version you have read; refused if the task has changed since
    #[arg(long, value_name = "VERSION")]
    expected_version: Option<u64>,
}

impl TaskReleaseArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = TaskReleaseParams {
            task_id: self.id.parse()?,
            expected_version: self.expected_version,
        };
        let view = context.block_on(op::release_task(&context.request(), &params))?;
        out.print_result(&view, |v| msg::cli_task_released(out.lang(), v.task.id))
    }
}

/// Renew the lease of a claim.
#[derive(Debug, Args)]
pub(crate) struct TaskHeartbeatArgs {
    /// Task number
    id: String,
    /// New duration of the lease
    #[arg(long, value_name = "DURATION")]
    lease: Option<String>,
}

impl TaskHeartbeatArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let lease_ms = self.lease.as_deref().map(parse_duration_arg).transpose()?;
        let params = TaskHeartbeatParams {
            task_id: self.id.parse()?,
            lease_ms,
        };
        let view = context.block_on(op::heartbeat_task(&context.request(), &params))?;
        out.print_result(&view, |v| {
            let until = v
                .task
                .lease_expires_at
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            msg::cli_task_lease_renewed(out.lang(), v.task.id, until)
        })
    }
}
