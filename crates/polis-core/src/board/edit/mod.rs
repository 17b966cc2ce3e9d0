//! Editing of one section of a Markdown text without changing any other byte.
//!
//! [`edit_section`] replaces, extends or deletes a section. It returns a [`Splice`], or refuses an edit that
//! would change how the rest of the text is parsed.

mod check;
mod compose;
mod find;
#[cfg(test)]
mod tests;

pub use find::find;

use check::Place;
use compose::{appended, emptied, line_end, trimmed};

use super::section::{Section, front_matter_end, outline, outline_from};
use super::splice::Splice;
use super::template_text::is_placeholder;
use crate::refusal::{Code, Refusal};

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
const NEW_LEVEL: u8 = 2;

/// Edits the section with this title; `nth`, from 1, selects one of several.
///
/// The heading keeps its bytes, and so does everything outside the section. Fails with `invalid_section` if the
/// edit would change how the surrounding text is parsed.
pub fn edit_section(
    text: &str,
    title: &str,
    nth: Option<usize>,
    edit: SectionEdit<'_>,
) -> Result<Splice, Refusal> {
    check_title(title)?;
    let outline = outline(text);
    let section = match find(text, &outline, title, nth) {
        Ok(section) => section,
        Err(refusal) => {
            return match edit {
                SectionEdit::Set(content) | SectionEdit::Append(content)
                    if refusal.code == Code::SectionNotFound && nth.is_none() =>
                {
                    create(text, &outline.sections, find::without_marks(title), content)
                }
                _ => Err(refusal),
            };
        }
    };
    let place = Place::of_section(text, &outline.sections, section);
    let body = text.get(section.body()).unwrap_or_default();
    let splice = match edit {
        SectionEdit::Set(content) => set(&place, title, content),
        // Replaces the placeholder of an empty section.
        SectionEdit::Append(content) if is_placeholder(body.trim()) => {
            set(&place, title, trimmed(content))
        }
        SectionEdit::Append(content) => append(&place, content),
        SectionEdit::Delete => delete(&place),
    }?;
    keep_front_matter(text, splice)
}

fn set(place: &Place<'_>, title: &str, content: &str) -> Result<Splice, Refusal> {
    let content = without_own_heading(place, title, content);
    check_content(place.level(), content)?;
    let new = if content.is_empty() {
        emptied(place.heading(), place.eol, place.is_last())
    } else {
        appended(place.heading(), content, place.eol, place.is_last())
    };
    place.change_to(&new)
}

fn append(place: &Place<'_>, content: &str) -> Result<Splice, Refusal> {
    let content = trimmed(content);
    if content.is_empty() {
        return Ok(Splice::default());
    }
    check_content(place.level(), content)?;
    let new = appended(place.old, content, place.eol, place.is_last());
    place.change_to(&new)
}

/// Removes the section; leaves a blank line if the surrounding lines would otherwise be joined.
fn delete(place: &Place<'_>) -> Result<Splice, Refusal> {
    place
        .remove("")
        .or_else(|refusal| place.remove(place.eol).map_err(|_| refusal))
}

fn create(text: &str, sections: &[Section], title: &str, content: &str) -> Result<Splice, Refusal> {
    check_comes_back(title)?;
    let content = trimmed(content);
    let place = Place::at_end(text, sections, NEW_LEVEL, title);
    let content = without_own_heading(&place, title, content);
    check_content(NEW_LEVEL, content)?;
    let heading = format!("## {title}{}", place.eol);
    let new = if content.is_empty() {
        heading
    } else {
        appended(&heading, content, place.eol, true)
    };
    let gap = compose::gap_before(text, place.eol);
    keep_front_matter(text, place.grow_by(&gap, &new)?)
}

/// Returns the content without the section's own heading, which callers often include.
fn without_own_heading<'a>(place: &Place<'_>, typed: &str, content: &'a str) -> &'a str {
    let content = trimmed(content);
    // The typed title without `#`s is another name of the section, unless it is the exact title: a section
    // titled "# k" is not named `k`.
    let other = find::without_marks(typed);
    let typed = if typed.trim() == place.title() {
        place.title()
    } else {
        other
    };
    let names = [place.title(), typed];
    let outline = outline_from(content, 0);
    match outline.sections.first() {
        Some(first)
            if first.heading.start == 0
                && first.level <= place.level()
                && names.contains(&first.title.as_str()) =>
        {
            trimmed(&content[first.heading.end..])
        }
        _ => content,
    }
}

fn check_title(title: &str) -> Result<(), Refusal> {
    if find::without_marks(title).is_empty() || title.trim().contains(['\n', '\r']) {
        return Err(Refusal::new(
            Code::InvalidSection,
            "Invalid section: its name is empty or has line breaks.",
            "give the text of its heading",
        ));
    }
    Ok(())
}

fn check_comes_back(title: &str) -> Result<(), Refusal> {
    let plain = super::section::plain_title(title).unwrap_or_default();
    if plain == title {
        return Ok(());
    }
    Err(Refusal::new(
        Code::InvalidSection,
        format!("Invalid section: as a heading, {title:?} would read {plain:?}."),
        "name the new section without Markdown marks",
    ))
}

fn check_content(level: u8, content: &str) -> Result<(), Refusal> {
    let outline = outline_from(content, 0);
    match outline.sections.iter().find(|inner| inner.level <= level) {
        None => Ok(()),
        Some(inner) => Err(Refusal::new(
            Code::InvalidSection,
            format!(
                "The content has a heading {:?} of level {}, which would end the section (level {level}).",
                inner.title, inner.level
            ),
            "use deeper headings in a section, or write the whole board",
        )),
    }
}

/// Fails if the edit changes the extent of front matter: a first line `---` becomes front matter as soon as a
/// second one follows, at any distance.
fn keep_front_matter(text: &str, splice: Splice) -> Result<Splice, Refusal> {
    let opens = text.trim_start_matches('\u{feff}').starts_with("---");
    if opens && front_matter_end(&splice.apply(text)) != front_matter_end(text) {
        return Err(check::disturbs());
    }
    Ok(splice)
}

/// Returns the line end to use if a heading has none.
fn text_line_end(text: &str) -> &'static str {
    match memchr::memchr2(b'\n', b'\r', text.as_bytes()) {
        Some(at) => line_end(text.get(at..).unwrap_or_default()),
        None => "\n",
    }
}
