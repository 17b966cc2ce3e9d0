//! Milestones: the task list below the milestones heading of a board.
//!
//! A milestone is a list item with a checkbox, a title and an optional description. The board's text is its
//! only storage.

#[cfg(test)]
mod tests;

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::normal_line;
use super::escape::{escape, is_unfilled, unescape};
use super::insertion_point::{Ending, places, put};
use super::lines::{end_of_written, lines};
use super::section::{Outline, Section, outline};
use super::splice::Splice;
use super::template_text::{Language, heading, value};
use crate::id::quoted;
use crate::refusal::{Code, Refusal};
use crate::task::text::check_line;

/// A milestone as the board says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Milestone {
    /// What stands before the colon.
    pub title: String,
    /// What stands behind it.
    pub description: String,
    /// Whether its box is ticked.
    pub done: bool,
}

/// A milestone and its position.
#[derive(Debug)]
struct Entry {
    milestone: Milestone,
    language: Language,
    /// The checkbox with its brackets.
    tick_box: Range<usize>,
    /// The text after the checkbox, without trailing blanks.
    text: Range<usize>,
    /// Whether the line contains the remark that it is done.
    marked: bool,
}

/// Returns the milestones on a board, in order.
pub fn milestones(text: &str) -> Vec<Milestone> {
    entries(text, &outline(text))
        .into_iter()
        .map(|entry| entry.milestone)
        .collect()
}

/// Adds a milestone after the last one, replacing the placeholder. If the board has no milestones section, one
/// is added at its end.
pub fn add(
    text: &str,
    title: &str,
    description: &str,
    language: Language,
) -> Result<Splice, Refusal> {
    let added = check_new(title, description)?;
    let outline = outline(text);
    let present = entries(text, &outline);
    if present
        .iter()
        .any(|entry| entry.milestone.title == added.title)
    {
        return Err(Refusal::new(
            Code::MilestoneExists,
            format!(
                "The board has a milestone {} already.",
                quoted(&added.title)
            ),
            "choose another title",
        ));
    }
    let line = write_item(&added);
    let is_there = |changed: &str| milestones(changed).contains(&added);
    if let Some(end) = last_item_end(text, &outline) {
        let before = text.get(..end).unwrap_or_default();
        let start = if before.ends_with(['\n', '\r']) {
            ""
        } else {
            "\n"
        };
        let below = Splice {
            start: end,
            removed: 0,
            text: format!("{start}{line}"),
        };
        if is_there(&below.apply(text)) {
            return Ok(below);
        }
    }
    let places = places(
        text,
        &outline,
        heading::MILESTONES,
        language,
        Ending::OwnBody,
    );
    Ok(put(text, &places, |_| line.clone(), is_there))
}

/// Checks a milestone's box and adds the remark that it is done, in the language of the section. A milestone
/// that is already done is not changed.
pub fn set_done(text: &str, title: &str) -> Result<Splice, Refusal> {
    let title = normal_line(title);
    let mut named = entries(text, &outline(text));
    named.retain(|entry| entry.milestone.title == title);
    if named.is_empty() {
        return Err(Refusal::new(
            Code::MilestoneNotFound,
            format!("Milestone {} not found on this board.", quoted(&title)),
            "see the milestones there are with `polis board milestones BOARD`",
        ));
    }
    let Some(entry) = named.iter().find(|entry| !entry.milestone.done) else {
        return Ok(Splice::default());
    };
    let said = text
        .get(entry.tick_box.end..entry.text.end)
        .unwrap_or_default();
    let mark = if entry.marked {
        String::new()
    } else {
        format!(" ({})", value::DONE.text(entry.language))
    };
    Ok(Splice {
        start: entry.tick_box.start,
        removed: entry.text.end - entry.tick_box.start,
        text: format!("[x]{said}{mark}"),
    })
}

fn check_new(title: &str, description: &str) -> Result<Milestone, Refusal> {
    check_line("milestone title", title)?;
    if title.contains([':', '：']) {
        return Err(Refusal::new(
            Code::InvalidSubject,
            "Invalid milestone title: it contains a colon.",
            "a colon divides the title from the description; put the rest there",
        ));
    }
    if !description.is_empty() {
        check_line("milestone description", description)?;
    }
    Ok(Milestone {
        title: normal_line(title),
        description: normal_line(description),
        done: false,
    })
}

fn write_item(milestone: &Milestone) -> String {
    let title = &milestone.title;
    let description = &milestone.description;
    let ends_marked =
        |text: &str, at: usize, c: char| at + c.len_utf8() == text.len() && without_mark(text).1;
    let title = escape(title, |at, c| {
        let opens = at == 0 && (title.starts_with("**") || is_unfilled(title));
        opens || description.is_empty() && ends_marked(title, at, c)
    });
    if description.is_empty() {
        return format!("- [ ] {title}\n");
    }
    let description = escape(description, |at, c| {
        let opens = at == 0 && (description.starts_with("**") || is_unfilled(description));
        opens || ends_marked(description, at, c)
    });
    format!("- [ ] {title}: {description}\n")
}

/// Iterates over the milestones sections, without nested ones.
fn sections(outline: &Outline) -> impl Iterator<Item = &Section> {
    let mut end = 0;
    outline.sections.iter().filter(move |section| {
        let counts = heading::MILESTONES.is(&section.title) && section.heading.start >= end;
        if counts {
            end = section.end;
        }
        counts
    })
}

fn entries(text: &str, outline: &Outline) -> Vec<Entry> {
    sections(outline)
        .flat_map(|section| {
            let language = if section.title == heading::MILESTONES.zh {
                Language::Zh
            } else {
                Language::En
            };
            boxes(text, section.body())
                .filter_map(move |(tick_box, done)| read_entry(text, tick_box, done, language))
        })
        .collect()
}

fn events(text: &str, stretch: Range<usize>) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    let offset = stretch.start;
    let markdown = text.get(stretch).unwrap_or_default();
    Parser::new_ext(markdown, Options::ENABLE_TASKLISTS)
        .into_offset_iter()
        .map(move |(event, range)| (event, range.start + offset..range.end + offset))
}

fn boxes(text: &str, stretch: Range<usize>) -> impl Iterator<Item = (Range<usize>, bool)> + '_ {
    events(text, stretch).filter_map(|(event, range)| match event {
        Event::TaskListMarker(done) => Some((range, done)),
        _ => None,
    })
}

/// Returns the end of the last item with a checkbox in the first section's own lists.
fn last_item_end(text: &str, outline: &Outline) -> Option<usize> {
    let section = sections(outline).next()?;
    let own_end = outline
        .sections
        .iter()
        .map(|next| next.heading.start)
        .find(|start| *start > section.heading.start)
        .map_or(section.end, |start| start.min(section.end));
    let mut depth = 0_usize;
    let mut open = 0..0;
    let mut last = None;
    for (event, range) in events(text, section.heading.end..own_end) {
        match event {
            Event::Start(Tag::Item) => {
                if depth == 0 {
                    open = range;
                }
                depth += 1;
            }
            Event::End(TagEnd::Item) => depth = depth.saturating_sub(1),
            Event::TaskListMarker(_) => last = Some(open.clone()),
            _ => {}
        }
    }
    let last = last?;
    // The parser ends an item either with its last line or with the blank lines after it.
    let end = lines(text, last.end..own_end)
        .next()
        .filter(|_| {
            !text
                .get(..last.end)
                .is_some_and(|t| t.ends_with(['\n', '\r']))
        })
        .map_or(last.end, |line| line.next);
    Some(end_of_written(text, last.start..end))
}

fn read_entry(text: &str, tick_box: Range<usize>, done: bool, language: Language) -> Option<Entry> {
    let line = lines(text, tick_box.end..text.len()).next()?;
    let said = line.text.trim();
    let (said, marked) = without_mark(said);
    let (title, description) = divided(said);
    if title.is_empty() || is_unfilled(title) || is_unfilled(description) {
        return None;
    }
    let text_end = line.range.start + line.text.trim_end().len();
    Some(Entry {
        milestone: Milestone {
            title: normal_line(&unescape(title)),
            description: normal_line(&unescape(description)),
            done,
        },
        language,
        text: tick_box.end..text_end,
        tick_box,
        marked,
    })
}

/// Splits `title: description`, `**title**: ...` or `**title:** ...` into title and description.
fn divided(said: &str) -> (&str, &str) {
    let (title, description) = match said.split_once([':', '：']) {
        Some((title, description)) => (title.trim(), description.trim()),
        None => (said, ""),
    };
    let Some(bold) = title.strip_prefix("**") else {
        return (title, description);
    };
    match (bold.strip_suffix("**"), description.strip_prefix("**")) {
        (Some(title), _) => (title.trim(), description),
        (None, Some(description)) => (bold.trim(), description.trim()),
        (None, None) => (title, description),
    }
}

/// Returns a text without a trailing remark that it is done, and whether it had one.
fn without_mark(said: &str) -> (&str, bool) {
    let inner = said
        .strip_suffix([')', '）'])
        .and_then(|text| text.rsplit_once(['(', '（']));
    match inner {
        Some((before, remark)) if value::DONE.is(remark) => (before.trim_end(), true),
        _ => (said, false),
    }
}
