//! Regression tests of the sandbox: each test is an escape or a disturbance of the host that a review found
//! and that was fixed.

use std::path::Path;

use polis_core::workspace::command::CommandRequest;
use polis_core::workspace::command_outcome::{CommandEnding, CommandOutcome};
use polis_core::workspace::command_policy::{CommandPolicy, SandboxTier};
use polis_ops::port::SandboxLayerDetail;
use polis_workspace::sandbox::{Sandbox, SandboxContext, SandboxError};

use crate::escape::test_sandbox::lock_process_limit;

/// Returns a policy that requires exactly one tier.
fn tier_policy(tier: SandboxTier) -> CommandPolicy {
    CommandPolicy {
        weakest_tier: tier,
        timeout_ms: 20_000,
        ..CommandPolicy::default()
    }
}

/// Returns whether this machine supports a tier; if not, the test is skipped visibly.
#[expect(clippy::print_stderr, reason = "a skipped test must report it")]
fn supports_tier(tier: SandboxTier) -> bool {
    let place = tempfile::tempdir().unwrap();
    let run = run_in_directory(place.path(), "true", &tier_policy(tier));
    if run.is_none() {
        eprintln!("skipped: no {} here", tier.as_str());
    }
    run.is_some()
}

fn run_in_directory(place: &Path, command: &str, policy: &CommandPolicy) -> Option<CommandOutcome> {
    let sandbox = Sandbox::with_max_tier(policy.weakest_tier);
    let context = SandboxContext {
        may_chown: true,
        ..SandboxContext::new(place)
    };
    let request = CommandRequest::trusted(command, policy);
    sandbox.run(&request, &context).ok()
}

/// Runs a Python program in a tier.
fn run_python(program: &str, policy: &CommandPolicy) -> CommandOutcome {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("try.py"), program).unwrap();
    run_in_directory(place.path(), "exec python3 try.py", policy).unwrap()
}

/// System calls from Python: `call` returns the errno, 0 on success.
const SYSCALL_PRELUDE: &str = "
import ctypes, os, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    ctypes.set_errno(0)
    return 0 if libc.syscall(*arguments) >= 0 else ctypes.get_errno()
";

/// Runs one of these tests again with a launcher program that executes its arguments.
fn rerun_with_launcher(launch: &[&str], name: &str) {
    let (program, arguments) = launch.split_first().unwrap();
    let run = std::process::Command::new(program)
        .args(arguments)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(RERUN_VAR, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn warden_limits_and_priority_cannot_be_changed() {
    for tier in [SandboxTier::Full, SandboxTier::Watched] {
        if !supports_tier(tier) {
            continue;
        }
        let program = format!(
            "{SYSCALL_PRELUDE}
none, zero = struct.pack('QQ', 0, 0), ctypes.c_int(0)
print(call(302, 1, 7, none, None), call(144, 1, 5, ctypes.byref(zero)),
      call(141, 0, 1, 19), call(141, 2, 0, 19), call(251, 1, 1, 3 << 13))
print(call(302, 0, 7, struct.pack('QQ', 99, 99), None), call(141, 0, 0, 5))
"
        );
        let run = run_python(&program, &tier_policy(tier));
        assert_eq!(run.stdout.text, "1 1 1 1 1\n0 0\n", "{tier:?} {run:?}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn landlock_tier_protects_polis_limits_and_sysv_ipc() {
    if !supports_tier(SandboxTier::Landlock) {
        return;
    }
    let program = format!(
        "{SYSCALL_PRELUDE}
print(call(302, {polis}, 7, struct.pack('QQ', 0, 0), None), call(141, 2, 0, 19))
print(call(68, 4711, 0o1666), call(64, 4711, 1, 0o1666), call(29, 4711, 4096, 0o1666),
      call(30, 0, 0, 0), call(31, 0, 14, ctypes.create_string_buffer(256)))
",
        polis = std::process::id(),
    );
    let run = run_python(&program, &tier_policy(SandboxTier::Landlock));
    assert_eq!(run.stdout.text, "1 1\n1 1 1 1 1\n", "{run:?}");
}

#[test]
fn core_limit_cannot_be_lowered_to_zero() {
    for tier in [
        SandboxTier::Full,
        SandboxTier::Watched,
        SandboxTier::Landlock,
    ] {
        if !supports_tier(tier) {
            continue;
        }
        let program = "
import resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print(resource.getrlimit(resource.RLIMIT_CORE))
";
        let run = run_python(program, &tier_policy(tier));
        assert_eq!(run.stdout.text, "(1, 1)\n", "{tier:?} {run:?}");
    }
}

#[test]
fn every_command_runs_in_its_cgroup() {
    if !supports_tier(SandboxTier::Full) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    for _ in 0..40 {
        let run = run_in_directory(
            place.path(),
            "cat /proc/self/cgroup",
            &tier_policy(SandboxTier::Full),
        )
        .unwrap();
        assert_eq!(run.ending, CommandEnding::Exited(0));
        let ours = format!("/polis-{}/", std::process::id());
        assert!(run.stdout.text.contains(&ours), "{}", run.stdout.text);
    }
}

#[test]
fn memory_of_undumpable_processes_is_counted() {
    for tier in [SandboxTier::Watched, SandboxTier::Landlock] {
        if !supports_tier(tier) {
            continue;
        }
        // Each process is below the limit; together they far exceed it.
        let program = format!(
            "{SYSCALL_PRELUDE}
for _ in range(6):
    if os.fork() == 0:
        libc.prctl(4, 0, 0, 0, 0)
        held = bytearray(80 << 20)
        held[::4096] = b'x' * len(held[::4096])
        time.sleep(30)
time.sleep(30)
"
        );
        let mut policy = tier_policy(tier);
        policy.limits.memory = 128 << 20;
        let run = run_python(&program, &policy);
        assert_eq!(run.ending, CommandEnding::OutOfMemory, "{tier:?} {run:?}");
    }
}

/// Set in the process in which a test runs itself again.
const RERUN_VAR: &str = "POLIS_TEST_AGAIN";

#[test]
fn ignored_sigchld_does_not_hide_exit_codes() {
    if std::env::var_os(RERUN_VAR).is_some() {
        let place = tempfile::tempdir().unwrap();
        for tier in [
            SandboxTier::Full,
            SandboxTier::Watched,
            SandboxTier::Landlock,
        ] {
            if let Some(run) = run_in_directory(place.path(), "exit 3", &tier_policy(tier)) {
                assert_eq!(run.ending, CommandEnding::Exited(3), "{tier:?}");
            }
        }
        return;
    }
    let name = "sandbox_regressions::ignored_sigchld_does_not_hide_exit_codes";
    rerun_with_launcher(&["env", "--ignore-signal=CHLD"], name);
}

#[test]
fn invalid_path_or_workspace_does_not_lower_the_tier() {
    for tier in [SandboxTier::Full, SandboxTier::Watched] {
        if !supports_tier(tier) {
            continue;
        }
        let place = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::with_max_tier(tier);
        let run = |workspace: &Path, read: &[&str]| {
            let policy = CommandPolicy {
                read: read.iter().map(|path| (*path).to_owned()).collect(),
                ..CommandPolicy::default()
            };
            let request = CommandRequest::trusted("true", &policy);
            sandbox.run(&request, &SandboxContext::new(workspace))
        };
        // A link of the view itself, and a file below a file.
        let bad = ["/dev/stdin", "/dev/fd"];
        for path in bad.iter().filter(|path| Path::new(path).exists()) {
            assert!(run(place.path(), &[path]).is_err(), "{path}");
        }
        assert!(run(&place.path().join("gone"), &[]).is_err());
        assert_eq!(run(place.path(), &[]).unwrap().tier, Some(tier));
        assert_eq!(sandbox.probe().tier, tier);
    }
}

#[test]
fn report_does_not_exceed_the_tier_in_use() {
    let tier = Sandbox::with_max_tier(SandboxTier::Landlock).probe().tier;
    assert!(tier <= SandboxTier::Landlock, "{tier:?}");
}

#[test]
fn mounts_of_a_command_do_not_reach_the_host() {
    if !supports_tier(SandboxTier::Watched) || !rustix::process::geteuid().is_root() {
        return;
    }
    if let Some(place) = std::env::var_os(RERUN_VAR) {
        let place = Path::new(&place);
        for name in ["shown/below", "ws"] {
            std::fs::create_dir_all(place.join(name)).unwrap();
        }
        let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let before = mounts();
        let shown = ["shown", "shown/below"].map(|name| place.join(name));
        let policy = CommandPolicy {
            read: shown.map(|path| path.to_str().unwrap().to_owned()).into(),
            ..tier_policy(SandboxTier::Watched)
        };
        assert!(run_in_directory(&place.join("ws"), "true", &policy).is_some());
        assert_eq!(mounts(), before);
        return;
    }
    // On most systems mounts are shared, so that a mount at one path also appears at others.
    let place = tempfile::tempdir().unwrap();
    let again = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c"])
        .arg(r#"mount -t tmpfs none "$0" && mount --make-shared "$0" && exec "$@""#)
        .arg(place.path())
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "sandbox_regressions::mounts_of_a_command_do_not_reach_the_host",
        ])
        .env(RERUN_VAR, place.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&again.stdout);
    assert!(again.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn command_is_the_leader_of_its_session() {
    for tier in [
        SandboxTier::Full,
        SandboxTier::Watched,
        SandboxTier::Landlock,
    ] {
        if supports_tier(tier) {
            let program = "import os; print(os.getsid(0) == os.getpgid(0) == os.getpid())";
            assert_eq!(
                run_python(program, &tier_policy(tier)).stdout.text,
                "True\n"
            );
        }
    }
}

#[test]
fn command_does_not_inherit_priority() {
    if std::env::var_os(RERUN_VAR).is_some() {
        for tier in [
            SandboxTier::Full,
            SandboxTier::Watched,
            SandboxTier::Landlock,
        ] {
            if supports_tier(tier) {
                let program = "import os; print(os.sched_getscheduler(0), os.nice(0))";
                assert_eq!(
                    run_python(program, &tier_policy(tier)).stdout.text,
                    "0 0\n",
                    "{tier:?}"
                );
            }
        }
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let name = "sandbox_regressions::command_does_not_inherit_priority";
    rerun_with_launcher(&["nice", "-n", "-3", "chrt", "--rr", "1"], name);
}

#[test]
fn impossible_command_fails_without_a_tier_error() {
    let place = tempfile::tempdir().unwrap();
    let many: Vec<String> = (0..120)
        .map(|number| {
            let path = place.path().join(number.to_string());
            std::fs::create_dir(&path).unwrap();
            path.to_str().unwrap().to_owned()
        })
        .collect();
    let many = CommandPolicy {
        read: many,
        ..CommandPolicy::default()
    };
    let none = CommandPolicy::default();
    let sandbox = Sandbox::new();
    let failed = |command, policy| {
        let request = CommandRequest::trusted(command, policy);
        let run = sandbox.run(&request, &SandboxContext::new(place.path()));
        matches!(run, Err(SandboxError::Failed(_)))
    };
    assert!(failed("echo \0", &none));
    if supports_tier(SandboxTier::Watched) {
        assert!(failed("true", &many));
    }
}

/// Executes its arguments under a filter that denies `clone3`, as container runtimes have it.
#[cfg(target_arch = "x86_64")]
const DENY_CLONE3_LAUNCHER: &str = "
import ctypes, os, struct, sys
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, 435), (6, 0, 0, 0x50000 | 38), (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
os.execv(sys.argv[1], sys.argv[1:])
";

#[test]
#[cfg(target_arch = "x86_64")]
fn commands_run_where_clone3_is_denied() {
    if std::env::var_os(RERUN_VAR).is_some() {
        for tier in [SandboxTier::Watched, SandboxTier::Landlock] {
            assert!(supports_tier(tier), "{tier:?}");
        }
        return;
    }
    if !supports_tier(SandboxTier::Watched) || !supports_tier(SandboxTier::Landlock) {
        return;
    }
    let name = "sandbox_regressions::commands_run_where_clone3_is_denied";
    rerun_with_launcher(&["python3", "-c", DENY_CLONE3_LAUNCHER], name);
}

#[test]
fn fork_bomb_ends_where_polis_is_pid_1() {
    if std::env::var_os(RERUN_VAR).is_some() {
        let mut policy = tier_policy(SandboxTier::Landlock);
        policy.limits.processes = 300;
        policy.timeout_ms = 500;
        let program = "
import os
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass
";
        let run = run_python(program, &policy);
        assert_eq!(run.ending, CommandEnding::TimedOut);
        assert!(run.duration_ms < 9_000, "{}", run.duration_ms);
        return;
    }
    // If Landlock cannot scope signals, children are killed one after the other.
    let scoped = Sandbox::new()
        .probe()
        .layers
        .iter()
        .any(|layer| matches!(layer.detail, SandboxLayerDetail::LandlockScoped(_)));
    if !scoped || !supports_tier(SandboxTier::Landlock) || !rustix::process::geteuid().is_root() {
        return;
    }
    let _turn = lock_process_limit();
    let name = "sandbox_regressions::fork_bomb_ends_where_polis_is_pid_1";
    rerun_with_launcher(&["unshare", "--pid", "--fork", "--mount-proc"], name);
}

#[test]
fn fork_bomb_ends_without_landlock_signal_scoping() {
    if !supports_tier(SandboxTier::Landlock) {
        return;
    }
    let _turn = lock_process_limit();
    let place = tempfile::tempdir().unwrap();
    let mut policy = tier_policy(SandboxTier::Landlock);
    policy.limits.processes = 100;
    let sandbox = Sandbox::with_max_tier(SandboxTier::Landlock).with_max_landlock_version(3);
    policy.timeout_ms = 300;
    let request = CommandRequest::trusted(
        "older() { older | older & }; older; setsid -f sleep 600; while :; do :; done",
        &policy,
    );
    let context = SandboxContext {
        may_chown: true,
        ..SandboxContext::new(place.path())
    };
    let begun = std::time::Instant::now();
    let run = sandbox.run(&request, &context).unwrap();
    assert_eq!(run.ending, CommandEnding::TimedOut);
    // Ten seconds after its timeout, polis stops waiting for processes that do not exit.
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(9),
        "{:?}",
        begun.elapsed()
    );
    sandbox.wait_for_exiting_wardens();
    let left = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("older() { older")
        });
    assert_eq!(left.count(), 0);
}
