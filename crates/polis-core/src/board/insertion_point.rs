//! Where something new goes on a board: into its section, which is made if it is missing.

use std::ops::Range;

use super::lines::{end_of_written, lines};
use super::section::{Outline, Section};
use super::splice::Splice;
use super::template_text::{Language, Word, is_placeholder};

/// The level of a section that has to be made.
const NEW_LEVEL: u8 = 2;
/// The deepest level there is; nothing can stand below such a heading.
const DEEPEST: u8 = 6;

/// Which part of a section something new ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The section with all below it.
    Section,
    /// What stands before its first deeper heading.
    OwnBody,
}

/// A place for a block of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    start: usize,
    removed: usize,
    /// The heading of a section that is made for it.
    new_section: String,
    /// Whether a blank line has to come before it.
    apart: bool,
    /// The level of the section it is in.
    pub(super) level: u8,
}

impl Place {
    /// The change that puts a block there; the block ends with a line end.
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
        // Indented text would become part of the block's last item; a comment keeps it apart.
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

/// Puts a block where `is_there` finds it again: a fence or a comment that somebody left open hides
/// what is written below it, so then it goes above.
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

/// The places for something new under a heading, best first.
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

/// The remark that there is nothing yet, if it stands by itself.
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
