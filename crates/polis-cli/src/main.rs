//! Entry point of the `polis` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    polis_cli::run_polis()
}
