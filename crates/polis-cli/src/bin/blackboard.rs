//! The `blackboard` program: `polis blackboard` under the name the documents give it.

use std::process::ExitCode;

fn main() -> ExitCode {
    polis_cli::run_blackboard()
}
