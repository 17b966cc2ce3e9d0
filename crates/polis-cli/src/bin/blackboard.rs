//! Entry point of the `blackboard` program: the command `polis blackboard` as a program of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    polis_cli::run_blackboard()
}
