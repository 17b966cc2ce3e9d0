//! Outline of a Markdown text: its sections according to CommonMark.
//!
//! A line scanner (`heading_scanner`) classifies unambiguous lines itself and runs a full parser
//! (`commonmark`) on the ranges it cannot decide. So a long text costs little more than finding its line
//! ends, and the result is still the parser's.

mod commonmark;
mod heading_scanner;
mod heading_title;
#[cfg(test)]
pub(crate) mod tests;

use std::ops::Range;

pub(crate) use heading_title::plain_title;

/// A heading at document level, and the extent of its section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Heading level, 1 to 6.
    pub level: u8,
    /// The heading's plain text: without inline markup, entities decoded, trimmed.
    pub title: String,
    /// The bytes of the heading with its indentation and line end; of all its lines if it is underlined
    /// (setext).
    pub heading: Range<usize>,
    /// Where the next heading of the same or a higher level begins, or the text ends.
    pub end: usize,
}

impl Section {
    /// Returns the bytes below the heading, including subsections.
    pub fn body_range(&self) -> Range<usize> {
        self.heading.end..self.end
    }

    /// Returns the bytes of the heading and everything below it.
    pub fn full_range(&self) -> Range<usize> {
        self.heading.start..self.end
    }
}

/// The sections of a text, in order. Headings inside quotes and lists are not included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SectionOutline {
    /// In order of their headings.
    pub sections: Vec<Section>,
}

/// Finds the sections of a text.
///
/// Front matter (from a first line `---` to a line `---` or `...`) and a byte order mark are skipped.
pub fn parse_outline(text: &str) -> SectionOutline {
    parse_outline_from(text, front_matter_end(text))
}

/// Finds the sections from a position where no Markdown block is open, such as a heading.
pub(crate) fn parse_outline_from(text: &str, start: usize) -> SectionOutline {
    let mut sections = heading_scanner::scan_headings(text, start);
    set_section_ends(&mut sections, text.len());
    SectionOutline { sections }
}

/// Returns a digest of a section's bytes, heading and body: a version of the section alone.
///
/// It is 64-bit FNV-1a in hexadecimal: it detects changes, but is not cryptographic.
pub fn section_digest(text: &str, section: &Section) -> String {
    let bytes = text
        .as_bytes()
        .get(section.full_range())
        .unwrap_or_default();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// Sets the end of each section: a heading ends all open sections of the same or a deeper level.
fn set_section_ends(sections: &mut [Section], text_end: usize) {
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

/// Returns where Markdown begins: after the byte order mark and the front matter, if present.
///
/// As in other tools, a first line `---` before a blank line is a rule and does not start front matter.
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
