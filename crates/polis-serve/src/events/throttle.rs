//! Fan-out throttle: spreads the notification of many readers over time, so that they do not starve writers.
//!
//! Readers are divided into groups. A round notifies one group after another, spread over a time that grows
//! with the number of readers. The next round starts when that time is over and covers all events logged
//! since. Writers get to run between two groups. Pure functions: the hub does the waiting.

use std::time::Duration;

use polis_core::number::saturating_cast;

/// Number of readers notified at once.
pub(crate) const GROUP_SIZE: usize = 16;
/// Time added to a round per reader.
const DELAY_PER_READER: Duration = Duration::from_micros(100);
/// Maximum duration of a round.
const MAX_ROUND_DURATION: Duration = Duration::from_millis(100);
/// Rounds shorter than this take no time: timers do not resolve it.
const MIN_ROUND_DURATION: Duration = Duration::from_millis(1);

/// Returns how long a round takes for this number of readers.
pub(crate) fn round_duration(readers: usize) -> Duration {
    let readers = saturating_cast::<u32>(readers);
    let time = DELAY_PER_READER
        .saturating_mul(readers)
        .min(MAX_ROUND_DURATION);
    if time < MIN_ROUND_DURATION {
        Duration::ZERO
    } else {
        time
    }
}

/// Returns the delay from the start of a round until group `nth` of `groups` is notified.
pub(crate) fn group_delay(round: Duration, nth: usize, groups: usize) -> Duration {
    let nth = saturating_cast::<u32>(nth);
    let groups = saturating_cast::<u32>(groups.max(1));
    round.saturating_mul(nth.min(groups)) / groups
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn round_duration_is_zero_for_few_readers() {
        assert_eq!(round_duration(0), Duration::ZERO);
        assert_eq!(round_duration(1), Duration::ZERO);
        assert_eq!(round_duration(9), Duration::ZERO);
        assert_eq!(round_duration(100), Duration::from_millis(10));
        assert_eq!(round_duration(1_000), MAX_ROUND_DURATION);
        assert_eq!(round_duration(usize::MAX), MAX_ROUND_DURATION);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn group_delays_increase_within_round(readers in 1..5_000_usize) {
            let groups = readers.div_ceil(GROUP_SIZE);
            let time = round_duration(readers);
            prop_assert!(time <= round_duration(readers + 1));
            prop_assert_eq!(group_delay(time, 0, groups), Duration::ZERO);
            for nth in 1..groups {
                prop_assert!(group_delay(time, nth, groups) >= group_delay(time, nth - 1, groups));
                prop_assert!(group_delay(time, nth, groups) <= time);
            }
        }
    }
}
