//! Test harness of the crash tests: runs the program and kills it (SIGKILL) after a random delay.
//!
//! `POLIS_CRASH_ROUNDS` sets the number of kills. The delays come from a fixed seed, so that a failure can be
//! reproduced as far as the machine allows.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::harness::test_project::{CommandOutput, TestProject, spawn_captured};

/// Maximum duration of the command after a kill: enough for a busy machine, and less than the 30 seconds that
/// a command waits for a lock.
pub(crate) const RECOVERY_TIMEOUT: Duration = Duration::from_secs(20);

/// Returns the number of kill rounds.
pub(crate) fn crash_rounds() -> u64 {
    std::env::var_os("POLIS_CRASH_ROUNDS")
        .and_then(|rounds| rounds.to_str()?.parse().ok())
        .unwrap_or(10)
}

/// Seeded random number generator (splitmix64).
pub(crate) struct SeededRng(pub(crate) u64);

impl SeededRng {
    pub(crate) fn next_below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit.max(1)
    }
}

/// Estimate of how long a write takes here; kill delays are chosen so that half of the writes complete.
pub(crate) struct KillDelay(AtomicU64);

impl KillDelay {
    pub(crate) fn from_micros(micros: u64) -> Self {
        Self(AtomicU64::new(micros))
    }

    pub(crate) fn random_delay(&self, dice: &mut SeededRng) -> Duration {
        Duration::from_micros(dice.next_below(self.0.load(Ordering::Relaxed) * 2))
    }

    pub(crate) fn adjust(&self, came_through: bool) {
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

/// Runs a command and kills it after a delay. A completely printed answer counts as acknowledged; only the
/// named refusals may occur instead.
pub(crate) fn run_and_kill_after(
    project: &TestProject,
    args: &[&str],
    delay: Duration,
    refusals: &[&str],
) -> Option<Value> {
    let mut child = spawn_captured(&mut project.json_command("user", args));
    let begun = Instant::now();
    while begun.elapsed() < delay && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_micros(100));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    let answered = output.stdout.ends_with(b"\n");
    let answer = CommandOutput::from_output(output);
    assert!(!answer.stderr.contains("panicked"), "{answer:?}");
    if answer.exit_code.is_some_and(|exit| exit != 0) {
        let error: Value = serde_json::from_str(&answer.stderr).unwrap();
        let code = error["error"]["code"].as_str().unwrap();
        assert!(refusals.contains(&code), "{answer:?}");
    }
    answered.then(|| serde_json::from_str(&answer.stdout).unwrap())
}
