//! Saturating integer conversion, and the text form of counts and amounts of money.
//!
//! In a conversion, a value out of range becomes the maximum of the target type. Counts, sizes and durations
//! are measured in one integer type and stored or shown in another. They never come near a limit in practice;
//! where one would, the largest value is the harmless answer.

/// An integer type with a maximum.
pub trait MaxValue {
    /// Largest value of the type.
    const MAX_VALUE: Self;
}

macro_rules! max_value {
    ($($integer:ty),*) => { $(impl MaxValue for $integer { const MAX_VALUE: Self = <$integer>::MAX; })* };
}

max_value!(u8, u16, u32, u64, usize, i32, i64);

/// Converts an integer to `T`. Returns the maximum of `T` if the value does not fit.
///
/// A negative value does not fit an unsigned type either and becomes the maximum: callers pass counts, for
/// which a negative value is an overflow.
pub fn saturating_cast<T: MaxValue>(value: impl TryInto<T>) -> T {
    value.try_into().unwrap_or(T::MAX_VALUE)
}

/// Formats a count with its noun: `1 agent`, `3 agents`.
pub fn format_count(number: impl TryInto<u64>, noun: &str) -> String {
    let number = saturating_cast::<u64>(number);
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Formats money in millionths, with as many decimals as small amounts need: `0.0042`, `12.30`.
pub fn format_money(micros: u64) -> String {
    let whole = micros / 1_000_000;
    if whole > 0 || micros == 0 {
        let cents = micros % 1_000_000 / 10_000;
        return format!("{whole}.{cents:02}");
    }
    // An amount below the smallest decimal is shown as 0.0001, not as zero.
    format!("0.{:04}", (micros / 100).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_count_uses_the_singular_for_one() {
        assert_eq!(format_count(0_u64, "task"), "0 tasks");
        assert_eq!(format_count(1_usize, "task"), "1 task");
        assert_eq!(format_count(2_u32, "task"), "2 tasks");
    }

    #[test]
    fn format_money_shows_small_amounts_with_four_decimals() {
        for (micros, text) in [
            (0, "0.00"),
            (1, "0.0001"),
            (4_200, "0.0042"),
            (990_000, "0.9900"),
            (2_500_000, "2.50"),
            (12_300_000, "12.30"),
        ] {
            assert_eq!(format_money(micros), text);
        }
    }

    #[test]
    fn saturating_cast_keeps_what_fits_and_clamps_the_rest() {
        assert_eq!(saturating_cast::<u32>(7_u64), 7);
        assert_eq!(saturating_cast::<u8>(256_usize), u8::MAX);
        assert_eq!(saturating_cast::<i64>(u64::MAX), i64::MAX);
        assert_eq!(saturating_cast::<u64>(-1_i64), u64::MAX);
    }
}
