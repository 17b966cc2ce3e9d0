//! Crash test: kills a society at random moments and checks that no message is lost or delivered twice, no
//! command runs twice, and all conversations are consistent.
//!
//! `POLIS_CRASH_ROUNDS` sets the number of kills; their times come from a random generator with a fixed seed.

use std::fs::File;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::scripted_team::ScriptedTeam;
use crate::harness::random_kill::{SeededRng, crash_rounds};
use crate::harness::test_project::TestProject;

/// Number of workers in the team.
const WORKER_COUNT: u64 = 50;
/// File that collects standard error.
const STDERR_FILE: &str = "complaints.txt";
/// Maximum time without progress before the test fails.
const PROGRESS_TIMEOUT: Duration = Duration::from_secs(60);

crate::harness::test_project::on_both_stores!(
    society_killed_at_random_moments_loses_and_repeats_nothing
);

fn society_killed_at_random_moments_loses_and_repeats_nothing(project: &TestProject) {
    let team = ScriptedTeam::with_workers(WORKER_COUNT);
    team.write_config(project);
    let workspace = project.project_path("work");
    let place = workspace.to_str().unwrap();
    let mut process = spawn_run(project, &["run", "Go.", "--workspace", place]);
    let mut dice = SeededRng(0x50c1_e7f0);
    let (kills, mut done) = (crash_rounds(), 0);
    // Spread the kills over about as many responses as the whole team needs.
    let between = (WORKER_COUNT * 6 / kills).max(2);
    // Before the first model request there may be no run to resume.
    assert!(
        wait_for_requests(&team, &mut process, 1),
        "the run does not start"
    );
    while done < kills {
        let due = team.model_server.request_count() as u64 + dice.next_below(between * 2);
        if !wait_for_requests(&team, &mut process, due) {
            break;
        }
        // A random delay, so that kills do not always coincide with a request.
        std::thread::sleep(Duration::from_micros(dice.next_below(8_000)));
        process.kill().unwrap();
        process.wait().unwrap();
        done += 1;
        process = spawn_run(project, &["run", "--resume"]);
    }
    assert!(done >= kills.min(5), "killed only {done} times");
    while wait_for_requests(&team, &mut process, u64::MAX) {}
    let said = std::fs::read_to_string(project.project_path(STDERR_FILE)).unwrap();
    assert!(process.wait().unwrap().success(), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    team.assert_finished(project, &workspace);
    let interrupted = team.observations.lock().unwrap().interrupted.len();
    #[expect(clippy::print_stdout, reason = "shown with --nocapture only")]
    {
        println!(
            "killed {done} times: {} answers asked for, {interrupted} commands interrupted",
            team.model_server.request_count()
        );
    }
}

/// Starts the program. Standard output is discarded, standard error is appended to a file.
fn spawn_run(project: &TestProject, args: &[&str]) -> Child {
    let complaints = File::options()
        .create(true)
        .append(true)
        .open(project.project_path(STDERR_FILE))
        .unwrap();
    let mut command = project.json_command("user", args);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(complaints).spawn().unwrap()
}

/// Waits until the model has received `due` requests. Returns `false` if the process ended before.
fn wait_for_requests(team: &ScriptedTeam, process: &mut Child, due: u64) -> bool {
    let (mut seen, mut since) = (0, Instant::now());
    loop {
        let asked = team.model_server.request_count() as u64;
        if asked >= due {
            return true;
        }
        if process.try_wait().unwrap().is_some() {
            return false;
        }
        if asked > seen {
            (seen, since) = (asked, Instant::now());
        }
        assert!(
            since.elapsed() < PROGRESS_TIMEOUT,
            "no progress after {asked} model requests"
        );
        std::thread::sleep(Duration::from_micros(500));
    }
}
