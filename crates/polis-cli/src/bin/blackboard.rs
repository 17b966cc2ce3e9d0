//! Entry point of the `blackboard` program: `polis blackboard` under the name that the source documents use.

use std::process::ExitCode;

fn main() -> ExitCode {
    polis_cli::run_blackboard()
}
