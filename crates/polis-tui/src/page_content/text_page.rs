//! Builder for pages of text ([`TextPageBuilder`]): headings, labelled values, wrapped text, Markdown and
//! verbatim text.

use polis_i18n::{UiLanguage, msg};
use polis_view::line_wrap::{self, WrapWidth};
use polis_view::markdown::{self, RenderOptions};
use polis_view::style::{StyleSet, StyledLines, TextStyle};
use polis_view::terminal_sanitizer::{sanitize_line, sanitize_lines, sanitize_to_one_line};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Replacement of a tab.
const TAB_SPACES: &str = "    ";

/// A page of text under construction.
#[derive(Debug)]
pub struct TextPageBuilder {
    lines: StyledLines,
    width: usize,
    lang: UiLanguage,
}

impl TextPageBuilder {
    /// Creates an empty page that is `width` columns wide, but at least 20.
    pub fn new(width: usize, lang: UiLanguage) -> Self {
        Self {
            lines: StyledLines::default(),
            width: width.max(20),
            lang,
        }
    }

    /// Returns the finished page.
    pub fn finish(self) -> StyledLines {
        self.lines
    }

    /// Adds an empty line.
    pub fn blank_line(&mut self) {
        self.lines.end_line();
    }

    /// Adds a heading, separated from the lines above it.
    pub fn heading(&mut self, text: &str) {
        if !self.lines.is_empty() {
            self.blank_line();
        }
        self.lines.push(
            &sanitize_line(text),
            StyleSet::from(TextStyle::Bold).with_style(TextStyle::Cyan),
        );
        self.lines.end_line();
    }

    /// Adds a label and its value.
    pub fn labelled_value(&mut self, name: &str, value: &str, styles: impl Into<StyleSet>) {
        let name = msg::tui_field_label(self.lang, name);
        let indent = name.width().min(self.width / 2);
        self.lines.push(&name, TextStyle::Dim.into());
        let width = WrapWidth {
            first_line: self.width.saturating_sub(name.width()).max(8),
            other_lines: self.width.saturating_sub(indent).max(8),
            split_words: true,
        };
        let styles = styles.into();
        let value = sanitize_to_one_line(value);
        let mut first = true;
        for part in line_wrap::wrap_lines(&value, width) {
            if !first {
                self.lines.push(&" ".repeat(indent), StyleSet::NONE);
            }
            first = false;
            self.lines.push(value.get(part).unwrap_or_default(), styles);
            self.lines.end_line();
        }
        if first {
            self.lines.end_line();
        }
    }

    /// Adds text wrapped to the page width.
    pub fn paragraph(&mut self, text: &str, styles: impl Into<StyleSet>) {
        self.indented_paragraph(text, "", styles);
    }

    /// Adds wrapped text with an indent.
    pub fn indented_paragraph(&mut self, text: &str, indent: &str, styles: impl Into<StyleSet>) {
        let styles = styles.into();
        let columns = self.width.saturating_sub(indent.width()).max(8);
        let width = WrapWidth {
            first_line: columns,
            other_lines: columns,
            split_words: true,
        };
        for line in sanitize_lines(text).lines() {
            let line = line.replace('\t', TAB_SPACES);
            if line.trim().is_empty() {
                self.blank_line();
            }
            for part in line_wrap::wrap_lines(&line, width) {
                self.lines.push(indent, StyleSet::NONE);
                self.lines.push(line.get(part).unwrap_or_default(), styles);
                self.lines.end_line();
            }
        }
    }

    /// Renders Markdown and adds its lines.
    pub fn markdown(&mut self, text: &str) {
        let options = RenderOptions {
            width: self.width,
            colour: true,
        };
        self.append_lines(&markdown::render_markdown(text, &options));
    }

    /// Adds lines that are rendered already.
    pub fn append_lines(&mut self, lines: &StyledLines) {
        for n in 0..lines.len() {
            for (styles, text) in lines.line_spans(n) {
                self.lines.push(text, styles);
            }
            self.lines.end_line();
        }
    }

    /// Adds a text verbatim. Lines longer than the page width continue on the next line.
    pub fn verbatim_lines(&mut self, text: &str, styles: impl Into<StyleSet>) {
        let styles = styles.into();
        for line in sanitize_lines(text).lines() {
            self.styled_line([(styles, line)]);
        }
    }

    /// Adds one line in styled pieces, verbatim. A line longer than the page width continues on the next
    /// line.
    pub fn styled_line<'a>(&mut self, pieces: impl IntoIterator<Item = (StyleSet, &'a str)>) {
        let mut column = 0;
        for (styles, text) in pieces {
            let text = text.replace('\t', TAB_SPACES);
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
    fn verbatim_text_wraps_at_whole_characters() {
        let mut page = TextPageBuilder::new(20, UiLanguage::En);
        page.verbatim_lines("\t后端实现后端实现后端\u{1b}[2J\n\nx", StyleSet::NONE);
        assert_eq!(
            page.finish().to_ansi_text(false),
            "    后端实现后端实现\n后端�[2J\n\nx\n"
        );
    }

    #[test]
    fn labels_end_with_the_colon_of_the_language() {
        let mut page = TextPageBuilder::new(24, UiLanguage::Zh);
        page.labelled_value("角色", "lead", StyleSet::NONE);
        assert_eq!(page.finish().to_ansi_text(false), "角色：lead\n");
    }

    #[test]
    fn labelled_value_is_indented_below_its_label() {
        let mut page = TextPageBuilder::new(24, UiLanguage::En);
        page.labelled_value("Role", "one two three four five", StyleSet::NONE);
        page.labelled_value("Owner", "", StyleSet::NONE);
        assert_eq!(
            page.finish().to_ansi_text(false),
            "Role: one two three four\n      five\nOwner: \n"
        );
    }
}
