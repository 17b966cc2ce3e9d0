//! Crash test: kills a society at random moments and checks that no message is lost or delivered twice, no command runs
//! twice, and all conversations are consistent.
//!
//! `POLIS_CRASH_ROUNDS` sets the number of kills; their times come from a random generator with a fixed seed.

use std::fs::File;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::team::Team;
use crate::board::Board;
use crate::kill::{Dice, rounds};

/// Number of workers in the team.
const WORKERS: u64 = 50;
/// File that collects standard error.
const COMPLAINTS: &str = "complaints.txt";
/// Maximum time without progress before the test fails.
const STUCK: Duration = Duration::from_secs(60);

crate::board::on_both_stores!(a_society_survives_being_killed_at_any_moment);

fn a_society_survives_being_killed_at_any_moment(board: &Board) {
    let team = Team::of(WORKERS);
    team.configure(board);
    let workspace = board.file("work");
    let place = workspace.to_str().unwrap();
    let mut process = begin(board, &["run", "Go.", "--workspace", place]);
    let mut dice = Dice(0x50c1_e7f0);
    let (kills, mut done) = (rounds(), 0);
    // Spread the kills over about as many answers as the whole team needs.
    let between = (WORKERS * 6 / kills).max(2);
    // Before the first model request there may be no run to resume.
    assert!(wait(&team, &mut process, 1), "it does not begin");
    while done < kills {
        let due = team.server.count() as u64 + dice.below(between * 2);
        if !wait(&team, &mut process, due) {
            break;
        }
        // A random delay, so that kills do not always coincide with a request.
        std::thread::sleep(Duration::from_micros(dice.below(8_000)));
        process.kill().unwrap();
        process.wait().unwrap();
        done += 1;
        process = begin(board, &["run", "--resume"]);
    }
    assert!(done >= kills.min(5), "killed {done} times only");
    while wait(&team, &mut process, u64::MAX) {}
    let said = std::fs::read_to_string(board.file(COMPLAINTS)).unwrap();
    assert!(process.wait().unwrap().success(), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    team.check_end(board, &workspace);
    let interrupted = team.seen.lock().unwrap().interrupted.len();
    #[expect(clippy::print_stdout, reason = "shown with --nocapture only")]
    {
        println!(
            "killed {done} times: {} answers asked for, {interrupted} commands interrupted",
            team.server.count()
        );
    }
}

/// Starts the program. Standard output is discarded, standard error is appended to a file.
fn begin(board: &Board, args: &[&str]) -> Child {
    let complaints = File::options()
        .create(true)
        .append(true)
        .open(board.file(COMPLAINTS))
        .unwrap();
    let mut command = board.json_command("user", args);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(complaints).spawn().unwrap()
}

/// Waits until the model has received `due` requests. Returns `false` if the process ended before.
fn wait(team: &Team, process: &mut Child, due: u64) -> bool {
    let (mut seen, mut since) = (0, Instant::now());
    loop {
        let asked = team.server.count() as u64;
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
            since.elapsed() < STUCK,
            "nothing happens after {asked} answers"
        );
        std::thread::sleep(Duration::from_micros(500));
    }
}
