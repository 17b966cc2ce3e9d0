//! Output page of the Markdown renderer: lines with the quote bars, list markers and indentation of their
//! containers, and the blank lines between blocks.

use unicode_width::UnicodeWidthStr as _;

use super::RenderOptions;
use crate::line_wrap::{self, WrapWidth};
use crate::style::{StyleSet, StyledLines, StyledString, TextStyle};
use crate::terminal_sanitizer::sanitize_lines;

const MIN_WIDTH: usize = 20;
/// No real terminal is wider, and a short text must not expand without limit.
const MAX_WIDTH: usize = 1_000;
/// Maximum width of a horizontal rule; a board may contain millions of them.
const MAX_RULE_COLUMNS: usize = 80;
/// Columns reserved for the text of a line at any depth: the widest list number, `999999999.`, and one or two
/// characters.
const MIN_TEXT_COLUMNS: usize = 14;

/// The lines written so far, and the containers of the next line.
#[derive(Debug)]
pub(super) struct RenderPage {
    out: StyledLines,
    colour: bool,
    width: usize,
    max_indent: usize,
    indent: usize,
    containers: Vec<PageContainer>,
    /// Number of open quotes and items that are too deep to be indented.
    hidden: usize,
    /// Marker of the innermost hidden item, until its first line is written.
    hidden_marker: Option<ItemMarker>,
    /// Whether a blank line is due before the next block.
    gap: bool,
    /// Whether the page is empty or ends with a blank line.
    after_gap: bool,
}

/// A quote or list item that contains the lines.
#[derive(Debug)]
struct PageContainer {
    columns: usize,
    is_quote: bool,
    /// Marker of an item, until its first line is written.
    marker: Option<ItemMarker>,
}

/// Marker at the start of an item.
#[derive(Debug)]
pub(super) struct ItemMarker {
    pub(super) text: String,
    pub(super) styles: StyleSet,
}

impl RenderPage {
    pub(super) fn new(options: &RenderOptions) -> Self {
        let width = options.width.clamp(MIN_WIDTH, MAX_WIDTH);
        Self {
            out: StyledLines::default(),
            colour: options.colour,
            width,
            max_indent: (width / 2).min(width - MIN_TEXT_COLUMNS),
            indent: 0,
            containers: Vec::new(),
            hidden: 0,
            hidden_marker: None,
            gap: false,
            after_gap: true,
        }
    }

    pub(super) fn uses_colour(&self) -> bool {
        self.colour
    }

    /// Returns the columns available to a text here.
    pub(super) fn available_width(&self) -> WrapWidth {
        let rest = self.width.saturating_sub(self.indent);
        let marker = self.hidden_marker.as_ref().map_or(0, ItemMarker::columns);
        WrapWidth {
            first_line: rest.saturating_sub(marker),
            other_lines: rest,
            split_words: false,
        }
    }

    /// Opens a quote; its lines start with a bar.
    pub(super) fn open_quote(&mut self) {
        self.open_container(PageContainer {
            columns: 2,
            is_quote: true,
            marker: None,
        });
    }

    /// Opens an item. Its first line starts with the marker; the others are indented by its width.
    pub(super) fn open_item(&mut self, marker: ItemMarker) {
        self.open_container(PageContainer {
            columns: marker.columns(),
            is_quote: false,
            marker: Some(marker),
        });
    }

    fn open_container(&mut self, layer: PageContainer) {
        if self.hidden > 0 || self.indent + layer.columns > self.max_indent {
            self.hidden += 1;
            self.hidden_marker = layer.marker.or(self.hidden_marker.take());
        } else {
            self.indent += layer.columns;
            self.containers.push(layer);
        }
    }

    /// Closes the innermost quote or item. The marker of an empty item is still written.
    pub(super) fn close_container(&mut self) {
        let last = self.containers.last();
        if self.hidden_marker.is_some() || last.is_some_and(|layer| layer.marker.is_some()) {
            self.write_line([]);
        }
        if self.hidden > 0 {
            self.hidden -= 1;
        } else if let Some(layer) = self.containers.pop() {
            self.indent -= layer.columns;
        }
    }

    /// Returns the marker of the innermost item if its first line is not written yet.
    pub(super) fn pending_marker_mut(&mut self) -> Option<&mut ItemMarker> {
        if self.hidden > 0 {
            self.hidden_marker.as_mut()
        } else {
            self.containers.last_mut()?.marker.as_mut()
        }
    }

    /// Sets whether the next block is separated by a blank line.
    pub(super) fn set_gap(&mut self, gap: bool) {
        self.gap = gap;
    }

    /// Writes the blank line that is due, if any.
    pub(super) fn write_gap(&mut self) {
        if std::mem::take(&mut self.gap) && !self.after_gap {
            let quotes = self
                .containers
                .iter()
                .take_while(|layer| layer.marker.is_none());
            let prefix: Vec<_> = quotes
                .map(|layer| (layer.is_quote, layer.columns))
                .collect();
            for (quote, columns) in prefix {
                self.write_indent(quote, columns);
            }
            self.end_prefix_line();
            self.after_gap = true;
        }
    }

    /// Writes a line, after the bars, markers and indentation of its containers.
    pub(super) fn write_line<'a>(&mut self, spans: impl IntoIterator<Item = (StyleSet, &'a str)>) {
        for n in 0..self.containers.len() {
            let Some(layer) = self.containers.get_mut(n) else {
                break;
            };
            let (quote, columns) = (layer.is_quote, layer.columns);
            match layer.marker.take() {
                Some(marker) => self.write_marker(&marker),
                None => self.write_indent(quote, columns),
            }
        }
        if let Some(marker) = self.hidden_marker.take() {
            self.write_marker(&marker);
        }
        let mut empty = true;
        for (styles, text) in spans {
            self.out.push(text, styles);
            empty = false;
        }
        if empty {
            self.end_prefix_line();
        } else {
            self.out.end_line();
        }
        self.after_gap = false;
    }

    fn write_marker(&mut self, marker: &ItemMarker) {
        self.out.push(&marker.text, marker.styles);
        self.out.push(" ", StyleSet::NONE);
    }

    fn write_indent(&mut self, quote: bool, columns: usize) {
        if quote {
            self.out.push("│", TextStyle::Dim.into());
            self.out.push(" ", StyleSet::NONE);
        } else {
            self.out.push(&" ".repeat(columns), StyleSet::NONE);
        }
    }

    /// Ends a line that consists only of its prefix.
    fn end_prefix_line(&mut self) {
        self.out.trim_line();
        self.out.end_line();
    }

    /// Writes a text, wrapped to as many lines as necessary.
    pub(super) fn write_text(&mut self, text: &StyledString) {
        self.write_gap();
        for line in line_wrap::wrap_lines(text.text(), self.available_width()) {
            self.write_line(text.spans(line));
        }
    }

    /// Writes lines unchanged, dimmed and indented.
    pub(super) fn write_verbatim(&mut self, text: &str, indent: &str) {
        if text.is_empty() {
            return;
        }
        self.write_gap();
        for line in sanitize_lines(text).split_terminator('\n') {
            let spans = [(StyleSet::NONE, indent), (TextStyle::Dim.into(), line)];
            self.write_line(spans.into_iter().filter(|_| !line.is_empty()));
        }
        self.gap = true;
    }

    /// Writes a horizontal rule.
    pub(super) fn write_rule(&mut self) {
        self.write_gap();
        let rule = "─".repeat(self.available_width().first_line.min(MAX_RULE_COLUMNS));
        self.write_line([(TextStyle::Dim.into(), rule.as_str())]);
    }

    /// Returns the finished page.
    pub(super) fn into_lines(mut self) -> StyledLines {
        if self.after_gap {
            self.out.pop_line();
        }
        self.out
    }
}

impl ItemMarker {
    fn columns(&self) -> usize {
        self.text.width() + 1
    }
}
