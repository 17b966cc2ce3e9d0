//! Single-line text input: the text, the cursor, edits, and the part that is visible at a given width.
//!
//! `input_form` maps keys to edits, `draw_overlay` draws it. Line breaks and tabs become spaces, and other
//! control characters are dropped.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Text and cursor position.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineInput {
    text: String,
    /// Byte offset at a character boundary.
    cursor: usize,
}

impl LineInput {
    /// Creates a line with this text and the cursor at its end.
    pub fn with_text(text: &str) -> Self {
        Self {
            cursor: text.len(),
            text: text.to_owned(),
        }
    }

    /// Returns the whole text of the input.
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
                self.text.insert(self.cursor, c);
                self.cursor += c.len_utf8();
            }
        }
    }

    /// Deletes the character before the cursor.
    pub fn backspace(&mut self) {
        if let Some(c) = self.text_before_cursor().chars().next_back() {
            self.cursor -= c.len_utf8();
            self.text.remove(self.cursor);
        }
    }

    /// Deletes the character at the cursor.
    pub fn delete_forward(&mut self) {
        if self.cursor < self.text.len() {
            self.text.remove(self.cursor);
        }
    }

    /// Deletes the word before the cursor.
    pub fn delete_word(&mut self) {
        let trimmed = self.text_before_cursor().trim_end();
        let start = trimmed
            .char_indices()
            .rev()
            .find(|(_, c)| c.is_whitespace())
            .map_or(0, |(at, c)| at + c.len_utf8());
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }

    /// Deletes the whole text.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Moves the cursor one character to the left.
    pub fn move_left(&mut self) {
        self.cursor -= self
            .text_before_cursor()
            .chars()
            .next_back()
            .map_or(0, char::len_utf8);
    }

    /// Moves the cursor one character to the right.
    pub fn move_right(&mut self) {
        let after = self.text.get(self.cursor..).unwrap_or_default();
        self.cursor += after.chars().next().map_or(0, char::len_utf8);
    }

    /// Moves the cursor to the beginning.
    pub fn move_to_start(&mut self) {
        self.cursor = 0;
    }

    /// Moves the cursor to the end.
    pub fn move_to_end(&mut self) {
        self.cursor = self.text.len();
    }

    fn text_before_cursor(&self) -> &str {
        self.text.get(..self.cursor).unwrap_or_default()
    }

    /// Returns the part of the text to draw into `width` columns so that the cursor is visible, and the
    /// cursor's column. The end of the part may not fit.
    pub fn visible_part(&self, width: usize) -> (&str, usize) {
        let mut start = 0;
        let mut column = self.text_before_cursor().width();
        // The cursor itself needs a column after the last character.
        while column >= width.max(1) {
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
    fn edits_apply_at_the_cursor() {
        let mut line = LineInput::with_text("实现后端");
        line.move_left();
        line.backspace();
        line.insert("\n前");
        assert_eq!(line.text(), "实现 前端");
        line.move_to_start();
        line.delete_forward();
        line.move_right();
        line.insert("x");
        assert_eq!(line.text(), "现x 前端");
        line.move_to_end();
        line.delete_word();
        assert_eq!(line.text(), "现x ");
        line.delete_word();
        assert_eq!(line.text(), "");
        line.backspace();
        line.delete_forward();
        line.move_left();
        line.move_right();
        assert_eq!(line, LineInput::default());
    }

    #[test]
    fn cursor_stays_visible() {
        let mut line = LineInput::with_text("实现后端服务");
        assert_eq!(line.visible_part(20), ("实现后端服务", 12));
        assert_eq!(line.visible_part(6), ("端服务".trim_start_matches('端'), 4));
        line.move_to_start();
        assert_eq!(line.visible_part(6), ("实现后端服务", 0));
    }

    #[test]
    fn control_characters_are_not_inserted() {
        let mut line = LineInput::default();
        line.insert("a\u{1b}[2Jb\u{7}");
        assert_eq!(line.text(), "a[2Jb");
    }
}
