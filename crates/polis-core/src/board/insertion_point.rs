//! Insertion points on a board: where a new record goes in its section, which is created if it is missing.
//!
//! Used for decisions and milestones. A record replaces the placeholder of an empty section, or is added at its
//! end.

use std::ops::Range;

use super::lines::{end_of_written, lines};
use super::section::{Outline, Section};
use super::splice::Splice;
use super::template_text::{Language, Word, is_placeholder};

/// Heading level of a section that is created.
const NEW_LEVEL: u8 = 2;
/// The deepest heading level; no section can be below such a heading.
const DEEPEST: u8 = 6;

/// The part of a section at whose end a new record is inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The section with all its subsections.
    Section,
    /// The text before its first deeper heading.
    OwnBody,
}

/// An insertion point for a block of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    start: usize,
    removed: usize,
    /// The heading of a section that is created for it.
    new_section: String,
    /// Whether a blank line has to precede it.
    apart: bool,
    /// The level of the section it is in.
    pub(super) level: u8,
}

impl Place {
    /// Returns the splice that inserts a block; the block ends with a line end.
    pub(super) fn splice(&self, text: &str, block: &str) -> Splice {
        let before = text.get(..self.start).unwrap_or_default();
        let after = text.get(self.start + self.removed..).unwrap_or_default();
        let mut written = String::new();
        if !before.is_empty() && !before.ends_with(['\n', '\r']) {
            written.push('\n');
        }
        if self.apart && !before.is_empty() && !before.ends_with("\n\n") {
            written.push('\n');
        }
        written.push_str(&self.new_section);
        written.push_str(block);
        // Indented text would become part of the block's last item; a comment separates it.
        let follower = after.trim_start_matches(['\n', '\r']);
        if follower.starts_with([' ', '\t']) && !follower.trim().is_empty() {
            written.push_str("\n<!-- -->\n");
        }
        if !after.is_empty() && !after.starts_with(['\n', '\r']) {
            written.push('\n');
        }
        Splice {
            start: self.start,
            removed: self.removed,
            text: written,
        }
    }
}

/// Inserts a block at the first point where `is_there` finds it again. An unclosed fence or comment hides what
/// is written below it, so that the block then goes above it.
pub(super) fn put(
    text: &str,
    places: &[Place],
    block: impl Fn(&Place) -> String,
    is_there: impl Fn(&str) -> bool,
) -> Splice {
    let mut last = Splice::default();
    for place in places {
        last = place.splice(text, &block(place));
        if is_there(&last.apply(text)) {
            break;
        }
    }
    last
}

/// Returns the insertion points under a heading, best first.
pub(super) fn places(
    text: &str,
    outline: &Outline,
    name: Word,
    language: Language,
    ending: Ending,
) -> Vec<Place> {
    let found = outline
        .sections
        .iter()
        .enumerate()
        .find(|(_, section)| section.level < DEEPEST && name.is(&section.title));
    let new = anew(text, outline, name, language);
    let Some((index, section)) = found else {
        return new;
    };
    let own_end = outline
        .sections
        .get(index + 1)
        .map_or(text.len(), |next| next.heading.start);
    let mut places = inside(text, section, own_end.min(section.end), ending);
    places.extend(new);
    places
}

fn inside(text: &str, section: &Section, own_end: usize, ending: Ending) -> Vec<Place> {
    let top = section.heading.end;
    let end = match ending {
        Ending::Section => section.end,
        Ending::OwnBody => own_end,
    };
    let at = |start: usize, removed: usize, apart: bool| Place {
        start,
        removed,
        new_section: String::new(),
        apart,
        level: section.level,
    };
    let placeholder = placeholder(text, top..own_end).map(|line| at(line.start, line.len(), false));
    let written = end_of_written(text, top..end);
    placeholder
        .into_iter()
        .chain([at(written, 0, written > top), at(top, 0, false)])
        .collect()
}

/// Returns the placeholder line of an empty section, if it is a separate paragraph.
fn placeholder(text: &str, stretch: Range<usize>) -> Option<Range<usize>> {
    let mut found = None;
    let mut after_blank = true;
    for line in lines(text, stretch) {
        let blank = line.is_blank();
        if found.is_some() {
            return found.filter(|_| blank);
        }
        if after_blank && is_placeholder(line.text) {
            found = Some(line.range.start..line.next);
        }
        after_blank = blank;
    }
    found
}

fn anew(text: &str, outline: &Outline, name: Word, language: Language) -> Vec<Place> {
    let marks = "#".repeat(usize::from(NEW_LEVEL));
    let at = |start: usize| Place {
        start,
        removed: 0,
        new_section: format!("{marks} {}\n", name.text(language)),
        apart: true,
        level: NEW_LEVEL,
    };
    let before_last = outline
        .sections
        .iter()
        .rev()
        .find(|section| section.level <= NEW_LEVEL)
        .map(|section| at(section.heading.start));
    let end = at(end_of_written(text, 0..text.len()));
    [Some(end), before_last, Some(at(0))]
        .into_iter()
        .flatten()
        .collect()
}
