//! The sections of a Markdown text, as CommonMark sees them.
//!
//! A line scanner (`scan`) decides the easy lines itself and asks a full parser (`ask`) about
//! the stretches it cannot be sure of, so that a long text costs little more than finding its
//! line ends and the answer is still the parser's.

mod commonmark;
mod scan;
#[cfg(test)]
pub(crate) mod tests;
mod title;

use std::ops::Range;

pub(crate) use title::plain_title;

/// A heading at document level, and how far its section goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// 1 to 6.
    pub level: u8,
    /// The heading's plain text: without inline markup, entities decoded, trimmed.
    pub title: String,
    /// The bytes of the heading with its indentation and line end; of all lines if it is underlined.
    pub heading: Range<usize>,
    /// Where the next heading of the same or a higher level begins, or the text ends.
    pub end: usize,
}

impl Section {
    /// The bytes below the heading, deeper sections included.
    pub fn body(&self) -> Range<usize> {
        self.heading.end..self.end
    }

    /// The bytes of the heading and all below it.
    pub fn whole(&self) -> Range<usize> {
        self.heading.start..self.end
    }
}

/// The sections of a text, in order. Headings inside quotes and lists do not count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outline {
    /// In order of their headings.
    pub sections: Vec<Section>,
}

/// Finds the sections of a text.
///
/// Front matter (from a first line `---` to a line `---` or `...`) and a byte order mark are
/// passed over.
pub fn outline(text: &str) -> Outline {
    outline_from(text, front_matter_end(text))
}

/// Finds the sections from a place on at which Markdown begins afresh, such as a heading.
pub(crate) fn outline_from(text: &str, start: usize) -> Outline {
    let mut sections = scan::headings(text, start);
    set_ends(&mut sections, text.len());
    Outline { sections }
}

/// A digest of a section's bytes, heading and body: the version of the section alone.
///
/// FNV-1a with 64 bits, in hexadecimal: it tells changes apart, it does not withstand forgers.
pub fn section_digest(text: &str, section: &Section) -> String {
    let bytes = text.as_bytes().get(section.whole()).unwrap_or_default();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Each heading ends the open sections that are not above it.
fn set_ends(sections: &mut [Section], text_end: usize) {
    let mut open: Vec<usize> = Vec::new();
    for index in 0..sections.len() {
        let Some((level, start)) = sections.get(index).map(|s| (s.level, s.heading.start)) else {
            break;
        };
        while let Some(section) = open.last().and_then(|last| sections.get_mut(*last))
            && section.level >= level
        {
            section.end = start;
            open.pop();
        }
        open.push(index);
    }
    for index in open {
        if let Some(section) = sections.get_mut(index) {
            section.end = text_end;
        }
    }
}

/// Where Markdown begins: after the byte order mark and the front matter, if there are any.
///
/// As elsewhere, a blank second line makes the first a rule and not the start of front matter.
pub fn front_matter_end(text: &str) -> usize {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut lines = text[start..].split_inclusive('\n');
    let Some(first) = lines.next() else {
        return start;
    };
    if first.trim_ascii_end() != "---" {
        return start;
    }
    let mut at = start + first.len();
    for (number, line) in lines.enumerate() {
        at += line.len();
        match line.trim_ascii_end() {
            "" if number == 0 => return start,
            "---" | "..." => return at,
            _ => {}
        }
    }
    start
}
