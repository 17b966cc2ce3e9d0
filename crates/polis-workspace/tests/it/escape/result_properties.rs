//! Property tests of command results: a command that exceeds its timeout is killed in time, and a result is
//! complete (properties 6 and 7 of requirement 001, docs/requirements.md; property 5, refused commands, is in
//! `polis-core`).

use std::sync::Mutex;
use std::time::{Duration, Instant};

use polis_core::workspace::command_outcome::CommandEnding;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::process_cleanup::MAX_RESULT_DELAY;
use super::test_sandbox::{TestSandbox, available_sandboxes};

fn property_runner() -> TestRunner {
    TestRunner::new(Config {
        cases: 256,
        failure_persistence: None,
        max_shrink_iters: 20,
        ..Config::default()
    })
}

/// Property 6: a command that exceeds its timeout is killed, and its output until then is returned.
#[test]
fn command_beyond_its_timeout_is_killed_in_time() {
    let stage = TestSandbox::new(&available_sandboxes()[0]);
    let slow = prop_oneof![
        Just("sleep 600"),
        Just("while :; do :; done"),
        Just("sleep 600 & wait"),
        Just("sleep 600 | cat"),
        Just("setsid sleep 600 & while :; do sleep 1; done"),
        Just("trap '' TERM INT HUP; while :; do sleep 1; done"),
        Just("yes >/dev/null"),
        Just("yes"),
        Just("kill -STOP $$"),
        Just("cat /dev/zero >/dev/null & wait"),
        Just("exec sleep 600"),
        Just("exec >&- 2>&-; sleep 600"),
    ];
    let cases = (slow, 1_u64..40, "[a-z]{0,20}");
    let longest = Mutex::new(Duration::ZERO);
    let result = property_runner().run(&cases, |(command, millis, word)| {
        let timeout = Duration::from_millis(millis);
        let command = format!("echo {word}; {command}");
        let begun = Instant::now();
        let run = stage.run_with_timeout(timeout, &command);
        let took = begun.elapsed();
        prop_assert_eq!(&run.ending, &CommandEnding::TimedOut);
        prop_assert!(took >= timeout, "{:?}", took);
        prop_assert!(took < timeout + MAX_RESULT_DELAY, "{:?}", took);
        // So early that the shell may not have reached the command.
        let said = run.stdout.text.is_empty() || run.stdout.text.starts_with(&word);
        prop_assert!(said, "{}", run.stdout.text);
        let mut longest = longest.lock().unwrap();
        *longest = (*longest).max(took.saturating_sub(timeout));
        Ok(())
    });
    result.unwrap();
    eprintln!("at most {:?} late", longest.into_inner().unwrap());
}

/// Property 7: the result contains exactly the bytes that a command wrote to either stream, and its exit
/// status.
#[test]
fn result_contains_exact_output_and_exit_code() {
    let stage = TestSandbox::new(&available_sandboxes()[0]);
    let text = "[ -~äöü漢字\\n\\t]{0,200}";
    let cases = (text, text, 0_i32..256, 0_usize..3);
    let result = property_runner().run(&cases, |(out, err, code, copies)| {
        let out = out.repeat(copies * 40 + 1);
        std::fs::write(stage.workspace().join("out"), &out).unwrap();
        std::fs::write(stage.workspace().join("err"), &err).unwrap();
        let run = stage.run(&format!("cat out; cat err >&2; exit {code}"));
        prop_assert_eq!(run.ending, CommandEnding::Exited(code));
        prop_assert_eq!(run.stdout.bytes, u64::try_from(out.len()).unwrap());
        prop_assert_eq!(run.stdout.text, out);
        prop_assert_eq!(run.stderr.text, err);
        prop_assert_eq!((run.stdout.omitted, run.stderr.omitted), (0, 0));
        prop_assert_eq!(run.spool, None);
        Ok(())
    });
    result.unwrap();
}
