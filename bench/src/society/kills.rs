//! Killed three times in the middle: what ran twice, what was lost, and how many answers of the model had to be asked for again.

use std::path::Path;

use serde_json::Value;

use super::{Server, number, shown, start};
use crate::report::Report;
use crate::scene::{Fallible, Scene};

const AGENTS: usize = 10;
const TURNS: usize = 20;
/// How far the run is when it is killed, in parts of all requests.
const KILLS: [f64; 3] = [0.25, 0.5, 0.75];
const ARGUMENTS: &str = r#"{"subject":"AGENT step N"}"#;

/// Measures what kills cost.
pub(super) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let whole = AGENTS * (TURNS + 1);
    let (mut twice, mut lost, mut asked, rounds) = (0, 0, 0.0, scene.times(10).max(2));
    for round in 0..rounds {
        let server = Server::start(TURNS, "TaskCreate", ARGUMENTS)?;
        let place = scene.place(&format!("society-kills-{round}"));
        for part in KILLS {
            let due = whole as f64 * part;
            let process = start("ours", &[&server.base, &shown(&place), &AGENTS.to_string()])?;
            while number(&server.figures()?, "requests") < due {
                std::thread::yield_now();
            }
            // Dropping it kills it (SIGKILL).
            drop(process);
        }
        let figures =
            start("ours", &[&server.base, &shown(&place), &AGENTS.to_string()])?.figures()?;
        let (all, different) = effects(scene, &place)?;
        twice += all - different;
        lost += AGENTS * TURNS - different;
        asked += number(&server.figures()?, "requests");
        if number(&figures, "turns").is_nan() {
            return Err("the last run did not end well".into());
        }
    }
    let due = AGENTS * TURNS * rounds;
    report.add(
        "killed three times, 10 agents x 20 effects: run twice, lost",
        format!("{twice}, {lost}"),
        "0, 0".to_owned(),
        twice == 0 && lost == 0,
        &format!("of {due} in {rounds} runs; tasks created, counted by their subjects"),
    );
    report.at_most(
        "the same, answers asked of the model / without kills",
        asked / (whole * rounds) as f64,
        1.05,
        &format!(
            "{asked} of {} due, kills at a quarter, half and three quarters",
            whole * rounds
        ),
    );
    Ok(())
}

/// How many tasks there are, and how many different ones.
fn effects(scene: &Scene, place: &Path) -> Fallible<(usize, usize)> {
    let listed = scene.polis(place, &["--json", "task", "list"]).output()?;
    let listed: Value = serde_json::from_slice(&listed.stdout)?;
    let tasks = listed["tasks"].as_array().ok_or("no tasks")?;
    let subjects = tasks.iter().filter_map(|task| task["subject"].as_str());
    // One task is there to be looked at.
    let subjects: Vec<&str> = subjects.filter(|s| s.contains(" step ")).collect();
    let different: std::collections::BTreeSet<_> = subjects.iter().collect();
    Ok((subjects.len(), different.len()))
}
