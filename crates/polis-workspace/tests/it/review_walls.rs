//! Walls that were once found to have a hole. Each test is the way through it.

use std::path::Path;

use polis_core::workspace::command::{CommandRun, Ending};
use polis_core::workspace::policy::{CommandPolicy, Tier};
use polis_workspace::sandbox::{Job, Sandbox, SandboxError};

use crate::escape::stage::turn;

/// A policy that takes exactly one tier.
fn policy(tier: Tier) -> CommandPolicy {
    CommandPolicy {
        weakest: tier,
        timeout_ms: 20_000,
        ..CommandPolicy::default()
    }
}

/// Whether this machine has a tier; where it has not, the test says so and does nothing.
#[expect(
    clippy::print_stderr,
    reason = "a test that does nothing has to say so"
)]
fn has(tier: Tier) -> bool {
    let place = tempfile::tempdir().unwrap();
    let run = run_in(place.path(), "true", &policy(tier));
    if run.is_none() {
        eprintln!("skipped: no {} here", tier.as_str());
    }
    run.is_some()
}

fn run_in(place: &Path, command: &str, policy: &CommandPolicy) -> Option<CommandRun> {
    let sandbox = Sandbox::at_most(policy.weakest);
    let job = Job {
        hand_over: true,
        ..Job::new(place, command, policy)
    };
    sandbox.run(&job).ok()
}

/// Runs a Python program at a tier.
fn python(program: &str, policy: &CommandPolicy) -> CommandRun {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("try.py"), program).unwrap();
    run_in(place.path(), "exec python3 try.py", policy).unwrap()
}

/// System calls from Python: `call` answers the error number, 0 if there was none.
const CALLS: &str = "
import ctypes, os, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    ctypes.set_errno(0)
    return 0 if libc.syscall(*arguments) >= 0 else ctypes.get_errno()
";

/// Runs one of these tests again, by a program that ends with running its arguments.
fn again(launch: &[&str], name: &str) {
    let (program, arguments) = launch.split_first().unwrap();
    let run = std::process::Command::new(program)
        .args(arguments)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(AGAIN, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_warden_keeps_its_limits_and_priority() {
    for tier in [Tier::Full, Tier::Watched] {
        if !has(tier) {
            continue;
        }
        let program = format!(
            "{CALLS}
none, zero = struct.pack('QQ', 0, 0), ctypes.c_int(0)
print(call(302, 1, 7, none, None), call(144, 1, 5, ctypes.byref(zero)),
      call(141, 0, 1, 19), call(141, 2, 0, 19), call(251, 1, 1, 3 << 13))
print(call(302, 0, 7, struct.pack('QQ', 99, 99), None), call(141, 0, 0, 5))
"
        );
        let run = python(&program, &policy(tier));
        assert_eq!(run.stdout.text, "1 1 1 1 1\n0 0\n", "{tier:?} {run:?}");
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn without_namespaces_polis_keeps_its_limits_and_the_machine_its_queues() {
    if !has(Tier::Landlock) {
        return;
    }
    let program = format!(
        "{CALLS}
print(call(302, {polis}, 7, struct.pack('QQ', 0, 0), None), call(141, 2, 0, 19))
print(call(68, 4711, 0o1666), call(64, 4711, 1, 0o1666), call(29, 4711, 4096, 0o1666),
      call(30, 0, 0, 0), call(31, 0, 14, ctypes.create_string_buffer(256)))
",
        polis = std::process::id(),
    );
    let run = python(&program, &policy(Tier::Landlock));
    assert_eq!(run.stdout.text, "1 1\n1 1 1 1 1\n", "{run:?}");
}

#[test]
fn the_limit_on_cores_stays_what_keeps_crash_handlers_away() {
    for tier in [Tier::Full, Tier::Watched, Tier::Landlock] {
        if !has(tier) {
            continue;
        }
        let program = "
import resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
print(resource.getrlimit(resource.RLIMIT_CORE))
";
        let run = python(program, &policy(tier));
        assert_eq!(run.stdout.text, "(1, 1)\n", "{tier:?} {run:?}");
    }
}

#[test]
fn every_command_is_in_its_control_group() {
    if !has(Tier::Full) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    for _ in 0..40 {
        let run = run_in(place.path(), "cat /proc/self/cgroup", &policy(Tier::Full)).unwrap();
        assert_eq!(run.ending, Ending::Exited(0));
        let ours = format!("/polis-{}/", std::process::id());
        assert!(run.stdout.text.contains(&ours), "{}", run.stdout.text);
    }
}

#[test]
fn memory_of_processes_that_hide_is_counted() {
    for tier in [Tier::Watched, Tier::Landlock] {
        if !has(tier) {
            continue;
        }
        // Each is below the limit, together they are far above it.
        let program = format!(
            "{CALLS}
for _ in range(6):
    if os.fork() == 0:
        libc.prctl(4, 0, 0, 0, 0)
        held = bytearray(80 << 20)
        held[::4096] = b'x' * len(held[::4096])
        time.sleep(30)
time.sleep(30)
"
        );
        let mut policy = policy(tier);
        policy.limits.memory = 128 << 20;
        let run = python(&program, &policy);
        assert_eq!(run.ending, Ending::OutOfMemory, "{tier:?} {run:?}");
    }
}

/// Set in the process that a test starts itself again in.
const AGAIN: &str = "POLIS_TEST_AGAIN";

#[test]
fn a_polis_that_ignores_its_children_still_sees_commands_end() {
    if std::env::var_os(AGAIN).is_some() {
        let place = tempfile::tempdir().unwrap();
        for tier in [Tier::Full, Tier::Watched, Tier::Landlock] {
            if let Some(run) = run_in(place.path(), "exit 3", &policy(tier)) {
                assert_eq!(run.ending, Ending::Exited(3), "{tier:?}");
            }
        }
        return;
    }
    let name = "review_walls::a_polis_that_ignores_its_children_still_sees_commands_end";
    again(&["env", "--ignore-signal=CHLD"], name);
}

#[test]
fn a_bad_path_or_workspace_lowers_no_tier() {
    for tier in [Tier::Full, Tier::Watched] {
        if !has(tier) {
            continue;
        }
        let place = tempfile::tempdir().unwrap();
        let sandbox = Sandbox::at_most(tier);
        let run = |workspace: &Path, read: &[&str]| {
            let policy = CommandPolicy {
                read: read.iter().map(|path| (*path).to_owned()).collect(),
                ..CommandPolicy::default()
            };
            sandbox.run(&Job::new(workspace, "true", &policy))
        };
        // A link of the view's own, and a file below a file.
        let bad = ["/dev/stdin", "/dev/fd"];
        for path in bad.iter().filter(|path| Path::new(path).exists()) {
            assert!(run(place.path(), &[path]).is_err(), "{path}");
        }
        assert!(run(&place.path().join("gone"), &[]).is_err());
        assert_eq!(run(place.path(), &[]).unwrap().tier, tier);
        assert_eq!(sandbox.report().tier, tier);
    }
}

#[test]
fn a_report_promises_no_tier_that_is_not_used() {
    let tier = Sandbox::at_most(Tier::Landlock).report().tier;
    assert!(tier <= Tier::Landlock, "{tier:?}");
}

#[test]
fn no_mount_of_a_command_reaches_the_machine() {
    if !has(Tier::Watched) || !rustix::process::geteuid().is_root() {
        return;
    }
    if let Some(place) = std::env::var_os(AGAIN) {
        let place = Path::new(&place);
        for name in ["shown/below", "ws"] {
            std::fs::create_dir_all(place.join(name)).unwrap();
        }
        let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let before = mounts();
        let shown = ["shown", "shown/below"].map(|name| place.join(name));
        let policy = CommandPolicy {
            read: shown.map(|path| path.to_str().unwrap().to_owned()).into(),
            ..policy(Tier::Watched)
        };
        assert!(run_in(&place.join("ws"), "true", &policy).is_some());
        assert_eq!(mounts(), before);
        return;
    }
    // On most systems mounts are shared, so that those of one place appear at others.
    let place = tempfile::tempdir().unwrap();
    let again = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c"])
        .arg(r#"mount -t tmpfs none "$0" && mount --make-shared "$0" && exec "$@""#)
        .arg(place.path())
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "review_walls::no_mount_of_a_command_reaches_the_machine",
        ])
        .env(AGAIN, place.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&again.stdout);
    assert!(again.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn a_command_leads_its_own_session() {
    for tier in [Tier::Full, Tier::Watched, Tier::Landlock] {
        if has(tier) {
            let program = "import os; print(os.getsid(0) == os.getpgid(0) == os.getpid())";
            assert_eq!(python(program, &policy(tier)).stdout.text, "True\n");
        }
    }
}

#[test]
fn a_command_inherits_no_priority() {
    if std::env::var_os(AGAIN).is_some() {
        for tier in [Tier::Full, Tier::Watched, Tier::Landlock] {
            if has(tier) {
                let program = "import os; print(os.sched_getscheduler(0), os.nice(0))";
                assert_eq!(
                    python(program, &policy(tier)).stdout.text,
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
    let name = "review_walls::a_command_inherits_no_priority";
    again(&["nice", "-n", "-3", "chrt", "--rr", "1"], name);
}

#[test]
fn what_no_sandbox_can_run_is_no_matter_of_its_strength() {
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
        let run = sandbox.run(&Job::new(place.path(), command, policy));
        matches!(run, Err(SandboxError::Failed(_)))
    };
    assert!(failed("echo \0", &none));
    if has(Tier::Watched) {
        assert!(failed("true", &many));
    }
}

/// Executes its arguments with a filter that knows no `clone3`, as containers have it.
#[cfg(target_arch = "x86_64")]
const AS_IN_A_CONTAINER: &str = "
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
fn commands_run_where_the_newer_clone_is_kept_away() {
    if std::env::var_os(AGAIN).is_some() {
        for tier in [Tier::Watched, Tier::Landlock] {
            assert!(has(tier), "{tier:?}");
        }
        return;
    }
    if !has(Tier::Watched) || !has(Tier::Landlock) {
        return;
    }
    let name = "review_walls::commands_run_where_the_newer_clone_is_kept_away";
    again(&["python3", "-c", AS_IN_A_CONTAINER], name);
}

#[test]
fn a_fork_bomb_ends_where_polis_is_the_first_process() {
    if std::env::var_os(AGAIN).is_some() {
        let mut policy = policy(Tier::Landlock);
        policy.limits.processes = 300;
        policy.timeout_ms = 500;
        let program = "
import os
while True:
    try:
        if os.fork() == 0: os.setsid()
    except OSError: pass
";
        let run = python(program, &policy);
        assert_eq!(run.ending, Ending::TimedOut);
        assert!(run.duration_ms < 9_000, "{}", run.duration_ms);
        return;
    }
    // Where Landlock does not keep signals inside, children are ended one after the other.
    let scoped = Sandbox::new().report().layers.iter().any(|layer| {
        layer.name == "landlock" && layer.active && layer.detail.contains("signals, abstract")
    });
    if !scoped || !has(Tier::Landlock) || !rustix::process::geteuid().is_root() {
        return;
    }
    let _turn = turn();
    let name = "review_walls::a_fork_bomb_ends_where_polis_is_the_first_process";
    again(&["unshare", "--pid", "--fork", "--mount-proc"], name);
}

#[test]
fn a_fork_bomb_ends_where_landlock_keeps_no_signals_inside() {
    if !has(Tier::Landlock) {
        return;
    }
    let _turn = turn();
    let place = tempfile::tempdir().unwrap();
    let mut policy = policy(Tier::Landlock);
    policy.limits.processes = 100;
    let sandbox = Sandbox::at_most(Tier::Landlock).with_landlock(3);
    let job = Job {
        hand_over: true,
        timeout: std::time::Duration::from_millis(300),
        ..Job::new(
            place.path(),
            "older() { older | older & }; older; setsid -f sleep 600; while :; do :; done",
            &policy,
        )
    };
    let begun = std::time::Instant::now();
    let run = sandbox.run(&job).unwrap();
    assert_eq!(run.ending, Ending::TimedOut);
    // Ten seconds after its time polis stops waiting for processes that do not end.
    assert!(
        begun.elapsed() < std::time::Duration::from_secs(9),
        "{:?}",
        begun.elapsed()
    );
    sandbox.settle();
    let left = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains("older() { older")
        });
    assert_eq!(left.count(), 0);
}
