//! Benchmarks of polis against the physical floor (bare system calls, bare loops) and real peers.
//!
//! Most figures are ratios between two things measured alternately in the same run, so that a slow or busy
//! machine slows down both; sizes, memory and counts are absolute. The exit code is 0 if all targets were
//! met, 1 if not, and 2 if a benchmark failed. `bench/run` starts the benchmarks.

#![expect(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
#![expect(clippy::print_stderr, reason = "progress")]

mod bench_env;
mod boards;
mod claims;
mod cold_start;
mod commands;
mod commits;
mod files;
mod http;
mod http_client;
mod mcp;
mod pgbench;
mod polis_setup;
mod report;
mod scale;
mod society;
mod web_and_tui;

use std::process::ExitCode;

use bench_env::{BenchEnv, BenchResult};
use report::BenchReport;

/// A part of the benchmarks: its name and its function.
type BenchPart = (
    &'static str,
    fn(&BenchEnv, &mut BenchReport) -> BenchResult<()>,
);
const BENCH_PARTS: [BenchPart; 12] = [
    // First, because `clone` copies the page tables: memory left behind by other parts would slow it down.
    ("commands", commands::measure),
    ("files", files::measure),
    ("scale", scale::measure),
    ("cold", cold_start::measure),
    ("commits", commits::measure),
    ("pgbench", pgbench::measure),
    ("claims", claims::measure),
    ("boards", boards::measure),
    ("mcp", mcp::measure),
    ("http", http::measure),
    ("society", society::measure),
    ("web", web_and_tui::measure),
];

fn main() -> ExitCode {
    match run_benchmarks(std::env::args().skip(1).collect()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("benchmark failed: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the named parts, or all. Only a complete run without `--quick` updates `docs/benchmarks.md`. Returns
/// whether all targets were met.
fn run_benchmarks(arguments: Vec<String>) -> BenchResult<bool> {
    if let Some((part, rest)) = arguments.split_first()
        && let Some(part) = part.strip_prefix("child:")
    {
        return society::run_child_process(part, rest).map(|()| true);
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let named: Vec<&String> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let env = BenchEnv::new(quick)?;
    let mut report = BenchReport::default();
    for (name, measure) in BENCH_PARTS {
        if named.is_empty() || named.iter().any(|n| *n == name) {
            env.sync_disk()?;
            measure(&env, &mut report)?;
        }
    }
    println!("{}", report.render_table());
    if !quick && named.is_empty() {
        std::fs::write("docs/benchmarks.md", report.render_document())?;
    }
    Ok(report.all_targets_met())
}
