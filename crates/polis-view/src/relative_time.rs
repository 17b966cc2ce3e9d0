//! Relative times ("3 min ago", "in 25 min") and durations ("2 h 5 min") for people.

use polis_i18n::msg;

use crate::UiLanguage;

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Formats how long ago a time was (both in milliseconds): "3 min ago", "3 分钟前". Future times, which
/// result from small clock differences, are "just now".
pub fn format_age(now: i64, time: i64, lang: UiLanguage) -> String {
    let elapsed = now.saturating_sub(time);
    if elapsed < MINUTE_MS {
        return msg::time_just_now(lang).to_owned();
    }
    match elapsed {
        ..HOUR_MS => msg::time_minutes_ago(lang, elapsed / MINUTE_MS),
        HOUR_MS..DAY_MS => msg::time_hours_ago(lang, elapsed / HOUR_MS),
        _ => msg::time_days_ago(lang, elapsed / DAY_MS),
    }
}

/// Formats how long it is until a time: "in 25 min", "25 分钟后". Past times are formatted like [`format_age`].
pub fn format_until(now: i64, time: i64, lang: UiLanguage) -> String {
    let remaining = time.saturating_sub(now);
    if remaining <= 0 {
        return format_age(now, time, lang);
    }
    match remaining {
        ..MINUTE_MS => msg::time_in_less_than_a_minute(lang).to_owned(),
        MINUTE_MS..HOUR_MS => msg::time_in_minutes(lang, remaining / MINUTE_MS),
        HOUR_MS..DAY_MS => msg::time_in_hours(lang, remaining / HOUR_MS),
        _ => msg::time_in_days(lang, remaining / DAY_MS),
    }
}

/// Formats a duration with at most two units: "2 h 5 min", "2 小时 5 分".
pub fn format_duration(millis: i64, lang: UiLanguage) -> String {
    let millis = millis.max(0);
    match millis {
        ..SECOND_MS => msg::time_milliseconds(lang, millis),
        SECOND_MS..MINUTE_MS => {
            let tenths = millis / 100;
            match tenths % 10 {
                0 => msg::time_seconds(lang, tenths / 10),
                part => msg::time_seconds(lang, format_args!("{}.{part}", tenths / 10)),
            }
        }
        MINUTE_MS..HOUR_MS => {
            msg::time_minutes_and_seconds(lang, millis / MINUTE_MS, millis % MINUTE_MS / SECOND_MS)
        }
        HOUR_MS..DAY_MS => {
            msg::time_hours_and_minutes(lang, millis / HOUR_MS, millis % HOUR_MS / MINUTE_MS)
        }
        _ => msg::time_days_and_hours(lang, millis / DAY_MS, millis % DAY_MS / HOUR_MS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_uses_largest_unit() {
        let texts = |elapsed| {
            (
                format_age(elapsed, 0, UiLanguage::En),
                format_age(elapsed, 0, UiLanguage::Zh),
            )
        };
        assert_eq!(texts(-5), ("just now".into(), "刚刚".into()));
        assert_eq!(texts(59_999), ("just now".into(), "刚刚".into()));
        assert_eq!(
            texts(3 * MINUTE_MS),
            ("3 min ago".into(), "3 分钟前".into())
        );
        assert_eq!(texts(25 * HOUR_MS), ("1 d ago".into(), "1 天前".into()));
        assert_eq!(
            format_age(i64::MAX, i64::MIN, UiLanguage::En),
            "106751991167 d ago"
        );
    }

    #[test]
    fn future_time_is_formatted_as_future() {
        let texts = |remaining| {
            (
                format_until(0, remaining, UiLanguage::En),
                format_until(0, remaining, UiLanguage::Zh),
            )
        };
        assert_eq!(
            texts(25 * MINUTE_MS),
            ("in 25 min".into(), "25 分钟后".into())
        );
        assert_eq!(
            texts(1),
            ("in less than a minute".into(), "不到 1 分钟后".into())
        );
        assert_eq!(texts(3 * HOUR_MS), ("in 3 h".into(), "3 小时后".into()));
        assert_eq!(texts(49 * HOUR_MS), ("in 2 d".into(), "2 天后".into()));
        assert_eq!(texts(0), ("just now".into(), "刚刚".into()));
        assert_eq!(
            texts(-5 * MINUTE_MS),
            ("5 min ago".into(), "5 分钟前".into()),
            "in the past"
        );
        assert_eq!(
            format_until(i64::MIN, i64::MAX, UiLanguage::En),
            "in 106751991167 d"
        );
    }

    #[test]
    fn duration_has_at_most_two_units() {
        let texts = |millis| {
            (
                format_duration(millis, UiLanguage::En),
                format_duration(millis, UiLanguage::Zh),
            )
        };
        assert_eq!(texts(-1), ("0 ms".into(), "0 毫秒".into()));
        assert_eq!(texts(1_500), ("1.5 s".into(), "1.5 秒".into()));
        assert_eq!(texts(62_000), ("1 min 2 s".into(), "1 分 2 秒".into()));
        assert_eq!(texts(2 * HOUR_MS), ("2 h".into(), "2 小时".into()));
        assert_eq!(
            texts(3 * DAY_MS + 2 * HOUR_MS + 5),
            ("3 d 2 h".into(), "3 天 2 小时".into())
        );
    }
}
