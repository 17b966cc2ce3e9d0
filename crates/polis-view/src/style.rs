//! Text with styles: one string, and which part of it looks how. Which colour a style is belongs to the
//! terminal; the names are those of the sixteen every terminal has.

use std::fmt::Write as _;
use std::ops::Range;

/// How text stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Heavier.
    Bold,
    /// Fainter.
    Dim,
    /// Slanted.
    Italic,
    /// With a line below.
    Underline,
    /// With a line through it.
    Strike,
    /// What is well.
    Green,
    /// What needs a look.
    Yellow,
    /// What went wrong.
    Red,
    /// What is set apart.
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

/// Adds text in all these styles, as escape sequences; nothing of them reaches what follows.
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

/// Several styles at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Styles(u16);

impl Styles {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// These and another one.
    pub fn with(self, style: Style) -> Self {
        Self(self.0 | bit(style))
    }

    /// Each of them.
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

/// Text with styles.
#[derive(Debug, Clone, Default)]
pub struct Styled {
    text: String,
    runs: Vec<Run>,
}

/// The styles of the text from the end of the run before to the end of this one.
#[derive(Debug, Clone)]
struct Run {
    end: usize,
    styles: Styles,
}

impl Styled {
    /// The text alone.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes all of it away.
    pub fn clear(&mut self) {
        self.text.clear();
        self.runs.clear();
    }

    /// Adds text in these styles.
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

    /// Adds a part of another text, in its styles.
    pub fn push_part(&mut self, other: &Self, part: Range<usize>) {
        for (styles, text) in other.spans(part) {
            self.push(text, styles);
        }
    }

    /// Takes the end of the text off.
    pub fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        let kept = self.runs.partition_point(|run| run.end < len);
        self.runs.truncate(kept + 1);
        if let Some(last) = self.runs.last_mut() {
            last.end = last.end.min(len);
        }
    }

    /// A part of the text, piece by piece in its styles.
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

/// Lines of text with styles, all in one string: a page may have millions of them.
#[derive(Debug, Clone, Default)]
pub struct StyledLines {
    text: Styled,
    /// Where each line ends.
    ends: Vec<usize>,
}

impl StyledLines {
    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A line, piece by piece in its styles; nothing for one that is not there.
    pub fn line(&self, n: usize) -> impl Iterator<Item = (Styles, &str)> {
        self.text.spans(self.range(n))
    }

    /// A line without its styles.
    pub fn plain(&self, n: usize) -> &str {
        self.text.text().get(self.range(n)).unwrap_or_default()
    }

    fn range(&self, n: usize) -> Range<usize> {
        let end = self.ends.get(n).copied().unwrap_or_default();
        let before = n.checked_sub(1).and_then(|before| self.ends.get(before));
        before.copied().unwrap_or_default().min(end)..end
    }

    /// Adds to the line that is being written.
    pub fn push(&mut self, text: &str, styles: Styles) {
        self.text.push(text, styles);
    }

    /// Ends the line that is being written.
    pub fn end_line(&mut self) {
        self.ends.push(self.text.len());
    }

    /// Takes blanks off the end of the line that is being written.
    pub fn trim_line(&mut self) {
        let start = self.ends.last().copied().unwrap_or_default();
        let line = self.text.text().get(start..).unwrap_or_default();
        let end = start + line.trim_end_matches(' ').len();
        self.text.truncate(end);
    }

    /// Takes the last line away.
    pub fn pop_line(&mut self) {
        if self.ends.pop().is_some() {
            self.text
                .truncate(self.ends.last().copied().unwrap_or_default());
        }
    }

    /// All of it as one text, in escape sequences if there are colours, each line ended.
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
