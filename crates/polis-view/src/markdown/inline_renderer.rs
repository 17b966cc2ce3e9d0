//! Renders the inline Markdown of one paragraph, heading or table cell (emphasis, code, links, images) as a
//! [`StyledString`] for a terminal. `block_renderer` passes the parser's events in; lines are wrapped later.

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::line_wrap::is_wide;
use crate::style::{StyleSet, StyledString, TextStyle};
use crate::terminal_sanitizer::{sanitize_line, sanitize_lines, sanitize_to_one_line};

const IMAGE_PREFIX: &str = "[image: ";

/// Text of a block while it is collected.
#[derive(Debug)]
pub(super) struct InlineRenderer {
    text: StyledString,
    colour: bool,
    /// Styles of the whole block.
    base: StyleSet,
    bold: usize,
    italic: usize,
    strike: usize,
    links: Vec<OpenLink>,
    /// Whether the source had a line break here (soft break).
    line_ended: bool,
}

/// A link whose text is being collected.
#[derive(Debug)]
struct OpenLink {
    start: usize,
    url: String,
}

impl InlineRenderer {
    pub(super) fn new(colour: bool) -> Self {
        Self {
            text: StyledString::default(),
            colour,
            base: StyleSet::NONE,
            bold: 0,
            italic: 0,
            strike: 0,
            links: Vec::new(),
            line_ended: false,
        }
    }

    pub(super) fn text(&self) -> &StyledString {
        &self.text
    }

    /// Starts the text of another block.
    pub(super) fn reset_with_styles(&mut self, base: StyleSet) {
        self.text.clear();
        self.base = base;
        self.line_ended = false;
    }

    /// Starts another text of the same block.
    pub(super) fn reset_text(&mut self) {
        self.reset_with_styles(self.base);
    }

    /// Handles inline events and the text of HTML blocks; ignores all others.
    pub(super) fn handle_event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start_tag(tag),
            Event::End(tag) => self.end_tag(*tag),
            Event::Text(text) => self.push(&sanitize_to_one_line(text), self.current_styles()),
            Event::Code(code) => {
                let code = format!("`{}`", sanitize_to_one_line(code));
                self.push(&code, self.current_styles().with_style(TextStyle::Yellow));
            }
            Event::InlineHtml(html) => self.push(
                &sanitize_to_one_line(html),
                self.current_styles().with_style(TextStyle::Dim),
            ),
            Event::Html(html) => {
                let html = sanitize_lines(html).replace('\t', " ");
                self.push(&html, self.current_styles().with_style(TextStyle::Dim));
            }
            Event::SoftBreak => self.line_ended = true,
            Event::HardBreak => self.push("\n", self.base),
            Event::TaskListMarker(done) => {
                let (mark, style) = task_list_mark(*done);
                self.push(mark, self.base.with_style(style));
                self.push(" ", self.base);
            }
            _ => {}
        }
    }

    fn start_tag(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Strong => self.bold += 1,
            Tag::Emphasis => self.italic += 1,
            Tag::Strikethrough => {
                self.strike += 1;
                self.push_strike_mark();
            }
            Tag::Link { dest_url, .. } => {
                self.resolve_soft_break("");
                self.links.push(OpenLink {
                    start: self.text.len(),
                    url: sanitize_line(dest_url),
                });
            }
            Tag::Image { .. } => self.push(IMAGE_PREFIX, self.current_styles()),
            _ => {}
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Strong => self.bold = self.bold.saturating_sub(1),
            TagEnd::Emphasis => self.italic = self.italic.saturating_sub(1),
            TagEnd::Strikethrough => {
                self.push_strike_mark();
                self.strike = self.strike.saturating_sub(1);
            }
            TagEnd::Link => self.end_link(),
            TagEnd::Image => {
                if self.text.text().ends_with(IMAGE_PREFIX) {
                    self.text.truncate(self.text.len() - ": ".len());
                }
                self.push("]", self.current_styles());
            }
            _ => {}
        }
    }

    /// Without colours, struck-out text needs visible marks, so that it does not read as valid text.
    fn push_strike_mark(&mut self) {
        if !self.colour {
            self.push("~~", self.current_styles());
        }
    }

    fn end_link(&mut self) {
        let Some(link) = self.links.pop() else { return };
        let label = self.text.text().get(link.start..).unwrap_or_default();
        let is_url = label == link.url || link.url.strip_prefix("mailto:") == Some(label);
        if !is_url && !link.url.is_empty() {
            let url = format!(" ({})", link.url);
            self.push(&url, self.base.with_style(TextStyle::Dim));
        }
    }

    fn current_styles(&self) -> StyleSet {
        let parts = [
            (self.bold, TextStyle::Bold),
            (self.italic, TextStyle::Italic),
            (self.strike, TextStyle::Strike),
            (self.links.len(), TextStyle::Underline),
        ];
        let active = parts.into_iter().filter(|(depth, _)| *depth > 0);
        active.fold(self.base, |styles, (_, style)| styles.with_style(style))
    }

    fn push(&mut self, text: &str, styles: StyleSet) {
        self.resolve_soft_break(text);
        self.text.push(text, styles);
    }

    /// Turns a soft break into a space, except between two Chinese characters and next to full-width
    /// punctuation, which contains its own space.
    fn resolve_soft_break(&mut self, next: &str) {
        if std::mem::take(&mut self.line_ended) {
            let before = self.text.text().chars().next_back().unwrap_or(' ');
            let after = next.chars().next().unwrap_or(' ');
            let unspaced = is_unspaced(before) && is_unspaced(after);
            if !unspaced && !is_cjk_punctuation(before) && !is_cjk_punctuation(after) {
                self.text.push(" ", self.base);
            }
        }
    }
}

/// Returns the mark of a task list item and its colour.
pub(super) fn task_list_mark(done: bool) -> (&'static str, TextStyle) {
    if done {
        ("✓", TextStyle::Green)
    } else {
        ("☐", TextStyle::Dim)
    }
}

/// Returns whether the character belongs to a script without spaces between words: wide, but not Korean.
fn is_unspaced(c: char) -> bool {
    is_wide(c) && !matches!(c, '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7a3}')
}

/// Returns whether the character is Chinese punctuation.
fn is_cjk_punctuation(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303f}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff1f}')
}
