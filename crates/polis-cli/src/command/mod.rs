//! The subcommands. Each file consists of its clap arguments, one operation call and one rendering.

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

use crate::cli::{Cli, Command};
use crate::context::Context;
use crate::error::{Failure, invalid};
use crate::output::Output;

/// Runs a command.
pub(crate) fn run(cli: Cli, out: &Output) -> Result<(), Failure> {
    let globals = &cli.globals.without_empty();
    match cli.command {
        Command::Init(args) => args.run(globals, out),
        Command::Agent(args) => args.run(globals, out),
        Command::Task(args) => args.run(globals, out),
        Command::Board(args) => args.run(globals, out),
        Command::Decision(args) => args.run(&Context::open(globals)?, out),
        Command::Milestone(args) => args.run(&Context::open(globals)?, out),
        Command::Blackboard(args) => args.run(globals, out),
        Command::Ws(args) => args.run(globals, out),
        Command::Exec(args) => args.run(globals, out),
        Command::Message(args) => args.run(globals, out),
        Command::Artifact(args) => args.run(&Context::open(globals)?, out),
        Command::Webhook(args) => args.run(&Context::open(globals)?, out),
        Command::Run(args) => args.run(globals, out),
        Command::Society(args) => args.run(globals, out),
        Command::Serve(args) => args.run(globals, out),
        Command::Open(args) => args.run(globals, out),
        Command::Tui(args) => args.run(globals, out),
        Command::Mcp(args) => args.run(globals, out),
        Command::Log(args) => args.run(globals, out),
        Command::Watch(args) => args.run(globals, out),
        Command::Stats => stats::run(globals, out),
        Command::Doctor(args) => args.run(globals, out),
        Command::Trust(args) => args.run(globals, out),
        Command::Config(args) => args.run(globals, out),
        Command::Demo(args) => args.run(globals, out),
        Command::Schema(args) => args.run(out),
        Command::Completions(args) => args.run(out),
        Command::Man(args) => args.run(out),
    }
}

/// Returns a text argument; reads standard input for `-`.
fn text_or_stdin(text: String) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text);
    }
    String::from_utf8(stdin()?)
        .map_err(|_| invalid("Standard input is not UTF-8.", "convert it to UTF-8"))
}

/// Reads standard input, up to a limit above every size that polis accepts.
fn stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let input = std::io::stdin().lock();
    input.take(64 << 20).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Parses a duration to milliseconds.
pub(crate) fn duration(text: &str) -> Result<u64, Failure> {
    polis_core::time::parse_duration(text)
        .map(i64::unsigned_abs)
        .map_err(|why| invalid(why, "write for example 30m, 90s, 2h or 7d"))
}
