//! `polis society approvals`, `approve` and `deny`: lists and decides tool calls that need approval by a
//! person.

use clap::Args;
use polis_core::Refusal;
use polis_core::society::call_approval::CallApproval;
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, DecideApprovalParams, ListApprovalsParams};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextTable};
use crate::refusal_tables::CommandRefusal;

/// List the tool calls that need approval.
#[derive(Debug, Args)]
pub(crate) struct ApprovalListArgs {
    /// Only calls of this run
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Include decided calls
    #[arg(long)]
    all: bool,
}

/// Approve or deny a call.
#[derive(Debug, Args)]
pub(crate) struct ApprovalDecideArgs {
    /// Approval id from `polis society approvals`; default: the only pending one
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Note to the agent
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

impl ApprovalListArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = ListApprovalsParams {
            run_id: self.run.as_deref().map(str::parse).transpose()?,
            all: self.all,
            ..ListApprovalsParams::default()
        };
        let list = context.block_on(op::list_approvals(&context.request(), &params))?;
        out.print_result(&list, |list| {
            let lang = out.lang();
            if list.approvals.is_empty() {
                return msg::cli_society_no_approvals(lang).to_owned();
            }
            let mut table = TextTable::new(&[
                msg::cli_column_id(lang),
                msg::cli_column_agent(lang),
                msg::cli_society_tool_column(lang),
                msg::cli_column_status(lang),
                msg::cli_society_arguments_column(lang),
            ]);
            for approval in &list.approvals {
                table.push_row(approval_row(approval, lang));
            }
            let hint = msg::cli_society_approvals_hint(lang);
            format!("{}\n{hint}", table.render(out))
        })
    }
}

fn approval_row(approval: &CallApproval, lang: UiLanguage) -> [String; 5] {
    let state = match &approval.decision {
        None => msg::cli_society_approval_pending(lang).to_owned(),
        Some(decision) if decision.allowed => {
            msg::cli_society_approval_allowed_by(lang, &decision.by)
        }
        Some(decision) => msg::cli_society_approval_denied_by(lang, &decision.by),
    };
    [
        approval.id.clone(),
        approval.agent.to_string(),
        approval.tool.clone(),
        state,
        approval.arguments.as_str().replace('\n', " "),
    ]
}

impl ApprovalDecideArgs {
    pub(super) fn run(
        self,
        allowed: bool,
        context: &CommandContext,
        out: &CliOutput,
    ) -> Result<(), CliError> {
        let id = match self.id {
            Some(id) => id,
            None => only_pending_id(context)?,
        };
        let params = DecideApprovalParams {
            id,
            allowed,
            note: self.note,
        };
        let request = context.request();
        let decided = op::decide_approval(&request, &params);
        let decided = context.block_on(decided)?;
        out.print_result(&decided, |approval| {
            if allowed {
                msg::cli_run_call_approved(out.lang(), &approval.agent, &approval.tool)
            } else {
                msg::cli_run_call_denied(out.lang(), &approval.agent, &approval.tool)
            }
        })
    }
}

fn only_pending_id(context: &CommandContext) -> Result<String, CliError> {
    let params = ListApprovalsParams::default();
    let list = context.block_on(op::list_approvals(&context.request(), &params))?;
    let mut waiting = list.approvals.into_iter();
    match (waiting.next(), waiting.next()) {
        (Some(only), None) => Ok(only.id),
        (None, _) => Err(Refusal::from(CommandRefusal::NoPendingCall).into()),
        (Some(_), Some(_)) => Err(CliError::from(CommandRefusal::SeveralPendingCalls)),
    }
}
