//! Retry backoff of webhook deliveries: the delay doubles with each failure, up to a maximum, and has jitter.
//! If the receiver's `Retry-After` is longer, it is used instead, up to a higher maximum.

use std::time::Duration;

/// Backoff after the first failure.
const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
/// Maximum exponential backoff.
const MAX_BACKOFF: Duration = Duration::from_secs(600);
/// Maximum `Retry-After` that is honoured.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(3_600);

/// Returns the backoff after this many consecutive failures: doubled each time, minus a jitter of up to one
/// half, so that senders of the same receiver do not retry simultaneously. `random_share` is between 0 and
/// 1. `requested` is the receiver's `Retry-After`.
pub(super) fn retry_backoff(
    failures: u32,
    random_share: f64,
    requested: Option<Duration>,
) -> Duration {
    let factor = 1_u32.checked_shl(failures.saturating_sub(1).min(31));
    let base = INITIAL_BACKOFF
        .saturating_mul(factor.unwrap_or(u32::MAX))
        .min(MAX_BACKOFF);
    let ours = base.mul_f64(1.0 - random_share.clamp(0.0, 1.0) / 2.0);
    let requested = requested.unwrap_or_default().min(MAX_RETRY_AFTER);
    ours.max(requested)
}

/// Returns the backoff for a receiver that answers 410 Gone.
pub(super) fn gone_backoff() -> Duration {
    MAX_BACKOFF
}

/// Returns a share from 0 to 1, derived from random hexadecimal digits.
pub(super) fn jitter_from_digits(digits: &str) -> f64 {
    let prefix = digits.get(..8).unwrap_or_default();
    let number = u32::from_str_radix(prefix, 16).unwrap_or(0);
    f64::from(number) / f64::from(u32::MAX)
}

/// Parses `Retry-After`: seconds or an HTTP date.
pub(super) fn parse_retry_after(header: &str, now: i64) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let time = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(header)
        .ok()?;
    let wait = time.as_millisecond().saturating_sub(now);
    Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_backoff_doubles_up_to_ten_minutes() {
        let seconds = |failures| retry_backoff(failures, 0.0, None).as_secs();
        assert_eq!(
            [1, 2, 3, 4, 10, 11, 40, u32::MAX].map(seconds),
            [1, 2, 4, 8, 512, 600, 600, 600]
        );
        assert_eq!(retry_backoff(3, 1.0, None), Duration::from_secs(2));
        assert_eq!(retry_backoff(0, 0.0, None), INITIAL_BACKOFF);
        assert!(retry_backoff(3, 0.5, None) < retry_backoff(3, 0.1, None));
    }

    #[test]
    fn retry_after_extends_backoff() {
        let with_retry_after = |seconds| retry_backoff(1, 0.5, Some(Duration::from_secs(seconds)));
        assert_eq!(with_retry_after(30), Duration::from_secs(30));
        assert_eq!(with_retry_after(0), retry_backoff(1, 0.5, None));
        assert_eq!(with_retry_after(1_000_000), MAX_RETRY_AFTER);
    }

    #[test]
    fn retry_after_is_seconds_or_http_date() {
        let now = 784_111_777_000; // Sun, 06 Nov 1994 08:49:37 GMT
        let later = "Sun, 06 Nov 1994 08:50:37 GMT";
        assert_eq!(
            parse_retry_after("120", now),
            Some(Duration::from_secs(120))
        );
        assert_eq!(parse_retry_after(later, now), Some(Duration::from_secs(60)));
        assert_eq!(
            parse_retry_after(later, now + 120_000),
            Some(Duration::ZERO)
        );
        for bad in ["", "-5", "soon", "1.5"] {
            assert_eq!(parse_retry_after(bad, now), None, "{bad}");
        }
    }

    #[test]
    fn jitter_is_between_zero_and_one() {
        assert!(jitter_from_digits("00000000") < 1e-9);
        assert!((jitter_from_digits("ffffffff00") - 1.0).abs() < 1e-9);
        assert!(jitter_from_digits("").abs() < 1e-9);
    }
}
