//! `polis board decisions` and `milestones`, `polis decision` and `polis milestone`: list, propose, sign,
//! veto and appeal the decisions of a board; list and add milestones, and mark them as reached.

use clap::{Args, Subcommand};
use polis_core::board::decision::{BoardDecision, DecisionStatus};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{
    self, BoardNameParams, DecisionAction, DecisionChange, DecisionView, MilestoneChangeParams,
};

use super::BoardArg;
use crate::command::content::ContentArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextStyle, TextTable, sanitize_line, sanitize_lines};

/// List the decisions recorded on a board.
#[derive(Debug, Args)]
pub(crate) struct BoardDecisionsArgs {
    #[command(flatten)]
    of: BoardArg,
}

impl BoardDecisionsArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = BoardNameParams {
            board: self.of.whiteboard_name()?,
        };
        let all = context.block_on(op::list_decisions(&context.request(), &params))?;
        let lang = out.lang();
        out.print_result(&all, |all| {
            if all.decisions.is_empty() {
                return msg::cli_board_no_decisions(lang, &params.board);
            }
            let mut table = TextTable::new(&[
                msg::cli_column_id(lang),
                msg::cli_column_status(lang),
                msg::cli_board_decision_column_proposer(lang),
                msg::cli_board_decision_column_signers(lang),
                msg::cli_board_decision_column_content(lang),
            ]);
            for decision in &all.decisions {
                table.push_row([
                    decision.id.clone(),
                    status_label(decision.status, lang).to_owned(),
                    decision.proposer.clone(),
                    decision.signers.join(msg::common_list_separator(lang)),
                    decision.content.replace('\n', " "),
                ]);
            }
            table.render(out)
        })
    }
}

/// Returns the word for the status of a decision.
fn status_label(status: DecisionStatus, lang: UiLanguage) -> &'static str {
    match status {
        DecisionStatus::Pending => msg::cli_board_decision_pending(lang),
        DecisionStatus::Approved => msg::cli_board_decision_approved(lang),
        DecisionStatus::Rejected => msg::cli_board_decision_rejected(lang),
        DecisionStatus::Appealing => msg::cli_board_decision_appealing(lang),
    }
}

/// List the milestones on a board.
#[derive(Debug, Args)]
pub(crate) struct BoardMilestonesArgs {
    #[command(flatten)]
    of: BoardArg,
}

impl BoardMilestonesArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = BoardNameParams {
            board: self.of.whiteboard_name()?,
        };
        let all = context.block_on(op::list_milestones(&context.request(), &params))?;
        out.print_result(&all, |all| {
            if all.milestones.is_empty() {
                return msg::cli_board_no_milestones(out.lang(), &params.board);
            }
            let line = |m: &polis_core::board::milestone::Milestone| {
                let mark = if m.done {
                    out.paint(TextStyle::Green, "✓")
                } else {
                    out.paint(TextStyle::Dim, "☐")
                };
                let title = sanitize_line(&m.title);
                let text = if m.description.is_empty() {
                    title
                } else {
                    let description = sanitize_line(&m.description);
                    msg::cli_board_milestone_with_description(out.lang(), title, description)
                };
                format!("{mark} {text}\n")
            };
            all.milestones.iter().map(line).collect()
        })
    }
}

/// The `--board` flag of commands about decisions and milestones.
#[derive(Debug, Args)]
struct BoardFlagArgs {
    /// Board
    #[arg(long, value_name = "BOARD", default_value = "global")]
    board: String,
}

/// Decisions: two signatures of top-layer agents approve (see `decisions` in polis.toml), one veto rejects,
/// an appeal requests a second vote.
#[derive(Debug, Subcommand)]
pub(crate) enum DecisionCommand {
    /// Propose a decision
    Propose(DecisionProposeArgs),
    /// Sign a decision
    Sign(DecisionIdArgs),
    /// Veto a decision
    Veto(DecisionVetoArgs),
    /// Request a second vote on a rejected decision
    Appeal(DecisionIdArgs),
}

/// Arguments of `polis decision propose`.
#[derive(Debug, Args)]
pub(crate) struct DecisionProposeArgs {
    #[command(flatten)]
    on: BoardFlagArgs,
    #[command(flatten)]
    content: ContentArgs,
    /// Title of the milestone that it declares reached; needs the number of signatures in
    /// `decisions.milestone_signatures` (default 3), then marks the milestone as reached
    #[arg(long, value_name = "TITLE")]
    milestone: Option<String>,
}

/// Arguments of `polis decision sign` and `appeal`: the decision, by its id.
#[derive(Debug, Args)]
pub(crate) struct DecisionIdArgs {
    /// Decision id, such as 3
    id: String,
    #[command(flatten)]
    on: BoardFlagArgs,
}

/// Arguments of `polis decision veto`.
#[derive(Debug, Args)]
pub(crate) struct DecisionVetoArgs {
    #[command(flatten)]
    name: DecisionIdArgs,
    /// Reason
    #[arg(long, default_value = "")]
    reason: String,
}

impl DecisionCommand {
    pub(crate) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let (on, act) = match self {
            Self::Propose(args) => {
                let act = DecisionAction::Propose {
                    content: args.content.read_text()?,
                    milestone: args.milestone,
                };
                (args.on, act)
            }
            Self::Sign(name) => (name.on, DecisionAction::Sign { id: name.id }),
            Self::Veto(veto) => {
                let act = DecisionAction::Veto {
                    id: veto.name.id,
                    reason: veto.reason,
                };
                (veto.name.on, act)
            }
            Self::Appeal(name) => (name.on, DecisionAction::Appeal { id: name.id }),
        };
        let params = DecisionChange {
            board: on.board.parse()?,
            action: act,
        };
        let view = context.block_on(op::change_decision(&context.request(), &params))?;
        out.print_result(&view, |view| render_decision(view, out))
    }
}

fn render_decision(view: &DecisionView, out: &CliOutput) -> String {
    let BoardDecision {
        id,
        status,
        signers,
        content,
        vetoed_by,
        ..
    } = &view.decision;
    let style = match status {
        DecisionStatus::Approved => TextStyle::Green,
        DecisionStatus::Rejected => TextStyle::Red,
        DecisionStatus::Pending | DecisionStatus::Appealing => TextStyle::Yellow,
    };
    let lang = out.lang();
    let names = |agents: &[String]| sanitize_line(&agents.join(msg::common_list_separator(lang)));
    let signed = if signers.is_empty() {
        msg::cli_board_decision_unsigned(lang).to_owned()
    } else {
        msg::cli_board_decision_signed_by(lang, names(signers))
    };
    let votes = if vetoed_by.is_empty() {
        signed
    } else {
        let vetoed = msg::cli_board_decision_vetoed_by(lang, names(vetoed_by));
        msg::event_joined_details(lang, signed, vetoed)
    };
    let status = out.paint(style, status_label(*status, lang));
    format!(
        "{}\n{}",
        msg::cli_board_decision_heading(lang, id, &view.board, status, votes),
        sanitize_lines(content)
    )
}

/// Milestones: check-box items on a board.
#[derive(Debug, Subcommand)]
pub(crate) enum MilestoneCommand {
    /// Add a milestone
    Add(MilestoneAddArgs),
    /// Mark a milestone as reached
    Done(MilestoneDoneArgs),
}

/// Arguments of `polis milestone add`.
#[derive(Debug, Args)]
pub(crate) struct MilestoneAddArgs {
    /// Title
    title: String,
    /// Description
    #[arg(long, default_value = "")]
    description: String,
    #[command(flatten)]
    on: BoardFlagArgs,
}

/// Arguments of `polis milestone done`.
#[derive(Debug, Args)]
pub(crate) struct MilestoneDoneArgs {
    /// Title
    title: String,
    #[command(flatten)]
    on: BoardFlagArgs,
}

impl MilestoneCommand {
    pub(crate) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let (on, title, add) = match self {
            Self::Add(args) => (args.on, args.title, Some(args.description)),
            Self::Done(args) => (args.on, args.title, None),
        };
        let params = MilestoneChangeParams {
            board: on.board.parse()?,
            title,
            add,
        };
        let view = context.block_on(op::change_milestone(&context.request(), &params))?;
        out.print_result(&view, |view| {
            let mark = if view.milestone.done { "✓" } else { "☐" };
            let title = sanitize_line(&view.milestone.title);
            let milestone =
                msg::cli_board_milestone_changed(out.lang(), title, &view.board, view.version);
            format!("{mark} {milestone}")
        })
    }
}
