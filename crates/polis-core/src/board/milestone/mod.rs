//! Milestones: parses, adds and completes the check-box items below the milestones heading of a board.
//!
//! A milestone is a list item with a check box, a title and an optional description. The board's text is its
//! only storage; changes are returned as a [`TextSplice`].

#[cfg(test)]
mod tests;

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::normalize_line;
use super::escape::{escape_characters, is_unfilled_placeholder, unescape_characters};
use super::insertion_point::{InsertionScope, insert_where_readable, insertion_points};
use super::section::{Section, SectionOutline, parse_outline};
use super::splice::TextSplice;
use super::template_text::{ContentLanguage, heading, value};
use super::text_lines::{end_of_content, iter_lines};
use crate::id::quote_untrusted;
use crate::refusal::Refusal;
use crate::refusal::{DecisionRefusal, TextField};
use crate::task::text_limits::check_line;

/// A milestone, as parsed from the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Milestone {
    /// Title: the text before the colon.
    pub title: String,
    /// Description: the text after the colon.
    pub description: String,
    /// Whether its check box is checked.
    pub done: bool,
}

/// A milestone and its position.
#[derive(Debug)]
struct MilestoneEntry {
    milestone: Milestone,
    language: ContentLanguage,
    /// The checkbox with its brackets.
    checkbox: Range<usize>,
    /// The text after the checkbox, without trailing blanks.
    text: Range<usize>,
    /// Whether the line contains the remark that it is done.
    has_done_remark: bool,
}

/// Returns the milestones on a board, in order.
pub fn parse_milestones(text: &str) -> Vec<Milestone> {
    milestone_entries(text, &parse_outline(text))
        .into_iter()
        .map(|entry| entry.milestone)
        .collect()
}

/// Adds a milestone after the last one, or in place of the placeholder of an empty section. If the board has
/// no milestones section, one is added at its end. Fails with `milestone_exists` if the title is taken, or
/// with `invalid_subject` if a text is invalid.
pub fn add_milestone(
    text: &str,
    title: &str,
    description: &str,
    language: ContentLanguage,
) -> Result<TextSplice, Refusal> {
    let added = check_new_milestone(title, description)?;
    let outline = parse_outline(text);
    let present = milestone_entries(text, &outline);
    if present
        .iter()
        .any(|entry| entry.milestone.title == added.title)
    {
        return Err(Refusal::from(DecisionRefusal::MilestoneExists {
            title: quote_untrusted(&added.title),
        }));
    }
    let line = render_milestone(&added);
    let is_readable = |changed: &str| parse_milestones(changed).contains(&added);
    if let Some(end) = last_checkbox_item_end(text, &outline) {
        let before = text.get(..end).unwrap_or_default();
        let start = if before.ends_with(['\n', '\r']) {
            ""
        } else {
            "\n"
        };
        let splice = TextSplice {
            start: end,
            removed: 0,
            text: format!("{start}{line}"),
        };
        if is_readable(&splice.apply(text)) {
            return Ok(splice);
        }
    }
    let points = insertion_points(
        text,
        &outline,
        heading::MILESTONES,
        language,
        InsertionScope::OwnBody,
    );
    Ok(insert_where_readable(
        text,
        &points,
        |_| line.clone(),
        is_readable,
    ))
}

/// Checks a milestone's box and adds the remark that it is done, in the language of the section. A milestone
/// that is already done is not changed. Fails with `milestone_not_found` if none has the title.
pub fn complete_milestone(text: &str, title: &str) -> Result<TextSplice, Refusal> {
    let title = normalize_line(title);
    let mut matching = milestone_entries(text, &parse_outline(text));
    matching.retain(|entry| entry.milestone.title == title);
    if matching.is_empty() {
        return Err(Refusal::from(DecisionRefusal::MilestoneNotFound {
            title: quote_untrusted(&title),
        }));
    }
    let Some(entry) = matching.iter().find(|entry| !entry.milestone.done) else {
        return Ok(TextSplice::default());
    };
    let label_text = text
        .get(entry.checkbox.end..entry.text.end)
        .unwrap_or_default();
    let mark = if entry.has_done_remark {
        String::new()
    } else {
        format!(" ({})", value::DONE.in_language(entry.language))
    };
    Ok(TextSplice {
        start: entry.checkbox.start,
        removed: entry.text.end - entry.checkbox.start,
        text: format!("[x]{label_text}{mark}"),
    })
}

fn check_new_milestone(title: &str, description: &str) -> Result<Milestone, Refusal> {
    check_line(TextField::MilestoneTitle, title)?;
    if title.contains([':', '：']) {
        return Err(Refusal::from(DecisionRefusal::MilestoneColon));
    }
    if !description.is_empty() {
        check_line(TextField::MilestoneDescription, description)?;
    }
    Ok(Milestone {
        title: normalize_line(title),
        description: normalize_line(description),
        done: false,
    })
}

fn render_milestone(milestone: &Milestone) -> String {
    let title = &milestone.title;
    let description = &milestone.description;
    let ends_marked = |text: &str, at: usize, c: char| {
        at + c.len_utf8() == text.len() && strip_done_remark(text).1
    };
    let title = escape_characters(title, |at, c| {
        let opens = at == 0 && (title.starts_with("**") || is_unfilled_placeholder(title));
        opens || description.is_empty() && ends_marked(title, at, c)
    });
    if description.is_empty() {
        return format!("- [ ] {title}\n");
    }
    let description = escape_characters(description, |at, c| {
        let opens =
            at == 0 && (description.starts_with("**") || is_unfilled_placeholder(description));
        opens || ends_marked(description, at, c)
    });
    format!("- [ ] {title}: {description}\n")
}

/// Iterates over the milestones sections, without nested ones.
fn milestone_sections(outline: &SectionOutline) -> impl Iterator<Item = &Section> {
    let mut end = 0;
    outline.sections.iter().filter(move |section| {
        let counts = heading::MILESTONES.matches(&section.title) && section.heading.start >= end;
        if counts {
            end = section.end;
        }
        counts
    })
}

fn milestone_entries(text: &str, outline: &SectionOutline) -> Vec<MilestoneEntry> {
    milestone_sections(outline)
        .flat_map(|section| {
            let language = if section.title == heading::MILESTONES.zh {
                ContentLanguage::Zh
            } else {
                ContentLanguage::En
            };
            checkboxes(text, section.body_range()).filter_map(move |(tick_box, done)| {
                parse_milestone_entry(text, tick_box, done, language)
            })
        })
        .collect()
}

fn markdown_events(
    text: &str,
    section_range: Range<usize>,
) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    let offset = section_range.start;
    let markdown = text.get(section_range).unwrap_or_default();
    Parser::new_ext(markdown, Options::ENABLE_TASKLISTS)
        .into_offset_iter()
        .map(move |(event, range)| (event, range.start + offset..range.end + offset))
}

fn checkboxes(
    text: &str,
    section_range: Range<usize>,
) -> impl Iterator<Item = (Range<usize>, bool)> + '_ {
    markdown_events(text, section_range).filter_map(|(event, range)| match event {
        Event::TaskListMarker(done) => Some((range, done)),
        _ => None,
    })
}

/// Returns the end of the last item with a checkbox in the first section's own lists.
fn last_checkbox_item_end(text: &str, outline: &SectionOutline) -> Option<usize> {
    let section = milestone_sections(outline).next()?;
    let own_end = outline
        .sections
        .iter()
        .map(|next| next.heading.start)
        .find(|start| *start > section.heading.start)
        .map_or(section.end, |start| start.min(section.end));
    let mut depth = 0_usize;
    let mut open = 0..0;
    let mut last = None;
    for (event, range) in markdown_events(text, section.heading.end..own_end) {
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
    let end = iter_lines(text, last.end..own_end)
        .next()
        .filter(|_| {
            !text
                .get(..last.end)
                .is_some_and(|t| t.ends_with(['\n', '\r']))
        })
        .map_or(last.end, |line| line.next_start);
    Some(end_of_content(text, last.start..end))
}

fn parse_milestone_entry(
    text: &str,
    tick_box: Range<usize>,
    done: bool,
    language: ContentLanguage,
) -> Option<MilestoneEntry> {
    let line = iter_lines(text, tick_box.end..text.len()).next()?;
    let label_text = line.text.trim();
    let (label_text, has_done_remark) = strip_done_remark(label_text);
    let (title, description) = split_title(label_text);
    if title.is_empty() || is_unfilled_placeholder(title) || is_unfilled_placeholder(description) {
        return None;
    }
    let text_end = line.range.start + line.text.trim_end().len();
    Some(MilestoneEntry {
        milestone: Milestone {
            title: normalize_line(&unescape_characters(title)),
            description: normalize_line(&unescape_characters(description)),
            done,
        },
        language,
        text: tick_box.end..text_end,
        checkbox: tick_box,
        has_done_remark,
    })
}

/// Splits `title: description`, `**title**: ...` or `**title:** ...` into title and description.
fn split_title(text: &str) -> (&str, &str) {
    let (title, description) = match text.split_once([':', '：']) {
        Some((title, description)) => (title.trim(), description.trim()),
        None => (text, ""),
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
fn strip_done_remark(label_text: &str) -> (&str, bool) {
    let inner = label_text
        .strip_suffix([')', '）'])
        .and_then(|text| text.rsplit_once(['(', '（']));
    match inner {
        Some((before, remark)) if value::DONE.matches(remark) => (before.trim_end(), true),
        _ => (label_text, false),
    }
}
