//! Text that may come from anywhere, made fit for a terminal: unable to drive it.

use polis_core::task::text::turns_text;

/// A line of text that may come from anywhere, made safe for a terminal.
pub fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if drives(c) { '�' } else { c })
        .collect()
}

/// The same for text of several lines.
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

/// Whether a character does something to a terminal instead of standing there.
fn drives(c: char) -> bool {
    c.is_control() || turns_text(c)
}

/// The same on one line, whatever lines it came in.
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
