//! Throttle for notifying readers, so that many readers do not starve writers.
//!
//! Readers are divided into groups. A round notifies one group after another, spread over a time that grows
//! with the number of readers. The next round starts when that time is over and covers all events logged
//! since. Writers get to run between two groups. Pure functions: the hub does the waiting.

use std::time::Duration;

/// Number of readers notified at once.
pub(crate) const GROUP: usize = 16;
/// Time added to a round per reader.
const EACH: Duration = Duration::from_micros(100);
/// Maximum duration of a round.
const LONGEST: Duration = Duration::from_millis(100);
/// Rounds shorter than this take no time: timers do not resolve it.
const SHORTEST: Duration = Duration::from_millis(1);

/// Returns how long a round takes for this number of readers.
pub(crate) fn round(readers: usize) -> Duration {
    let readers = u32::try_from(readers).unwrap_or(u32::MAX);
    let time = EACH.saturating_mul(readers).min(LONGEST);
    if time < SHORTEST {
        Duration::ZERO
    } else {
        time
    }
}

/// Returns the delay from the start of a round until group `nth` of `groups` is notified.
pub(crate) fn turn(round: Duration, nth: usize, groups: usize) -> Duration {
    let nth = u32::try_from(nth).unwrap_or(u32::MAX);
    let groups = u32::try_from(groups.max(1)).unwrap_or(u32::MAX);
    round.saturating_mul(nth.min(groups)) / groups
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_lone_reader_waits_for_nothing() {
        assert_eq!(round(0), Duration::ZERO);
        assert_eq!(round(1), Duration::ZERO);
        assert_eq!(round(9), Duration::ZERO);
        assert_eq!(round(100), Duration::from_millis(10));
        assert_eq!(round(1_000), LONGEST);
        assert_eq!(round(usize::MAX), LONGEST);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn turns_come_one_after_another_within_the_round(readers in 1..5_000_usize) {
            let groups = readers.div_ceil(GROUP);
            let time = round(readers);
            prop_assert!(time <= round(readers + 1));
            prop_assert_eq!(turn(time, 0, groups), Duration::ZERO);
            for nth in 1..groups {
                prop_assert!(turn(time, nth, groups) >= turn(time, nth - 1, groups));
                prop_assert!(turn(time, nth, groups) <= time);
            }
        }
    }
}
