//! Tests of per-user kernel resources (inotify, timers, descriptors in flight, pipe pages, epoll): a command
//! may use a part of them, but never so much that the user's own programs fail.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use polis_core::workspace::command_outcome::{CommandEnding, CommandOutcome, OutputStream};

use super::test_sandbox::{
    RunOptions, TestSandbox, attacker_program, lock_process_limit, run_in_every_tier,
};

/// How long a command holds its resources, in seconds.
const HOLD_SECONDS: u64 = 2;

/// Timeout of a command that is expected to be killed for its resources.
const KILL_TIMEOUT: Duration = Duration::from_secs(120);

/// Returns whether commands run as polis's own user.
fn commands_share_user() -> bool {
    !rustix::process::geteuid().is_root()
}

/// Parses from a command's output how much of a resource it got.
fn parse_count(run: &CommandOutcome, what: &str) -> u64 {
    let mut lines = run.stdout.text.lines();
    let count = lines.find_map(|line| line.strip_prefix(what)?.trim().parse().ok());
    count.unwrap_or_else(|| panic!("{run:?}"))
}

/// Runs a command, and calls `outside` while the command holds its resources.
fn run_while_held(stage: &TestSandbox, attempt: &str, outside: impl Fn() + Sync) -> CommandOutcome {
    let is_held = AtomicBool::new(false);
    let is_over = AtomicBool::new(false);
    let watch = |stream: OutputStream, _: &[u8]| {
        is_held.fetch_or(stream == OutputStream::Stdout, Ordering::SeqCst);
    };
    std::thread::scope(|scope| {
        let outside = scope.spawn(|| {
            while !is_held.load(Ordering::SeqCst) && !is_over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            if is_held.load(Ordering::SeqCst) {
                outside();
            }
        });
        let way = RunOptions {
            watcher: Some(&watch),
            ..RunOptions::default()
        };
        let run = stage.run_with_options(&format!("./attacker {attempt} {HOLD_SECONDS}"), &way);
        is_over.store(true, Ordering::SeqCst);
        outside.join().unwrap();
        run
    })
}

#[test]
fn inotify_instances_are_left_to_the_user() {
    let _turn = lock_process_limit();
    run_in_every_tier(|stage| {
        let run = run_while_held(stage, "hold_inotify", || {
            rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC).unwrap();
        });
        let instances = parse_count(&run, "instances");
        if stage.has_namespaces() {
            assert!((1..=8).contains(&instances), "{:?}: {run:?}", stage.tier());
        } else {
            assert_eq!(instances, 0, "{:?}: {run:?}", stage.tier());
        }
    });
}

#[test]
fn posix_timers_are_left_to_the_user() {
    let _turn = lock_process_limit();
    run_in_every_tier(|stage| {
        let run = run_while_held(stage, "hold_timers", || ());
        // Without namespaces, signals that the user has already queued are allowed in addition.
        let timers = parse_count(&run, "timers");
        assert!(
            (100..=4_096).contains(&timers),
            "{:?}: {run:?}",
            stage.tier()
        );
    });
}

#[test]
fn in_flight_descriptors_are_left_to_the_user() {
    let _turn = lock_process_limit();
    run_in_every_tier(|stage| {
        let run = run_while_held(stage, "hold_descriptors", || {
            let sent = Command::new(attacker_program())
                .arg("send_one")
                .output()
                .unwrap();
            assert!(sent.status.success(), "{sent:?}");
        });
        if commands_share_user() {
            let descriptors = parse_count(&run, "descriptors");
            assert!(descriptors <= 1_024, "{:?}: {run:?}", stage.tier());
        }
    });
}

#[test]
fn pipe_pages_are_left_to_the_user() {
    let _turn = lock_process_limit();
    run_in_every_tier(|stage| {
        if !commands_share_user() {
            // Commands of root run as a separate user.
            assert_eq!(
                stage.run("./attacker large_pipe").ending,
                CommandEnding::Exited(0)
            );
            return;
        }
        assert_eq!(
            stage.run("./attacker large_pipe").ending,
            CommandEnding::Exited(1)
        );
        // The command would exit by itself after a while; its ending shows whether it was killed before.
        let run = stage.run_with_timeout(KILL_TIMEOUT, "./attacker hold_pipes 120");
        assert_eq!(
            run.ending,
            CommandEnding::OutOfMemory,
            "{:?}: {run:?}",
            stage.tier()
        );
        // A number that a large build has is allowed.
        let few = stage
            .run("for i in $(seq 60); do (sleep 1 | sleep 1 | sleep 1) & done; wait; echo fine");
        assert_eq!(few.stdout.text, "fine\n", "{:?}: {few:?}", stage.tier());
    });
}

#[test]
fn epoll_watches_are_left_to_the_user() {
    let _turn = lock_process_limit();
    run_in_every_tier(|stage| {
        if !commands_share_user() {
            return;
        }
        let run = stage.run_with_timeout(KILL_TIMEOUT, "./attacker hold_watches 120");
        assert_eq!(
            run.ending,
            CommandEnding::OutOfMemory,
            "{:?}: {run:?}",
            stage.tier()
        );
    });
}
