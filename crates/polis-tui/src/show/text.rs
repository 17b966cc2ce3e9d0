//! Builder for pages of text: headings, labelled values, wrapped text, Markdown and verbatim text.

use polis_view::markdown::{self, Look};
use polis_view::style::{Style, StyledLines, Styles};
use polis_view::terminal::{clean, clean_lines, one_line};
use polis_view::wrap::{self, Room};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Replacement of a tab.
const TAB: &str = "    ";

/// A page of text under construction.
#[derive(Debug)]
pub struct Writer {
    lines: StyledLines,
    width: usize,
}

impl Writer {
    /// Creates an empty page of this width.
    pub fn new(width: usize) -> Self {
        Self {
            lines: StyledLines::default(),
            width: width.max(20),
        }
    }

    /// Returns the finished page.
    pub fn finish(self) -> StyledLines {
        self.lines
    }

    /// Adds an empty line.
    pub fn gap(&mut self) {
        self.lines.end_line();
    }

    /// Adds a heading, separated from the lines above it.
    pub fn heading(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.gap();
        }
        self.lines
            .push(&clean(text), Styles::from(Style::Bold).with(Style::Cyan));
        self.lines.end_line();
    }

    /// Adds a label and its value.
    pub fn fact(&mut self, name: &str, value: &str, styles: impl Into<Styles>) {
        let name = format!("{name}: ");
        let indent = name.width().min(self.width / 2);
        self.lines.push(&name, Style::Dim.into());
        let room = Room {
            first: self.width.saturating_sub(name.width()).max(8),
            rest: self.width.saturating_sub(indent).max(8),
            cut_words: true,
        };
        let styles = styles.into();
        let value = one_line(value);
        let mut first = true;
        for part in wrap::lines(&value, room) {
            if !first {
                self.lines.push(&" ".repeat(indent), Styles::NONE);
            }
            first = false;
            self.lines.push(value.get(part).unwrap_or_default(), styles);
            self.lines.end_line();
        }
        if first {
            self.lines.end_line();
        }
    }

    /// Adds wrapped text.
    pub fn words(&mut self, text: &str, styles: impl Into<Styles>) {
        self.indented(text, "", styles);
    }

    /// Adds wrapped text with an indent.
    pub fn indented(&mut self, text: &str, indent: &str, styles: impl Into<Styles>) {
        let styles = styles.into();
        let columns = self.width.saturating_sub(indent.width()).max(8);
        let room = Room {
            first: columns,
            rest: columns,
            cut_words: true,
        };
        for line in clean_lines(text).lines() {
            let line = line.replace('\t', TAB);
            if line.trim().is_empty() {
                self.gap();
            }
            for part in wrap::lines(&line, room) {
                self.lines.push(indent, Styles::NONE);
                self.lines.push(line.get(part).unwrap_or_default(), styles);
                self.lines.end_line();
            }
        }
    }

    /// Adds rendered Markdown.
    pub fn markdown(&mut self, text: &str) {
        let look = Look {
            width: self.width,
            colour: true,
        };
        self.extend(&markdown::render(text, &look));
    }

    /// Adds existing lines.
    pub fn extend(&mut self, lines: &StyledLines) {
        for n in 0..lines.len() {
            for (styles, text) in lines.line(n) {
                self.lines.push(text, styles);
            }
            self.lines.end_line();
        }
    }

    /// Adds a text verbatim, truncated at the page width.
    pub fn verbatim(&mut self, text: &str, styles: impl Into<Styles>) {
        let styles = styles.into();
        for line in clean_lines(text).lines() {
            self.pieces([(styles, line)]);
        }
    }

    /// Adds one line in styled pieces, verbatim, truncated at the page width.
    pub fn pieces<'a>(&mut self, pieces: impl IntoIterator<Item = (Styles, &'a str)>) {
        let mut column = 0;
        for (styles, text) in pieces {
            let text = text.replace('\t', TAB);
            let mut start = 0;
            for (at, c) in text.char_indices() {
                let columns = c.width().unwrap_or(0);
                if column + columns > self.width {
                    self.lines
                        .push(text.get(start..at).unwrap_or_default(), styles);
                    self.lines.end_line();
                    (start, column) = (at, 0);
                }
                column += columns;
            }
            self.lines
                .push(text.get(start..).unwrap_or_default(), styles);
        }
        self.lines.end_line();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_as_it_is_is_cut_at_whole_characters() {
        let mut page = Writer::new(20);
        page.verbatim("\t后端实现后端实现后端\u{1b}[2J\n\nx", Styles::NONE);
        assert_eq!(
            page.finish().paint(false),
            "    后端实现后端实现\n后端�[2J\n\nx\n"
        );
    }

    #[test]
    fn facts_hang_behind_their_name() {
        let mut page = Writer::new(24);
        page.fact("Role", "one two three four five", Styles::NONE);
        page.fact("Owner", "", Styles::NONE);
        assert_eq!(
            page.finish().paint(false),
            "Role: one two three four\n      five\nOwner: \n"
        );
    }
}
