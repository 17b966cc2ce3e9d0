//! Text with styles: one string, and which part of it looks how.

use std::ops::Range;

use crate::output::Style;

/// Several styles at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Styles(u16);

impl Styles {
    pub(super) const NONE: Self = Self(0);

    pub(super) fn with(self, style: Style) -> Self {
        Self(self.0 | bit(style))
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Style> {
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
#[derive(Debug, Default)]
pub(super) struct Styled {
    text: String,
    runs: Vec<Run>,
}

/// The styles of the text from the end of the run before to the end of this one.
#[derive(Debug)]
struct Run {
    end: usize,
    styles: Styles,
}

impl Styled {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.runs.clear();
    }

    pub(super) fn push(&mut self, text: &str, styles: Styles) {
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
    pub(super) fn push_part(&mut self, other: &Self, part: Range<usize>) {
        for (styles, text) in other.spans(part) {
            self.push(text, styles);
        }
    }

    /// Takes the end of the text off.
    pub(super) fn truncate(&mut self, len: usize) {
        self.text.truncate(len);
        let kept = self.runs.partition_point(|run| run.end < len);
        self.runs.truncate(kept + 1);
        if let Some(last) = self.runs.last_mut() {
            last.end = last.end.min(len);
        }
    }

    /// A part of the text, piece by piece in its styles.
    pub(super) fn spans(&self, part: Range<usize>) -> impl Iterator<Item = (Styles, &str)> {
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
}
