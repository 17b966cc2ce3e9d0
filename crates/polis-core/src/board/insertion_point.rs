//! Insertion points: where a new decision or milestone is inserted into its section, which is created if
//! missing.
//!
//! A record replaces the placeholder of an empty section, or is added at the section's end.
//! [`insert_where_readable`] tries these and earlier positions until the record can be parsed from the new
//! text.

use std::ops::Range;

use super::section::{Section, SectionOutline};
use super::splice::TextSplice;
use super::template_text::{ContentLanguage, TemplateTerm, is_placeholder};
use super::text_lines::{end_of_content, iter_lines};

/// Heading level of a section that is created.
const NEW_SECTION_LEVEL: u8 = 2;
/// The deepest heading level; no section can be below such a heading.
const MAX_HEADING_LEVEL: u8 = 6;

/// The part of a section at whose end a new record is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InsertionScope {
    /// The section with all its subsections.
    Section,
    /// The text before its first deeper heading.
    OwnBody,
}

/// An insertion point for a block of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InsertionPoint {
    start: usize,
    removed: usize,
    /// Heading line of the section that is created for it; empty for an existing section.
    new_section: String,
    /// Whether a blank line has to precede it.
    needs_blank_line: bool,
    /// The level of the section it is in.
    pub(super) level: u8,
}

impl InsertionPoint {
    /// Returns the splice that inserts a block; the block ends with a line end.
    pub(super) fn insert_block(&self, text: &str, block: &str) -> TextSplice {
        let before = text.get(..self.start).unwrap_or_default();
        let after = text.get(self.start + self.removed..).unwrap_or_default();
        let mut inserted = String::new();
        if !before.is_empty() && !before.ends_with(['\n', '\r']) {
            inserted.push('\n');
        }
        if self.needs_blank_line && !before.is_empty() && !before.ends_with("\n\n") {
            inserted.push('\n');
        }
        inserted.push_str(&self.new_section);
        inserted.push_str(block);
        // Indented text would become part of the block's last item; a comment separates it.
        let follower = after.trim_start_matches(['\n', '\r']);
        if follower.starts_with([' ', '\t']) && !follower.trim().is_empty() {
            inserted.push_str("\n<!-- -->\n");
        }
        if !after.is_empty() && !after.starts_with(['\n', '\r']) {
            inserted.push('\n');
        }
        TextSplice {
            start: self.start,
            removed: self.removed,
            text: inserted,
        }
    }
}

/// Inserts a block at the first point where `is_readable` accepts the resulting text, or else at the last
/// one. An unclosed fence or comment hides text below it, so the block is then inserted above it.
pub(super) fn insert_where_readable(
    text: &str,
    points: &[InsertionPoint],
    block: impl Fn(&InsertionPoint) -> String,
    is_readable: impl Fn(&str) -> bool,
) -> TextSplice {
    let mut last = TextSplice::default();
    for point in points {
        last = point.insert_block(text, &block(point));
        if is_readable(&last.apply(text)) {
            break;
        }
    }
    last
}

/// Returns the insertion points in the section of this name, best first, followed by those for a new section.
pub(super) fn insertion_points(
    text: &str,
    outline: &SectionOutline,
    name: TemplateTerm,
    language: ContentLanguage,
    ending: InsertionScope,
) -> Vec<InsertionPoint> {
    let found = outline
        .sections
        .iter()
        .enumerate()
        .find(|(_, section)| section.level < MAX_HEADING_LEVEL && name.matches(&section.title));
    let new = points_in_new_section(text, outline, name, language);
    let Some((index, section)) = found else {
        return new;
    };
    let own_end = outline
        .sections
        .get(index + 1)
        .map_or(text.len(), |next| next.heading.start);
    let mut points = points_in_section(text, section, own_end.min(section.end), ending);
    points.extend(new);
    points
}

fn points_in_section(
    text: &str,
    section: &Section,
    own_end: usize,
    ending: InsertionScope,
) -> Vec<InsertionPoint> {
    let top = section.heading.end;
    let end = match ending {
        InsertionScope::Section => section.end,
        InsertionScope::OwnBody => own_end,
    };
    let at = |start: usize, removed: usize, needs_blank_line: bool| InsertionPoint {
        start,
        removed,
        new_section: String::new(),
        needs_blank_line,
        level: section.level,
    };
    let placeholder =
        find_placeholder(text, top..own_end).map(|line| at(line.start, line.len(), false));
    let content_end = end_of_content(text, top..end);
    placeholder
        .into_iter()
        .chain([at(content_end, 0, content_end > top), at(top, 0, false)])
        .collect()
}

/// Returns the placeholder line of an empty section, if it is a separate paragraph.
fn find_placeholder(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let mut found = None;
    let mut after_blank = true;
    for line in iter_lines(text, range) {
        let blank = line.is_blank();
        if found.is_some() {
            return found.filter(|_| blank);
        }
        if after_blank && is_placeholder(line.text) {
            found = Some(line.range.start..line.next_start);
        }
        after_blank = blank;
    }
    found
}

fn points_in_new_section(
    text: &str,
    outline: &SectionOutline,
    name: TemplateTerm,
    language: ContentLanguage,
) -> Vec<InsertionPoint> {
    let marks = "#".repeat(usize::from(NEW_SECTION_LEVEL));
    let at = |start: usize| InsertionPoint {
        start,
        removed: 0,
        new_section: format!("{marks} {}\n", name.in_language(language)),
        needs_blank_line: true,
        level: NEW_SECTION_LEVEL,
    };
    let before_last = outline
        .sections
        .iter()
        .rev()
        .find(|section| section.level <= NEW_SECTION_LEVEL)
        .map(|section| at(section.heading.start));
    let end = at(end_of_content(text, 0..text.len()));
    [Some(end), before_last, Some(at(0))]
        .into_iter()
        .flatten()
        .collect()
}
