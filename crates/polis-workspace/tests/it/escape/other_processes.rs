//! Escape attempts against other processes: signals, ptrace, process memory, priorities and shared IPC of
//! processes outside of the sandbox, including polis itself.

use std::process::{Child, Command};

use polis_core::workspace::command_outcome::CommandEnding;

use super::test_sandbox::{EscapeAttempt, TestSandbox, escape_attempt, run_in_every_tier};

/// Denied, or the process ID does not exist inside.
const NO_PROCESS_ERRORS: &[&str] = &["refused EPERM", "refused ESRCH", "refused EINVAL"];

const SIGNAL_ATTEMPTS: &[EscapeAttempt] = &[
    escape_attempt(
        "existence of polis",
        "./attacker kill $POLIS 0",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt("stop polis", "./attacker kill $POLIS 19", NO_PROCESS_ERRORS),
    escape_attempt("end polis", "./attacker kill $POLIS 9", NO_PROCESS_ERRORS),
    escape_attempt(
        "end a thread of polis",
        "./attacker tgkill $POLIS 9",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "queue a signal",
        "./attacker sigqueue $POLIS 9",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "by a descriptor of polis",
        "./attacker pidfd_kill $POLIS 9",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "by the owner of a descriptor",
        "./attacker owner_signal $POLIS",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt("the canary", "./attacker kill $CANARY 9", NO_PROCESS_ERRORS),
    escape_attempt(
        "the canary by a descriptor",
        "./attacker pidfd_kill $CANARY 9",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "the canary by the owner of a descriptor",
        "./attacker owner_signal $CANARY",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "the first process of the machine",
        "./attacker kill -- -$POLIS 9",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "the canary's limits",
        "./attacker prlimit $CANARY",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "polis's limits",
        "./attacker prlimit $POLIS",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "read polis's limits",
        "./attacker look_at_limits $POLIS",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "the canary's priority",
        "./attacker renice $CANARY",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "the canary's schedule",
        "./attacker idle $CANARY",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "the canary's processors",
        "./attacker affinity $CANARY",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "the canary's disk priority",
        "./attacker ioprio $CANARY",
        NO_PROCESS_ERRORS,
    ),
];

const TRACE_ATTEMPTS: &[EscapeAttempt] = &[
    escape_attempt("trace polis", "./attacker ptrace $POLIS", NO_PROCESS_ERRORS),
    escape_attempt(
        "trace the canary",
        "./attacker ptrace $CANARY",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "seize the canary",
        "./attacker seize $CANARY",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "trace the parent",
        "./attacker ptrace $PPID",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "trace a sibling",
        "./attacker ptrace_sibling",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt("be traced", "./attacker trace_me", NO_PROCESS_ERRORS),
    escape_attempt(
        "read polis",
        "./attacker read_memory $POLIS",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "read the canary",
        "./attacker read_memory $CANARY",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "read a sibling",
        "./attacker read_memory",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "write the canary",
        "./attacker write_memory $CANARY",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "write a sibling",
        "./attacker write_memory",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "polis's descriptors",
        "./attacker steal $POLIS",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "the canary's descriptors",
        "./attacker steal $CANARY",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "a sibling's descriptors",
        "./attacker steal",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "compare with polis",
        "./attacker kcmp $POLIS",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "advice on polis's memory",
        "./attacker process_madvise $POLIS",
        NO_PROCESS_ERRORS,
    ),
    escape_attempt(
        "move polis's memory",
        "./attacker migrate_pages $POLIS",
        NO_PROCESS_ERRORS,
    ),
];

/// A process of the same user outside, which must survive.
struct HostCanary(Child);

impl HostCanary {
    fn spawn(stage: &mut TestSandbox) -> Self {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let env = &mut stage.policy.env;
        env.insert("CANARY".to_owned(), child.id().to_string());
        Self(child)
    }

    fn check_unharmed(&mut self) {
        assert_eq!(self.0.try_wait().unwrap(), None, "the canary is dead");
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        assert!(status.contains("\nState:\tS"), "{status}");
        assert!(status.contains("\nTracerPid:\t0"), "{status}");
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", self.0.id())).unwrap();
        let own = std::fs::read_to_string("/proc/self/limits").unwrap();
        assert_eq!(limits, own);
    }
}

impl Drop for HostCanary {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn run_with_canary(test: impl Fn(&TestSandbox)) {
    for strength in super::test_sandbox::available_sandboxes() {
        let mut stage = TestSandbox::new(strength);
        let mut canary = HostCanary::spawn(&mut stage);
        test(&stage);
        canary.check_unharmed();
    }
}

#[test]
fn outside_processes_cannot_be_signalled_or_slowed() {
    run_with_canary(|stage| stage.check_attempts_fail(SIGNAL_ATTEMPTS));
}

#[test]
fn processes_cannot_be_traced() {
    run_with_canary(|stage| stage.check_attempts_fail(TRACE_ATTEMPTS));
}

#[test]
fn signal_to_all_reaches_only_own_processes() {
    run_with_canary(|stage| {
        let run = stage.run("sleep 600 & kill -9 -1; echo still here");
        // It may also reach the shell itself; what counts is that the processes outside survive, and that the
        // end is reported.
        assert!(
            matches!(&run.ending, CommandEnding::Exited(0))
                || run.ending == CommandEnding::Killed(9),
            "{run:?}"
        );
    });
}

#[test]
fn warden_cannot_be_killed_or_stopped() {
    run_in_every_tier(|stage| {
        for signal in ["KILL", "STOP", "TERM", "SEGV", "HUP", "CONT"] {
            let run = stage.run(&format!(
                "kill -{signal} $PPID; kill -{signal} 1; sleep 0.01; echo $PPID still here"
            ));
            assert_eq!(run.ending, CommandEnding::Exited(0), "{signal}: {run:?}");
            assert!(
                run.stdout.text.ends_with("still here\n"),
                "{signal}: {run:?}"
            );
        }
    });
}

#[test]
fn sysv_ipc_of_the_user_is_not_accessible() {
    // A shared memory segment of this user, as databases have it.
    let made = Command::new("ipcmk")
        .args(["-M", "4096", "-p", "0666"])
        .output();
    let Ok(made) = made else {
        eprintln!("skipped: no ipcmk here");
        return;
    };
    let said = String::from_utf8(made.stdout).unwrap();
    let segment = said.split_whitespace().last().unwrap().to_owned();
    struct SegmentGuard(String);
    impl Drop for SegmentGuard {
        fn drop(&mut self) {
            let _ = Command::new("ipcrm").args(["-m", &self.0]).status();
        }
    }
    let _remove = SegmentGuard(segment.clone());
    run_in_every_tier(|stage| {
        for attempt in [format!("shmat {segment}"), "msgget".into(), "semget".into()] {
            let run = stage.run(&format!("./attacker {attempt}"));
            if stage.has_namespaces() && !attempt.starts_with("shmat") {
                continue;
            }
            assert_eq!(run.ending, CommandEnding::Exited(1), "{attempt}: {run:?}");
            assert!(
                run.stdout.text.starts_with("refused E"),
                "{attempt}: {run:?}"
            );
        }
    });
}
