//! Signals to and traces of processes outside, polis first of all.

use std::process::{Child, Command};

use polis_core::workspace::command::Ending;

use super::stage::{Attempt, Stage, at_every_strength, attempt};

/// Refused, or nobody of this number is seen.
const NOBODY: &[&str] = &["refused EPERM", "refused ESRCH", "refused EINVAL"];

const SIGNALS: &[Attempt] = &[
    attempt("is polis there", "./attacker kill $POLIS 0", NOBODY),
    attempt("stop polis", "./attacker kill $POLIS 19", NOBODY),
    attempt("end polis", "./attacker kill $POLIS 9", NOBODY),
    attempt(
        "end a thread of polis",
        "./attacker tgkill $POLIS 9",
        NOBODY,
    ),
    attempt("queue a signal", "./attacker sigqueue $POLIS 9", NOBODY),
    attempt(
        "by a descriptor of polis",
        "./attacker pidfd_kill $POLIS 9",
        NOBODY,
    ),
    attempt(
        "by the owner of a descriptor",
        "./attacker owner_signal $POLIS",
        NOBODY,
    ),
    attempt("the canary", "./attacker kill $CANARY 9", NOBODY),
    attempt(
        "the canary by a descriptor",
        "./attacker pidfd_kill $CANARY 9",
        NOBODY,
    ),
    attempt(
        "the canary by the owner of a descriptor",
        "./attacker owner_signal $CANARY",
        NOBODY,
    ),
    attempt(
        "the first process of the machine",
        "./attacker kill -- -$POLIS 9",
        NOBODY,
    ),
    attempt("the canary's limits", "./attacker prlimit $CANARY", NOBODY),
    attempt("polis's limits", "./attacker prlimit $POLIS", NOBODY),
    attempt(
        "a look at polis's limits",
        "./attacker look_at_limits $POLIS",
        NOBODY,
    ),
    attempt("the canary's priority", "./attacker renice $CANARY", NOBODY),
    attempt("the canary's schedule", "./attacker idle $CANARY", NOBODY),
    attempt(
        "the canary's processors",
        "./attacker affinity $CANARY",
        NOBODY,
    ),
    attempt(
        "the canary's disk priority",
        "./attacker ioprio $CANARY",
        NOBODY,
    ),
];

const TRACES: &[Attempt] = &[
    attempt("trace polis", "./attacker ptrace $POLIS", NOBODY),
    attempt("trace the canary", "./attacker ptrace $CANARY", NOBODY),
    attempt("seize the canary", "./attacker seize $CANARY", NOBODY),
    attempt("trace the parent", "./attacker ptrace $PPID", NOBODY),
    attempt("trace a sibling", "./attacker ptrace_sibling", NOBODY),
    attempt("be traced", "./attacker trace_me", NOBODY),
    attempt("read polis", "./attacker read_memory $POLIS", NOBODY),
    attempt("read the canary", "./attacker read_memory $CANARY", NOBODY),
    attempt("read a sibling", "./attacker read_memory", NOBODY),
    attempt(
        "write the canary",
        "./attacker write_memory $CANARY",
        NOBODY,
    ),
    attempt("write a sibling", "./attacker write_memory", NOBODY),
    attempt("polis's descriptors", "./attacker steal $POLIS", NOBODY),
    attempt(
        "the canary's descriptors",
        "./attacker steal $CANARY",
        NOBODY,
    ),
    attempt("a sibling's descriptors", "./attacker steal", NOBODY),
    attempt("compare with polis", "./attacker kcmp $POLIS", NOBODY),
    attempt(
        "advice on polis's memory",
        "./attacker process_madvise $POLIS",
        NOBODY,
    ),
    attempt(
        "move polis's memory",
        "./attacker migrate_pages $POLIS",
        NOBODY,
    ),
];

/// A process of the same user outside, which has to live on.
struct Canary(Child);

impl Canary {
    fn beside(stage: &mut Stage) -> Self {
        let child = Command::new("sleep").arg("600").spawn().unwrap();
        let env = &mut stage.policy.env;
        env.insert("CANARY".to_owned(), child.id().to_string());
        Self(child)
    }

    fn is_well(&mut self) {
        assert_eq!(self.0.try_wait().unwrap(), None, "the canary is dead");
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        assert!(status.contains("\nState:\tS"), "{status}");
        assert!(status.contains("\nTracerPid:\t0"), "{status}");
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", self.0.id())).unwrap();
        let own = std::fs::read_to_string("/proc/self/limits").unwrap();
        assert_eq!(limits, own);
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn with_a_canary(test: impl Fn(&Stage)) {
    for strength in super::stage::strengths() {
        let mut stage = Stage::new(strength);
        let mut canary = Canary::beside(&mut stage);
        test(&stage);
        canary.is_well();
    }
}

#[test]
fn nobody_outside_can_be_signalled_or_slowed() {
    with_a_canary(|stage| stage.attempt(SIGNALS));
}

#[test]
fn nobody_can_be_traced() {
    with_a_canary(|stage| stage.attempt(TRACES));
}

#[test]
fn a_signal_to_all_reaches_only_its_own() {
    with_a_canary(|stage| {
        let run = stage.run("sleep 600 & kill -9 -1; echo still here");
        // It may reach the shell itself too; what counts is who is alive outside, and that the
        // end is reported.
        assert!(
            matches!(&run.ending, Ending::Exited(0))
                || run.ending == Ending::Killed("SIGKILL".into()),
            "{run:?}"
        );
    });
}

#[test]
fn the_warden_cannot_be_ended_or_stopped() {
    at_every_strength(|stage| {
        for signal in ["KILL", "STOP", "TERM", "SEGV", "HUP", "CONT"] {
            let run = stage.run(&format!(
                "kill -{signal} $PPID; kill -{signal} 1; sleep 0.01; echo $PPID still here"
            ));
            assert_eq!(run.ending, Ending::Exited(0), "{signal}: {run:?}");
            assert!(
                run.stdout.text.ends_with("still here\n"),
                "{signal}: {run:?}"
            );
        }
    });
}

#[test]
fn what_everybody_of_a_user_shares_is_not_shared_with_a_command() {
    // A segment of shared memory of this user, as databases have.
    let made = Command::new("ipcmk")
        .args(["-M", "4096", "-p", "0666"])
        .output();
    let Ok(made) = made else {
        eprintln!("skipped: no ipcmk here");
        return;
    };
    let said = String::from_utf8(made.stdout).unwrap();
    let segment = said.split_whitespace().last().unwrap().to_owned();
    struct Remove(String);
    impl Drop for Remove {
        fn drop(&mut self) {
            let _ = Command::new("ipcrm").args(["-m", &self.0]).status();
        }
    }
    let _remove = Remove(segment.clone());
    at_every_strength(|stage| {
        for attempt in [format!("shmat {segment}"), "msgget".into(), "semget".into()] {
            let run = stage.run(&format!("./attacker {attempt}"));
            if stage.has_spaces() && !attempt.starts_with("shmat") {
                continue;
            }
            assert_eq!(run.ending, Ending::Exited(1), "{attempt}: {run:?}");
            assert!(
                run.stdout.text.starts_with("refused E"),
                "{attempt}: {run:?}"
            );
        }
    });
}
