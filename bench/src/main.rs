//! Benchmarks of polis against the physical floor (bare system calls, bare loops) and real peers.
//!
//! Figures are ratios between two things measured alternately in the same run, so that a slow or busy machine slows
//! down both. `bench/run` starts the benchmarks.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
#![expect(clippy::print_stderr, reason = "progress")]

mod boards;
mod claims;
mod cold;
mod commands;
mod commits;
mod files;
mod ground;
mod http;
mod mcp;
mod pgbench;
mod report;
mod scale;
mod scene;
mod society;
mod web;
mod wire;

use std::process::ExitCode;

use report::Report;
use scene::{Fallible, Scene};

/// A part of the benchmarks: its name and its function.
type Part = (&'static str, fn(&Scene, &mut Report) -> Fallible<()>);
const PARTS: [Part; 12] = [
    // First, because `clone` copies the page tables: memory left behind by other parts would slow it down.
    ("commands", commands::measure),
    ("files", files::measure),
    ("scale", scale::measure),
    ("cold", cold::measure),
    ("commits", commits::measure),
    ("pgbench", pgbench::measure),
    ("claims", claims::measure),
    ("boards", boards::measure),
    ("mcp", mcp::measure),
    ("http", http::measure),
    ("society", society::measure),
    ("web", web::measure),
];

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("benchmark failed: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the named parts, or all. Only a complete run without `--quick` updates `docs/benchmarks.md`. Returns whether
/// all targets were met.
fn run(arguments: Vec<String>) -> Fallible<bool> {
    if let Some((part, rest)) = arguments.split_first()
        && let Some(part) = part.strip_prefix("child:")
    {
        return society::child(part, rest).map(|()| true);
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let named: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let scene = Scene::set(quick)?;
    let mut report = Report::default();
    for (name, measure) in PARTS {
        if named.is_empty() || named.iter().any(|n| *n == name) {
            scene.settle()?;
            measure(&scene, &mut report)?;
        }
    }
    println!("{}", report.table());
    if !quick && named.is_empty() {
        std::fs::write("docs/benchmarks.md", report.document())?;
    }
    Ok(report.all_met())
}
