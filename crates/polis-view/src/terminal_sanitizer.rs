//! Sanitizes untrusted text for a terminal: replaces control characters (so also escape sequences), Unicode
//! line separators, and bidirectional embeddings, overrides and isolates with U+FFFD.

use polis_core::task::text_limits::is_separator_or_bidi_control;

/// Sanitizes a single line. Line breaks and tabs are replaced by U+FFFD, too.
pub fn sanitize_line(text: &str) -> String {
    text.chars()
        .map(|c| if is_terminal_control(c) { '�' } else { c })
        .collect()
}

/// Sanitizes a text of several lines. Tabs and line breaks are kept; CRLF becomes LF.
pub fn sanitize_lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars()
        .map(|c| {
            if is_terminal_control(c) && c != '\n' && c != '\t' {
                '�'
            } else {
                c
            }
        })
        .collect()
}

/// Returns whether a character controls the terminal instead of being displayed.
fn is_terminal_control(c: char) -> bool {
    c.is_control() || is_separator_or_bidi_control(c)
}

/// Sanitizes a text and makes it one line: line breaks and tabs become spaces.
pub fn sanitize_to_one_line(text: &str) -> String {
    sanitize_lines(text).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(sanitize_line("a\u{1b}[2Jb\nc"), "a�[2Jb�c");
        assert_eq!(sanitize_lines("a\u{1b}[2Jb\r\n\tc"), "a�[2Jb\n\tc");
    }

    #[test]
    fn line_breaks_of_any_kind_become_spaces() {
        assert_eq!(sanitize_to_one_line("a\r\nb\nc\td\u{7}"), "a b c d�");
    }
}
