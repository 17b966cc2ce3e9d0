//! Command line of polis: parses arguments, runs one operation and prints one result.
//!
//! This crate is the composition root: only it opens stores, reads configuration and the environment, and passes them
//! to the operations. A command file consists of its arguments, one operation call and one rendering.

mod cli;
mod clock;
mod command;
mod config;
mod context;
mod error;
mod git;
mod live;
mod model_selection;
mod output;
mod port_owner;
pub mod reference;
mod run_worker;
mod server_lock;
mod task_dir;
mod team;
mod trust;
mod yaml_text;

use std::process::ExitCode;

use clap::Parser as _;

/// Runs the program on the process's arguments.
pub fn run() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => return error::usage(&usage),
    };
    let out = output::Output::new(cli.globals.json, cli.globals.verbose);
    match command::run(cli, &out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => error::report(&failure, &out),
    }
}

/// Runs the `blackboard` program on the process's arguments.
pub fn run_blackboard() -> ExitCode {
    let cli = match cli::BlackboardCli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => return error::usage(&usage),
    };
    let globals = cli.globals.without_empty();
    let out = output::Output::new(globals.json, globals.verbose);
    match cli.command.run(&globals, &out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => error::report(&failure, &out),
    }
}

/// Returns the command tree, for completions, man pages and the reference.
fn command_tree() -> clap::Command {
    use clap::CommandFactory as _;
    cli::Cli::command()
}
