//! How often readers are told of news, so that telling many does not starve those who write.
//!
//! Readers stand in groups. A round tells one group after another, spread over a time that grows with
//! the number of readers; the next round begins when that time is over and brings all that came in the
//! meantime. Between two groups whoever writes gets its turn. Pure: the hub does the waiting.

use std::time::Duration;

/// How many readers are told at once.
pub(crate) const GROUP: usize = 16;
/// What a round may take for each reader.
const EACH: Duration = Duration::from_micros(100);
/// The longest round.
const LONGEST: Duration = Duration::from_millis(100);
/// What is shorter is no time at all: timers do not measure it.
const SHORTEST: Duration = Duration::from_millis(1);

/// How long a round takes that tells so many readers.
pub(crate) fn round(readers: usize) -> Duration {
    let readers = u32::try_from(readers).unwrap_or(u32::MAX);
    let time = EACH.saturating_mul(readers).min(LONGEST);
    if time < SHORTEST {
        Duration::ZERO
    } else {
        time
    }
}

/// When, after a round's begin, the `nth` of so many groups is told.
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
