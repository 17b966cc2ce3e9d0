//! Resource leak tests: commands leave no descriptors, threads, processes, mounts, cgroups or memory behind.

use std::process::Command;
use std::{env, fs};

use super::test_sandbox::{self, TestSandbox, attacker_program, available_sandboxes};

/// Resources that could leak.
#[derive(Debug, PartialEq, Eq)]
struct ResourceUsage {
    descriptors: usize,
    threads: usize,
    children: String,
    mounts: usize,
    cgroups: Vec<String>,
    scratch_dirs: usize,
}

fn current_usage() -> ResourceUsage {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    let pid = std::process::id();
    let own = format!("polis-{pid}");
    let mut groups = Vec::new();
    let mut left = vec![std::path::PathBuf::from("/sys/fs/cgroup")];
    while let Some(path) = left.pop() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                // Compares the whole name: other tests have process IDs that begin with the same digits.
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
    ResourceUsage {
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
        cgroups: groups,
        scratch_dirs: scratch.count(),
    }
}

fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// 200 commands by default, 1,000 if crash rounds are requested (`scripts/test --long`).
#[test]
fn many_commands_leak_nothing() {
    const SUBPROCESS_VAR: &str = "POLIS_ESCAPE_ALONE";
    if env::var_os(SUBPROCESS_VAR).is_none() {
        // In a separate process: other tests open files and start processes concurrently.
        let output = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "escape::resource_leaks::many_commands_leak_nothing",
            ])
            .args(["--nocapture"])
            .env(SUBPROCESS_VAR, "1")
            .env(test_sandbox::ATTACKER_VAR, attacker_program())
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
    for strength in available_sandboxes() {
        let stage = TestSandbox::new(strength);
        for _ in 0..20 {
            stage.successful_output("true");
        }
        strength.sandbox.wait_for_exiting_wardens();
        let (before, memory) = (current_usage(), resident_bytes());
        for round in 0..rounds {
            if round % 50 == 49 {
                // Commands that fail leave nothing either.
                stage.run_with_timeout(
                    std::time::Duration::from_millis(5),
                    "setsid -f sleep 600; sleep 600",
                );
            } else {
                stage.successful_output("true");
            }
        }
        strength.sandbox.wait_for_exiting_wardens();
        assert_eq!(current_usage(), before, "{:?}", strength.tier);
        let grown = resident_bytes().saturating_sub(memory);
        assert!(grown < 2 << 20, "{:?}: {grown} bytes", strength.tier);
    }
}

#[test]
fn dropped_sandbox_removes_its_cgroups() {
    const SUBPROCESS_VAR: &str = "POLIS_ESCAPE_ALONE";
    if env::var_os(SUBPROCESS_VAR).is_none() {
        let output = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "escape::resource_leaks::dropped_sandbox_removes_its_cgroups",
            ])
            .env(SUBPROCESS_VAR, "1")
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
    let policy = polis_core::workspace::command_policy::CommandPolicy::default();
    let request = polis_core::workspace::command::CommandRequest::trusted("true", &policy);
    let before = current_usage();
    for _ in 0..3 {
        let sandbox = polis_workspace::sandbox::Sandbox::new();
        let context = polis_workspace::sandbox::SandboxContext {
            may_chown: true,
            ..polis_workspace::sandbox::SandboxContext::new(place.path())
        };
        sandbox.run(&request, &context).unwrap();
    }
    assert_eq!(current_usage(), before);
}
