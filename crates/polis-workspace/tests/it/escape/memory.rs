//! Taking more memory than allowed, by every kind there is: all of it is given back, the command
//! ends, and this machine does not notice.

use std::time::{Duration, Instant};

use polis_core::workspace::command::Ending;

use super::stage::{MIB, Stage, at_every_strength, strengths};

/// How far a hog came, in MiB.
fn took(stage: &Stage, name: &str) -> (Ending, u64, String) {
    let begun = Instant::now();
    // Nobody may read the program, so nobody may look at its process either.
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
fn a_hog_is_ended() {
    for strength in strengths() {
        let mut stage = Stage::new(strength);
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
            let (ending, most, said) = took(stage, name);
            eprintln!("{:?} {name}: {most} MiB, {ending:?}", stage.tier());
            let stopped = match &ending {
                Ending::OutOfMemory => true,
                // The kernel said no to it, and it gave up.
                Ending::Exited(1) => said.contains("refused E"),
                _ => false,
            };
            assert!(stopped, "{name} at {:?}: {ending:?} {said}", stage.tier());
            // Where it is watched and not counted by the kernel, it is noticed a little later, on a
            // busy machine more than a little.
            let slack = if stage.tier() == polis_core::workspace::policy::Tier::Full {
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
        // It is all given back: the next command has what it may have.
        let (ending, ..) = (
            stage
                .run("head -c 50M /dev/zero | tail -c 40M | wc -c")
                .ending,
            (),
        );
        assert_eq!(ending, Ending::Exited(0));
    }
}

#[test]
fn what_is_allowed_can_be_used() {
    at_every_strength(|stage| {
        let half = stage.policy.limits.memory / 2;
        let said = stage.output(&format!(
            "head -c {half} /dev/zero | tail -c {half} | wc -c"
        ));
        assert_eq!(said.trim(), half.to_string());
    });
}
