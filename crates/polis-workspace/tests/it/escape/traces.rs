//! What commands leave behind in polis and on the machine: nothing.

use std::process::Command;
use std::{env, fs};

use super::stage::{self, Stage, attacker, strengths};

/// What could grow.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    descriptors: usize,
    threads: usize,
    children: String,
    mounts: usize,
    groups: Vec<String>,
    scratch: usize,
}

fn traces() -> Traces {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    let pid = std::process::id();
    let own = format!("polis-{pid}");
    let mut groups = Vec::new();
    let mut left = vec![std::path::PathBuf::from("/sys/fs/cgroup")];
    while let Some(path) = left.pop() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                // The whole name: other tests have numbers that begin with ours.
                if entry.path().iter().any(|part| part == own.as_str()) {
                    groups.push(entry.path().display().to_string());
                }
                left.push(entry.path());
            }
        }
    }
    groups.sort();
    let scratch = fs::read_dir(env::temp_dir())
        .unwrap()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name().into_string().unwrap_or_default();
            name.starts_with(&format!("polis-scratch-{pid}-"))
        });
    Traces {
        descriptors: count("/proc/self/fd"),
        threads: count("/proc/self/task"),
        children: fs::read_dir("/proc/self/task")
            .unwrap()
            .flatten()
            .map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default())
            .collect(),
        mounts: fs::read_to_string("/proc/self/mountinfo")
            .unwrap()
            .lines()
            .count(),
        groups,
        scratch: scratch.count(),
    }
}

fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// 200 commands in the usual run, 1,000 where crash rounds are asked for (`scripts/test --long`).
#[test]
fn many_commands_leave_nothing_behind() {
    const ALONE: &str = "POLIS_ESCAPE_ALONE";
    if env::var_os(ALONE).is_none() {
        // In a process of its own: other tests open and start things meanwhile.
        let output = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "escape::traces::many_commands_leave_nothing_behind",
            ])
            .args(["--nocapture"])
            .env(ALONE, "1")
            .env(stage::ATTACKER, attacker())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let complained = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}{complained}");
        assert!(said.contains("1 passed"), "{said}");
        return;
    }
    let long = env::var_os("POLIS_CRASH_ROUNDS").is_some();
    let rounds = if long { 1_000 } else { 200 };
    for strength in strengths() {
        let stage = Stage::new(strength);
        for _ in 0..20 {
            stage.output("true");
        }
        strength.sandbox.settle();
        let (before, memory) = (traces(), resident());
        for round in 0..rounds {
            if round % 50 == 49 {
                // Those that end badly leave nothing either.
                stage.run_for(
                    std::time::Duration::from_millis(5),
                    "setsid -f sleep 600; sleep 600",
                );
            } else {
                stage.output("true");
            }
        }
        strength.sandbox.settle();
        assert_eq!(traces(), before, "{:?}", strength.tier);
        let grown = resident().saturating_sub(memory);
        assert!(grown < 2 << 20, "{:?}: {grown} bytes", strength.tier);
    }
}

#[test]
fn a_sandbox_that_is_dropped_takes_its_groups_along() {
    const ALONE: &str = "POLIS_ESCAPE_ALONE";
    if env::var_os(ALONE).is_none() {
        let output = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "escape::traces::a_sandbox_that_is_dropped_takes_its_groups_along",
            ])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}"
        );
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let policy = polis_core::workspace::policy::CommandPolicy::default();
    let before = traces();
    for _ in 0..3 {
        let sandbox = polis_workspace::sandbox::Sandbox::new();
        let job = polis_workspace::sandbox::Job {
            hand_over: true,
            ..polis_workspace::sandbox::Job::new(place.path(), "true", &policy)
        };
        sandbox.run(&job).unwrap();
    }
    assert_eq!(traces(), before);
}
