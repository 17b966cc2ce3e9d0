//! HTML writer that splits its output into parts: elements that are open at a split are closed before it and reopened
//! after it, so each part is valid HTML by itself, even within a table, a list or a code block.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Part;

/// A part of this length ends at a good position: at a heading, or at a block selected by its content.
const READY: usize = 24 << 10;
/// A part of this length ends after any top-level block, row, item or line.
const FULL: usize = 64 << 10;
/// A part of this length ends anywhere.
const BURSTING: usize = 96 << 10;
/// Maximum length of text written at once.
const PIECE: usize = 16 << 10;
/// One in this many blocks ends a part that has reached [`READY`]. The content decides and not a count, so a change at
/// the beginning does not move all later splits (content-defined chunking).
const MARKED: u64 = 16;

/// An open element.
#[derive(Debug)]
pub(super) struct Open {
    /// Tag that reopens it after a split.
    pub(super) again: Cow<'static, str>,
    pub(super) close: &'static str,
}

/// HTML being written.
#[derive(Debug)]
pub(super) struct Writer {
    cuts: bool,
    done: Vec<String>,
    html: String,
    open: Vec<Open>,
    /// Length of the current part when it contained only the reopened elements.
    begun: usize,
    /// Offset at which the current top-level block began.
    block: usize,
}

impl Writer {
    fn new(cuts: bool) -> Self {
        Self {
            cuts,
            done: Vec::new(),
            html: String::new(),
            open: Vec::new(),
            begun: 0,
            block: 0,
        }
    }

    /// Creates a writer with a single part.
    pub(super) fn whole() -> Self {
        Self::new(false)
    }

    /// Creates a writer that splits long output.
    pub(super) fn in_parts() -> Self {
        Self::new(true)
    }

    /// Returns the number of the current part.
    pub(super) fn part(&self) -> usize {
        self.done.len()
    }

    /// Returns the number of open elements.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the length of the current part.
    pub(super) fn length(&self) -> usize {
        self.html.len()
    }

    /// Returns what was written since an offset in the current part.
    pub(super) fn since(&self, place: usize) -> &str {
        self.html.get(place..).unwrap_or_default()
    }

    /// Opens an element.
    pub(super) fn open(&mut self, tag: impl Into<Cow<'static, str>>, close: &'static str) {
        let tag = tag.into();
        self.html.push_str(&tag);
        self.open.push(Open { again: tag, close });
    }

    /// Opens an element that is reopened with a different tag after a split.
    pub(super) fn open_as(
        &mut self,
        tag: &str,
        again: impl Into<Cow<'static, str>>,
        close: &'static str,
    ) {
        self.html.push_str(tag);
        let again = again.into();
        self.open.push(Open { again, close });
    }

    /// Returns the innermost open element.
    pub(super) fn last(&mut self) -> Option<&mut Open> {
        self.open.last_mut()
    }

    /// Closes the innermost open element.
    pub(super) fn close(&mut self) {
        if let Some(open) = self.open.pop() {
            self.html.push_str(open.close);
        }
    }

    /// Writes a constant of our own, such as a void element.
    pub(super) fn tag(&mut self, tag: &str) {
        self.html.push_str(tag);
    }

    /// Writes a text, escaped.
    pub(super) fn text(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let cut = rest.floor_char_boundary(PIECE.min(rest.len()));
            let (piece, left) = rest.split_at_checked(cut).unwrap_or((rest, ""));
            escape(piece, &mut self.html);
            rest = left;
            self.may_cut(BURSTING);
        }
    }

    /// Marks the end of a row, an item, a paragraph or a line of code.
    pub(super) fn ended(&mut self) {
        if self.open.is_empty() {
            let marked = fnv(self.since(self.block)).is_multiple_of(MARKED);
            self.may_cut(if marked { READY } else { FULL });
            self.block = self.html.len();
        } else {
            self.may_cut(FULL);
        }
    }

    /// Announces a heading; a top-level one is a good position for a split.
    pub(super) fn heading_comes(&mut self) {
        if self.open.is_empty() {
            self.may_cut(READY);
        }
    }

    fn may_cut(&mut self, length: usize) {
        if !self.cuts || self.html.len() - self.begun < length {
            return;
        }
        for open in self.open.iter().rev() {
            self.html.push_str(open.close);
        }
        self.done.push(std::mem::take(&mut self.html));
        for open in &self.open {
            self.html.push_str(&open.again);
        }
        self.begun = self.html.len();
        self.block = self.begun;
    }

    /// Closes all elements and returns the parts.
    pub(super) fn finish(mut self) -> Vec<Part> {
        while !self.open.is_empty() {
            self.close();
        }
        if !self.html.is_empty() || self.done.is_empty() {
            self.done.push(self.html);
        }
        let mut seen: HashMap<u64, usize> = HashMap::new();
        let mut named = |html: String| {
            let hash = fnv(&html);
            let times = seen.entry(hash).or_default();
            *times += 1;
            let id = match *times {
                1 => format!("p-{hash:016x}"),
                n => format!("p-{hash:016x}-{n}"),
            };
            Part { id, html }
        };
        self.done.into_iter().map(&mut named).collect()
    }
}

/// FNV-1a hash: distinguishes parts. It is not collision-resistant against an attacker, and does not need to be.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Escapes a text for use in an element or an attribute. Control characters, which HTML does not allow, are replaced by
/// U+FFFD.
pub(super) fn escape(text: &str, html: &mut String) {
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
