//! Helpers of the crash tests: kill the program at any moment.
//!
//! `POLIS_CRASH_ROUNDS` sets the number of kills. The delays come from a fixed seed, so that a failure can be
//! reproduced as far as the machine allows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::board::{Answer, Board, start};

/// Maximum duration of the command after a kill: enough for a busy machine, and less than the 30 seconds that a command
/// waits for a lock.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(20);

/// Returns the number of rounds.
pub(crate) fn rounds() -> u64 {
    std::env::var_os("POLIS_CRASH_ROUNDS")
        .and_then(|rounds| rounds.to_str()?.parse().ok())
        .unwrap_or(10)
}

/// Seeded random number generator (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit.max(1)
    }
}

/// Estimate of how long a write takes here; kill delays are chosen so that half of the writes complete.
pub(crate) struct Pace(AtomicU64);

impl Pace {
    pub(crate) fn of_micros(micros: u64) -> Self {
        Self(AtomicU64::new(micros))
    }

    pub(crate) fn delay(&self, dice: &mut Dice) -> Duration {
        Duration::from_micros(dice.below(self.0.load(Ordering::Relaxed) * 2))
    }

    pub(crate) fn learn(&self, came_through: bool) {
        let pace = self.0.load(Ordering::Relaxed);
        let step = pace / 20 + 1;
        let next = if came_through {
            pace.saturating_sub(step)
        } else {
            pace + step
        };
        self.0.store(next.clamp(500, 1_000_000), Ordering::Relaxed);
    }
}

/// Runs a command and kills it after a delay. A completely printed answer counts as acknowledged; only the named
/// refusals may occur instead.
pub(crate) fn killed_after(
    board: &Board,
    args: &[&str],
    delay: Duration,
    refusals: &[&str],
) -> Option<Value> {
    let mut child = start(&mut board.json_command("user", args));
    let begun = Instant::now();
    while begun.elapsed() < delay && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(100));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    let answered = output.stdout.ends_with(b"\n");
    let answer = Answer::of(output);
    assert!(!answer.stderr.contains("panicked"), "{answer:?}");
    if answer.exit.is_some_and(|exit| exit != 0) {
        let error: Value = serde_json::from_str(&answer.stderr).unwrap();
        let code = error["error"]["code"].as_str().unwrap();
        assert!(refusals.contains(&code), "{answer:?}");
    }
    answered.then(|| serde_json::from_str(&answer.stdout).unwrap())
}
