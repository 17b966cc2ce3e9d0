//! Runs a line of shell behind walls: `cargo run --example sandbox -- DIRECTORY COMMAND`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example talks to whoever runs it"
)]

use std::path::PathBuf;
use std::process::ExitCode;

use polis_core::workspace::command::Ending;
use polis_core::workspace::policy::CommandPolicy;
use polis_workspace::sandbox::{Job, Sandbox};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(directory), Some(command)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: sandbox DIRECTORY COMMAND");
        return ExitCode::from(2);
    };
    let policy = CommandPolicy::default();
    let sandbox = Sandbox::new();
    match sandbox.run(&Job::new(&PathBuf::from(directory), &command, &policy)) {
        Ok(run) => {
            print!("{}", run.stdout.text);
            eprint!("{}", run.stderr.text);
            eprintln!("{:?} at {}", run.ending, run.tier.as_str());
            ExitCode::from(u8::from(run.ending != Ending::Exited(0)))
        }
        Err(error) => {
            eprintln!("not run: {error}");
            ExitCode::FAILURE
        }
    }
}
