//! `polis board decisions` and `milestones`, `polis decision` and `polis milestone`: list, propose, sign, veto and
//! appeal decisions, and add and reach milestones.

use clap::{Args, Subcommand};
use polis_core::board::decision::{Decision as Record, DecisionStatus};
use polis_ops::op::{self, Decide, DecisionAct, DecisionView, MilestoneChange, OfBoard};

use super::Of;
use crate::command::content::Content;
use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Style, Table, clean, clean_lines};

/// List the decisions recorded on a board.
#[derive(Debug, Args)]
pub(crate) struct Decisions {
    #[command(flatten)]
    of: Of,
}

impl Decisions {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = OfBoard {
            board: self.of.name()?,
        };
        let all = context.run(op::board_decisions(&context.polis, &context.agent, &params))?;
        out.answer(&all, |all| {
            if all.decisions.is_empty() {
                return format!(
                    "No decisions on {} yet. Propose one: polis decision propose --content \"...\"",
                    params.board
                );
            }
            let mut table = Table::new(&["ID", "STATUS", "PROPOSER", "SIGNERS", "CONTENT"]);
            for decision in &all.decisions {
                table.row([
                    decision.id.clone(),
                    decision.status.as_str().to_owned(),
                    decision.proposer.clone(),
                    decision.signers.join(", "),
                    decision.content.replace('\n', " "),
                ]);
            }
            table.render(out)
        })
    }
}

/// List the milestones on a board.
#[derive(Debug, Args)]
pub(crate) struct Milestones {
    #[command(flatten)]
    of: Of,
}

impl Milestones {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = OfBoard {
            board: self.of.name()?,
        };
        let all = context.run(op::board_milestones(
            &context.polis,
            &context.agent,
            &params,
        ))?;
        out.answer(&all, |all| {
            if all.milestones.is_empty() {
                return format!(
                    "No milestones on {} yet. Add one: polis milestone add TITLE --description \"...\"",
                    params.board
                );
            }
            let line = |m: &polis_core::board::milestone::Milestone| {
                let mark = if m.done {
                    out.paint(Style::Green, "✓")
                } else {
                    out.paint(Style::Dim, "☐")
                };
                let about = if m.description.is_empty() {
                    String::new()
                } else {
                    format!(": {}", clean(&m.description))
                };
                format!("{mark} {}{about}\n", clean(&m.title))
            };
            all.milestones.iter().map(line).collect()
        })
    }
}

/// On which board.
#[derive(Debug, Args)]
struct On {
    /// The board
    #[arg(long, value_name = "BOARD", default_value = "global")]
    board: String,
}

/// Decisions: two signatures of the top layer approve (`decisions` in polis.toml), one veto rejects, an
/// appeal asks for a second vote.
#[derive(Debug, Subcommand)]
pub(crate) enum Decision {
    /// Propose a decision
    Propose(Propose),
    /// Sign a decision
    Sign(Name),
    /// Veto a decision
    Veto(Veto),
    /// Ask for a second vote on a rejected decision
    Appeal(Name),
}

/// A proposal.
#[derive(Debug, Args)]
pub(crate) struct Propose {
    #[command(flatten)]
    on: On,
    #[command(flatten)]
    content: Content,
    /// The milestone it declares reached, by its title: needs three signatures, and ticks it off
    #[arg(long, value_name = "TITLE")]
    milestone: Option<String>,
}

/// A decision, by its id.
#[derive(Debug, Args)]
pub(crate) struct Name {
    /// Its id, such as 3
    id: String,
    #[command(flatten)]
    on: On,
}

/// A veto.
#[derive(Debug, Args)]
pub(crate) struct Veto {
    #[command(flatten)]
    name: Name,
    /// Why
    #[arg(long, default_value = "")]
    reason: String,
}

impl Decision {
    pub(crate) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let (on, act) = match self {
            Self::Propose(args) => {
                let act = DecisionAct::Propose {
                    content: args.content.text()?,
                    milestone: args.milestone,
                };
                (args.on, act)
            }
            Self::Sign(name) => (name.on, DecisionAct::Sign { id: name.id }),
            Self::Veto(veto) => {
                let act = DecisionAct::Veto {
                    id: veto.name.id,
                    reason: veto.reason,
                };
                (veto.name.on, act)
            }
            Self::Appeal(name) => (name.on, DecisionAct::Appeal { id: name.id }),
        };
        let params = Decide {
            board: on.board.parse()?,
            act,
        };
        let view = context.run(op::decide(&context.polis, &context.agent, &params))?;
        out.answer(&view, |view| tell(view, out))
    }
}

fn tell(view: &DecisionView, out: &Output) -> String {
    let Record {
        id,
        status,
        signers,
        content,
        vetoed_by,
        ..
    } = &view.decision;
    let style = match status {
        DecisionStatus::Approved => Style::Green,
        DecisionStatus::Rejected => Style::Red,
        DecisionStatus::Pending | DecisionStatus::Appealing => Style::Yellow,
    };
    let signed = if signers.is_empty() {
        "nobody has signed yet".to_owned()
    } else {
        format!("signed by {}", clean(&signers.join(", ")))
    };
    let vetoed = if vetoed_by.is_empty() {
        String::new()
    } else {
        format!(", vetoed by {}", clean(&vetoed_by.join(", ")))
    };
    format!(
        "Decision #{id} on {}: {}, {signed}{vetoed}\n{}",
        view.board,
        out.paint(style, status.as_str()),
        clean_lines(content)
    )
}

/// Milestones: a list of boxes to tick.
#[derive(Debug, Subcommand)]
pub(crate) enum Milestone {
    /// Add a milestone
    Add(AddMilestone),
    /// Tick a milestone off
    Done(DoneMilestone),
}

/// A new milestone.
#[derive(Debug, Args)]
pub(crate) struct AddMilestone {
    /// Its title
    title: String,
    /// What it is
    #[arg(long, default_value = "")]
    description: String,
    #[command(flatten)]
    on: On,
}

/// A milestone that is reached.
#[derive(Debug, Args)]
pub(crate) struct DoneMilestone {
    /// Its title
    title: String,
    #[command(flatten)]
    on: On,
}

impl Milestone {
    pub(crate) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let (on, title, add) = match self {
            Self::Add(args) => (args.on, args.title, Some(args.description)),
            Self::Done(args) => (args.on, args.title, None),
        };
        let params = MilestoneChange {
            board: on.board.parse()?,
            title,
            add,
        };
        let view = context.run(op::change_milestone(
            &context.polis,
            &context.agent,
            &params,
        ))?;
        out.answer(&view, |view| {
            let mark = if view.milestone.done { "✓" } else { "☐" };
            format!(
                "{mark} {} ({}, version {})",
                clean(&view.milestone.title),
                view.board,
                view.version
            )
        })
    }
}
