//! Memory limit tests: a command that exceeds the limit with any kind of memory (private, shared, memfd, page
//! tables) is killed, all its memory is freed, and the machine is not affected.

use std::time::{Duration, Instant};

use polis_core::workspace::command_outcome::CommandEnding;

use super::test_sandbox::{MIB, TestSandbox, available_sandboxes, run_in_every_tier};

/// Returns how much memory a hog got, in MiB.
fn run_memory_hog(stage: &TestSandbox, name: &str) -> (CommandEnding, u64, String) {
    let begun = Instant::now();
    // The program is unreadable, so its process cannot be inspected.
    let hide = "cp attacker unread; chmod 111 unread";
    let run = match name.strip_prefix("unread ") {
        Some(name) => stage.run(&format!("{hide}; exec ./unread {name}")),
        None => stage.run(&format!("exec ./attacker {name}")),
    };
    assert!(begun.elapsed() < Duration::from_secs(15), "{name}: {run:?}");
    let last = run
        .stdout
        .text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("took "));
    let most = last.map_or(0, |most| most.parse().unwrap());
    (run.ending, most, run.stdout.text)
}

#[test]
fn memory_hog_is_killed() {
    for strength in available_sandboxes() {
        let mut stage = TestSandbox::new(strength);
        stage.policy.limits.memory = 128 * MIB;
        let stage = &stage;
        let limit = stage.policy.limits.memory / MIB;
        for name in [
            "hog_private",
            "hog_shared",
            "hog_hidden",
            "hog_scraps",
            "hog_zero",
            "hog_memfd",
            "hog_shm",
            "hog_tables",
            "hog_many",
            "hog_unseen",
            "unread hog_shared",
            "unread hog_many",
        ] {
            let (ending, most, said) = run_memory_hog(stage, name);
            eprintln!("{:?} {name}: {most} MiB, {ending:?}", stage.tier());
            let stopped = match &ending {
                CommandEnding::OutOfMemory => true,
                // The kernel refused the memory, and the program gave up.
                CommandEnding::Exited(1) => said.contains("refused E"),
                _ => false,
            };
            assert!(stopped, "{name} at {:?}: {ending:?} {said}", stage.tier());
            // If memory is watched instead of limited by the kernel, the excess is noticed later, on a busy
            // machine much later.
            let slack = if stage.tier() == polis_core::workspace::command_policy::SandboxTier::Full
            {
                16
            } else {
                2_048
            };
            assert!(
                most <= limit + slack,
                "{name} at {:?}: {most} MiB",
                stage.tier()
            );
        }
        // All of it is freed: the next command can use its full limit.
        let (ending, ..) = (
            stage
                .run("head -c 50M /dev/zero | tail -c 40M | wc -c")
                .ending,
            (),
        );
        assert_eq!(ending, CommandEnding::Exited(0));
    }
}

#[test]
fn memory_below_the_limit_can_be_used() {
    run_in_every_tier(|stage| {
        let half = stage.policy.limits.memory / 2;
        let said = stage.successful_output(&format!(
            "head -c {half} /dev/zero | tail -c {half} | wc -c"
        ));
        assert_eq!(said.trim(), half.to_string());
    });
}
