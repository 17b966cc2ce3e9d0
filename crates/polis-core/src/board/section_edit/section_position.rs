//! Validation that a section edit does not change how the rest of the text is parsed.
//!
//! Only the neighbourhood is parsed again: from the heading before the section up to and including the
//! heading after it. If that heading is still found at its position, everything after it is unchanged.

use super::{compose::trailing_line_end, detect_line_end};
use crate::board::section::{Section, parse_outline, parse_outline_from};
use crate::board::splice::TextSplice;
use crate::refusal::{Refusal, SectionRefusal};

/// Placeholder for a heading that may later follow the last section.
const PROBE_HEADING: &str = "# polis\n";

/// The position of an existing or new section, and its neighbourhood.
pub(super) struct SectionPosition<'t> {
    /// The current text of the section; empty if it is new.
    pub(super) old: &'t str,
    /// The line end for added lines.
    pub(super) eol: &'static str,
    /// Where the section begins in the text.
    start: usize,
    heading_length: usize,
    level: u8,
    title: String,
    /// Where the neighbourhood begins in the text.
    neighbourhood_start: usize,
    /// The text from there to the section.
    before: &'t str,
    /// The heading in `before`, if it begins with one.
    previous: Option<&'t Section>,
    /// The text of the next heading after the section.
    after: &'t str,
    next: Option<&'t Section>,
}

impl<'t> SectionPosition<'t> {
    /// Returns the position of an existing section.
    pub(super) fn for_section(
        text: &'t str,
        sections: &'t [Section],
        section: &'t Section,
    ) -> Self {
        let index = sections.partition_point(|other| other.heading.start < section.heading.start);
        let following = sections.partition_point(|other| other.heading.start < section.end);
        let next = sections.get(following);
        let previous = index.checked_sub(1).and_then(|before| sections.get(before));
        let neighbourhood_start = previous.map_or(0, |previous| previous.heading.start);
        let heading = &text[section.heading.clone()];
        Self {
            old: &text[section.full_range()],
            eol: trailing_line_end(heading).unwrap_or_else(|| detect_line_end(text)),
            start: section.heading.start,
            heading_length: heading.len(),
            level: section.level,
            title: section.title.clone(),
            neighbourhood_start,
            before: &text[neighbourhood_start..section.heading.start],
            previous,
            after: next.map_or("", |next| &text[next.heading.clone()]),
            next,
        }
    }

    /// Returns the position at the end of a text, for a new section.
    pub(super) fn for_new_section(
        text: &'t str,
        sections: &'t [Section],
        level: u8,
        title: &str,
    ) -> Self {
        let previous = sections.last();
        let neighbourhood_start = previous.map_or(0, |previous| previous.heading.start);
        Self {
            old: "",
            eol: detect_line_end(text),
            start: text.len(),
            heading_length: 0,
            level,
            title: title.to_owned(),
            neighbourhood_start,
            before: &text[neighbourhood_start..],
            previous,
            after: "",
            next: None,
        }
    }

    pub(super) fn level(&self) -> u8 {
        self.level
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    pub(super) fn heading(&self) -> &'t str {
        &self.old[..self.heading_length]
    }

    pub(super) fn is_last(&self) -> bool {
        self.next.is_none()
    }

    /// Returns the splice that replaces the section with `new`, if the surroundings stay unchanged.
    pub(super) fn replace_with(&self, new: &str) -> Result<TextSplice, Refusal> {
        self.check_surroundings("", new, true)?;
        Ok(TextSplice::from_change(self.start, self.old, new))
    }

    /// Returns the splice that adds the section after a gap, if the surroundings stay unchanged.
    pub(super) fn insert_after_gap(&self, gap: &str, new: &str) -> Result<TextSplice, Refusal> {
        self.check_surroundings(gap, new, true)?;
        Ok(TextSplice {
            start: self.start,
            removed: 0,
            text: [gap, new].concat(),
        })
    }

    /// Returns the splice that replaces the section with a gap, if the surroundings stay unchanged.
    pub(super) fn replace_with_gap(&self, gap: &str) -> Result<TextSplice, Refusal> {
        self.check_surroundings(gap, "", false)?;
        Ok(TextSplice {
            start: self.start,
            removed: self.old.len(),
            text: gap.to_owned(),
        })
    }

    /// Parses the neighbourhood as it would be after the edit and compares its headings.
    fn check_surroundings(&self, gap: &str, new: &str, is_kept: bool) -> Result<(), Refusal> {
        let probe = [self.eol, PROBE_HEADING].concat();
        let tail = if self.is_last() { &probe } else { self.after };
        let neighbourhood = [self.before, gap, new, tail].concat();
        let found = if self.neighbourhood_start == 0 {
            parse_outline(&neighbourhood)
        } else {
            parse_outline_from(&neighbourhood, 0)
        };
        let own_start = self.before.len() + gap.len();
        let end = own_start + new.len();
        let (before, rest) = split_sections_at(&found.sections, own_start);
        let (inside, behind) = split_sections_at(rest, end);
        let untouched = before.len() == usize::from(self.previous.is_some())
            && before.iter().zip(self.previous).all(|(now, old)| {
                is_same_heading(now, old)
                    && now.heading.end == old.heading.end - self.neighbourhood_start
            });
        let followed = match (behind, self.next) {
            ([now], Some(old)) => {
                is_same_heading(now, old) && now.heading == (end..neighbourhood.len())
            }
            ([now], None) => now.heading == (end + self.eol.len()..neighbourhood.len()),
            _ => false,
        };
        if untouched && followed && self.owns_headings(inside, own_start, is_kept) {
            Ok(())
        } else {
            Err(surroundings_changed())
        }
    }

    /// Returns whether the headings found inside are the section's own heading and deeper ones.
    fn owns_headings(&self, inside: &[Section], start: usize, is_kept: bool) -> bool {
        let Some((own, deeper)) = inside.split_first() else {
            return !is_kept;
        };
        let length = own.heading.len();
        is_kept
            && own.heading.start == start
            && (own.level, own.title.as_str()) == (self.level, self.title.as_str())
            && (self.old.is_empty() || length >= self.heading_length)
            && deeper.iter().all(|inner| inner.level > self.level)
    }
}

/// Returns the refusal for an edit that would change how the surrounding text is parsed.
pub(super) fn surroundings_changed() -> Refusal {
    Refusal::from(SectionRefusal::ChangesParsing)
}

fn is_same_heading(now: &Section, old: &Section) -> bool {
    now.level == old.level && now.title == old.title
}

fn split_sections_at(sections: &[Section], at: usize) -> (&[Section], &[Section]) {
    let count = sections.partition_point(|section| section.heading.start < at);
    sections.split_at(count)
}
