//! System clock and system random source: the implementations of the ports `Clock` and `RandomSource` outside
//! tests. With a PostgreSQL store, the clock is offset to agree with the server's.

use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use polis_core::number::saturating_cast;
use polis_ops::port::{Clock, RandomSource};

/// The system clock, with an offset to another clock where several machines have to agree on the time.
#[derive(Debug, Default)]
pub(crate) struct SystemClock {
    offset_ms: i64,
}

impl SystemClock {
    /// Creates a clock that agrees with a remote one. The remote clock showed `theirs` at some moment between
    /// `before` (this clock's time before the request) and now; the midpoint is assumed.
    pub(crate) fn synchronized_with(theirs: i64, before: i64) -> Self {
        let local = before.midpoint(Self::default().now_millis());
        Self {
            offset_ms: theirs - local,
        }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now_millis(&self) -> i64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        saturating_cast::<i64>(since.as_millis()) + self.offset_ms
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// The operating system's random source.
#[derive(Debug)]
pub(crate) struct SystemRandom;

impl RandomSource for SystemRandom {
    fn random_token(&self) -> String {
        let mut bytes = [0; 16];
        if getrandom::fill(&mut bytes).is_err() {
            // Does not happen on supported systems. Time and process id still make tokens distinct.
            let now = SystemClock::default().now_millis().unsigned_abs();
            let process_id = u64::from(std::process::id());
            bytes = ((u128::from(now) << 64) | u128::from(process_id)).to_be_bytes();
        }
        format!("{:032x}", u128::from_be_bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synchronized_clock_follows_remote_time() {
        let before = SystemClock::default().now_millis();
        let ahead = SystemClock::synchronized_with(before + 3_600_000, before);
        let difference = ahead.now_millis() - SystemClock::default().now_millis();
        assert!(
            (3_590_000..=3_610_000).contains(&difference),
            "{difference}"
        );
    }
}
