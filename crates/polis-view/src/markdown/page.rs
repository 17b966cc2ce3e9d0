//! Output page of the Markdown renderer: lines with the quote bars, list markers and indentation of their
//! containers, and the blank lines between blocks.

use unicode_width::UnicodeWidthStr as _;

use super::Look;
use crate::style::{Style, Styled, StyledLines, Styles};
use crate::terminal::clean_lines;
use crate::wrap::{self, Room};

const MIN_WIDTH: usize = 20;
/// No real terminal is wider, and a short text must not expand without limit.
const MAX_WIDTH: usize = 1_000;
/// Maximum width of a horizontal rule; a board may contain millions of them.
const MAX_RULE: usize = 80;
/// Columns reserved for the text of a line at any depth: the widest list number, `999999999.`, and one or two
/// characters.
const LEAST_TEXT: usize = 14;

/// The lines written so far, and the containers of the next line.
#[derive(Debug)]
pub(super) struct Page {
    out: StyledLines,
    colour: bool,
    width: usize,
    max_indent: usize,
    indent: usize,
    layers: Vec<Layer>,
    /// Number of open quotes and items that are too deep to be indented.
    hidden: usize,
    /// Marker of the innermost hidden item, until its first line is written.
    hidden_marker: Option<Marker>,
    /// Whether a blank line is due before the next block.
    gap: bool,
    /// Whether the page is empty or ends with a blank line.
    after_gap: bool,
}

/// A quote or list item that contains the lines.
#[derive(Debug)]
struct Layer {
    columns: usize,
    quote: bool,
    /// Marker of an item, until its first line is written.
    marker: Option<Marker>,
}

/// Marker at the start of an item.
#[derive(Debug)]
pub(super) struct Marker {
    pub(super) text: String,
    pub(super) styles: Styles,
}

impl Page {
    pub(super) fn new(look: &Look) -> Self {
        let width = look.width.clamp(MIN_WIDTH, MAX_WIDTH);
        Self {
            out: StyledLines::default(),
            colour: look.colour,
            width,
            max_indent: (width / 2).min(width - LEAST_TEXT),
            indent: 0,
            layers: Vec::new(),
            hidden: 0,
            hidden_marker: None,
            gap: false,
            after_gap: true,
        }
    }

    pub(super) fn colour(&self) -> bool {
        self.colour
    }

    /// Returns the columns available to a text here.
    pub(super) fn room(&self) -> Room {
        let rest = self.width.saturating_sub(self.indent);
        let marker = self.hidden_marker.as_ref().map_or(0, Marker::columns);
        Room {
            first: rest.saturating_sub(marker),
            rest,
            cut_words: false,
        }
    }

    /// Opens a quote.
    pub(super) fn open_quote(&mut self) {
        self.open(Layer {
            columns: 2,
            quote: true,
            marker: None,
        });
    }

    /// Opens an item. Its first line starts with the marker; the others are indented by its width.
    pub(super) fn open_item(&mut self, marker: Marker) {
        self.open(Layer {
            columns: marker.columns(),
            quote: false,
            marker: Some(marker),
        });
    }

    fn open(&mut self, layer: Layer) {
        if self.hidden > 0 || self.indent + layer.columns > self.max_indent {
            self.hidden += 1;
            self.hidden_marker = layer.marker.or(self.hidden_marker.take());
        } else {
            self.indent += layer.columns;
            self.layers.push(layer);
        }
    }

    /// Closes the innermost quote or item. The marker of an empty item is still written.
    pub(super) fn close(&mut self) {
        let last = self.layers.last();
        if self.hidden_marker.is_some() || last.is_some_and(|layer| layer.marker.is_some()) {
            self.line([]);
        }
        if self.hidden > 0 {
            self.hidden -= 1;
        } else if let Some(layer) = self.layers.pop() {
            self.indent -= layer.columns;
        }
    }

    /// Returns the marker of the innermost item if its first line is not written yet.
    pub(super) fn marker_mut(&mut self) -> Option<&mut Marker> {
        if self.hidden > 0 {
            self.hidden_marker.as_mut()
        } else {
            self.layers.last_mut()?.marker.as_mut()
        }
    }

    /// Sets whether the next block is separated by a blank line.
    pub(super) fn set_gap(&mut self, gap: bool) {
        self.gap = gap;
    }

    /// Writes the blank line that is due, if any.
    pub(super) fn fill_gap(&mut self) {
        if std::mem::take(&mut self.gap) && !self.after_gap {
            let quotes = self
                .layers
                .iter()
                .take_while(|layer| layer.marker.is_none());
            let prefix: Vec<_> = quotes.map(|layer| (layer.quote, layer.columns)).collect();
            for (quote, columns) in prefix {
                self.indentation(quote, columns);
            }
            self.end_line();
            self.after_gap = true;
        }
    }

    /// Writes a line.
    pub(super) fn line<'a>(&mut self, spans: impl IntoIterator<Item = (Styles, &'a str)>) {
        for n in 0..self.layers.len() {
            let Some(layer) = self.layers.get_mut(n) else {
                break;
            };
            let (quote, columns) = (layer.quote, layer.columns);
            match layer.marker.take() {
                Some(marker) => self.marker(&marker),
                None => self.indentation(quote, columns),
            }
        }
        if let Some(marker) = self.hidden_marker.take() {
            self.marker(&marker);
        }
        let mut empty = true;
        for (styles, text) in spans {
            self.out.push(text, styles);
            empty = false;
        }
        if empty {
            self.end_line();
        } else {
            self.out.end_line();
        }
        self.after_gap = false;
    }

    fn marker(&mut self, marker: &Marker) {
        self.out.push(&marker.text, marker.styles);
        self.out.push(" ", Styles::NONE);
    }

    fn indentation(&mut self, quote: bool, columns: usize) {
        if quote {
            self.out.push("│", Style::Dim.into());
            self.out.push(" ", Styles::NONE);
        } else {
            self.out.push(&" ".repeat(columns), Styles::NONE);
        }
    }

    /// Ends a line that consists only of its prefix.
    fn end_line(&mut self) {
        self.out.trim_line();
        self.out.end_line();
    }

    /// Writes a text, wrapped to as many lines as necessary.
    pub(super) fn text(&mut self, text: &Styled) {
        self.fill_gap();
        for line in wrap::lines(text.text(), self.room()) {
            self.line(text.spans(line));
        }
    }

    /// Writes lines unchanged, dimmed and indented.
    pub(super) fn verbatim(&mut self, text: &str, indent: &str) {
        if text.is_empty() {
            return;
        }
        self.fill_gap();
        for line in clean_lines(text).split_terminator('\n') {
            let spans = [(Styles::NONE, indent), (Style::Dim.into(), line)];
            self.line(spans.into_iter().filter(|_| !line.is_empty()));
        }
        self.gap = true;
    }

    /// Writes a horizontal rule.
    pub(super) fn rule(&mut self) {
        self.fill_gap();
        let rule = "─".repeat(self.room().first.min(MAX_RULE));
        self.line([(Style::Dim.into(), rule.as_str())]);
    }

    /// Returns the finished page.
    pub(super) fn finish(mut self) -> StyledLines {
        if self.after_gap {
            self.out.pop_line();
        }
        self.out
    }
}

impl Marker {
    fn columns(&self) -> usize {
        self.text.width() + 1
    }
}
