//! Process cleanup tests: no process of a command survives its exit, its timeout, its cancellation or the
//! death of polis, whatever the process does to survive. Also fork bombs and floods of output.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use polis_core::workspace::command_outcome::CommandEnding;
use polis_workspace::sandbox::CancelHandle;

use super::test_sandbox::{
    self, MIB, RunOptions, TestSandbox, TierSandbox, attacker_program, available_sandboxes,
    becomes_true_within, processes_matching, run_in_every_tier,
};

/// Maximum delay of a result: enough for a busy machine, and less than the ten seconds after which polis
/// stops waiting for processes that do not exit.
pub(super) const MAX_RESULT_DELAY: Duration = Duration::from_secs(9);

/// How long entries of dead processes may remain visible; surviving processes would sleep for ten minutes.
const EXIT_TIMEOUT: Duration = Duration::from_secs(20);

/// Ways to survive the command; `$M` marks their processes.
const SURVIVAL_ATTEMPTS: &[(&str, &str)] = &[
    ("in the background", "sleep 600.$M &"),
    ("by nohup", "nohup sleep 600.$M >/dev/null 2>&1 &"),
    (
        "in a session",
        "setsid sleep 600.$M & setsid -f sleep 600.$M",
    ),
    ("by two forks", "(setsid sh -c 'sleep 600.$M & ' &)"),
    (
        "without the pipes",
        "setsid -f sleep 600.$M >/dev/null 2>&1 </dev/null",
    ),
    (
        "ignoring signals",
        "sh -c 'trap \"\" TERM INT HUP PIPE; sleep 600.$M; sleep 600.$M' &",
    ),
    ("stopped", "sleep 600.$M & kill -STOP $!"),
    ("by every trick", "./attacker stubborn $M"),
    (
        "starting others",
        "(while :; do sleep 600.$M & done) 2>/dev/null &",
    ),
];

fn unique_marker(stage: &TestSandbox, number: usize) -> String {
    // Digits only: it is a fraction of a second for `sleep`.
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(stage.base_path()).unwrap());
    format!("{}{inode}{number:02}", std::process::id())
}

fn check_no_processes_left(name: &str, marker: &str) {
    // The kernel has killed them before `run` returns; their entries may remain for a moment.
    let gone = becomes_true_within(EXIT_TIMEOUT, || processes_matching(marker).is_empty());
    assert!(gone, "{name}: {:?}", processes_matching(marker));
}

#[test]
fn no_process_survives_the_exit_of_its_command() {
    for strength in available_sandboxes() {
        let mut stage = TestSandbox::new(strength);
        let _turn = stage.limit_processes();
        let stage = &stage;
        for (number, (name, script)) in SURVIVAL_ATTEMPTS.iter().enumerate() {
            let marker = unique_marker(stage, number);
            let begun = Instant::now();
            let run = stage.run(&format!("M={marker}; export M; {script}\necho ended"));
            assert_eq!(run.ending, CommandEnding::Exited(0), "{name}: {run:?}");
            assert!(run.stdout.text.contains("ended"), "{name}: {run:?}");
            assert!(
                begun.elapsed() < MAX_RESULT_DELAY,
                "{name}: {:?}",
                begun.elapsed()
            );
            check_no_processes_left(name, &marker);
        }
    }
}

#[test]
fn no_process_survives_a_timeout() {
    for strength in available_sandboxes() {
        let mut stage = TestSandbox::new(strength);
        let _turn = stage.limit_processes();
        let stage = &stage;
        for (number, (name, script)) in SURVIVAL_ATTEMPTS.iter().enumerate() {
            let marker = unique_marker(stage, number + 50);
            let command =
                format!("M={marker}; export M; {script}\necho so far; sleep 601.{marker}");
            let mut timeout = Duration::from_millis(200);
            loop {
                let begun = Instant::now();
                let run = stage.run_with_timeout(timeout, &command);
                assert_eq!(run.ending, CommandEnding::TimedOut, "{name}: {run:?}");
                let took = begun.elapsed();
                assert!(
                    took >= timeout && took < timeout + MAX_RESULT_DELAY,
                    "{name}: {took:?}"
                );
                check_no_processes_left(name, &marker);
                if run.stdout.text.contains("so far") {
                    break;
                }
                // A busy machine had not started everything yet; that is not what is tested.
                timeout *= 4;
                assert!(timeout < Duration::from_secs(60), "{name}: {run:?}");
            }
        }
    }
}

#[test]
fn no_process_survives_cancellation() {
    run_in_every_tier(|stage| {
        let marker = unique_marker(stage, 99);
        let cancel = CancelHandle::new().unwrap();
        let begun = Instant::now();
        let command = format!("setsid -f sleep 600.{marker}; echo up; sleep 600.{marker}");
        let run = stage.run_with_options(
            &command,
            &RunOptions {
                cancel: Some(&cancel),
                watcher: Some(&|_, _| cancel.cancel()),
                ..RunOptions::default()
            },
        );
        assert_eq!(run.ending, CommandEnding::Cancelled);
        assert_eq!(run.stdout.text, "up\n");
        assert!(begun.elapsed() < MAX_RESULT_DELAY);
        check_no_processes_left("cancel", &marker);
        // A command that was cancelled before does not start, or is killed at once.
        let run = stage.run_with_options(
            "sleep 600",
            &RunOptions {
                cancel: Some(&cancel),
                ..RunOptions::default()
            },
        );
        assert_eq!(run.ending, CommandEnding::Cancelled);
    });
}

#[test]
fn stopped_command_still_times_out() {
    run_in_every_tier(|stage| {
        for command in [
            "kill -STOP $$",
            "kill -STOP 0",
            "exec >&- 2>&-; kill -STOP $$",
        ] {
            let begun = Instant::now();
            let timeout = Duration::from_millis(100);
            let run = stage.run_with_timeout(timeout, command);
            assert_eq!(run.ending, CommandEnding::TimedOut, "{command}");
            assert!(begun.elapsed() < timeout + MAX_RESULT_DELAY, "{command}");
        }
    });
}

#[test]
fn fork_bomb_is_limited_and_killed() {
    for strength in available_sandboxes() {
        let mut stage = TestSandbox::new(strength);
        let _turn = stage.limit_processes();
        let stage = &stage;
        let most = stage.policy.limits.processes;
        let begun = Instant::now();
        let run = stage.run("./attacker bomb; echo; exit 5");
        assert!(begun.elapsed() < Duration::from_secs(15), "{run:?}");
        assert_eq!(run.ending, CommandEnding::Exited(5), "{run:?}");
        let made = run.stdout.text.split_whitespace().nth(1).unwrap();
        assert!(made.parse::<u64>().unwrap() <= most, "{run:?}");
        let timeout = Duration::from_millis(300);
        let begun = Instant::now();
        let bomb = "bomb() { bomb | bomb & }; bomb; while :; do :; done";
        let run = stage.run_with_timeout(timeout, bomb);
        assert_eq!(run.ending, CommandEnding::TimedOut, "{run:?}");
        assert!(
            begun.elapsed() < timeout + MAX_RESULT_DELAY,
            "{:?}",
            begun.elapsed()
        );
        let left = processes_matching("bomb() { bomb");
        assert!(
            becomes_true_within(EXIT_TIMEOUT, || processes_matching("bomb() { bomb")
                .is_empty()),
            "{left:?}"
        );
        // The next command has its full number of processes again.
        stage.successful_output("for i in $(seq 1 40); do sleep 0.01 & done; wait");
    }
}

/// Returns the memory of this process in bytes.
fn own_resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 = line
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kib * 1024
}

#[test]
fn output_flood_neither_grows_memory_nor_delays() {
    run_in_every_tier(|stage| {
        stage.successful_output("true");
        let before = own_resident_bytes();
        for flood in [
            "yes",
            "yes >&2",
            "yes & yes >&2",
            "cat /dev/zero",
            "yes & exec yes",
        ] {
            let mut timeout = Duration::from_millis(300);
            loop {
                let begun = Instant::now();
                let run = stage.run_with_timeout(timeout, flood);
                let took = begun.elapsed();
                assert_eq!(run.ending, CommandEnding::TimedOut, "{flood}");
                assert!(took < timeout + MAX_RESULT_DELAY, "{flood}: {took:?}");
                for stream in [&run.stdout, &run.stderr] {
                    assert!(stream.text.len() < 2 * 1024 * 1024, "{flood}");
                    assert!(stream.omitted <= stream.bytes, "{flood}");
                }
                let bytes = run.stdout.bytes + run.stderr.bytes;
                if bytes > 4 * MIB {
                    break;
                }
                // On a busy machine the flood had not started yet.
                timeout *= 4;
                assert!(timeout < Duration::from_secs(60), "{flood}: {bytes}");
            }
        }
        // Other tests run concurrently; a flood of hundreds of MiB would still be noticed.
        let grown = own_resident_bytes().saturating_sub(before);
        assert!(grown < 200 * MIB, "{grown}");
    });
}

#[test]
fn no_process_survives_the_death_of_polis() {
    const VICTIM_VAR: &str = "POLIS_ESCAPE_VICTIM";
    const TEST_NAME: &str = "escape::process_cleanup::no_process_survives_the_death_of_polis";
    if let Some(role) = env::var_os(VICTIM_VAR) {
        let role = role.into_string().unwrap();
        let (tier, marker) = role.split_once(' ').unwrap();
        let strength = available_sandboxes()
            .iter()
            .find(|s| s.tier.as_str() == tier)
            .unwrap();
        run_until_killed(strength, marker);
        return;
    }
    for (number, strength) in available_sandboxes().iter().enumerate() {
        let marker = unique_marker(&TestSandbox::new(strength), number);
        let mut victim = Command::new(env::current_exe().unwrap())
            .args(["--exact", TEST_NAME, "--nocapture"])
            .env(VICTIM_VAR, format!("{} {marker}", strength.tier.as_str()))
            .env(test_sandbox::ATTACKER_VAR, attacker_program())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
        let ready = lines
            .map_while(Result::ok)
            .any(|line| line.contains("all are up"));
        assert!(ready, "{:?}: {:?}", strength.tier, victim.wait());
        assert!(
            processes_matching(&marker).len() >= 3,
            "{:?}",
            processes_matching(&marker)
        );
        victim.kill().unwrap();
        victim.wait().unwrap();
        let gone = becomes_true_within(EXIT_TIMEOUT, || processes_matching(&marker).is_empty());
        assert!(
            gone,
            "{:?}: {:?}",
            strength.tier,
            processes_matching(&marker)
        );
    }
}

#[expect(
    clippy::print_stdout,
    reason = "the test that started this waits for the line"
)]
fn run_until_killed(strength: &'static TierSandbox, marker: &str) {
    let stage = TestSandbox::new(strength);
    let command = format!(
        "sleep 600.{marker} & setsid -f sleep 600.{marker}; (setsid sh -c 'sleep 600.{marker} &' &)
         sleep 600.{marker} & kill -STOP $!; echo up; sleep 600.{marker}"
    );
    stage.run_with_options(
        &command,
        &RunOptions {
            timeout: Some(Duration::from_secs(60)),
            watcher: Some(&|_, _| println!("all are up")),
            ..RunOptions::default()
        },
    );
}
