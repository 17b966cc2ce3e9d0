//! `[society]`: default team, hiring limits, budgets, tools that need approval, worker lease and telemetry.

use polis_core::refusal::Reason;
use polis_core::society::budget::BudgetLimits;
use polis_core::society::run::HireLimits;
use polis_core::timestamp::parse_duration;
use polis_ops::SocietySettings;
use serde::Serialize;
use toml_edit::Item;

use super::Config;
use super::config_keys::{
    ConfigKey, check_duration, check_one_of, parse_count, parse_string, parse_string_list,
};
use super::models_config::{check_http_url, parse_decimal};
use crate::refusal_tables::ConfigProblem;

/// `[society]`, with defaults filled in.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SocietyConfig {
    /// Default team of a run.
    pub(crate) team: String,
    /// Language of the roles; empty: the project's language.
    pub(crate) language: String,
    depth: u32,
    agents: u32,
    spawns_a_minute: u32,
    /// Tools whose calls need approval by a person.
    pub(crate) approve: Vec<String>,
    /// Default budget of a run.
    pub(crate) budget: BudgetConfig,
    lease: String,
    /// Maximum concurrent model requests, over all endpoints.
    pub(crate) concurrency: u32,
    /// OpenTelemetry endpoint that traces are sent to; empty: none.
    pub(crate) telemetry: String,
}

/// `society.budget`: 0 and "" mean no limit.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct BudgetConfig {
    tokens: u64,
    money: f64,
    turns: u64,
    commands: u64,
    wall: String,
}

impl Default for SocietyConfig {
    fn default() -> Self {
        let hire = HireLimits::default();
        Self {
            team: "dev-team".to_owned(),
            language: String::new(),
            depth: hire.depth,
            agents: hire.agents,
            spawns_a_minute: hire.per_minute,
            approve: Vec::new(),
            budget: BudgetConfig::default(),
            lease: "10s".to_owned(),
            concurrency: 32,
            telemetry: String::new(),
        }
    }
}

impl SocietyConfig {
    /// Returns the rules of the operations.
    pub(super) fn society_rules(&self) -> SocietySettings {
        SocietySettings {
            hire_limits: HireLimits {
                depth: self.depth,
                agents: self.agents,
                per_minute: self.spawns_a_minute,
            },
            approval_tools: self.approve.clone(),
            default_budget: self.budget_limits(),
        }
    }

    /// Returns the default budget limits of a run.
    fn budget_limits(&self) -> BudgetLimits {
        let budget = &self.budget;
        let some = |number: u64| Some(number).filter(|n| *n > 0);
        BudgetLimits {
            tokens: some(budget.tokens),
            micros: some(to_micros(budget.money)),
            turns: some(budget.turns),
            commands: some(budget.commands),
            wall_ms: parse_duration(&budget.wall).ok().map(i64::unsigned_abs),
        }
    }

    /// Returns the duration of a run lease, in milliseconds: a worker that does not renew it for that long
    /// loses the run.
    pub(crate) fn lease_ms(&self) -> u64 {
        parse_duration(&self.lease).map_or(10_000, i64::unsigned_abs)
    }
}

/// Converts an amount of money to millionths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float saturates, and amounts are not negative"
)]
pub(crate) fn to_micros(money: f64) -> u64 {
    (money * 1e6).round() as u64
}

/// Reads a number where 0 means no limit.
fn parse_amount(value: &Item) -> Result<u64, Reason> {
    let number = value.as_integer().and_then(|n| u64::try_from(n).ok());
    number.ok_or_else(|| ConfigProblem::ExpectedAmount.into())
}

fn parse_optional_duration(value: &Item) -> Result<String, Reason> {
    let time = parse_string(value)?;
    if time.is_empty() {
        return Ok(time);
    }
    check_duration(&time)?;
    Ok(time)
}

macro_rules! key {
    ($name:literal, $takes:literal, $default:literal, $about:literal, $($field:ident).+, $read:expr) => {
        ConfigKey {
            name: concat!("society.", $name),
            accepted_values: $takes,
            default: $default,
            description: $about,
            set: |config: &mut Config, value| {
                let read: fn(&Item) -> Result<_, Reason> = $read;
                config.society.$($field).+ = read(value)?;
                Ok(())
            },
        }
    };
}

/// The keys of `[society]`.
pub(super) const SOCIETY_KEYS: &[ConfigKey] = &[
    key!(
        "team",
        "the name of a team",
        "\"dev-team\"",
        "Default team template of a run. --team takes precedence.",
        team,
        parse_string
    ),
    key!(
        "language",
        "\"en\", \"zh\", or \"\" for the value of `language`",
        "\"\"",
        "Language of the team's roles.",
        language,
        |value| {
            let language = parse_string(value)?;
            if !language.is_empty() {
                check_one_of(&language, &["en", "zh"])?;
            }
            Ok(language)
        }
    ),
    key!(
        "depth",
        "a number from 1 to 100",
        "5",
        "Maximum depth of the organisation; a child of root has depth 1.",
        depth,
        |value| parse_count(value, 100)
    ),
    key!(
        "agents",
        "a number from 1 to 100000",
        "50",
        "Maximum number of agents in a run at a time.",
        agents,
        |value| parse_count(value, 100_000)
    ),
    key!(
        "spawns_a_minute",
        "a number from 1 to 100000",
        "30",
        "Maximum number of agents hired per minute in a run.",
        spawns_a_minute,
        |value| parse_count(value, 100_000)
    ),
    key!(
        "approve",
        "a list of tools",
        "[]",
        "Tools whose calls need approval by a person, such as [\"run_command\"].",
        approve,
        |value| {
            let tools = parse_string_list(value)?;
            let checked = polis_ops::tool::check_tool_names(&tools, false);
            checked.map_err(|refusal| refusal.reason)?;
            Ok(tools)
        }
    ),
    key!(
        "budget.tokens",
        "a number, 0 for no limit",
        "0",
        "Maximum tokens of a run, prompts and answers together. At a limit, the run pauses and asks the person.",
        budget.tokens,
        parse_amount
    ),
    key!(
        "budget.money",
        "a number, 0 for no limit",
        "0.0",
        "Maximum cost of a run, by the prices of its endpoints.",
        budget.money,
        parse_decimal
    ),
    key!(
        "budget.turns",
        "a number, 0 for no limit",
        "0",
        "Maximum number of model answers in a run.",
        budget.turns,
        parse_amount
    ),
    key!(
        "budget.commands",
        "a number, 0 for no limit",
        "0",
        "Maximum number of commands that a run may start.",
        budget.commands,
        parse_amount
    ),
    key!(
        "budget.wall",
        "a duration, or \"\" for no limit",
        "\"\"",
        "Maximum duration of a run.",
        budget.wall,
        parse_optional_duration
    ),
    key!(
        "lease",
        "a duration",
        "\"10s\"",
        "Run lease: how long a worker without heartbeats keeps its runs before another worker continues them.",
        lease,
        |value| {
            let time = parse_string(value)?;
            if parse_duration(&time)? < 1_000 {
                return Err(ConfigProblem::ExpectedLongDuration.into());
            }
            Ok(time)
        }
    ),
    key!(
        "concurrency",
        "a number from 1 to 10000",
        "32",
        "Maximum concurrent model requests, over all endpoints.",
        concurrency,
        |value| parse_count(value, 10_000)
    ),
    key!(
        "telemetry",
        "an http:// or https:// URL, or \"\" for none",
        "\"\"",
        "OpenTelemetry collector that receives traces (OTLP over HTTP), such as http://localhost:4318; OTEL_EXPORTER_OTLP_ENDPOINT takes precedence.",
        telemetry,
        |value| {
            let url = parse_string(value)?;
            if !url.is_empty() {
                check_http_url(&url)?;
            }
            Ok(url)
        }
    ),
];
