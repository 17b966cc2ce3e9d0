//! Text format of decision records: parsing and rendering.
//!
//! A record is a heading `决策 #7` or `Decision #7` below the heading of the key decisions, and the list items up
//! to the next heading that begin with a known label. All other text between the two was added by hand and is
//! ignored. Values of several lines are indented under their item, so that nothing in them can be parsed as a
//! heading or a field.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::{Decision, DecisionKind, DecisionStatus, normal_line, normal_names, normal_text};
use crate::board::escape::{escape, is_unfilled, unescape};
use crate::board::lines::{Line, line_start, lines};
use crate::board::section::{Outline, outline};
use crate::board::template_text::{Language, Word, heading, is_placeholder, label, record, value};

/// A field of a record, in the order of rendering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Field {
    Time,
    Proposer,
    Content,
    Signers,
    Status,
    Kind,
    Milestone,
    VetoedBy,
    Reason,
    AppealedBy,
}

impl Field {
    pub(super) const ALL: [Self; 10] = [
        Self::Time,
        Self::Proposer,
        Self::Content,
        Self::Signers,
        Self::Status,
        Self::Kind,
        Self::Milestone,
        Self::VetoedBy,
        Self::Reason,
        Self::AppealedBy,
    ];

    fn label(self) -> Word {
        match self {
            Self::Time => label::TIME,
            Self::Proposer => label::PROPOSER,
            Self::Content => label::CONTENT,
            Self::Signers => label::SIGNERS,
            Self::Status => label::STATUS,
            Self::Kind => label::KIND,
            Self::Milestone => label::MILESTONE,
            Self::VetoedBy => label::VETOED_BY,
            Self::Reason => label::REASON,
            Self::AppealedBy => label::APPEALED_BY,
        }
    }

    /// Parses a value from a record into the decision.
    fn read(self, value: &str, into: &mut Decision) {
        match self {
            Self::Time => into.time = read_line(value).unwrap_or_default(),
            Self::Proposer => into.proposer = read_line(value).unwrap_or_default(),
            Self::Content => into.content = normal_text(value),
            Self::Signers => into.signers = read_names(value),
            Self::Status => {
                into.status = DecisionStatus::read(first_line(value));
            }
            Self::Kind => {
                if value::KIND_MILESTONE.is(first_line(value)) {
                    into.kind = DecisionKind::Milestone;
                }
            }
            Self::Milestone => {
                into.milestone = read_line(value);
                if into.milestone.is_some() {
                    into.kind = DecisionKind::Milestone;
                }
            }
            Self::VetoedBy => into.vetoed_by = read_names(value),
            Self::Reason => into.reason = Some(normal_text(value)).filter(|text| !text.is_empty()),
            Self::AppealedBy => into.appealed_by = read_line(value),
        }
    }

    /// Returns the list item for this field, without its line end; `None` for an optional field that is absent.
    pub(super) fn item(self, of: &Decision, language: Language) -> Option<String> {
        let value = match self {
            Self::Time => write_line(&of.time),
            Self::Proposer => write_line(&of.proposer),
            Self::Content => of.content.clone(),
            Self::Signers => write_names(&of.signers, language),
            Self::Status => of.status.word().text(language).to_owned(),
            Self::Kind if of.kind == DecisionKind::Decision => return None,
            Self::Kind => of.kind.word().text(language).to_owned(),
            Self::Milestone => write_line(of.milestone.as_deref()?),
            Self::VetoedBy if of.vetoed_by.is_empty() => return None,
            Self::VetoedBy => write_names(&of.vetoed_by, language),
            Self::Reason => of.reason.clone()?,
            Self::AppealedBy => write_line(of.appealed_by.as_deref()?),
        };
        let mut item = format!("- **{}**:", self.label().text(language));
        let below = value.contains('\n') && value.starts_with(OPENS_BLOCK);
        for (number, line) in value.split('\n').enumerate() {
            match (number, line) {
                (0, "") => {}
                (0, _) if !below => item.push(' '),
                (_, "") => item.push('\n'),
                _ => item.push_str("\n  "),
            }
            item.push_str(line);
        }
        Some(item)
    }
}

/// First characters of a Markdown block; a text that begins with one starts on its own line.
const OPENS_BLOCK: &[char] = &['#', '>', '-', '*', '+', '`', '~', '|', '<', '1'];

/// A record on a board, with its position.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) decision: Decision,
    pub(super) language: Language,
    /// Where its heading ends.
    pub(super) top: usize,
    /// The positions of its fields, without duplicates.
    pub(super) fields: Vec<FieldLines>,
}

/// The position of a field.
#[derive(Debug, Clone)]
pub(super) struct FieldLines {
    pub(super) field: Field,
    /// From the start of its first line to the end of its last line, without the line end.
    pub(super) range: Range<usize>,
    /// Where the line after it begins.
    pub(super) next: usize,
}

/// Returns the decisions on a board, in order.
pub fn decisions(text: &str) -> Vec<Decision> {
    records(text, &outline(text))
        .map(|record| record.decision)
        .collect()
}

/// Renders a decision as a record of the template.
///
/// Parsing the result with [`decisions`] returns the decision in its [normal form](Decision::normal).
pub fn render(decision: &Decision, language: Language) -> String {
    render_at(decision, language, 3)
}

/// Renders the record with a heading of the given level.
pub(super) fn render_at(decision: &Decision, language: Language, level: u8) -> String {
    let decision = decision.clone().normal();
    let mut text = format!(
        "{} {} #{}\n",
        "#".repeat(usize::from(level)),
        record::DECISION.text(language),
        decision.id
    );
    for field in Field::ALL {
        if let Some(item) = field.item(&decision, language) {
            text.push_str(&item);
            text.push('\n');
        }
    }
    text
}

/// Iterates over the records on a board, in order.
pub(super) fn records<'a>(
    text: &'a str,
    outline: &'a Outline,
) -> impl Iterator<Item = Record> + 'a {
    let mut section_end = 0;
    let headings = &outline.sections;
    headings.iter().enumerate().filter_map(move |(index, at)| {
        if heading::KEY_DECISIONS.is(&at.title) {
            section_end = section_end.max(at.end);
            return None;
        }
        let (language, id) = read_heading(&at.title)?;
        if at.heading.start >= section_end {
            return None;
        }
        let next = headings.get(index + 1);
        let end = next.map_or(text.len(), |next| next.heading.start);
        Some(read_record(text, at.heading.end..end, language, id))
    })
}

/// Parses the language and the id of a heading such as `决策 #7: 采用 Rust`.
fn read_heading(title: &str) -> Option<(Language, &str)> {
    let (word, rest) = title.split_once(['#', '＃'])?;
    if !record::DECISION.is(word) {
        return None;
    }
    let language = if word.trim() == record::DECISION.zh {
        Language::Zh
    } else {
        Language::En
    };
    let ends = |c: char| c.is_whitespace() || matches!(c, ':' | '：' | '(' | '（' | ',' | '，');
    let id = rest.trim_start().split(ends).next()?;
    (!id.is_empty() && !id.starts_with('{')).then_some((language, id))
}

fn read_record(text: &str, body: Range<usize>, language: Language, id: &str) -> Record {
    let mut decision = Decision {
        id: id.to_owned(),
        ..Decision::default()
    };
    let mut fields: Vec<FieldLines> = Vec::new();
    for item in items(text, body.clone()) {
        let Some((lines, value)) = read_item(text, item) else {
            continue;
        };
        // The first occurrence counts; a repetition in a later list does not belong to the record.
        if fields.iter().all(|known| known.field != lines.field) {
            lines.field.read(&value, &mut decision);
            fields.push(lines);
        }
    }
    Record {
        decision,
        language,
        top: body.start,
        fields,
    }
}

/// Iterates over the items of the top-level lists of a range.
fn items(text: &str, stretch: Range<usize>) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut depth = 0_usize;
    let offset = stretch.start;
    let markdown = text.get(stretch).unwrap_or_default();
    let events = Parser::new_ext(markdown, Options::empty()).into_offset_iter();
    events.filter_map(move |(event, range)| {
        match event {
            Event::Start(Tag::Item) if depth == 1 => {
                depth += 1;
                return Some(range.start + offset..range.end + offset);
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
        None
    })
}

/// Parses an item: its field, position and value. Returns `None` if it has no known label.
fn read_item(text: &str, item: Range<usize>) -> Option<(FieldLines, String)> {
    let start = line_start(text, item.start);
    let mut all = lines(text, start..item.end);
    let first = all.next()?;
    let (bullet, indent) = (item.start - start, first.indent());
    let after_bullet = first.text.get(bullet..)?.strip_prefix(['-', '*', '+'])?;
    let (field, value) = labelled(after_bullet.trim_start())?;
    let spaces = after_bullet.len() - after_bullet.trim_start_matches(' ').len();
    let mut margin = indent + 1 + if (1..=4).contains(&spaces) { spaces } else { 1 };
    let mut read = value.to_owned();
    let mut found = FieldLines {
        field,
        range: first.range.clone(),
        next: first.next,
    };
    let mut blank: Vec<Line<'_>> = Vec::new();
    for line in all {
        if line.is_blank() {
            blank.push(line);
            continue;
        }
        // A line that is not indented was added by hand below the item.
        if line.indent() <= indent {
            break;
        }
        // A value that begins below its label may be indented further.
        if read.trim().is_empty() {
            margin = margin.max(line.indent());
        }
        for line in blank.drain(..).chain([line]) {
            read.push('\n');
            read.push_str(without_margin(line.text, margin));
            found.range.end = line.range.end;
            found.next = line.next;
        }
    }
    Some((found, read))
}

/// Removes the indentation that a line has as part of an item; a tab is removed as a whole.
fn without_margin(line: &str, margin: usize) -> &str {
    let mut column = 0;
    let end = line.bytes().position(|byte| {
        let inside = column < margin;
        column += match byte {
            b' ' => 1,
            b'\t' => 4,
            _ => return true,
        };
        !inside
    });
    line.get(end.unwrap_or(line.len())..).unwrap_or_default()
}

/// Parses `**label**: value`, `**label:** value` or `label: value`.
fn labelled(item: &str) -> Option<(Field, &str)> {
    let mark = ["**", "__"].into_iter().find(|mark| item.starts_with(mark));
    let mark = mark.unwrap_or_default();
    let (name, value) = item.get(mark.len()..)?.split_once([':', '：'])?;
    let (name, value) = match name.trim_end().strip_suffix(mark) {
        Some(name) => (name, value),
        None => (name, value.strip_prefix(mark)?),
    };
    let field = Field::ALL
        .into_iter()
        .find(|field| field.label().is(name))?;
    Some((field, value))
}

fn is_void(text: &str) -> bool {
    text.is_empty() || value::UNKNOWN.is(text) || is_placeholder(text) || is_unfilled(text)
}

fn first_line(value: &str) -> &str {
    value.trim().lines().next().unwrap_or_default().trim()
}

fn read_line(value: &str) -> Option<String> {
    let line = first_line(value);
    let read = normal_line(&unescape(line));
    (!is_void(line) && !read.is_empty()).then_some(read)
}

fn write_line(text: &str) -> String {
    if text.is_empty() {
        return value::UNKNOWN.en.to_owned();
    }
    escape(text, |at, _| at == 0 && is_void(text))
}

/// Parses names separated by commas of either width, `、` or ` / `, or one per line of a list.
fn read_names(value: &str) -> Vec<String> {
    let names: Vec<_> = value
        .split([',', '，', '、', '\n'])
        .flat_map(|part| part.split(" / "))
        .map(|name| {
            let name = name.trim();
            let bullet = ["- ", "* ", "+ "].iter().find(|b| name.starts_with(**b));
            name.get(bullet.map_or(0, |b| b.len())..)
                .unwrap_or_default()
                .trim()
        })
        .filter(|name| !is_void(name))
        .map(unescape)
        .collect();
    normal_names(&names)
}

fn write_names(names: &[String], language: Language) -> String {
    if names.is_empty() {
        return value::NONE_YET.text(language).to_owned();
    }
    let names: Vec<_> = names
        .iter()
        .map(|name| {
            let opens_item = name.starts_with(['-', '*', '+']);
            escape(name, |at, c| {
                matches!(c, ',' | '，' | '、' | '/') || at == 0 && (opens_item || is_void(name))
            })
        })
        .collect();
    names.join(", ")
}
