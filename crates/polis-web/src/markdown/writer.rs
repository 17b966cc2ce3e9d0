//! Writes HTML in parts: what is open at a cut is closed before and opened again after it, so that each
//! part is HTML by itself, even in the midst of a table, a list or a block of code.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Part;

/// A part this long ends where a good place is: at a heading, or at a block that its content marks.
const READY: usize = 24 << 10;
/// One this long ends after any block of the text, row, item or line.
const FULL: usize = 64 << 10;
/// One this long ends anywhere.
const BURSTING: usize = 96 << 10;
/// The longest piece of text that is written at once.
const PIECE: usize = 16 << 10;
/// One of so many blocks ends a part that is ready. Because content decides and not a count, a change at
/// the beginning does not move all later cuts.
const MARKED: u64 = 16;

/// An element that is open.
#[derive(Debug)]
pub(super) struct Open {
    /// How it is opened again after a cut.
    pub(super) again: Cow<'static, str>,
    pub(super) close: &'static str,
}

/// HTML while it is written.
#[derive(Debug)]
pub(super) struct Writer {
    cuts: bool,
    done: Vec<String>,
    html: String,
    open: Vec<Open>,
    /// How long the part was with nothing but what was opened again.
    begun: usize,
    /// Where the block at the text's own level began.
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

    /// Writes all in one part.
    pub(super) fn whole() -> Self {
        Self::new(false)
    }

    /// Cuts what is long into parts.
    pub(super) fn in_parts() -> Self {
        Self::new(true)
    }

    /// The number of the part that is written.
    pub(super) fn part(&self) -> usize {
        self.done.len()
    }

    /// How many elements are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// How much is in this part already.
    pub(super) fn length(&self) -> usize {
        self.html.len()
    }

    /// What was written since a place of this part.
    pub(super) fn since(&self, place: usize) -> &str {
        self.html.get(place..).unwrap_or_default()
    }

    /// Opens an element.
    pub(super) fn open(&mut self, tag: impl Into<Cow<'static, str>>, close: &'static str) {
        let tag = tag.into();
        self.html.push_str(&tag);
        self.open.push(Open { again: tag, close });
    }

    /// Opens one that is opened otherwise after a cut.
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

    /// The element that was opened last.
    pub(super) fn last(&mut self) -> Option<&mut Open> {
        self.open.last_mut()
    }

    /// Closes the element that was opened last.
    pub(super) fn close(&mut self) {
        if let Some(open) = self.open.pop() {
            self.html.push_str(open.close);
        }
    }

    /// Writes a tag of ours that has no content, or another constant.
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

    /// A row, an item, a paragraph or a line of code ended.
    pub(super) fn ended(&mut self) {
        if self.open.is_empty() {
            let marked = fnv(self.since(self.block)).is_multiple_of(MARKED);
            self.may_cut(if marked { READY } else { FULL });
            self.block = self.html.len();
        } else {
            self.may_cut(FULL);
        }
    }

    /// A heading at the text's own level is about to be written.
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

    /// The parts.
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

/// FNV-1a: tells parts apart, does not withstand forgers, and need not.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Writes a text so that it is nothing but text, within an element or an attribute. Control characters,
/// which HTML does not allow, are shown as unknown.
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
