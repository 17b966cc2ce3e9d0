//! `polis society budget`: shows what the agents of a run have spent and their limits, and changes the limits
//! of a run, or of an agent and all agents below it. Also the `--budget-…` flags, which `polis run` uses too.

use clap::Args;
use polis_core::AgentId;
use polis_core::number::saturating_cast;
use polis_core::society::budget::{BudgetAmount, BudgetLimits};
use polis_core::society::run_id_json::with_run_id;
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, GetOrgParams, SetBudgetParams};
use serde_json::json;

use super::find_run;
use crate::command::parse_duration_arg;
use crate::config::society_config::to_micros;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::live::{format_elapsed, format_money, format_tokens};
use crate::output::{CliOutput, TextTable};
use crate::refusal_tables::CommandRefusal;

/// The `--budget-…` flags: limits of a run or an agent.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Budget")]
pub(crate) struct BudgetArgs {
    /// Maximum tokens, prompts and answers together; 0: no limit
    #[arg(long = "budget-tokens", value_name = "N")]
    tokens: Option<u64>,
    /// Maximum cost, by the prices of the endpoints; 0: no limit
    #[arg(long = "budget-money", value_name = "AMOUNT")]
    money: Option<f64>,
    /// Maximum number of model answers; 0: no limit
    #[arg(long = "budget-turns", value_name = "N")]
    turns: Option<u64>,
    /// Maximum number of commands; 0: no limit
    #[arg(long = "budget-commands", value_name = "N")]
    commands: Option<u64>,
    /// Maximum duration, such as 2h; 0: no limit
    #[arg(long = "budget-wall", value_name = "TIME")]
    wall: Option<String>,
}

impl BudgetArgs {
    /// Returns the limits named by the flags. 0 means no limit, as in the configuration.
    pub(crate) fn limits(&self) -> Result<BudgetLimits, CliError> {
        if self
            .money
            .is_some_and(|money| !money.is_finite() || money < 0.0)
        {
            return Err(CliError::from(CommandRefusal::InvalidMoney));
        }
        let limit = |number: u64| match number {
            0 => BudgetLimits::NO_LIMIT,
            number => number,
        };
        let wall_ms = match self.wall.as_deref() {
            Some("" | "0") => Some(0),
            wall => wall.map(parse_duration_arg).transpose()?,
        };
        Ok(BudgetLimits {
            tokens: self.tokens.map(limit),
            micros: self.money.map(to_micros).map(limit),
            turns: self.turns.map(limit),
            commands: self.commands.map(limit),
            wall_ms: wall_ms.map(limit),
        })
    }
}

/// Show or set the budget of a run or of one of its agents.
#[derive(Debug, Args)]
pub(crate) struct SocietyBudgetArgs {
    /// Run; default: the newest that is not stopped
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Only this agent and all agents below it; default: the whole run
    // The id is explicit, because `agent` is the id of the global flag `--as`.
    #[arg(id = "member", long = "agent", value_name = "AGENT")]
    agent: Option<String>,
    #[command(flatten)]
    budget: BudgetArgs,
    /// Remove all limits that are not given here
    #[arg(long)]
    replace: bool,
}

impl SocietyBudgetArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let limits = self.budget.limits()?;
        let run = find_run(context, self.run.as_deref())?;
        let agent: Option<AgentId> = self.agent.as_deref().map(str::parse).transpose()?;
        if limits == BudgetLimits::default() && !self.replace {
            return print_budget(context, &run.id, agent.as_ref(), out);
        }
        let params = SetBudgetParams {
            run_id: Some(run.id),
            agent_id: agent,
            budget: limits,
            replace: self.replace,
        };
        let set = context.block_on(op::set_budget(&context.request(), &params))?;
        out.print_result(&set, |set| {
            let (lang, agent, run) = (out.lang(), &set.agent_id, &set.run);
            let limits = describe_limits(&set.limits, lang);
            format!(
                "{}\n{}",
                msg::cli_society_budget_set(lang, agent, run, limits),
                msg::cli_society_budget_resume_hint(lang, run, agent)
            )
        })
    }
}

fn print_budget(
    context: &CommandContext,
    run: &polis_core::RunId,
    agent: Option<&AgentId>,
    out: &CliOutput,
) -> Result<(), CliError> {
    let params = GetOrgParams {
        run_id: Some(run.clone()),
        all: false,
    };
    let org = context.block_on(op::get_org(&context.request(), &params))?;
    let is_selected = |id: &AgentId| agent.is_none_or(|agent| agent == id);
    let members: Vec<_> = org
        .members
        .iter()
        .filter(|m| is_selected(&m.agent_id))
        .collect();
    let documents: Vec<_> = members
        .iter()
        .map(|m| json!({"agentId": m.agent_id, "limits": m.limits, "spent": m.spent_below.unwrap_or(m.spent)}))
        .collect();
    let answer = with_run_id(json!({ "members": documents }), run);
    out.print_result(&answer, |_| {
        let lang = out.lang();
        let mut table = TextTable::new(&[
            msg::cli_column_agent(lang),
            msg::cli_society_tokens_column(lang),
            msg::cli_society_money_column(lang),
            msg::cli_society_turns_column(lang),
            msg::cli_society_commands_column(lang),
            msg::cli_society_time_column(lang),
        ]);
        for member in &members {
            let spent = member.spent_below.unwrap_or(member.spent);
            let cells = budget_row(member.agent_id.as_str(), &spent, &member.limits, lang);
            table.push_row(cells);
        }
        let about = msg::cli_society_budget_explanation(lang);
        format!("{}\n{about}", table.render(out))
    })
}

fn budget_row(
    agent: &str,
    spent: &BudgetAmount,
    limits: &BudgetLimits,
    lang: UiLanguage,
) -> [String; 6] {
    let with_limit = |spent: String, limit: Option<String>| match limit {
        Some(limit) => msg::cli_society_spent_of_limit(lang, spent, limit),
        None => spent,
    };
    [
        agent.to_owned(),
        with_limit(
            format_tokens(spent.tokens),
            limits.tokens.map(format_tokens),
        ),
        with_limit(format_money(spent.micros), limits.micros.map(format_money)),
        with_limit(spent.turns.to_string(), limits.turns.map(|n| n.to_string())),
        with_limit(
            spent.commands.to_string(),
            limits.commands.map(|n| n.to_string()),
        ),
        limits
            .wall_ms
            .map_or_else(|| "-".to_owned(), |millis| format_wall_time(millis, lang)),
    ]
}

fn format_wall_time(millis: u64, lang: UiLanguage) -> String {
    format_elapsed(saturating_cast::<i64>(millis), lang)
}

fn describe_limits(limits: &BudgetLimits, lang: UiLanguage) -> String {
    let parts = [
        limits
            .tokens
            .map(|n| msg::cli_run_token_count(lang, format_tokens(n))),
        limits
            .micros
            .map(|n| msg::cli_society_limit_money(lang, format_money(n))),
        limits.turns.map(|n| msg::cli_society_limit_turns(lang, n)),
        limits
            .commands
            .map(|n| msg::cli_society_limit_commands(lang, n)),
        limits
            .wall_ms
            .map(|n| msg::cli_society_limit_time(lang, format_wall_time(n, lang))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return msg::cli_society_no_limit(lang).to_owned();
    }
    parts.join(msg::common_list_separator(lang))
}
