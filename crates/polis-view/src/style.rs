//! Styled text: one string with a style per range. The styles use the 16 standard terminal colours; the
//! terminal decides their exact appearance.

use std::fmt::Write as _;
use std::ops::Range;

/// A text style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
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

impl Style {
    fn code(self) -> &'static str {
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
pub fn paint_onto(page: &mut String, styles: impl IntoIterator<Item = Style>, text: &str) {
    let mut styled = false;
    for style in styles {
        page.push_str(if styled { ";" } else { "\x1b[" });
        page.push_str(style.code());
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
pub struct Styles(u16);

impl Styles {
    /// No styles.
    pub const NONE: Self = Self(0);

    /// Returns the set with another style added.
    pub fn with(self, style: Style) -> Self {
        Self(self.0 | bit(style))
    }

    /// Iterates over the styles in the set.
    pub fn iter(self) -> impl Iterator<Item = Style> {
        [
            Style::Bold,
            Style::Dim,
            Style::Italic,
            Style::Underline,
            Style::Strike,
            Style::Green,
            Style::Yellow,
            Style::Red,
            Style::Cyan,
        ]
        .into_iter()
        .filter(move |style| self.0 & bit(*style) != 0)
    }
}

impl From<Style> for Styles {
    fn from(style: Style) -> Self {
        Self(bit(style))
    }
}

fn bit(style: Style) -> u16 {
    1 << style as u16
}

/// A string with styles.
#[derive(Debug, Clone, Default)]
pub struct Styled {
    text: String,
    runs: Vec<Run>,
}

/// Styles of the text from the end of the previous run to `end`.
#[derive(Debug, Clone)]
struct Run {
    end: usize,
    styles: Styles,
}

impl Styled {
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
    pub fn push(&mut self, text: &str, styles: Styles) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        let end = self.text.len();
        match self.runs.last_mut() {
            Some(last) if last.styles == styles => last.end = end,
            _ => self.runs.push(Run { end, styles }),
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
        let kept = self.runs.partition_point(|run| run.end < len);
        self.runs.truncate(kept + 1);
        if let Some(last) = self.runs.last_mut() {
            last.end = last.end.min(len);
        }
    }

    /// Returns a range of the text as pieces with uniform styles.
    pub fn spans(&self, part: Range<usize>) -> impl Iterator<Item = (Styles, &str)> {
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
    text: Styled,
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
    pub fn line(&self, n: usize) -> impl Iterator<Item = (Styles, &str)> {
        self.text.spans(self.range(n))
    }

    /// Returns a line without styles.
    pub fn plain(&self, n: usize) -> &str {
        self.text.text().get(self.range(n)).unwrap_or_default()
    }

    fn range(&self, n: usize) -> Range<usize> {
        let end = self.ends.get(n).copied().unwrap_or_default();
        let before = n.checked_sub(1).and_then(|before| self.ends.get(before));
        before.copied().unwrap_or_default().min(end)..end
    }

    /// Appends to the current line.
    pub fn push(&mut self, text: &str, styles: Styles) {
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
    pub fn paint(&self, colour: bool) -> String {
        let mut page = String::with_capacity(self.text.len() + self.ends.len());
        for n in 0..self.len() {
            for (styles, text) in self.line(n) {
                if colour {
                    paint_onto(&mut page, styles.iter(), text);
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
    fn a_part_keeps_its_styles() {
        let mut text = Styled::default();
        text.push("ab", Styles::NONE);
        text.push("", Style::Dim.into());
        text.push("cd", Style::Bold.into());
        text.push("ef", Style::Bold.into());
        text.push("gh", Styles::NONE);
        let part: Vec<_> = text.spans(1..5).collect();
        assert_eq!(part, [(Styles::NONE, "b"), (Style::Bold.into(), "cde")]);
        text.truncate(3);
        let all: Vec<_> = text.spans(0..text.len()).collect();
        assert_eq!(all, [(Styles::NONE, "ab"), (Style::Bold.into(), "c")]);
    }

    #[test]
    fn lines_are_read_one_by_one() {
        let mut lines = StyledLines::default();
        lines.push("a ", Style::Dim.into());
        lines.trim_line();
        lines.end_line();
        lines.end_line();
        lines.push("b", Styles::NONE);
        lines.end_line();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines.plain(0), "a");
        assert_eq!(lines.line(1).count(), 0);
        assert_eq!(lines.line(2).collect::<Vec<_>>(), [(Styles::NONE, "b")]);
        assert_eq!(lines.line(3).count(), 0);
        assert_eq!(lines.paint(true), "\x1b[2ma\x1b[0m\n\nb\n");
        lines.pop_line();
        assert_eq!(lines.paint(false), "a\n\n");
    }
}
