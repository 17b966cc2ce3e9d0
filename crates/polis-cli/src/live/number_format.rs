//! Number formatting of the live view: durations, token counts and money.

use polis_i18n::{UiLanguage, msg};

pub(crate) use polis_core::number::format_money;

/// Formats a duration: `7s` or `7 秒`, `1:05`, `2:03:09`.
pub(crate) fn format_elapsed(millis: i64, lang: UiLanguage) -> String {
    let seconds = (millis / 1_000).max(0);
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{rest:02}")
    } else if minutes > 0 {
        format!("{minutes}:{rest:02}")
    } else {
        msg::cli_run_seconds(lang, rest)
    }
}

/// Formats a number of tokens: `950`, `12.3k`, `4.56M`.
pub(crate) fn format_tokens(number: u64) -> String {
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
