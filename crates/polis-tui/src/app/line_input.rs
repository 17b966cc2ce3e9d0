//! Single-line text input with a cursor.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Text and cursor position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    text: String,
    /// Byte offset at a character boundary.
    at: usize,
}

impl Line {
    /// Creates a line with this text and the cursor at its end.
    pub fn of(text: &str) -> Self {
        Self {
            at: text.len(),
            text: text.to_owned(),
        }
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Inserts a text at the cursor. Line breaks and tabs become spaces.
    pub fn insert(&mut self, text: &str) {
        for c in text.chars() {
            let c = if c == '\n' || c == '\r' || c == '\t' {
                ' '
            } else {
                c
            };
            if !c.is_control() {
                self.text.insert(self.at, c);
                self.at += c.len_utf8();
            }
        }
    }

    /// Deletes the character before the cursor.
    pub fn backspace(&mut self) {
        if let Some(c) = self.before().chars().next_back() {
            self.at -= c.len_utf8();
            self.text.remove(self.at);
        }
    }

    /// Deletes the character at the cursor.
    pub fn delete(&mut self) {
        if self.at < self.text.len() {
            self.text.remove(self.at);
        }
    }

    /// Deletes the word before the cursor.
    pub fn delete_word(&mut self) {
        let kept = self.before().trim_end();
        let start = kept
            .char_indices()
            .rev()
            .find(|(_, c)| c.is_whitespace())
            .map_or(0, |(at, c)| at + c.len_utf8());
        self.text.replace_range(start..self.at, "");
        self.at = start;
    }

    /// Deletes the whole text.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Moves the cursor one character to the left.
    pub fn left(&mut self) {
        self.at -= self.before().chars().next_back().map_or(0, char::len_utf8);
    }

    /// Moves the cursor one character to the right.
    pub fn right(&mut self) {
        let after = self.text.get(self.at..).unwrap_or_default();
        self.at += after.chars().next().map_or(0, char::len_utf8);
    }

    /// Moves the cursor to the beginning.
    pub fn home(&mut self) {
        self.at = 0;
    }

    /// Moves the cursor to the end.
    pub fn end(&mut self) {
        self.at = self.text.len();
    }

    fn before(&self) -> &str {
        self.text.get(..self.at).unwrap_or_default()
    }

    /// Returns the part of the text that fits into `room` columns with the cursor visible, and the cursor's
    /// column.
    pub fn shown(&self, room: usize) -> (&str, usize) {
        let mut start = 0;
        let mut column = self.before().width();
        // The cursor itself needs a column after the last character.
        while column >= room.max(1) {
            let Some(c) = self.text.get(start..).and_then(|rest| rest.chars().next()) else {
                break;
            };
            start += c.len_utf8();
            column = column.saturating_sub(c.width().unwrap_or(0));
        }
        (self.text.get(start..).unwrap_or_default(), column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_where_the_cursor_is() {
        let mut line = Line::of("实现后端");
        line.left();
        line.backspace();
        line.insert("\n前");
        assert_eq!(line.text(), "实现 前端");
        line.home();
        line.delete();
        line.right();
        line.insert("x");
        assert_eq!(line.text(), "现x 前端");
        line.end();
        line.delete_word();
        assert_eq!(line.text(), "现x ");
        line.delete_word();
        assert_eq!(line.text(), "");
        line.backspace();
        line.delete();
        line.left();
        line.right();
        assert_eq!(line, Line::default());
    }

    #[test]
    fn the_cursor_stays_in_view() {
        let mut line = Line::of("实现后端服务");
        assert_eq!(line.shown(20), ("实现后端服务", 12));
        assert_eq!(line.shown(6), ("端服务".trim_start_matches('端'), 4));
        line.home();
        assert_eq!(line.shown(6), ("实现后端服务", 0));
    }

    #[test]
    fn nothing_typed_drives_the_terminal() {
        let mut line = Line::default();
        line.insert("a\u{1b}[2Jb\u{7}");
        assert_eq!(line.text(), "a[2Jb");
    }
}
