//! Finds a section by the title that a caller typed.
//!
//! Matching is lenient about `#`s, inline markup, language and case, but refuses an ambiguous title.

use crate::board::section::{Section, SectionOutline, plain_title};
use crate::board::template_text;
use crate::refusal::{Refusal, SectionRefusal};

/// Maximum number of titles listed in a refusal.
const MAX_LISTED_TITLES: usize = 8;

/// Finds the section with this title; `nth`, from 1, selects one of several.
///
/// The title may be typed with its `#`s or with its inline markup, be the name of a template heading in the
/// other language, or differ in case. Of several matches, the only one of level 2 is chosen. Fails with
/// `section_not_found` or `ambiguous_section`.
pub fn find_section<'a>(
    text: &str,
    outline: &'a SectionOutline,
    title: &str,
    nth: Option<usize>,
) -> Result<&'a Section, Refusal> {
    let found = matching_sections(outline, title);
    if found.is_empty() {
        return Err(section_not_found(outline, title));
    }
    if let Some(nth) = nth {
        return nth
            .checked_sub(1)
            .and_then(|at| found.get(at).copied())
            .ok_or_else(|| nth_section_not_found(title, nth, found.len()));
    }
    if let [only] = found[..] {
        return Ok(only);
    }
    let mut second = found.iter().filter(|section| section.level == 2);
    match (second.next(), second.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(ambiguous_section(text, title, &found)),
    }
}

/// Returns a typed title without leading `#`s.
pub(super) fn strip_heading_marks(input: &str) -> &str {
    let input = input.trim();
    let bare = input.trim_start_matches('#');
    let marks = input.len() - bare.len();
    if marks <= 6 && (bare.is_empty() || bare.starts_with([' ', '\t'])) {
        bare.trim()
    } else {
        input
    }
}

/// Returns the sections that match under the strictest interpretation of the title that has any matches.
fn matching_sections<'a>(outline: &'a SectionOutline, input: &str) -> Vec<&'a Section> {
    let bare = strip_heading_marks(input);
    let with_title = |name: &str| -> Vec<&'a Section> {
        let sections = outline.sections.iter();
        sections.filter(|section| section.title == name).collect()
    };
    let mut found = with_title(input.trim());
    if found.is_empty() {
        found = with_title(bare);
    }
    if found.is_empty() {
        found = plain_title(bare)
            .filter(|plain| !plain.is_empty())
            .map_or(found, |plain| with_title(&plain));
    }
    if found.is_empty() {
        found = template_text::translate_heading(bare).map_or(found, with_title);
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

fn section_not_found(outline: &SectionOutline, title: &str) -> Refusal {
    let titles: Vec<_> = outline
        .sections
        .iter()
        .filter(|section| !section.title.is_empty())
        .take(MAX_LISTED_TITLES)
        .map(|section| format!("{:?}", section.title))
        .collect();
    let title = format!("{:?}", title.trim());
    match (titles.len(), outline.sections.len()) {
        (0, _) => SectionRefusal::NoSections { title },
        (listed, all) if listed < all => SectionRefusal::NotFoundOfMany { title, titles },
        _ => SectionRefusal::NotFound { title, titles },
    }
    .into()
}

fn nth_section_not_found(title: &str, nth: usize, count: usize) -> Refusal {
    Refusal::from(SectionRefusal::NthNotFound {
        title: format!("{:?}", title.trim()),
        nth,
        count,
    })
}

fn ambiguous_section(text: &str, title: &str, found: &[&Section]) -> Refusal {
    let lines: Vec<_> = found
        .iter()
        .take(MAX_LISTED_TITLES)
        .map(|section| line_number(text, section.heading.start).to_string())
        .collect();
    let is_complete = lines.len() == found.len();
    let (count, title) = (found.len(), format!("{:?}", title.trim()));
    if is_complete {
        SectionRefusal::Ambiguous {
            count,
            title,
            lines,
        }
    } else {
        SectionRefusal::AmbiguousMany {
            count,
            title,
            lines,
        }
    }
    .into()
}

fn line_number(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    memchr::memchr_iter(b'\n', before).count() + 1
}
