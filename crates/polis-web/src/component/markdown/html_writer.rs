//! HTML writer that splits long output into parts, each valid HTML by itself: elements open at a split are
//! closed before it and reopened after it, even within a table, a list or a code block.
//!
//! Parts end by size, preferably at a heading or at a block selected by its hash (content-defined chunking),
//! and a part's id is a hash of its HTML. So an edit leaves most parts and their ids unchanged.

use std::borrow::Cow;
use std::collections::HashMap;

use super::HtmlPart;

/// A part of this length ends at a good position: at a heading, or at a block selected by its content.
const SOFT_SPLIT_BYTES: usize = 24 << 10;
/// A part of this length ends after any top-level block, row, item or line.
const BLOCK_SPLIT_BYTES: usize = 64 << 10;
/// A part of this length ends anywhere.
const HARD_SPLIT_BYTES: usize = 96 << 10;
/// Maximum length of text written at once.
const MAX_PIECE_BYTES: usize = 16 << 10;
/// One in this many blocks ends a part that has reached [`SOFT_SPLIT_BYTES`]. The content decides and not a
/// count, so a change at the beginning does not move all later splits (content-defined chunking).
const SPLIT_BLOCK_RATIO: u64 = 16;

/// An element that is not closed yet.
#[derive(Debug)]
pub(super) struct OpenElement {
    /// Tag that reopens it after a split.
    pub(super) reopen_tag: Cow<'static, str>,
    pub(super) close_tag: &'static str,
}

/// Writer that collects HTML and splits it into parts.
#[derive(Debug)]
pub(super) struct HtmlWriter {
    splits: bool,
    finished_parts: Vec<String>,
    html: String,
    open_elements: Vec<OpenElement>,
    /// Length of the current part when it contained only the reopened elements.
    part_start: usize,
    /// Offset at which the current top-level block began.
    block_start: usize,
}

impl HtmlWriter {
    fn new(splits: bool) -> Self {
        Self {
            splits,
            finished_parts: Vec::new(),
            html: String::new(),
            open_elements: Vec::new(),
            part_start: 0,
            block_start: 0,
        }
    }

    /// Creates a writer with a single part.
    pub(super) fn single_part() -> Self {
        Self::new(false)
    }

    /// Creates a writer that splits long output.
    pub(super) fn splitting() -> Self {
        Self::new(true)
    }

    /// Returns the number of the current part.
    pub(super) fn part_index(&self) -> usize {
        self.finished_parts.len()
    }

    /// Returns the number of open elements.
    pub(super) fn depth(&self) -> usize {
        self.open_elements.len()
    }

    /// Returns the length of the current part.
    pub(super) fn part_len(&self) -> usize {
        self.html.len()
    }

    /// Returns what was written since an offset in the current part.
    pub(super) fn written_since(&self, offset: usize) -> &str {
        self.html.get(offset..).unwrap_or_default()
    }

    /// Opens an element with a tag and its closing tag.
    pub(super) fn open(&mut self, tag: impl Into<Cow<'static, str>>, close: &'static str) {
        let tag = tag.into();
        self.html.push_str(&tag);
        self.open_elements.push(OpenElement {
            reopen_tag: tag,
            close_tag: close,
        });
    }

    /// Opens an element that is reopened with a different tag after a split.
    pub(super) fn open_with_reopen_tag(
        &mut self,
        tag: &str,
        reopen_tag: impl Into<Cow<'static, str>>,
        close: &'static str,
    ) {
        self.html.push_str(tag);
        let reopen_tag = reopen_tag.into();
        self.open_elements.push(OpenElement {
            reopen_tag,
            close_tag: close,
        });
    }

    /// Returns the innermost open element.
    pub(super) fn innermost_mut(&mut self) -> Option<&mut OpenElement> {
        self.open_elements.last_mut()
    }

    /// Closes the innermost open element.
    pub(super) fn close(&mut self) {
        if let Some(open) = self.open_elements.pop() {
            self.html.push_str(open.close_tag);
        }
    }

    /// Writes a constant of our own, such as a void element.
    pub(super) fn write_tag(&mut self, tag: &str) {
        self.html.push_str(tag);
    }

    /// Writes a text, escaped.
    pub(super) fn write_text(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let cut = rest.floor_char_boundary(MAX_PIECE_BYTES.min(rest.len()));
            let (piece, left) = rest.split_at_checked(cut).unwrap_or((rest, ""));
            escape_html(piece, &mut self.html);
            rest = left;
            self.split_if_longer(HARD_SPLIT_BYTES);
        }
    }

    /// Marks the end of a row, an item, a paragraph or a line of code.
    pub(super) fn end_block(&mut self) {
        if self.open_elements.is_empty() {
            let marked =
                fnv1a_hash(self.written_since(self.block_start)).is_multiple_of(SPLIT_BLOCK_RATIO);
            self.split_if_longer(if marked {
                SOFT_SPLIT_BYTES
            } else {
                BLOCK_SPLIT_BYTES
            });
            self.block_start = self.html.len();
        } else {
            self.split_if_longer(BLOCK_SPLIT_BYTES);
        }
    }

    /// Announces a heading; a top-level one is a good position for a split.
    pub(super) fn before_heading(&mut self) {
        if self.open_elements.is_empty() {
            self.split_if_longer(SOFT_SPLIT_BYTES);
        }
    }

    fn split_if_longer(&mut self, length: usize) {
        if !self.splits || self.html.len() - self.part_start < length {
            return;
        }
        for open in self.open_elements.iter().rev() {
            self.html.push_str(open.close_tag);
        }
        self.finished_parts.push(std::mem::take(&mut self.html));
        for open in &self.open_elements {
            self.html.push_str(&open.reopen_tag);
        }
        self.part_start = self.html.len();
        self.block_start = self.part_start;
    }

    /// Closes all elements and returns the parts with their ids; at least one part.
    pub(super) fn finish(mut self) -> Vec<HtmlPart> {
        while !self.open_elements.is_empty() {
            self.close();
        }
        if !self.html.is_empty() || self.finished_parts.is_empty() {
            self.finished_parts.push(self.html);
        }
        let mut seen: HashMap<u64, usize> = HashMap::new();
        let mut to_part = |html: String| {
            let hash = fnv1a_hash(&html);
            let times = seen.entry(hash).or_default();
            *times += 1;
            let id = match *times {
                1 => format!("p-{hash:016x}"),
                n => format!("p-{hash:016x}-{n}"),
            };
            HtmlPart { id, html }
        };
        self.finished_parts.into_iter().map(&mut to_part).collect()
    }
}

/// FNV-1a hash: distinguishes parts. It is not collision-resistant against an attacker, and does not need to
/// be.
fn fnv1a_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Escapes a text for use in an element or an attribute. Control characters, which HTML does not allow, are
/// replaced by U+FFFD.
pub(super) fn escape_html(text: &str, html: &mut String) {
    let special = |c: char| {
        matches!(c, '&' | '<' | '>' | '"' | '\'') || (c.is_control() && c != '\n' && c != '\t')
    };
    let mut rest = text;
    while let Some(at) = rest.find(special) {
        let (plain, left) = rest.split_at_checked(at).unwrap_or((rest, ""));
        html.push_str(plain);
        let mut chars = left.chars();
        match chars.next() {
            Some('&') => html.push_str("&amp;"),
            Some('<') => html.push_str("&lt;"),
            Some('>') => html.push_str("&gt;"),
            Some('"') => html.push_str("&quot;"),
            Some('\'') => html.push_str("&#39;"),
            Some('\r') => html.push('\n'),
            _ => html.push('\u{fffd}'),
        }
        rest = chars.as_str();
    }
    html.push_str(rest);
}
