//! Processes that do not want to end: nothing of a command is left when it has ended, whether by
//! itself, by its time, by who asked for it, or because polis itself is gone.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

use polis_core::workspace::command::Ending;
use polis_workspace::sandbox::Cancel;

use super::stage::{
    self, MIB, Stage, Strength, Way, at_every_strength, attacker, processes_with, strengths, within,
};

/// How late an answer may be: as much as a busy machine needs, and less than the ten seconds after which polis
/// stops waiting for processes that do not end.
pub(super) const PROMPTLY: Duration = Duration::from_secs(9);

/// How long what is left of ended processes may be seen; those that stayed would sleep for ten minutes.
const LINGERING: Duration = Duration::from_secs(20);

/// Ways to stay; `$M` marks their processes.
const STAYING: &[(&str, &str)] = &[
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
        "deaf",
        "sh -c 'trap \"\" TERM INT HUP PIPE; sleep 600.$M; sleep 600.$M' &",
    ),
    ("stopped", "sleep 600.$M & kill -STOP $!"),
    ("by every trick", "./attacker stubborn $M"),
    (
        "starting others",
        "(while :; do sleep 600.$M & done) 2>/dev/null &",
    ),
];

fn marker(stage: &Stage, number: usize) -> String {
    // Digits alone: it is a fraction of a second for `sleep`.
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(stage.place()).unwrap());
    format!("{}{inode}{number:02}", std::process::id())
}

fn nothing_left(name: &str, marker: &str) {
    // The kernel has ended them before `run` returns; their entries may linger for a moment.
    let gone = within(LINGERING, || processes_with(marker).is_empty());
    assert!(gone, "{name}: {:?}", processes_with(marker));
}

#[test]
fn nothing_stays_when_the_command_ends() {
    for strength in strengths() {
        let mut stage = Stage::new(strength);
        let _turn = stage.few_processes();
        let stage = &stage;
        for (number, (name, script)) in STAYING.iter().enumerate() {
            let marker = marker(stage, number);
            let begun = Instant::now();
            let run = stage.run(&format!("M={marker}; export M; {script}\necho ended"));
            assert_eq!(run.ending, Ending::Exited(0), "{name}: {run:?}");
            assert!(run.stdout.text.contains("ended"), "{name}: {run:?}");
            assert!(begun.elapsed() < PROMPTLY, "{name}: {:?}", begun.elapsed());
            nothing_left(name, &marker);
        }
    }
}

#[test]
fn nothing_stays_when_the_time_is_up() {
    for strength in strengths() {
        let mut stage = Stage::new(strength);
        let _turn = stage.few_processes();
        let stage = &stage;
        for (number, (name, script)) in STAYING.iter().enumerate() {
            let marker = marker(stage, number + 50);
            let command =
                format!("M={marker}; export M; {script}\necho so far; sleep 601.{marker}");
            let mut timeout = Duration::from_millis(200);
            loop {
                let begun = Instant::now();
                let run = stage.run_for(timeout, &command);
                assert_eq!(run.ending, Ending::TimedOut, "{name}: {run:?}");
                let took = begun.elapsed();
                assert!(
                    took >= timeout && took < timeout + PROMPTLY,
                    "{name}: {took:?}"
                );
                nothing_left(name, &marker);
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
fn nothing_stays_when_it_is_not_wanted_any_more() {
    at_every_strength(|stage| {
        let marker = marker(stage, 99);
        let cancel = Cancel::new().unwrap();
        let begun = Instant::now();
        let command = format!("setsid -f sleep 600.{marker}; echo up; sleep 600.{marker}");
        let run = stage.run_in_a_way(
            &command,
            &Way {
                cancel: Some(&cancel),
                watch: Some(&|_, _| cancel.trigger()),
                ..Way::default()
            },
        );
        assert_eq!(run.ending, Ending::Cancelled);
        assert_eq!(run.stdout.text, "up\n");
        assert!(begun.elapsed() < PROMPTLY);
        nothing_left("cancel", &marker);
        // One that was cancelled before does not even begin, or ends at once.
        let run = stage.run_in_a_way(
            "sleep 600",
            &Way {
                cancel: Some(&cancel),
                ..Way::default()
            },
        );
        assert_eq!(run.ending, Ending::Cancelled);
    });
}

#[test]
fn stopping_itself_does_not_stop_the_clock() {
    at_every_strength(|stage| {
        for command in [
            "kill -STOP $$",
            "kill -STOP 0",
            "exec >&- 2>&-; kill -STOP $$",
        ] {
            let begun = Instant::now();
            let timeout = Duration::from_millis(100);
            let run = stage.run_for(timeout, command);
            assert_eq!(run.ending, Ending::TimedOut, "{command}");
            assert!(begun.elapsed() < timeout + PROMPTLY, "{command}");
        }
    });
}

#[test]
fn a_fork_bomb_stays_small_and_ends() {
    for strength in strengths() {
        let mut stage = Stage::new(strength);
        let _turn = stage.few_processes();
        let stage = &stage;
        let most = stage.policy.limits.processes;
        let begun = Instant::now();
        let run = stage.run("./attacker bomb; echo; exit 5");
        assert!(begun.elapsed() < Duration::from_secs(15), "{run:?}");
        assert_eq!(run.ending, Ending::Exited(5), "{run:?}");
        let made = run.stdout.text.split_whitespace().nth(1).unwrap();
        assert!(made.parse::<u64>().unwrap() <= most, "{run:?}");
        let timeout = Duration::from_millis(300);
        let begun = Instant::now();
        let bomb = "bomb() { bomb | bomb & }; bomb; while :; do :; done";
        let run = stage.run_for(timeout, bomb);
        assert_eq!(run.ending, Ending::TimedOut, "{run:?}");
        assert!(
            begun.elapsed() < timeout + PROMPTLY,
            "{:?}",
            begun.elapsed()
        );
        let left = processes_with("bomb() { bomb");
        assert!(
            within(LINGERING, || processes_with("bomb() { bomb").is_empty()),
            "{left:?}"
        );
        // And the next command has all its processes again.
        stage.output("for i in $(seq 1 40); do sleep 0.01 & done; wait");
    }
}

/// How much memory this process has now, in bytes.
fn own_memory() -> u64 {
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
fn a_flood_of_output_neither_grows_nor_delays() {
    at_every_strength(|stage| {
        stage.output("true");
        let before = own_memory();
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
                let run = stage.run_for(timeout, flood);
                let took = begun.elapsed();
                assert_eq!(run.ending, Ending::TimedOut, "{flood}");
                assert!(took < timeout + PROMPTLY, "{flood}: {took:?}");
                for stream in [&run.stdout, &run.stderr] {
                    assert!(stream.text.len() < 2 * 1024 * 1024, "{flood}");
                    assert!(stream.omitted <= stream.bytes, "{flood}");
                }
                let bytes = run.stdout.bytes + run.stderr.bytes;
                if bytes > 4 * MIB {
                    break;
                }
                // A busy machine had no time for a flood yet.
                timeout *= 4;
                assert!(timeout < Duration::from_secs(60), "{flood}: {bytes}");
            }
        }
        // Other tests run beside this one; a flood of hundreds of MiB would be seen all the same.
        let grown = own_memory().saturating_sub(before);
        assert!(grown < 200 * MIB, "{grown}");
    });
}

#[test]
fn nothing_stays_when_polis_is_killed() {
    const ROLE: &str = "POLIS_ESCAPE_VICTIM";
    const NAME: &str = "escape::ending::nothing_stays_when_polis_is_killed";
    if let Some(role) = env::var_os(ROLE) {
        let role = role.into_string().unwrap();
        let (tier, marker) = role.split_once(' ').unwrap();
        let strength = strengths()
            .iter()
            .find(|s| s.tier.as_str() == tier)
            .unwrap();
        run_until_killed(strength, marker);
        return;
    }
    for (number, strength) in strengths().iter().enumerate() {
        let marker = marker(&Stage::new(strength), number);
        let mut victim = Command::new(env::current_exe().unwrap())
            .args(["--exact", NAME, "--nocapture"])
            .env(ROLE, format!("{} {marker}", strength.tier.as_str()))
            .env(stage::ATTACKER, attacker())
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
            processes_with(&marker).len() >= 3,
            "{:?}",
            processes_with(&marker)
        );
        victim.kill().unwrap();
        victim.wait().unwrap();
        let gone = within(LINGERING, || processes_with(&marker).is_empty());
        assert!(gone, "{:?}: {:?}", strength.tier, processes_with(&marker));
    }
}

#[expect(
    clippy::print_stdout,
    reason = "the test that started this waits for the line"
)]
fn run_until_killed(strength: &'static Strength, marker: &str) {
    let stage = Stage::new(strength);
    let command = format!(
        "sleep 600.{marker} & setsid -f sleep 600.{marker}; (setsid sh -c 'sleep 600.{marker} &' &)
         sleep 600.{marker} & kill -STOP $!; echo up; sleep 600.{marker}"
    );
    stage.run_in_a_way(
        &command,
        &Way {
            timeout: Some(Duration::from_secs(60)),
            watch: Some(&|_, _| println!("all are up")),
            ..Way::default()
        },
    );
}
