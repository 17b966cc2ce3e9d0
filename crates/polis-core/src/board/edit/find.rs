//! Lookup of a section by the title that a caller typed.
//!
//! Matching is lenient about `#`s, inline markup, language and case, but refuses an ambiguous title.

use crate::board::section::{Outline, Section, plain_title};
use crate::board::template_text;
use crate::refusal::{Code, Refusal};

/// Maximum number of titles listed in a refusal.
const NAMED: usize = 8;

/// Finds the section with this title; `nth`, from 1, selects one of several.
///
/// The title may be typed with its `#`s or with its inline markup, be the name of a template heading in the
/// other language, or differ in case. Of several matches, the only one of level 2 is chosen. Fails with
/// `section_not_found` or `ambiguous_section`.
pub fn find<'a>(
    text: &str,
    outline: &'a Outline,
    title: &str,
    nth: Option<usize>,
) -> Result<&'a Section, Refusal> {
    let found = matches(outline, title);
    if found.is_empty() {
        return Err(not_found(outline, title));
    }
    if let Some(nth) = nth {
        return nth
            .checked_sub(1)
            .and_then(|at| found.get(at).copied())
            .ok_or_else(|| no_nth(title, nth, found.len()));
    }
    if let [only] = found[..] {
        return Ok(only);
    }
    let mut second = found.iter().filter(|section| section.level == 2);
    match (second.next(), second.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(ambiguous(text, title, &found)),
    }
}

/// Returns a typed title without leading `#`s.
pub(super) fn without_marks(typed: &str) -> &str {
    let typed = typed.trim();
    let bare = typed.trim_start_matches('#');
    let marks = typed.len() - bare.len();
    if marks <= 6 && (bare.is_empty() || bare.starts_with([' ', '\t'])) {
        bare.trim()
    } else {
        typed
    }
}

/// Returns the sections that match under the strictest interpretation of the title that has any matches.
fn matches<'a>(outline: &'a Outline, typed: &str) -> Vec<&'a Section> {
    let bare = without_marks(typed);
    let named = |name: &str| -> Vec<&'a Section> {
        let sections = outline.sections.iter();
        sections.filter(|section| section.title == name).collect()
    };
    let mut found = named(typed.trim());
    if found.is_empty() {
        found = named(bare);
    }
    if found.is_empty() {
        found = plain_title(bare)
            .filter(|plain| !plain.is_empty())
            .map_or(found, |plain| named(&plain));
    }
    if found.is_empty() {
        found = template_text::other_name(bare).map_or(found, named);
    }
    if found.is_empty() {
        let lower = bare.to_lowercase();
        let sections = outline.sections.iter();
        found = sections
            .filter(|section| !lower.is_empty() && section.title.to_lowercase() == lower)
            .collect();
    }
    found
}

fn not_found(outline: &Outline, title: &str) -> Refusal {
    let titles: Vec<_> = outline
        .sections
        .iter()
        .filter(|section| !section.title.is_empty())
        .take(NAMED)
        .map(|section| format!("{:?}", section.title))
        .collect();
    let there = match (titles.len(), outline.sections.len()) {
        (0, _) => "The text has no sections.".to_owned(),
        (named, all) if named < all => format!("There are {}, …", titles.join(", ")),
        _ => format!("There are {}.", titles.join(", ")),
    };
    Refusal::new(
        Code::SectionNotFound,
        format!("Section {:?} not found. {there}", title.trim()),
        "give the text of one of its headings",
    )
}

fn no_nth(title: &str, nth: usize, count: usize) -> Refusal {
    Refusal::new(
        Code::SectionNotFound,
        format!(
            "Section {:?} number {nth} not found; there are {count}.",
            title.trim()
        ),
        format!("use `--nth` with 1 to {count}"),
    )
}

fn ambiguous(text: &str, title: &str, found: &[&Section]) -> Refusal {
    let lines: Vec<_> = found
        .iter()
        .take(NAMED)
        .map(|section| line_number(text, section.heading.start).to_string())
        .collect();
    let more = if lines.len() < found.len() {
        ", …"
    } else {
        ""
    };
    Refusal::new(
        Code::AmbiguousSection,
        format!(
            "{} sections are named {:?}: on lines {}{more}.",
            found.len(),
            title.trim(),
            lines.join(", ")
        ),
        "choose one with `--nth N`, from 1",
    )
}

fn line_number(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    memchr::memchr_iter(b'\n', before).count() + 1
}
