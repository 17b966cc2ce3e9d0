//! System clock and system random source: the real implementations of the `Clock` and `Chance` ports.

use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use polis_ops::port::{Chance, Clock};

/// The system clock, with an offset to another clock where several machines have to agree on the time.
#[derive(Debug, Default)]
pub(crate) struct SystemClock {
    offset: i64,
}

impl SystemClock {
    /// Creates a clock that agrees with a remote one. The remote clock showed `theirs` at some moment between `before`
    /// (this clock's time before the request) and now; the midpoint is assumed.
    pub(crate) fn set_by(theirs: i64, before: i64) -> Self {
        let here = before.midpoint(Self::default().now_millis());
        Self {
            offset: theirs - here,
        }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now_millis(&self) -> i64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX) + self.offset
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// The operating system's random source.
#[derive(Debug)]
pub(crate) struct SystemChance;

impl Chance for SystemChance {
    fn token(&self) -> String {
        let mut bytes = [0; 16];
        if getrandom::fill(&mut bytes).is_err() {
            // Does not happen on supported systems. Time and process id still make tokens distinct.
            let now = SystemClock::default().now_millis().unsigned_abs();
            let here = u64::from(std::process::id());
            bytes = ((u128::from(now) << 64) | u128::from(here)).to_be_bytes();
        }
        format!("{:032x}", u128::from_be_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_machines_agree_by_a_third_clock() {
        let before = SystemClock::default().now_millis();
        let ahead = SystemClock::set_by(before + 3_600_000, before);
        let difference = ahead.now_millis() - SystemClock::default().now_millis();
        assert!(
            (3_590_000..=3_610_000).contains(&difference),
            "{difference}"
        );
    }
}
