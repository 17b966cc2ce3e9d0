//! Random rate limits: a quarter of all requests is refused with 429 and `Retry-After: 1`. Compared with the official
//! Python client, where each agent waits for itself.

use super::server::Manner;
use super::{Process, Server, complete, number, peer, shown, start};
use crate::report::Report;
use crate::scene::{Fallible, Scene, median};

const AGENTS: usize = 10;
const TURNS: usize = 20;
const TOOL: &str = "put_artifact";
const ARGUMENTS: &str = r#"{"type":"note","content":"AGENT has done step N of its work."}"#;

/// Measures the cost of random 429 responses.
pub(super) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let (mut ours, mut python) = (Vec::new(), Vec::new());
    let first = scene.place("first-request-limits.json");
    for seed in 1..=scene.times(7).max(3) {
        let manner = Manner {
            think_ms: 20,
            refuses_percent: 25,
            seed: u64::try_from(seed)?,
        };
        let server = Server::with(TURNS, TOOL, ARGUMENTS, manner)?;
        let place = scene.place(&format!("society-limits-{seed}"));
        let figures = start("ours", &[&server.base, &shown(&place), &AGENTS.to_string()])?;
        let figures = figures.figures()?;
        complete(&figures, AGENTS, TURNS)?;
        std::fs::write(&first, server.get("/first")?)?;
        ours.push(number(&figures, "wall"));
        let server = Server::with(TURNS, TOOL, ARGUMENTS, manner)?;
        let client = peer("POLIS_BENCH_OPENAI_LOOP", &server.base, &first, AGENTS)?;
        let figures = Process::of(client)?.figures()?;
        complete(&figures, AGENTS, TURNS)?;
        python.push(number(&figures, "wall"));
    }
    let (ours, python) = (median(&mut ours), median(&mut python));
    report.at_most(
        "a quarter of all requests refused by chance (429, Retry-After: 1), 10 agents x 20 calls, wall time / Python `openai` loop",
        ours / python,
        1.5,
        &format!("{ours:.1} s beside {python:.1} s; the model thinks 20 ms"),
    );
    Ok(())
}
