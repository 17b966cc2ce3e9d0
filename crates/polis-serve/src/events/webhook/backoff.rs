//! Retry backoff of webhook deliveries.
//!
//! Exponential with jitter, capped, and never shorter than the receiver's `Retry-After`.

use std::time::Duration;

/// Backoff after the first failure.
const FIRST: Duration = Duration::from_secs(1);
/// Maximum backoff of our own.
const LONGEST: Duration = Duration::from_secs(600);
/// Maximum `Retry-After` that is honoured.
const LONGEST_ASKED: Duration = Duration::from_secs(3_600);

/// Returns the backoff after this many consecutive failures: doubled each time, minus a jitter of up to one
/// half, so that senders of the same receiver do not retry simultaneously. `chance` is a random share from 0
/// to 1. `asked` is the receiver's `Retry-After`.
pub(super) fn wait(failures: u32, chance: f64, asked: Option<Duration>) -> Duration {
    let doubled = 1_u32.checked_shl(failures.saturating_sub(1).min(31));
    let whole = FIRST
        .saturating_mul(doubled.unwrap_or(u32::MAX))
        .min(LONGEST);
    let ours = whole.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 2.0);
    let asked = asked.unwrap_or_default().min(LONGEST_ASKED);
    ours.max(asked)
}

/// Returns the backoff for a receiver that answers 410 Gone.
pub(super) fn longest() -> Duration {
    LONGEST
}

/// Returns a share from 0 to 1, derived from random hexadecimal digits.
pub(super) fn share(digits: &str) -> f64 {
    let some = digits.get(..8).unwrap_or_default();
    let number = u32::from_str_radix(some, 16).unwrap_or(0);
    f64::from(number) / f64::from(u32::MAX)
}

/// Parses `Retry-After`: seconds or an HTTP date.
pub(super) fn asked(header: &str, now: i64) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(header)
        .ok()?;
    let wait = moment.as_millisecond().saturating_sub(now);
    Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_ten_minutes() {
        let whole = |failures| wait(failures, 0.0, None).as_secs();
        assert_eq!(
            [1, 2, 3, 4, 10, 11, 40, u32::MAX].map(whole),
            [1, 2, 4, 8, 512, 600, 600, 600]
        );
        assert_eq!(wait(3, 1.0, None), Duration::from_secs(2));
        assert_eq!(wait(0, 0.0, None), FIRST);
        assert!(wait(3, 0.5, None) < wait(3, 0.1, None));
    }

    #[test]
    fn a_receiver_may_ask_for_more() {
        let asked_for = |seconds| wait(1, 0.5, Some(Duration::from_secs(seconds)));
        assert_eq!(asked_for(30), Duration::from_secs(30));
        assert_eq!(asked_for(0), wait(1, 0.5, None));
        assert_eq!(asked_for(1_000_000), LONGEST_ASKED);
    }

    #[test]
    fn retry_after_is_seconds_or_a_moment() {
        let now = 784_111_777_000; // Sun, 06 Nov 1994 08:49:37 GMT
        let later = "Sun, 06 Nov 1994 08:50:37 GMT";
        assert_eq!(asked("120", now), Some(Duration::from_secs(120)));
        assert_eq!(asked(later, now), Some(Duration::from_secs(60)));
        assert_eq!(asked(later, now + 120_000), Some(Duration::ZERO));
        for bad in ["", "-5", "soon", "1.5"] {
            assert_eq!(asked(bad, now), None, "{bad}");
        }
    }

    #[test]
    fn chance_is_a_share() {
        assert!(share("00000000") < 1e-9);
        assert!((share("ffffffff00") - 1.0).abs() < 1e-9);
        assert!(share("").abs() < 1e-9);
    }
}
