//! Changing one section of a text and no other byte.

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

/// What to do with a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionEdit<'a> {
    /// Replace all below the heading; a section that is not there is created.
    Set(&'a str),
    /// Add at the end of the section; a section that is not there is created.
    Append(&'a str),
    /// Remove the heading and all below it.
    Delete,
}

/// The level of a section that is created.
const NEW_LEVEL: u8 = 2;

/// Edits the section with this title; `nth`, from 1, chooses among several.
///
/// The heading keeps its bytes, and so does everything outside the section. What would change how
/// the text around it reads is refused.
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
        // In place of the remark that there is nothing yet.
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

/// Nothing in its place, or a blank line where the lines around it would run together.
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

/// The content without the section's own heading, which many give along with it.
fn without_own_heading<'a>(place: &Place<'_>, typed: &str, content: &'a str) -> &'a str {
    let content = trimmed(content);
    // What was typed is another name for it, unless it is its very title: of "# k", `# k` is not.
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

/// A first line `---` waits for another to become front matter, however far away.
fn keep_front_matter(text: &str, splice: Splice) -> Result<Splice, Refusal> {
    let opens = text.trim_start_matches('\u{feff}').starts_with("---");
    if opens && front_matter_end(&splice.apply(text)) != front_matter_end(text) {
        return Err(check::disturbs());
    }
    Ok(splice)
}

/// The line end to use where a heading gives none.
fn text_line_end(text: &str) -> &'static str {
    match memchr::memchr2(b'\n', b'\r', text.as_bytes()) {
        Some(at) => line_end(text.get(at..).unwrap_or_default()),
        None => "\n",
    }
}
