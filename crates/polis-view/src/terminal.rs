//! Text that may come from anywhere, made fit for a terminal: unable to drive it, and no wider than its place.

use polis_core::task::text::turns_text;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

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

/// Text cut to so many columns, with a mark where it was cut.
pub fn fit(text: &str, room: usize) -> String {
    if text.width() <= room {
        return text.to_owned();
    }
    let mut used = 1;
    let mut cut: String = text
        .chars()
        .take_while(|c| {
            used += c.width().unwrap_or(0);
            used <= room
        })
        .collect();
    cut.push('…');
    cut
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
    fn wide_characters_are_never_cut_in_half() {
        assert_eq!(fit("后端实现", 8), "后端实现");
        assert_eq!(fit("后端实现", 7), "后端实…");
        assert_eq!(fit("后端实现", 6), "后端…");
    }
}
