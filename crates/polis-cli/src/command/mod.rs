//! The subcommands: dispatch of a parsed command line, and helpers that several commands use for their
//! arguments.
//!
//! Most subcommands consist of their clap arguments, one operation call and one rendering.

pub(crate) mod agent;
pub(crate) mod artifact;
pub(crate) mod blackboard;
pub(crate) mod board;
pub(crate) mod completions;
pub(crate) mod config;
mod content;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod init;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod message;
pub(crate) mod open;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod society;
pub(crate) mod stats;
pub(crate) mod task;
mod token;
pub(crate) mod trust;
pub(crate) mod tui;
pub(crate) mod webhook;
pub(crate) mod ws;

use std::io::Read as _;

use crate::cli::{PolisCli, PolisCommand};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;
use crate::refusal_tables::CommandRefusal;

/// Dispatches a parsed command line to its subcommand.
pub(crate) fn dispatch_command(cli: PolisCli, out: &CliOutput) -> Result<(), CliError> {
    let globals = &cli.globals;
    match cli.command {
        PolisCommand::Init(args) => args.run(globals, out),
        PolisCommand::Agent(group) => group.0.run(globals, out),
        PolisCommand::Task(group) => group.0.run(globals, out),
        PolisCommand::Board(group) => group.0.run(globals, out),
        PolisCommand::Decision(group) => group.0.run(&CommandContext::open(globals)?, out),
        PolisCommand::Milestone(group) => group.0.run(&CommandContext::open(globals)?, out),
        PolisCommand::Blackboard(args) => args.run(globals, out),
        PolisCommand::Ws(group) => group.0.run(globals, out),
        PolisCommand::Exec(args) => args.run(globals, out),
        PolisCommand::Message(group) => group.0.run(globals, out),
        PolisCommand::Artifact(group) => group.0.run(&CommandContext::open(globals)?, out),
        PolisCommand::Webhook(group) => group.0.run(&CommandContext::open(globals)?, out),
        PolisCommand::Run(args) => args.run(globals, out),
        PolisCommand::Society(group) => group.0.run(globals, out),
        PolisCommand::Serve(args) => args.run(globals, out),
        PolisCommand::Open(args) => args.run(globals, out),
        PolisCommand::Tui(args) => args.run(globals, out),
        PolisCommand::Mcp(args) => args.run(globals, out),
        PolisCommand::Log(args) => args.run(globals, out),
        PolisCommand::Watch(args) => args.run(globals, out),
        PolisCommand::Stats => stats::print_stats(globals, out),
        PolisCommand::Doctor(args) => args.run(globals, out),
        PolisCommand::Trust(args) => args.run(globals, out),
        PolisCommand::Config(group) => group.0.run(globals, out),
        PolisCommand::Demo(args) => args.run(globals, out),
        PolisCommand::Schema(args) => args.run(out),
        PolisCommand::Completions(args) => args.run(out),
        PolisCommand::Man(args) => args.run(out),
    }
}

/// Returns a text argument; reads standard input for `-`.
fn read_text_arg(text: String) -> Result<String, CliError> {
    if text != "-" {
        return Ok(text);
    }
    String::from_utf8(read_stdin()?).map_err(|_| CliError::from(CommandRefusal::StdinNotUtf8))
}

/// Reads standard input, up to a limit above every size that polis accepts.
fn read_stdin() -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let input = std::io::stdin().lock();
    input.take(64 << 20).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Parses a duration to milliseconds.
pub(crate) fn parse_duration_arg(text: &str) -> Result<u64, CliError> {
    polis_core::timestamp::parse_duration(text)
        .map(i64::unsigned_abs)
        .map_err(|message| {
            CliError::from(CommandRefusal::InvalidDuration {
                message: message.into(),
            })
        })
}
