//! `polis society budget`: shows and changes the budget of a run, or of an agent and all agents below it.

use clap::Args;
use polis_core::AgentId;
use polis_core::society::budget::{Amount, Limits};
use polis_ops::op::{self, GetOrg, SetBudget};
use serde_json::json;

use super::which;
use crate::command::duration;
use crate::config::society::micros;
use crate::context::Context;
use crate::error::{Failure, invalid};
use crate::live::{elapsed, money, tokens};
use crate::output::{Output, Table};

/// What may be spent.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Budget")]
pub(crate) struct Budget {
    /// Tokens of prompts and answers together
    #[arg(long = "budget-tokens", value_name = "N")]
    tokens: Option<u64>,
    /// Money, by the prices of the endpoints
    #[arg(long = "budget-money", value_name = "AMOUNT")]
    money: Option<f64>,
    /// Answers of models
    #[arg(long = "budget-turns", value_name = "N")]
    turns: Option<u64>,
    /// Commands
    #[arg(long = "budget-commands", value_name = "N")]
    commands: Option<u64>,
    /// Time, such as 2h
    #[arg(long = "budget-wall", value_name = "TIME")]
    wall: Option<String>,
}

impl Budget {
    /// Returns the limits named by the flags.
    pub(crate) fn limits(&self) -> Result<Limits, Failure> {
        if self
            .money
            .is_some_and(|money| !money.is_finite() || money < 0.0)
        {
            return Err(invalid(
                "The money of a budget is not an amount.",
                "write for example 2.50",
            ));
        }
        Ok(Limits {
            tokens: self.tokens,
            micros: self.money.map(micros),
            turns: self.turns,
            commands: self.commands,
            wall_ms: self.wall.as_deref().map(duration).transpose()?,
        })
    }
}

/// Show or set what a run, or an agent of it, may spend.
#[derive(Debug, Args)]
pub(crate) struct Change {
    /// The run; default: the newest that is not over
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// This agent and everybody below it; default: the whole run
    // Not the caller's `agent` of the global flags, whose id it would be.
    #[arg(id = "member", long = "agent", value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    budget: Budget,
    /// What is not named here is not limited any more
    #[arg(long)]
    replace: bool,
}

impl Change {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let limits = self.budget.limits()?;
        let run = which(context, self.run.as_deref())?;
        let agent: Option<AgentId> = self.agent.as_deref().map(str::parse).transpose()?;
        if limits == Limits::default() && !self.replace {
            return show(context, &run.id, agent.as_ref(), out);
        }
        let params = SetBudget {
            task_id: Some(run.id),
            agent_id: agent,
            budget: limits,
            replace: self.replace,
        };
        let set = context.run(op::set_budget(&context.polis, &context.agent, &params))?;
        out.answer(&set, |set| {
            format!(
                "{} of run {} may spend: {}.\nWho was paused for want of it goes on with: polis society resume {} --agent {}",
                set.agent_id,
                set.run,
                in_words(&set.limits),
                set.run,
                set.agent_id
            )
        })
    }
}

fn show(
    context: &Context,
    run: &polis_core::RunId,
    agent: Option<&AgentId>,
    out: &Output,
) -> Result<(), Failure> {
    let params = GetOrg {
        task_id: Some(run.clone()),
        all: false,
    };
    let org = context.run(op::get_org(&context.polis, &context.agent, &params))?;
    let shown = |id: &AgentId| agent.is_none_or(|agent| agent == id);
    let members: Vec<_> = org.members.iter().filter(|m| shown(&m.agent_id)).collect();
    let documents: Vec<_> = members
        .iter()
        .map(|m| json!({"agentId": m.agent_id, "limits": m.limits, "spent": m.spent_below.unwrap_or(m.spent)}))
        .collect();
    let answer = json!({ "taskId": run, "members": documents });
    out.answer(&answer, |_| {
        let mut table = Table::new(&["AGENT", "TOKENS", "MONEY", "TURNS", "COMMANDS", "TIME"]);
        for member in &members {
            let spent = member.spent_below.unwrap_or(member.spent);
            table.row(row(member.agent_id.as_str(), &spent, &member.limits));
        }
        format!(
            "{}\nSpent with everybody below, of what may be. Set it with --budget-tokens and the like.",
            table.render(out)
        )
    })
}

fn row(agent: &str, spent: &Amount, limits: &Limits) -> [String; 6] {
    let of = |spent: String, limit: Option<String>| match limit {
        Some(limit) => format!("{spent} of {limit}"),
        None => spent,
    };
    [
        agent.to_owned(),
        of(tokens(spent.tokens), limits.tokens.map(tokens)),
        of(money(spent.micros), limits.micros.map(money)),
        of(spent.turns.to_string(), limits.turns.map(|n| n.to_string())),
        of(
            spent.commands.to_string(),
            limits.commands.map(|n| n.to_string()),
        ),
        limits.wall_ms.map_or_else(|| "-".to_owned(), time),
    ]
}

fn time(millis: u64) -> String {
    elapsed(i64::try_from(millis).unwrap_or(i64::MAX))
}

fn in_words(limits: &Limits) -> String {
    let parts = [
        limits.tokens.map(|n| format!("{} tokens", tokens(n))),
        limits.micros.map(|n| format!("money {}", money(n))),
        limits.turns.map(|n| format!("{n} turns")),
        limits.commands.map(|n| format!("{n} commands")),
        limits.wall_ms.map(|n| format!("time {}", time(n))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return "whatever it needs".to_owned();
    }
    parts.join(", ")
}
