//! The time of day, for real.

use std::time::{SystemTime, UNIX_EPOCH};

use polis_ops::port::Clock;

/// The system's clock, set by another one where several machines have to agree.
#[derive(Debug, Default)]
pub(crate) struct SystemClock {
    offset: i64,
}

impl SystemClock {
    /// A clock that agrees with another, which showed `theirs` some time between the moments that
    /// this one shows as `before` and as now.
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
