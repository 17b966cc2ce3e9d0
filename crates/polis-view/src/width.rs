//! Truncation of text by display width, in which Chinese characters take two columns.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Truncates a text to a number of columns; a truncated text ends with an ellipsis.
pub fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let room = columns.saturating_sub(1);
    let mut used = 0;
    let mut kept = String::new();
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        kept.push(c);
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_count_twice() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("设计接口", 8), "设计接口");
        assert_eq!(cut("设计接口", 7), "设计接…");
        assert_eq!(cut("设计接口", 6), "设计…");
        assert_eq!(cut("设计", 0), "");
    }
}
