//! Styled text for terminals: one string with a set of styles per range, and its output as ANSI escape
//! sequences.
//!
//! Styles are attributes such as bold, and four of the terminal's standard colours. The terminal decides
//! their exact appearance.

use std::fmt::Write as _;
use std::ops::Range;

/// A terminal text style: an attribute or a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextStyle {
    /// Bold.
    Bold,
    /// Dimmed.
    Dim,
    /// Italic.
    Italic,
    /// Underlined.
    Underline,
    /// Struck out.
    Strike,
    /// Green: success.
    Green,
    /// Yellow: needs attention.
    Yellow,
    /// Red: failure.
    Red,
    /// Cyan: highlighted.
    Cyan,
}

impl TextStyle {
    fn ansi_code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Italic => "3",
            Self::Underline => "4",
            Self::Strike => "9",
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Cyan => "36",
        }
    }
}

/// Appends text with these styles as ANSI escape sequences, and resets them at the end.
pub fn push_ansi(page: &mut String, styles: impl IntoIterator<Item = TextStyle>, text: &str) {
    let mut styled = false;
    for style in styles {
        page.push_str(if styled { ";" } else { "\x1b[" });
        page.push_str(style.ansi_code());
        styled = true;
    }
    if styled {
        let _ = write!(page, "m{text}\x1b[0m");
    } else {
        page.push_str(text);
    }
}

/// A set of styles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StyleSet(u16);

impl StyleSet {
    /// The empty set: plain text.
    pub const NONE: Self = Self(0);

    /// Returns the set with another style added.
    pub fn with_style(self, style: TextStyle) -> Self {
        Self(self.0 | style_bit(style))
    }

    /// Iterates over the styles in the set.
    pub fn iter(self) -> impl Iterator<Item = TextStyle> {
        [
            TextStyle::Bold,
            TextStyle::Dim,
            TextStyle::Italic,
            TextStyle::Underline,
            TextStyle::Strike,
            TextStyle::Green,
            TextStyle::Yellow,
            TextStyle::Red,
            TextStyle::Cyan,
        ]
        .into_iter()
        .filter(move |style| self.0 & style_bit(*style) != 0)
    }
}

impl From<TextStyle> for StyleSet {
    fn from(style: TextStyle) -> Self {
        Self(style_bit(style))
    }
}

fn style_bit(style: TextStyle) -> u16 {
    1 << style as u16
}

/// A string with a set of styles per range.
#[derive(Debug, Clone, Default)]
pub struct StyledString {
    text: String,
    runs: Vec<StyleRun>,
}

/// Styles of the text from the end of the previous run to `end`.
#[derive(Debug, Clone)]
struct StyleRun {
    end: usize,
    styles: StyleSet,
}

impl StyledString {
    /// Returns the text without styles.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Removes all text.
    pub fn clear(&mut self) {
        self.text.clear();
        self.runs.clear();
    }

    /// Appends text with these styles.
    pub fn push(&mut self, text: &str, styles: StyleSet) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        let end = self.text.len();
        match self.runs.last_mut() {
            Some(last) if last.styles == styles => last.end = end,
            _ => self.runs.push(StyleRun { end, styles }),
        }
    }

    /// Appends a range of another text, with its styles.
    pub fn push_part(&mut self, other: &Self, part: Range<usize>) {
        for (styles, text) in other.spans(part) {
            self.push(text, styles);
        }
    }

    /// Truncates the text to `len` bytes.
    pub fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        let run_count = self.runs.partition_point(|run| run.end < len);
        self.runs.truncate(run_count + 1);
        if let Some(last) = self.runs.last_mut() {
            last.end = last.end.min(len);
        }
    }

    /// Returns a range of the text as pieces with uniform styles.
    pub fn spans(&self, part: Range<usize>) -> impl Iterator<Item = (StyleSet, &str)> {
        let first = self.runs.partition_point(|run| run.end <= part.start);
        let mut start = part.start;
        let runs = self.runs.get(first..).unwrap_or_default();
        runs.iter().map_while(move |run| {
            let end = run.end.min(part.end);
            let piece = self
                .text
                .get(start..end)
                .filter(|piece| !piece.is_empty())?;
            start = end;
            Some((run.styles, piece))
        })
    }
}

/// Styled lines in one string: a page may have millions of them.
#[derive(Debug, Clone, Default)]
pub struct StyledLines {
    text: StyledString,
    /// End offset of each line.
    ends: Vec<usize>,
}

impl StyledLines {
    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns a line as pieces with uniform styles; nothing if it does not exist.
    pub fn line_spans(&self, n: usize) -> impl Iterator<Item = (StyleSet, &str)> {
        self.text.spans(self.line_range(n))
    }

    /// Returns a line without styles.
    pub fn plain_line(&self, n: usize) -> &str {
        self.text.text().get(self.line_range(n)).unwrap_or_default()
    }

    fn line_range(&self, n: usize) -> Range<usize> {
        let end = self.ends.get(n).copied().unwrap_or_default();
        let before = n.checked_sub(1).and_then(|before| self.ends.get(before));
        before.copied().unwrap_or_default().min(end)..end
    }

    /// Appends to the current line.
    pub fn push(&mut self, text: &str, styles: StyleSet) {
        self.text.push(text, styles);
    }

    /// Ends the current line.
    pub fn end_line(&mut self) {
        self.ends.push(self.text.len());
    }

    /// Removes trailing spaces from the current line.
    pub fn trim_line(&mut self) {
        let start = self.ends.last().copied().unwrap_or_default();
        let line = self.text.text().get(start..).unwrap_or_default();
        let end = start + line.trim_end_matches(' ').len();
        self.text.truncate(end);
    }

    /// Removes the last line.
    pub fn pop_line(&mut self) {
        if self.ends.pop().is_some() {
            self.text
                .truncate(self.ends.last().copied().unwrap_or_default());
        }
    }

    /// Returns all lines as one text with line breaks, with ANSI escape sequences if `colour` is set.
    pub fn to_ansi_text(&self, colour: bool) -> String {
        let mut page = String::with_capacity(self.text.len() + self.ends.len());
        for n in 0..self.len() {
            for (styles, text) in self.line_spans(n) {
                if colour {
                    push_ansi(&mut page, styles.iter(), text);
                } else {
                    page.push_str(text);
                }
            }
            page.push('\n');
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn range_keeps_its_styles() {
        let mut text = StyledString::default();
        text.push("ab", StyleSet::NONE);
        text.push("", TextStyle::Dim.into());
        text.push("cd", TextStyle::Bold.into());
        text.push("ef", TextStyle::Bold.into());
        text.push("gh", StyleSet::NONE);
        let part: Vec<_> = text.spans(1..5).collect();
        assert_eq!(
            part,
            [(StyleSet::NONE, "b"), (TextStyle::Bold.into(), "cde")]
        );
        text.truncate(3);
        let all: Vec<_> = text.spans(0..text.len()).collect();
        assert_eq!(all, [(StyleSet::NONE, "ab"), (TextStyle::Bold.into(), "c")]);
    }

    #[test]
    fn lines_are_read_by_index() {
        let mut lines = StyledLines::default();
        lines.push("a ", TextStyle::Dim.into());
        lines.trim_line();
        lines.end_line();
        lines.end_line();
        lines.push("b", StyleSet::NONE);
        lines.end_line();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines.plain_line(0), "a");
        assert_eq!(lines.line_spans(1).count(), 0);
        assert_eq!(
            lines.line_spans(2).collect::<Vec<_>>(),
            [(StyleSet::NONE, "b")]
        );
        assert_eq!(lines.line_spans(3).count(), 0);
        assert_eq!(lines.to_ansi_text(true), "\x1b[2ma\x1b[0m\n\nb\n");
        lines.pop_line();
        assert_eq!(lines.to_ansi_text(false), "a\n\n");
    }
}
