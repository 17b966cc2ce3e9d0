//! Test doubles for time and randomness: a manual clock and a counting token source.

use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use polis_ops::port::{Chance, Clock};

/// Start time of every test: a moment in 2026, in milliseconds.
pub const BEGINNING: i64 = 1_767_225_600_000;

/// A manual clock that returns the time it was set to.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// Creates a clock set to this time (milliseconds).
    pub fn at(millis: i64) -> Self {
        Self(AtomicI64::new(millis))
    }

    /// Sets the time.
    pub fn set(&self, millis: i64) {
        self.0.store(millis, Ordering::SeqCst);
    }

    /// Advances the time by this many milliseconds.
    pub fn advance(&self, millis: i64) {
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Default for FixedClock {
    fn default() -> Self {
        Self::at(BEGINNING)
    }
}

impl Clock for FixedClock {
    fn now_millis(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Returns immediately and advances the time.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.advance(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        Box::pin(std::future::ready(()))
    }
}

/// A token source that counts up.
#[derive(Debug, Default)]
pub struct CountedChance(AtomicI64);

impl Chance for CountedChance {
    fn token(&self) -> String {
        format!("{:032x}", self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
}
