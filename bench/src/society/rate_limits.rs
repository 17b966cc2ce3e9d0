//! Random rate limits: a quarter of all requests is refused with 429 and `Retry-After: 1`. Compared with the
//! official Python client, where each agent waits for itself.

use super::model_server::ModelBehaviour;
use super::{
    ChildProcess, ModelServerProcess, check_complete, figure_number, path_text, peer_command,
    start_child,
};
use crate::bench_env::{BenchEnv, BenchResult, median};
use crate::report::BenchReport;

const AGENT_COUNT: usize = 10;
const CALLS_PER_AGENT: usize = 20;
const TOOL_NAME: &str = "put_artifact";
const TOOL_ARGUMENTS: &str = r#"{"type":"note","content":"AGENT has done step N of its work."}"#;

/// Measures the cost of random 429 responses.
pub(super) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let (mut ours, mut python) = (Vec::new(), Vec::new());
    let first = env.path_of("first-request-limits.json");
    for seed in 1..=env.repetitions(7).max(3) {
        let behaviour = ModelBehaviour {
            think_ms: 20,
            refused_percent: 25,
            seed: u64::try_from(seed)?,
        };
        let server = ModelServerProcess::start_with_behaviour(
            CALLS_PER_AGENT,
            TOOL_NAME,
            TOOL_ARGUMENTS,
            behaviour,
        )?;
        let directory = env.path_of(&format!("society-limits-{seed}"));
        let figures = start_child(
            "ours",
            &[
                &server.base_url,
                &path_text(&directory),
                &AGENT_COUNT.to_string(),
            ],
        )?;
        let figures = figures.wait_for_figures()?;
        check_complete(&figures, AGENT_COUNT, CALLS_PER_AGENT)?;
        std::fs::write(&first, server.http_get("/first")?)?;
        ours.push(figure_number(&figures, "wall"));
        let server = ModelServerProcess::start_with_behaviour(
            CALLS_PER_AGENT,
            TOOL_NAME,
            TOOL_ARGUMENTS,
            behaviour,
        )?;
        let client = peer_command(
            "POLIS_BENCH_OPENAI_LOOP",
            &server.base_url,
            &first,
            AGENT_COUNT,
        )?;
        let figures = ChildProcess::spawn(client)?.wait_for_figures()?;
        check_complete(&figures, AGENT_COUNT, CALLS_PER_AGENT)?;
        python.push(figure_number(&figures, "wall"));
    }
    let (ours, python) = (median(&mut ours), median(&mut python));
    report.add_at_most(
        "a quarter of all requests refused by chance (429, Retry-After: 1), 10 agents x 20 calls, wall time / Python `openai` loop",
        ours / python,
        1.5,
        &format!("{ours:.1} s vs {python:.1} s; model think time 20 ms"),
    );
    Ok(())
}
