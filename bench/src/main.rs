//! Measures polis against the physical floor and real peers.
//!
//! Every figure is a ratio between two things measured in this run, in turns, so that a slow or
//! busy machine slows both. `bench/run` starts it.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
#![expect(clippy::print_stderr, reason = "progress")]

mod claims;
mod cold;
mod commits;
mod pgbench;
mod report;
mod scale;
mod scene;

use std::process::ExitCode;

use report::Report;
use scene::{Fallible, Scene};

fn main() -> ExitCode {
    let quick = std::env::args().any(|argument| argument == "--quick");
    match run(quick) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("benchmark failed: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(quick: bool) -> Fallible<bool> {
    let scene = Scene::set(quick)?;
    let mut report = Report::default();
    scale::measure(&scene, &mut report)?;
    cold::measure(&scene, &mut report)?;
    commits::measure(&scene, &mut report)?;
    pgbench::measure(&scene, &mut report)?;
    claims::measure(&scene, &mut report)?;
    println!("{}", report.table());
    if !quick {
        std::fs::write("docs/benchmarks.md", report.document())?;
    }
    Ok(report.all_met())
}
