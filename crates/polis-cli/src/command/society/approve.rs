//! `polis society approvals`, `approve` and `deny`: lists and decides tool calls that need approval by a person.

use clap::Args;
use polis_core::society::approval::Approval;
use polis_ops::op::{self, DecideApproval, ListApprovals};

use crate::context::Context;
use crate::error::{Failure, invalid};
use crate::output::{Output, Table};

/// List the calls that wait to be allowed.
#[derive(Debug, Args)]
pub(crate) struct Approvals {
    /// Only of this run
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Those that were decided, too
    #[arg(long)]
    all: bool,
}

/// Decide on a call.
#[derive(Debug, Args)]
pub(crate) struct Decide {
    /// The call: an id of `polis society approvals`; default: the only one that waits
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// What the agent is told about it
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

impl Approvals {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = ListApprovals {
            task_id: self.run.as_deref().map(str::parse).transpose()?,
            all: self.all,
            ..ListApprovals::default()
        };
        let list = context.run(op::list_approvals(&context.polis, &context.agent, &params))?;
        out.answer(&list, |list| {
            if list.approvals.is_empty() {
                return "No call waits to be allowed. Which tools ask is in [society] approve of polis.toml."
                    .to_owned();
            }
            let mut table = Table::new(&["ID", "AGENT", "TOOL", "STATE", "ARGUMENTS"]);
            for one in &list.approvals {
                table.row(row(one));
            }
            format!(
                "{}\npolis society approve ID, or polis society deny ID --note WHY",
                table.render(out)
            )
        })
    }
}

fn row(one: &Approval) -> [String; 5] {
    let state = match &one.decision {
        None => "waits".to_owned(),
        Some(decision) if decision.allowed => format!("allowed by {}", decision.by),
        Some(decision) => format!("denied by {}", decision.by),
    };
    [
        one.id.clone(),
        one.agent.to_string(),
        one.tool.clone(),
        state,
        one.arguments.text().replace('\n', " "),
    ]
}

impl Decide {
    pub(super) fn run(self, allowed: bool, context: &Context, out: &Output) -> Result<(), Failure> {
        let id = match self.id {
            Some(id) => id,
            None => the_only(context)?,
        };
        let params = DecideApproval {
            id,
            allowed,
            note: self.note,
        };
        let decided = op::decide_approval(&context.polis, &context.agent, &params);
        let decided = context.run(decided)?;
        out.answer(&decided, |one| {
            let what = if allowed { "may" } else { "may not" };
            format!("{} {what} call {}.", one.agent, one.tool)
        })
    }
}

fn the_only(context: &Context) -> Result<String, Failure> {
    let params = ListApprovals::default();
    let list = context.run(op::list_approvals(&context.polis, &context.agent, &params))?;
    let mut waiting = list.approvals.into_iter();
    match (waiting.next(), waiting.next()) {
        (Some(only), None) => Ok(only.id),
        (None, _) => Err(polis_core::Refusal::new(
            polis_core::Code::ApprovalNotFound,
            "No call waits to be allowed.",
            "look with `polis society approvals --all`",
        )
        .into()),
        (Some(_), Some(_)) => Err(invalid(
            "More than one call waits to be allowed.",
            "name the one that is meant: `polis society approvals` lists them",
        )),
    }
}
