//! Number formatting of the live view: durations, token counts, money and plurals.

/// Formats a duration: `7s`, `1:05`, `2:03:09`.
pub(crate) fn elapsed(millis: i64) -> String {
    let seconds = (millis / 1_000).max(0);
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else if minutes > 0 {
        format!("{minutes}:{rest:02}")
    } else {
        format!("{rest}s")
    }
}

/// Formats a number of tokens: `950`, `12.3k`, `4.56M`.
pub(crate) fn tokens(number: u64) -> String {
    let tenths = |unit: u64| (number / (unit / 10), number / unit);
    match number {
        0..=999 => number.to_string(),
        1_000..=999_999 => {
            let (tenths, whole) = tenths(1_000);
            format!("{whole}.{}k", tenths % 10)
        }
        _ => {
            let (hundredths, whole) = (number / 10_000, number / 1_000_000);
            format!("{whole}.{:02}M", hundredths % 100)
        }
    }
}

/// Formats money in millionths, with as many decimals as small amounts need: `0.0042`, `12.30`.
pub(crate) fn money(micros: u64) -> String {
    let whole = micros / 1_000_000;
    if whole > 0 || micros == 0 {
        let cents = micros % 1_000_000 / 10_000;
        return format!("{whole}.{cents:02}");
    }
    // An amount below the smallest decimal is shown as 0.0001, not as zero.
    format!("0.{:04}", (micros / 100).max(1))
}

/// Formats a count with its noun: `1 agent`, `3 agents`.
pub(crate) fn count(number: impl TryInto<u64>, thing: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let many = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{many}")
}
