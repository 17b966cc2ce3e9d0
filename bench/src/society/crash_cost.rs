//! Cost of crashes: kills a society three times midway and counts the effects that ran twice or were lost,
//! and the model requests that had to be repeated. Repeated requests are split into those that were in flight
//! at the kill and those that the model had already answered.

use std::path::Path;

use serde_json::Value;

use super::model_server::ModelBehaviour;
use super::{ModelServerProcess, figure_number, path_text, start_child};
use crate::bench_env::{BenchEnv, BenchResult};
use crate::report::BenchReport;

const AGENT_COUNT: usize = 10;
const CALLS_PER_AGENT: usize = 20;
/// Progress of the run at each kill, as a share of all requests.
const KILL_POINTS: [f64; 3] = [0.25, 0.5, 0.75];
const TOOL_ARGUMENTS: &str = r#"{"subject":"AGENT step N"}"#;

/// Think times of the model in milliseconds: none, so that few requests are in flight at a kill; and long
/// enough that every agent has one in flight.
const THINK_TIMES_MS: [u64; 2] = [0, 20];

/// Measures the cost of kills for each think time.
pub(super) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    for think_ms in THINK_TIMES_MS {
        measure_with_think_time(env, report, think_ms)?;
    }
    Ok(())
}

fn measure_with_think_time(
    env: &BenchEnv,
    report: &mut BenchReport,
    think_ms: u64,
) -> BenchResult<()> {
    let total = AGENT_COUNT * (CALLS_PER_AGENT + 1);
    let (mut twice, mut lost, mut requests, rounds) = (0, 0, 0.0, env.repetitions(10).max(2));
    let (mut in_flight, mut after_answer) = (0.0, 0.0);
    for round in 0..rounds {
        let behaviour = ModelBehaviour {
            think_ms,
            ..ModelBehaviour::default()
        };
        let server = ModelServerProcess::start_with_behaviour(
            CALLS_PER_AGENT,
            "TaskCreate",
            TOOL_ARGUMENTS,
            behaviour,
        )?;
        let directory = env.path_of(&format!("society-kills-{think_ms}-{round}"));
        for part in KILL_POINTS {
            let threshold = total as f64 * part;
            let process = start_child(
                "ours",
                &[
                    &server.base_url,
                    &path_text(&directory),
                    &AGENT_COUNT.to_string(),
                ],
            )?;
            while figure_number(&server.fetch_figures()?, "requests") < threshold {
                std::thread::yield_now();
            }
            // Dropping the process kills it (SIGKILL).
            drop(process);
        }
        let figures = start_child(
            "ours",
            &[
                &server.base_url,
                &path_text(&directory),
                &AGENT_COUNT.to_string(),
            ],
        )?
        .wait_for_figures()?;
        let (all, different) = count_effects(env, &directory)?;
        twice += all - different;
        lost += AGENT_COUNT * CALLS_PER_AGENT - different;
        let served = server.fetch_figures()?;
        requests += figure_number(&served, "requests");
        in_flight += figure_number(&served, "againInFlight");
        after_answer += figure_number(&served, "againAfterAnswer");
        if figure_number(&figures, "turns").is_nan() {
            return Err("the final run did not complete".into());
        }
    }
    let expected = (total * rounds) as f64;
    let thinking = format!("model with {think_ms} ms think time");
    report.add_figure(
        &format!("killed three times, 10 agents x 20 effects, {thinking}: run twice, lost"),
        format!("{twice}, {lost}"),
        "0, 0".to_owned(),
        twice == 0 && lost == 0,
        &format!(
            "of {} in {rounds} runs; tasks created, counted by their subjects",
            AGENT_COUNT * CALLS_PER_AGENT * rounds
        ),
    );
    report.add_at_most(
        &format!("the same, requests repeated after the model had answered / expected, {thinking}"),
        1.0 + after_answer / expected,
        1.05,
        &format!("{after_answer:.0} of {expected:.0}"),
    );
    // An agent killed while the model thinks has to repeat its request: at most one for each agent and kill.
    let inherent = (AGENT_COUNT * KILL_POINTS.len()) as f64 / total as f64;
    report.add_at_most(
        &format!("the same, all model requests / expected, {thinking}"),
        requests / expected,
        (100.0 * (1.05 + if think_ms > 0 { inherent } else { 0.0 })).round() / 100.0,
        &format!(
            "{requests:.0} of {expected:.0}; {in_flight:.0} were in flight at a kill, of at most {:.0}",
            inherent * expected
        ),
    );
    Ok(())
}

/// Returns the number of created tasks, and of distinct ones.
fn count_effects(env: &BenchEnv, directory: &Path) -> BenchResult<(usize, usize)> {
    // The benchmark created the store itself, not with `polis init`.
    let trusted = env
        .polis_command(directory, &["--json", "trust"])
        .output()?;
    if !trusted.status.success() {
        return Err(String::from_utf8_lossy(&trusted.stderr).into());
    }
    let listed = env
        .polis_command(directory, &["--json", "task", "list"])
        .output()?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    let tasks = listed["tasks"].as_array().ok_or("no tasks")?;
    let subjects = tasks.iter().filter_map(|task| task["subject"].as_str());
    // Leave out the one task that the setup creates for calls that read.
    let subjects: Vec<&str> = subjects.filter(|s| s.contains(" step ")).collect();
    let different: std::collections::BTreeSet<_> = subjects.iter().collect();
    Ok((subjects.len(), different.len()))
}
