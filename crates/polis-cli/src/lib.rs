//! Command line of polis: parses the arguments, runs the subcommand, and prints its result or error.
//!
//! This crate is the composition root: it reads the configuration, the API keys and the flags, opens the
//! store, and connects operations, workspaces, models, servers and user interfaces. [`run_polis`] and
//! [`run_blackboard`] are the entry points of its two programs. Most subcommands consist of their arguments,
//! one operation call and one rendering.

mod cli;
mod clock;
mod command;
mod config;
mod context;
mod deferred_subcommands;
mod error;
mod git;
mod help;
mod live;
mod model_selection;
mod output;
mod person_language;
mod port_owner;
pub mod reference;
pub mod refusal_tables;
mod run_worker;
mod server_lock;
mod task_dir;
mod team;
mod trust;
mod usage_error;
mod yaml_loader;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

/// Runs the program on the process's arguments.
pub fn run_polis() -> ExitCode {
    let mut cli = match cli::PolisCli::parse_arguments() {
        Ok(cli) => cli,
        Err(usage) => return usage_error::report_usage_error(&usage, &command_tree()),
    };
    cli.globals = cli.globals.complete();
    let out = output::CliOutput::for_flags(&cli.globals);
    match command::dispatch_command(cli, &out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => error::report_error(&failure, &out),
    }
}

/// Runs the `blackboard` program on the process's arguments.
pub fn run_blackboard() -> ExitCode {
    let cli = match cli::BlackboardCli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => {
            return usage_error::report_usage_error(&usage, &cli::BlackboardCli::command());
        }
    };
    let globals = cli.globals.complete();
    let out = output::CliOutput::for_flags(&globals);
    match cli.command.run(&globals, &out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => error::report_error(&failure, &out),
    }
}

/// Returns the command tree, for completions, man pages and the reference.
fn command_tree() -> clap::Command {
    cli::PolisCli::command()
}
