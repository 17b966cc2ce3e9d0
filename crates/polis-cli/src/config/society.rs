//! `[society]`: default team, hiring limits, budgets, tools that need approval, worker lease and telemetry.

use polis_core::society::budget::Limits;
use polis_core::society::run::HireLimits;
use polis_core::time::parse_duration;
use polis_ops::SocietyRules;
use serde::Serialize;
use toml::de::DeValue;

use super::Config;
use super::keys::{Key, count, one_of, text, texts};
use super::models::{check_address, decimal};

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
            spawns_a_minute: hire.a_minute,
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
    pub(super) fn rules(&self) -> SocietyRules {
        SocietyRules {
            hire: HireLimits {
                depth: self.depth,
                agents: self.agents,
                a_minute: self.spawns_a_minute,
            },
            approve: self.approve.clone(),
            limits: self.limits(),
        }
    }

    /// Returns the default budget limits of a run.
    fn limits(&self) -> Limits {
        let budget = &self.budget;
        let some = |number: u64| Some(number).filter(|n| *n > 0);
        Limits {
            tokens: some(budget.tokens),
            micros: some(micros(budget.money)),
            turns: some(budget.turns),
            commands: some(budget.commands),
            wall_ms: parse_duration(&budget.wall).ok().map(i64::unsigned_abs),
        }
    }

    /// Returns the lease of a worker, in milliseconds: a worker that sends no heartbeat for that long loses its runs.
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
pub(crate) fn micros(money: f64) -> u64 {
    (money * 1e6).round() as u64
}

/// Reads a number where 0 means no limit.
fn amount(value: &DeValue<'_>) -> Result<u64, String> {
    let number = value
        .as_integer()
        .and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
    number.ok_or_else(|| "expected a number, 0 for no limit".to_owned())
}

fn time_or_none(value: &DeValue<'_>) -> Result<String, String> {
    let time = text(value)?;
    if time.is_empty() {
        return Ok(time);
    }
    parse_duration(&time).map(|_| time)
}

macro_rules! key {
    ($name:literal, $takes:literal, $default:literal, $about:literal, $($field:ident).+, $read:expr) => {
        Key {
            name: concat!("society.", $name),
            takes: $takes,
            default: $default,
            about: $about,
            set: |config: &mut Config, value| {
                let read: fn(&DeValue<'_>) -> Result<_, String> = $read;
                config.society.$($field).+ = read(value)?;
                Ok(())
            },
        }
    };
}

/// The keys of `[society]`.
pub(super) const KEYS: &[Key] = &[
    key!(
        "team",
        "the name of a team",
        "\"dev-team\"",
        "The team of a run that names none. --team wins over it.",
        team,
        text
    ),
    key!(
        "language",
        "\"en\", \"zh\", or \"\" for that of templates",
        "\"\"",
        "The language of the team's roles.",
        language,
        |value| {
            let language = text(value)?;
            if !language.is_empty() {
                one_of(&language, &["en", "zh"])?;
            }
            Ok(language)
        }
    ),
    key!(
        "depth",
        "a number from 1 to 100",
        "5",
        "How deep the organisation may be; a child of root is at 1.",
        depth,
        |value| count(value, 100)
    ),
    key!(
        "agents",
        "a number from 1 to 100000",
        "50",
        "How many agents may work for a run at a time.",
        agents,
        |value| count(value, 100_000)
    ),
    key!(
        "spawns_a_minute",
        "a number from 1 to 100000",
        "30",
        "How many agents may be hired for a run in a minute.",
        spawns_a_minute,
        |value| count(value, 100_000)
    ),
    key!(
        "approve",
        "a list of tools",
        "[]",
        "Calls of these tools wait until a person allows them, such as [\"run_command\"].",
        approve,
        |value| {
            let tools = texts(value)?;
            polis_ops::tool::check_names(&tools, false).map_err(|refusal| refusal.message)?;
            Ok(tools)
        }
    ),
    key!(
        "budget.tokens",
        "a number, 0 for no limit",
        "0",
        "How many tokens a run may use, prompts and answers together. Reaching a limit pauses and asks.",
        budget.tokens,
        amount
    ),
    key!(
        "budget.money",
        "a number, 0 for no limit",
        "0.0",
        "What a run may cost, by the prices of its endpoints.",
        budget.money,
        decimal
    ),
    key!(
        "budget.turns",
        "a number, 0 for no limit",
        "0",
        "How many answers of models a run may use.",
        budget.turns,
        amount
    ),
    key!(
        "budget.commands",
        "a number, 0 for no limit",
        "0",
        "How many commands a run may start.",
        budget.commands,
        amount
    ),
    key!(
        "budget.wall",
        "a length of time, or \"\" for no limit",
        "\"\"",
        "How long a run may take.",
        budget.wall,
        time_or_none
    ),
    key!(
        "lease",
        "a length of time",
        "\"10s\"",
        "How long a worker that is silent keeps its runs; then another goes on with them.",
        lease,
        |value| {
            let time = text(value)?;
            match parse_duration(&time) {
                Ok(millis) if millis >= 1_000 => Ok(time),
                Ok(_) => Err("expected at least a second".to_owned()),
                Err(why) => Err(why),
            }
        }
    ),
    key!(
        "concurrency",
        "a number from 1 to 10000",
        "32",
        "How many agents may ask models at a time, over all endpoints.",
        concurrency,
        |value| count(value, 10_000)
    ),
    key!(
        "telemetry",
        "an http:// or https:// address, or \"\" for none",
        "\"\"",
        "Where traces are sent (OpenTelemetry, OTLP over HTTP), such as http://localhost:4318; OTEL_EXPORTER_OTLP_ENDPOINT wins over it.",
        telemetry,
        |value| {
            let url = text(value)?;
            if !url.is_empty() {
                check_address(&url)?;
            }
            Ok(url)
        }
    ),
];
