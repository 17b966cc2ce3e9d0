//! `polis task claim`, `release` and `heartbeat`: takes a task, gives it back, and renews its lease.

use clap::Args;
use polis_core::task::claim::TaskClaim;
use polis_ops::op::{self, TaskHeartbeat, TaskRelease};

use super::render;
use crate::command::duration;
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// Take a task: you become its owner and it is in progress, in one commit.
#[derive(Debug, Args)]
pub(crate) struct Claim {
    /// Its number; left out: the best ready one for your role
    id: Option<String>,
    /// Give it up unless you send heartbeats, such as 30m
    #[arg(long, value_name = "DURATION")]
    lease: Option<String>,
    /// The version you have read; refused if the task has moved on
    #[arg(long, value_name = "VERSION", requires = "id")]
    expected_version: Option<u64>,
    /// Claim across roles (team lead)
    #[arg(long, requires = "id")]
    force_assign: bool,
}

impl Claim {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = TaskClaim {
            task_id: self.id.as_deref().map(str::parse).transpose()?,
            expected_version: self.expected_version,
            lease_ms: self.lease.as_deref().map(duration).transpose()?,
            force_assign: self.force_assign,
        };
        let view = context.run(op::claim_task(&context.polis, &context.agent, &params))?;
        out.answer(&view, |v| {
            format!(
                "Task #{} claimed by {}\n{}",
                v.task.id,
                v.task.owner,
                render::task(v, out)
            )
        })
    }
}

/// Give a task back.
#[derive(Debug, Args)]
pub(crate) struct Release {
    /// Its number
    id: String,
    /// The version you have read; refused if the task has moved on
    #[arg(long, value_name = "VERSION")]
    expected_version: Option<u64>,
}

impl Release {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = TaskRelease {
            task_id: self.id.parse()?,
            expected_version: self.expected_version,
        };
        let view = context.run(op::release_task(&context.polis, &context.agent, &params))?;
        out.answer(&view, |v| format!("Task #{} released", v.task.id))
    }
}

/// Keep a claim with a lease alive.
#[derive(Debug, Args)]
pub(crate) struct Heartbeat {
    /// Its number
    id: String,
    /// A new length for the lease
    #[arg(long, value_name = "DURATION")]
    lease: Option<String>,
}

impl Heartbeat {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let lease_ms = self.lease.as_deref().map(duration).transpose()?;
        let params = TaskHeartbeat {
            task_id: self.id.parse()?,
            lease_ms,
        };
        let view = context.run(op::heartbeat_task(&context.polis, &context.agent, &params))?;
        out.answer(&view, |v| {
            let until = v
                .task
                .lease_expires_at
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default();
            format!("Task #{} is yours until {until}", v.task.id)
        })
    }
}
