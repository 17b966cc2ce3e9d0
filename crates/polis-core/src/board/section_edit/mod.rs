//! Editing of one section of a Markdown text without changing any other byte.
//!
//! [`edit_section`] creates, replaces, extends or deletes a section. It returns a [`TextSplice`], or refuses
//! an edit that would change how the rest of the text is parsed.

mod compose;
mod section_lookup;
mod section_position;
#[cfg(test)]
mod tests;

pub use section_lookup::find_section;

use compose::{compose_empty_section, compose_with_content, leading_line_end, trim_blank_lines};
use section_position::SectionPosition;

use super::section::{Section, front_matter_end, parse_outline, parse_outline_from};
use super::splice::TextSplice;
use super::template_text::is_placeholder;
use crate::refusal::{Refusal, RefusalCode, SectionRefusal};

/// An edit of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionEdit<'a> {
    /// Replace everything below the heading; a missing section is created.
    Set(&'a str),
    /// Append to the section; a missing section is created.
    Append(&'a str),
    /// Remove the heading and everything below it.
    Delete,
}

/// Heading level of a section that is created.
const NEW_SECTION_LEVEL: u8 = 2;

/// Edits the section with this title; `nth`, from 1, selects one of several.
///
/// The heading keeps its bytes, and so does everything outside the section. Fails like [`find_section`] if
/// the section is not found and not created, and with `invalid_section` if the title is invalid or the edit
/// would end the section or change how the surrounding text is parsed.
pub fn edit_section(
    text: &str,
    title: &str,
    nth: Option<usize>,
    edit: SectionEdit<'_>,
) -> Result<TextSplice, Refusal> {
    check_title(title)?;
    let outline = parse_outline(text);
    let section = match find_section(text, &outline, title, nth) {
        Ok(section) => section,
        Err(refusal) => {
            return match edit {
                SectionEdit::Set(content) | SectionEdit::Append(content)
                    if refusal.code == RefusalCode::SECTION_NOT_FOUND && nth.is_none() =>
                {
                    create_section(
                        text,
                        &outline.sections,
                        section_lookup::strip_heading_marks(title),
                        content,
                    )
                }
                _ => Err(refusal),
            };
        }
    };
    let position = SectionPosition::for_section(text, &outline.sections, section);
    let body = text.get(section.body_range()).unwrap_or_default();
    let splice = match edit {
        SectionEdit::Set(content) => set_section_content(&position, title, content),
        // Replaces the placeholder of an empty section.
        SectionEdit::Append(content) if is_placeholder(body.trim()) => {
            set_section_content(&position, title, trim_blank_lines(content))
        }
        SectionEdit::Append(content) => append_to_section(&position, content),
        SectionEdit::Delete => delete_section(&position),
    }?;
    check_front_matter(text, splice)
}

fn set_section_content(
    position: &SectionPosition<'_>,
    title: &str,
    content: &str,
) -> Result<TextSplice, Refusal> {
    let content = strip_own_heading(position, title, content);
    check_content_headings(position.level(), content)?;
    let new = if content.is_empty() {
        compose_empty_section(position.heading(), position.eol, position.is_last())
    } else {
        compose_with_content(
            position.heading(),
            content,
            position.eol,
            position.is_last(),
        )
    };
    position.replace_with(&new)
}

fn append_to_section(position: &SectionPosition<'_>, content: &str) -> Result<TextSplice, Refusal> {
    let content = trim_blank_lines(content);
    if content.is_empty() {
        return Ok(TextSplice::default());
    }
    check_content_headings(position.level(), content)?;
    let new = compose_with_content(position.old, content, position.eol, position.is_last());
    position.replace_with(&new)
}

/// Removes the section; leaves a blank line if the surrounding lines would otherwise be joined.
fn delete_section(position: &SectionPosition<'_>) -> Result<TextSplice, Refusal> {
    position
        .replace_with_gap("")
        .or_else(|refusal| position.replace_with_gap(position.eol).map_err(|_| refusal))
}

fn create_section(
    text: &str,
    sections: &[Section],
    title: &str,
    content: &str,
) -> Result<TextSplice, Refusal> {
    check_title_round_trips(title)?;
    let content = trim_blank_lines(content);
    let position = SectionPosition::for_new_section(text, sections, NEW_SECTION_LEVEL, title);
    let content = strip_own_heading(&position, title, content);
    check_content_headings(NEW_SECTION_LEVEL, content)?;
    let heading = format!("## {title}{}", position.eol);
    let new = if content.is_empty() {
        heading
    } else {
        compose_with_content(&heading, content, position.eol, true)
    };
    let gap = compose::gap_before(text, position.eol);
    check_front_matter(text, position.insert_after_gap(&gap, &new)?)
}

/// Returns the content without the section's own heading, which callers often include.
fn strip_own_heading<'a>(position: &SectionPosition<'_>, input: &str, content: &'a str) -> &'a str {
    let content = trim_blank_lines(content);
    // The typed title without `#`s is another name of the section, unless it is the exact title: a section
    // titled "# k" is not named `k`.
    let other = section_lookup::strip_heading_marks(input);
    let input = if input.trim() == position.title() {
        position.title()
    } else {
        other
    };
    let names = [position.title(), input];
    let outline = parse_outline_from(content, 0);
    match outline.sections.first() {
        Some(first)
            if first.heading.start == 0
                && first.level <= position.level()
                && names.contains(&first.title.as_str()) =>
        {
            trim_blank_lines(&content[first.heading.end..])
        }
        _ => content,
    }
}

fn check_title(title: &str) -> Result<(), Refusal> {
    if section_lookup::strip_heading_marks(title).is_empty() || title.trim().contains(['\n', '\r'])
    {
        return Err(Refusal::from(SectionRefusal::InvalidTitle));
    }
    Ok(())
}

fn check_title_round_trips(title: &str) -> Result<(), Refusal> {
    let plain = super::section::plain_title(title).unwrap_or_default();
    if plain == title {
        return Ok(());
    }
    Err(Refusal::from(SectionRefusal::TitleMarkup {
        title: format!("{title:?}"),
        plain: format!("{plain:?}"),
    }))
}

fn check_content_headings(level: u8, content: &str) -> Result<(), Refusal> {
    let outline = parse_outline_from(content, 0);
    match outline.sections.iter().find(|inner| inner.level <= level) {
        None => Ok(()),
        Some(inner) => Err(Refusal::from(SectionRefusal::ContentHeading {
            title: format!("{:?}", inner.title),
            heading_level: inner.level,
            level,
        })),
    }
}

/// Fails if the edit changes the extent of front matter: a first line `---` becomes front matter as soon as a
/// second one follows, at any distance.
fn check_front_matter(text: &str, splice: TextSplice) -> Result<TextSplice, Refusal> {
    let opens = text.trim_start_matches('\u{feff}').starts_with("---");
    if opens && front_matter_end(&splice.apply(text)) != front_matter_end(text) {
        return Err(section_position::surroundings_changed());
    }
    Ok(splice)
}

/// Returns the line end to use if a heading has none.
fn detect_line_end(text: &str) -> &'static str {
    match memchr::memchr2(b'\n', b'\r', text.as_bytes()) {
        Some(at) => leading_line_end(text.get(at..).unwrap_or_default()),
        None => "\n",
    }
}
