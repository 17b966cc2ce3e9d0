//! Example: runs a shell command in the sandbox. `cargo run --example sandbox -- DIRECTORY COMMAND`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints its result"
)]

use std::path::PathBuf;
use std::process::ExitCode;

use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_outcome::CommandEnding;
use polis_core::workspace::command_policy::CommandPolicy;
use polis_workspace::sandbox::{Sandbox, SandboxContext};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(directory), Some(command)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: sandbox DIRECTORY COMMAND");
        return ExitCode::from(2);
    };
    let policy = CommandPolicy::default();
    let sandbox = Sandbox::new();
    let request = CommandRequest::trusted(&command, &policy);
    match sandbox.run(&request, &SandboxContext::new(&PathBuf::from(directory))) {
        Ok(run) => {
            print!("{}", run.stdout.text);
            eprint!("{}", run.stderr.text);
            eprintln!("{:?} at {:?}", run.ending, run.tier);
            ExitCode::from(u8::from(run.ending != CommandEnding::Exited(0)))
        }
        Err(error) => {
            eprintln!("not run: {error}");
            ExitCode::FAILURE
        }
    }
}
