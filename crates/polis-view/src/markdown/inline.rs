//! Collects the inline content of a paragraph, heading or cell: emphasis, code, links, images.

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::style::{Style, Styled, Styles};
use crate::terminal::{clean, clean_lines, one_line};
use crate::wrap::is_wide;

const IMAGE: &str = "[image: ";

/// Text of a block while it is collected.
#[derive(Debug)]
pub(super) struct Inline {
    text: Styled,
    colour: bool,
    /// Styles of the whole block.
    base: Styles,
    bold: usize,
    italic: usize,
    strike: usize,
    links: Vec<Link>,
    /// Whether the source had a line break here (soft break).
    line_ended: bool,
}

/// A link whose text is being collected.
#[derive(Debug)]
struct Link {
    start: usize,
    url: String,
}

impl Inline {
    pub(super) fn new(colour: bool) -> Self {
        Self {
            text: Styled::default(),
            colour,
            base: Styles::NONE,
            bold: 0,
            italic: 0,
            strike: 0,
            links: Vec::new(),
            line_ended: false,
        }
    }

    pub(super) fn text(&self) -> &Styled {
        &self.text
    }

    /// Starts the text of another block.
    pub(super) fn clear(&mut self, base: Styles) {
        self.text.clear();
        self.base = base;
        self.line_ended = false;
    }

    /// Starts another text of the same block.
    pub(super) fn clear_text(&mut self) {
        self.clear(self.base);
    }

    /// Handles inline events and ignores all others.
    pub(super) fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(*tag),
            Event::Text(text) => self.push(&one_line(text), self.styles()),
            Event::Code(code) => {
                let code = format!("`{}`", one_line(code));
                self.push(&code, self.styles().with(Style::Yellow));
            }
            Event::InlineHtml(html) => self.push(&one_line(html), self.styles().with(Style::Dim)),
            Event::Html(html) => {
                let html = clean_lines(html).replace('\t', " ");
                self.push(&html, self.styles().with(Style::Dim));
            }
            Event::SoftBreak => self.line_ended = true,
            Event::HardBreak => self.push("\n", self.base),
            Event::TaskListMarker(done) => {
                let (mark, style) = task_mark(*done);
                self.push(mark, self.base.with(style));
                self.push(" ", self.base);
            }
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Strong => self.bold += 1,
            Tag::Emphasis => self.italic += 1,
            Tag::Strikethrough => {
                self.strike += 1;
                self.push_strike_mark();
            }
            Tag::Link { dest_url, .. } => {
                self.join_lines("");
                self.links.push(Link {
                    start: self.text.len(),
                    url: clean(dest_url),
                });
            }
            Tag::Image { .. } => self.push(IMAGE, self.styles()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strikethrough => {
                self.push_strike_mark();
                self.strike = self.strike.saturating_sub(1);
            }
            TagEnd::Link => self.end_link(),
            TagEnd::Image => {
                if self.text.text().ends_with(IMAGE) {
                    self.text.truncate(self.text.len() - ": ".len());
                }
                self.push("]", self.styles());
            }
            _ => {}
        }
    }

    /// Without colours, struck-out text needs visible marks, so that it does not read as valid text.
    fn push_strike_mark(&mut self) {
        if !self.colour {
            self.push("~~", self.styles());
        }
    }

    fn end_link(&mut self) {
        let Some(link) = self.links.pop() else { return };
        let shown = self.text.text().get(link.start..).unwrap_or_default();
        let known = shown == link.url || link.url.strip_prefix("mailto:") == Some(shown);
        if !known && !link.url.is_empty() {
            let url = format!(" ({})", link.url);
            self.push(&url, self.base.with(Style::Dim));
        }
    }

    fn styles(&self) -> Styles {
        let parts = [
            (self.bold, Style::Bold),
            (self.italic, Style::Italic),
            (self.strike, Style::Strike),
            (self.links.len(), Style::Underline),
        ];
        let used = parts.into_iter().filter(|(depth, _)| *depth > 0);
        used.fold(self.base, |styles, (_, style)| styles.with(style))
    }

    fn push(&mut self, text: &str, styles: Styles) {
        self.join_lines(text);
        self.text.push(text, styles);
    }

    /// Turns a soft break into a space, except between two Chinese characters and next to full-width
    /// punctuation, which contains its own space.
    fn join_lines(&mut self, next: &str) {
        if std::mem::take(&mut self.line_ended) {
            let before = self.text.text().chars().next_back().unwrap_or(' ');
            let after = next.chars().next().unwrap_or(' ');
            let unspaced = is_unspaced(before) && is_unspaced(after);
            if !unspaced && !is_wide_mark(before) && !is_wide_mark(after) {
                self.text.push(" ", self.base);
            }
        }
    }
}

/// Returns the mark of a task list item and its colour.
pub(super) fn task_mark(done: bool) -> (&'static str, Style) {
    if done {
        ("✓", Style::Green)
    } else {
        ("☐", Style::Dim)
    }
}

/// Returns whether the character belongs to a script without spaces between words: wide, but not Korean.
fn is_unspaced(c: char) -> bool {
    is_wide(c) && !matches!(c, '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7a3}')
}

/// Returns whether the character is Chinese punctuation.
fn is_wide_mark(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303f}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff1f}')
}
