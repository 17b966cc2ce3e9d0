//! Sanitizes untrusted text for a terminal: replaces control characters, Unicode line separators and
//! bidirectional controls.

use polis_core::task::text::turns_text;

/// Sanitizes a single line. Line breaks and tabs are replaced, too.
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if drives(c) { '�' } else { c })
        .collect()
}

/// Sanitizes a text of several lines. Line breaks and tabs are kept.
pub fn clean_lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    text.chars()
        .map(|c| {
            if drives(c) && c != '\n' && c != '\t' {
                '�'
            } else {
                c
            }
        })
        .collect()
}

/// Returns whether a character controls the terminal instead of being displayed.
fn drives(c: char) -> bool {
    c.is_control() || turns_text(c)
}

/// Sanitizes a text and joins its lines with spaces.
pub fn one_line(text: &str) -> String {
    clean_lines(text).replace(['\n', '\t'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_drives_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\nc"), "a�[2Jb�c");
        assert_eq!(clean_lines("a\u{1b}[2Jb\r\n\tc"), "a�[2Jb\n\tc");
    }

    #[test]
    fn lines_of_any_kind_become_one() {
        assert_eq!(one_line("a\r\nb\nc\td\u{7}"), "a b c d�");
    }
}
