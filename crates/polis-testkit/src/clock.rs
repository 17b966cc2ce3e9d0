//! A clock that stands still until a test moves it.

use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use polis_ops::port::{Chance, Clock};

/// A moment in 2026, in milliseconds: when every test begins.
pub const BEGINNING: i64 = 1_767_225_600_000;

/// A clock that shows what it was set to.
#[derive(Debug)]
pub struct FixedClock(AtomicI64);

impl FixedClock {
    /// A clock that shows this moment (milliseconds).
    pub fn at(millis: i64) -> Self {
        Self(AtomicI64::new(millis))
    }

    /// Shows another moment from now on.
    pub fn set(&self, millis: i64) {
        self.0.store(millis, Ordering::SeqCst);
    }

    /// Moves on by so many milliseconds.
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

    /// Nobody waits: the time is simply later.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.advance(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        Box::pin(std::future::ready(()))
    }
}

/// Tokens that count up.
#[derive(Debug, Default)]
pub struct CountedChance(AtomicI64);

impl Chance for CountedChance {
    fn token(&self) -> String {
        format!("{:032x}", self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
}
