//! Validation that a section edit does not change how the rest of the text is parsed.
//!
//! Only the neighbourhood is parsed again: from the heading before the section up to and including the heading
//! after it. If that heading is still found at its position, everything after it is unchanged.

use super::{compose::own_line_end, text_line_end};
use crate::board::section::{Section, outline, outline_from};
use crate::board::splice::Splice;
use crate::refusal::{Code, Refusal};

/// Placeholder for a heading that may later follow the last section.
const PROBE: &str = "# polis\n";

/// The position of an existing or new section, and its neighbourhood.
pub(super) struct Place<'t> {
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
    near: usize,
    /// The text from there to the section.
    before: &'t str,
    /// The heading in `before`, if it begins with one.
    previous: Option<&'t Section>,
    /// The text of the next heading after the section.
    after: &'t str,
    next: Option<&'t Section>,
}

impl<'t> Place<'t> {
    /// Returns the position of an existing section.
    pub(super) fn of_section(text: &'t str, sections: &'t [Section], section: &'t Section) -> Self {
        let index = sections.partition_point(|other| other.heading.start < section.heading.start);
        let following = sections.partition_point(|other| other.heading.start < section.end);
        let next = sections.get(following);
        let previous = index.checked_sub(1).and_then(|before| sections.get(before));
        let near = previous.map_or(0, |previous| previous.heading.start);
        let heading = &text[section.heading.clone()];
        Self {
            old: &text[section.whole()],
            eol: own_line_end(heading).unwrap_or_else(|| text_line_end(text)),
            start: section.heading.start,
            heading_length: heading.len(),
            level: section.level,
            title: section.title.clone(),
            near,
            before: &text[near..section.heading.start],
            previous,
            after: next.map_or("", |next| &text[next.heading.clone()]),
            next,
        }
    }

    /// Returns the position at the end of a text, for a new section.
    pub(super) fn at_end(text: &'t str, sections: &'t [Section], level: u8, title: &str) -> Self {
        let previous = sections.last();
        let near = previous.map_or(0, |previous| previous.heading.start);
        Self {
            old: "",
            eol: text_line_end(text),
            start: text.len(),
            heading_length: 0,
            level,
            title: title.to_owned(),
            near,
            before: &text[near..],
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
    pub(super) fn change_to(&self, new: &str) -> Result<Splice, Refusal> {
        self.check("", new, true)?;
        Ok(Splice::between(self.start, self.old, new))
    }

    /// Returns the splice that adds the section after a gap, if the surroundings stay unchanged.
    pub(super) fn grow_by(&self, gap: &str, new: &str) -> Result<Splice, Refusal> {
        self.check(gap, new, true)?;
        Ok(Splice {
            start: self.start,
            removed: 0,
            text: [gap, new].concat(),
        })
    }

    /// Returns the splice that replaces the section with a gap, if the surroundings stay unchanged.
    pub(super) fn remove(&self, gap: &str) -> Result<Splice, Refusal> {
        self.check(gap, "", false)?;
        Ok(Splice {
            start: self.start,
            removed: self.old.len(),
            text: gap.to_owned(),
        })
    }

    /// Parses the neighbourhood as it would be after the edit and compares its headings.
    fn check(&self, gap: &str, new: &str, stays: bool) -> Result<(), Refusal> {
        let probe = [self.eol, PROBE].concat();
        let tail = if self.is_last() { &probe } else { self.after };
        let near = [self.before, gap, new, tail].concat();
        let found = if self.near == 0 {
            outline(&near)
        } else {
            outline_from(&near, 0)
        };
        let own = self.before.len() + gap.len();
        let end = own + new.len();
        let (before, rest) = split(&found.sections, own);
        let (inside, behind) = split(rest, end);
        let untouched = before.len() == usize::from(self.previous.is_some())
            && before
                .iter()
                .zip(self.previous)
                .all(|(now, was)| same(now, was) && now.heading.end == was.heading.end - self.near);
        let followed = match (behind, self.next) {
            ([now], Some(was)) => same(now, was) && now.heading == (end..near.len()),
            ([now], None) => now.heading == (end + self.eol.len()..near.len()),
            _ => false,
        };
        if untouched && followed && self.owns(inside, own, stays) {
            Ok(())
        } else {
            Err(disturbs())
        }
    }

    /// Returns whether the headings found inside are the section's own heading and deeper ones.
    fn owns(&self, inside: &[Section], start: usize, stays: bool) -> bool {
        let Some((own, deeper)) = inside.split_first() else {
            return !stays;
        };
        let length = own.heading.len();
        stays
            && own.heading.start == start
            && (own.level, own.title.as_str()) == (self.level, self.title.as_str())
            && (self.old.is_empty() || length >= self.heading_length)
            && deeper.iter().all(|inner| inner.level > self.level)
    }
}

/// Returns the refusal for an edit that would change how the surrounding text is parsed.
pub(super) fn disturbs() -> Refusal {
    Refusal::new(
        Code::InvalidSection,
        "The edit would change how the text around the section reads.",
        "close every code fence and HTML block, before the section and in the content, or write the whole board",
    )
}

fn same(now: &Section, was: &Section) -> bool {
    now.level == was.level && now.title == was.title
}

fn split(sections: &[Section], at: usize) -> (&[Section], &[Section]) {
    let count = sections.partition_point(|section| section.heading.start < at);
    sections.split_at(count)
}
