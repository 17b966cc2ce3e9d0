//! Test doubles for time and randomness: a manual clock, which `sleep` advances, and a random source that
//! counts.

use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use polis_core::number::saturating_cast;
use polis_ops::port::{Clock, RandomSource};

/// Start time of every test: a moment in 2026, in milliseconds.
pub const START_MILLIS: i64 = 1_767_225_600_000;

/// A manual clock that returns the time it was set to.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// Creates a clock set to this time (milliseconds).
    pub fn from_millis(millis: i64) -> Self {
        Self(AtomicI64::new(millis))
    }

    /// Sets the time.
    pub fn set_millis(&self, millis: i64) {
        self.0.store(millis, Ordering::SeqCst);
    }

    /// Advances the time by this many milliseconds.
    pub fn advance_millis(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Default for FixedClock {
    fn default() -> Self {
        Self::from_millis(START_MILLIS)
    }
}

impl Clock for FixedClock {
    fn now_millis(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Returns immediately and advances the time.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.advance_millis(saturating_cast::<i64>(time.as_millis()));
        Box::pin(std::future::ready(()))
    }
}

/// A random source whose tokens are consecutive numbers.
#[derive(Debug, Default)]
pub struct CountingRandomSource(AtomicI64);

impl RandomSource for CountingRandomSource {
    fn random_token(&self) -> String {
        format!("{:032x}", self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
}
