//! Cost of crashes: kills a society three times midway and counts the effects that ran twice or were lost, and the
//! model requests that had to be repeated. Repeated requests are split into those that were in flight at the kill and
//! those that the model had already answered.

use std::path::Path;

use serde_json::Value;

use super::server::Manner;
use super::{Server, number, shown, start};
use crate::report::Report;
use crate::scene::{Fallible, Scene};

const AGENTS: usize = 10;
const TURNS: usize = 20;
/// Progress of the run at each kill, as a share of all requests.
const KILLS: [f64; 3] = [0.25, 0.5, 0.75];
const ARGUMENTS: &str = r#"{"subject":"AGENT step N"}"#;

/// Think times of the model in milliseconds: none, so that few requests are in flight at a kill; and long enough that
/// every agent has one in flight.
const THINK: [u64; 2] = [0, 20];

/// Measures the cost of kills for each think time.
pub(super) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    for think_ms in THINK {
        measure_with(scene, report, think_ms)?;
    }
    Ok(())
}

fn measure_with(scene: &Scene, report: &mut Report, think_ms: u64) -> Fallible<()> {
    let whole = AGENTS * (TURNS + 1);
    let (mut twice, mut lost, mut asked, rounds) = (0, 0, 0.0, scene.times(10).max(2));
    let (mut in_flight, mut after_answer) = (0.0, 0.0);
    for round in 0..rounds {
        let manner = Manner {
            think_ms,
            ..Manner::default()
        };
        let server = Server::with(TURNS, "TaskCreate", ARGUMENTS, manner)?;
        let place = scene.place(&format!("society-kills-{think_ms}-{round}"));
        for part in KILLS {
            let due = whole as f64 * part;
            let process = start("ours", &[&server.base, &shown(&place), &AGENTS.to_string()])?;
            while number(&server.figures()?, "requests") < due {
                std::thread::yield_now();
            }
            // Dropping the process kills it (SIGKILL).
            drop(process);
        }
        let figures =
            start("ours", &[&server.base, &shown(&place), &AGENTS.to_string()])?.figures()?;
        let (all, different) = effects(scene, &place)?;
        twice += all - different;
        lost += AGENTS * TURNS - different;
        let served = server.figures()?;
        asked += number(&served, "requests");
        in_flight += number(&served, "againInFlight");
        after_answer += number(&served, "againAfterAnswer");
        if number(&figures, "turns").is_nan() {
            return Err("the last run did not end well".into());
        }
    }
    let due = (whole * rounds) as f64;
    let thinking = format!("model that thinks {think_ms} ms");
    report.add(
        &format!("killed three times, 10 agents x 20 effects, {thinking}: run twice, lost"),
        format!("{twice}, {lost}"),
        "0, 0".to_owned(),
        twice == 0 && lost == 0,
        &format!(
            "of {} in {rounds} runs; tasks created, counted by their subjects",
            AGENTS * TURNS * rounds
        ),
    );
    report.at_most(
        &format!("the same, answers asked for again that the model had given / due, {thinking}"),
        1.0 + after_answer / due,
        1.05,
        &format!("{after_answer:.0} of {due:.0}"),
    );
    // An agent killed while the model thinks has to repeat its request: at most one for each agent and kill.
    let inherent = (AGENTS * KILLS.len()) as f64 / whole as f64;
    report.at_most(
        &format!("the same, all answers asked of the model / due, {thinking}"),
        asked / due,
        (100.0 * (1.05 + if think_ms > 0 { inherent } else { 0.0 })).round() / 100.0,
        &format!(
            "{asked:.0} of {due:.0}; {in_flight:.0} were under way at a kill, of at most {:.0}",
            inherent * due
        ),
    );
    Ok(())
}

/// Returns the number of created tasks, and of distinct ones.
fn effects(scene: &Scene, place: &Path) -> Fallible<(usize, usize)> {
    // The benchmark created the store itself, not with `polis init`.
    let trusted = scene.polis(place, &["--json", "trust"]).output()?;
    if !trusted.status.success() {
        return Err(String::from_utf8_lossy(&trusted.stderr).into());
    }
    let listed = scene.polis(place, &["--json", "task", "list"]).output()?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    let tasks = listed["tasks"].as_array().ok_or("no tasks")?;
    let subjects = tasks.iter().filter_map(|task| task["subject"].as_str());
    // Leave out the one task that the setup creates for calls that read.
    let subjects: Vec<&str> = subjects.filter(|s| s.contains(" step ")).collect();
    let different: std::collections::BTreeSet<_> = subjects.iter().collect();
    Ok((subjects.len(), different.len()))
}
