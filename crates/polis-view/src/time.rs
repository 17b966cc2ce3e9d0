//! Formats relative times and durations for people.

use crate::Lang;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Formats how long ago a time was (both in milliseconds): "3 min ago", "3 分钟前". Future times, which result
/// from small clock differences, are "just now".
pub fn age(now: i64, then: i64, lang: Lang) -> String {
    let gone = now.saturating_sub(then);
    if gone < MINUTE {
        return lang.say("just now", "刚刚").to_owned();
    }
    let (en, zh) = match gone {
        ..HOUR => (
            format!("{} min ago", gone / MINUTE),
            format!("{} 分钟前", gone / MINUTE),
        ),
        HOUR..DAY => (
            format!("{} h ago", gone / HOUR),
            format!("{} 小时前", gone / HOUR),
        ),
        _ => (
            format!("{} d ago", gone / DAY),
            format!("{} 天前", gone / DAY),
        ),
    };
    lang.say(en, zh)
}

/// Formats how long it is until a time: "in 25 min", "25 分钟后". Past times are formatted like [`age`].
pub fn until(now: i64, then: i64, lang: Lang) -> String {
    let left = then.saturating_sub(now);
    if left <= 0 {
        return age(now, then, lang);
    }
    let (en, zh) = match left {
        ..MINUTE => (
            "in less than a minute".to_owned(),
            "不到 1 分钟后".to_owned(),
        ),
        MINUTE..HOUR => (
            format!("in {} min", left / MINUTE),
            format!("{} 分钟后", left / MINUTE),
        ),
        HOUR..DAY => (
            format!("in {} h", left / HOUR),
            format!("{} 小时后", left / HOUR),
        ),
        _ => (
            format!("in {} d", left / DAY),
            format!("{} 天后", left / DAY),
        ),
    };
    lang.say(en, zh)
}

/// Formats a duration with at most two units: "2 h 5 min", "2 小时 5 分".
pub fn span(millis: i64, lang: Lang) -> String {
    let millis = millis.max(0);
    let two = |large: i64, small: i64, en: (&str, &str), zh: (&str, &str)| {
        let (a, b) = lang.say(en, zh);
        match small {
            0 => format!("{large} {a}"),
            _ => format!("{large} {a} {small} {b}"),
        }
    };
    match millis {
        ..SECOND => format!("{millis} {}", lang.say("ms", "毫秒")),
        SECOND..MINUTE => {
            let tenths = millis / 100;
            let unit = lang.say("s", "秒");
            match tenths % 10 {
                0 => format!("{} {unit}", tenths / 10),
                part => format!("{}.{part} {unit}", tenths / 10),
            }
        }
        MINUTE..HOUR => two(
            millis / MINUTE,
            millis % MINUTE / SECOND,
            ("min", "s"),
            ("分", "秒"),
        ),
        HOUR..DAY => two(
            millis / HOUR,
            millis % HOUR / MINUTE,
            ("h", "min"),
            ("小时", "分"),
        ),
        _ => two(
            millis / DAY,
            millis % DAY / HOUR,
            ("d", "h"),
            ("天", "小时"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_said_in_their_largest_unit() {
        let said = |gone| (age(gone, 0, Lang::En), age(gone, 0, Lang::Zh));
        assert_eq!(said(-5), ("just now".into(), "刚刚".into()));
        assert_eq!(said(59_999), ("just now".into(), "刚刚".into()));
        assert_eq!(said(3 * MINUTE), ("3 min ago".into(), "3 分钟前".into()));
        assert_eq!(said(25 * HOUR), ("1 d ago".into(), "1 天前".into()));
        assert_eq!(age(i64::MAX, i64::MIN, Lang::En), "106751991167 d ago");
    }

    #[test]
    fn what_lies_ahead_is_said_as_such() {
        let said = |left| (until(0, left, Lang::En), until(0, left, Lang::Zh));
        assert_eq!(said(25 * MINUTE), ("in 25 min".into(), "25 分钟后".into()));
        assert_eq!(
            said(1),
            ("in less than a minute".into(), "不到 1 分钟后".into())
        );
        assert_eq!(said(3 * HOUR), ("in 3 h".into(), "3 小时后".into()));
        assert_eq!(said(49 * HOUR), ("in 2 d".into(), "2 天后".into()));
        assert_eq!(said(0), ("just now".into(), "刚刚".into()));
        assert_eq!(
            said(-5 * MINUTE),
            ("5 min ago".into(), "5 分钟前".into()),
            "it is over"
        );
        assert_eq!(until(i64::MIN, i64::MAX, Lang::En), "in 106751991167 d");
    }

    #[test]
    fn spans_have_two_units_at_the_most() {
        let said = |millis| (span(millis, Lang::En), span(millis, Lang::Zh));
        assert_eq!(said(-1), ("0 ms".into(), "0 毫秒".into()));
        assert_eq!(said(1_500), ("1.5 s".into(), "1.5 秒".into()));
        assert_eq!(said(62_000), ("1 min 2 s".into(), "1 分 2 秒".into()));
        assert_eq!(said(2 * HOUR), ("2 h".into(), "2 小时".into()));
        assert_eq!(
            said(3 * DAY + 2 * HOUR + 5),
            ("3 d 2 h".into(), "3 天 2 小时".into())
        );
    }
}
