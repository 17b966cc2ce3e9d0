//! Truncation and padding of text by display width, in which Chinese characters take two columns. Used for
//! terminal output and, to shorten texts, in the web interface.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Truncates a text to a number of columns; a truncated text ends with an ellipsis.
pub fn truncate_to_width(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let room = columns.saturating_sub(1);
    let mut used = 0;
    let mut truncated = String::new();
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > room {
            break;
        }
        truncated.push(c);
    }
    truncated.truncate(truncated.trim_end().len());
    truncated.push('…');
    truncated
}

/// Appends spaces to a text up to a number of columns. A wider text is returned unchanged.
pub fn pad_to_width(text: &str, columns: usize) -> String {
    let mut padded = text.to_owned();
    padded.extend(std::iter::repeat_n(
        ' ',
        columns.saturating_sub(text.width()),
    ));
    padded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(truncate_to_width("abcdef", 6), "abcdef");
        assert_eq!(truncate_to_width("abcdefg", 6), "abcde…");
        assert_eq!(truncate_to_width("设计接口", 8), "设计接口");
        assert_eq!(truncate_to_width("设计接口", 7), "设计接…");
        assert_eq!(truncate_to_width("设计接口", 6), "设计…");
        assert_eq!(truncate_to_width("设计", 0), "");
    }

    #[test]
    fn padding_counts_columns() {
        assert_eq!(pad_to_width("ab", 4), "ab  ");
        assert_eq!(pad_to_width("设", 4), "设  ");
        assert_eq!(pad_to_width("设计接口", 4), "设计接口");
    }
}
