//! What the kernel charges to the user whom polis runs as: a command may use some of it, and never so much that the user's
//! own programs are refused.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use polis_core::workspace::command::{CommandRun, Ending};
use polis_ops::port::Stream;

use super::stage::{Stage, Way, at_every_strength, attacker, turn};

/// How long a command holds what it got, in seconds.
const HELD: u64 = 2;

/// How long a command may take that is to be ended for what it holds.
const LONG: Duration = Duration::from_secs(120);

/// Whether commands are the same user as polis.
fn shares_user() -> bool {
    !rustix::process::geteuid().is_root()
}

/// How much of something a command got, by what it printed.
fn got(run: &CommandRun, what: &str) -> u64 {
    let mut lines = run.stdout.text.lines();
    let count = lines.find_map(|line| line.strip_prefix(what)?.trim().parse().ok());
    count.unwrap_or_else(|| panic!("{run:?}"))
}

/// Runs a command and does something outside while it holds what it got.
fn meanwhile(stage: &Stage, attempt: &str, outside: impl Fn() + Sync) -> CommandRun {
    let is_held = AtomicBool::new(false);
    let is_over = AtomicBool::new(false);
    let watch = |stream: Stream, _: &[u8]| {
        is_held.fetch_or(stream == Stream::Stdout, Ordering::SeqCst);
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
        let way = Way {
            watch: Some(&watch),
            ..Way::default()
        };
        let run = stage.run_in_a_way(&format!("./attacker {attempt} {HELD}"), &way);
        is_over.store(true, Ordering::SeqCst);
        outside.join().unwrap();
        run
    })
}

#[test]
fn inotify_is_left_to_the_user() {
    let _turn = turn();
    at_every_strength(|stage| {
        let run = meanwhile(stage, "hold_inotify", || {
            rustix::fs::inotify::init(rustix::fs::inotify::CreateFlags::CLOEXEC).unwrap();
        });
        let instances = got(&run, "instances");
        if stage.has_spaces() {
            assert!((1..=8).contains(&instances), "{:?}: {run:?}", stage.tier());
        } else {
            assert_eq!(instances, 0, "{:?}: {run:?}", stage.tier());
        }
    });
}

#[test]
fn timers_are_left_to_the_user() {
    let _turn = turn();
    at_every_strength(|stage| {
        let run = meanwhile(stage, "hold_timers", || ());
        // Without namespaces, signals that the user has queued already are allowed on top.
        let timers = got(&run, "timers");
        assert!(
            (100..=4_096).contains(&timers),
            "{:?}: {run:?}",
            stage.tier()
        );
    });
}

#[test]
fn descriptors_on_the_way_are_left_to_the_user() {
    let _turn = turn();
    at_every_strength(|stage| {
        let run = meanwhile(stage, "hold_descriptors", || {
            let sent = Command::new(attacker()).arg("send_one").output().unwrap();
            assert!(sent.status.success(), "{sent:?}");
        });
        if shares_user() {
            let descriptors = got(&run, "descriptors");
            assert!(descriptors <= 1_024, "{:?}: {run:?}", stage.tier());
        }
    });
}

#[test]
fn pages_of_pipes_are_left_to_the_user() {
    let _turn = turn();
    at_every_strength(|stage| {
        if !shares_user() {
            // Commands of root are a user of their own.
            assert_eq!(stage.run("./attacker large_pipe").ending, Ending::Exited(0));
            return;
        }
        assert_eq!(stage.run("./attacker large_pipe").ending, Ending::Exited(1));
        // It would end by itself after a while; whether it is ended before that is what its ending tells.
        let run = stage.run_for(LONG, "./attacker hold_pipes 120");
        assert_eq!(
            run.ending,
            Ending::OutOfMemory,
            "{:?}: {run:?}",
            stage.tier()
        );
        // As many as a large build has are no matter.
        let few = stage
            .run("for i in $(seq 60); do (sleep 1 | sleep 1 | sleep 1) & done; wait; echo fine");
        assert_eq!(few.stdout.text, "fine\n", "{:?}: {few:?}", stage.tier());
    });
}

#[test]
fn epoll_watches_are_left_to_the_user() {
    let _turn = turn();
    at_every_strength(|stage| {
        if !shares_user() {
            return;
        }
        let run = stage.run_for(LONG, "./attacker hold_watches 120");
        assert_eq!(
            run.ending,
            Ending::OutOfMemory,
            "{:?}: {run:?}",
            stage.tier()
        );
    });
}
