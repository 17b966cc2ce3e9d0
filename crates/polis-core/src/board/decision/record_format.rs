//! Text format of decision records on a board: parsing and rendering.
//!
//! A record is a heading `决策 #7` or `Decision #7` below the heading of the key decisions, and the list items
//! up to the next heading that begin with a known label. All other text between the two was added by hand and
//! is ignored. Values of several lines are indented under their item, so that nothing in them can be parsed
//! as a heading or a field.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::{
    BoardDecision, DecisionKind, DecisionStatus, normalize_line, normalize_names, normalize_text,
};
use crate::board::escape::{escape_characters, is_unfilled_placeholder, unescape_characters};
use crate::board::section::{SectionOutline, parse_outline};
use crate::board::template_text::{
    ContentLanguage, TemplateTerm, heading, is_placeholder, label, record, value,
};
use crate::board::text_lines::{TextLine, iter_lines, line_start};

/// A field of a record, in the order of rendering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DecisionField {
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

impl DecisionField {
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

    fn label(self) -> TemplateTerm {
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
    fn parse_into(self, value: &str, into: &mut BoardDecision) {
        match self {
            Self::Time => into.time = parse_line_value(value).unwrap_or_default(),
            Self::Proposer => into.proposer = parse_line_value(value).unwrap_or_default(),
            Self::Content => into.content = normalize_text(value),
            Self::Signers => into.signers = parse_name_list(value),
            Self::Status => {
                into.status = DecisionStatus::parse_line(first_line(value));
            }
            Self::Kind => {
                if value::KIND_MILESTONE.matches(first_line(value)) {
                    into.kind = DecisionKind::Milestone;
                }
            }
            Self::Milestone => {
                into.milestone = parse_line_value(value);
                if into.milestone.is_some() {
                    into.kind = DecisionKind::Milestone;
                }
            }
            Self::VetoedBy => into.vetoed_by = parse_name_list(value),
            Self::Reason => {
                into.reason = Some(normalize_text(value)).filter(|text| !text.is_empty());
            }
            Self::AppealedBy => into.appealed_by = parse_line_value(value),
        }
    }

    /// Returns the list item for this field, without its line end; `None` for an optional field that is
    /// absent.
    pub(super) fn render_item(
        self,
        decision: &BoardDecision,
        language: ContentLanguage,
    ) -> Option<String> {
        let value = match self {
            Self::Time => render_line_value(&decision.time),
            Self::Proposer => render_line_value(&decision.proposer),
            Self::Content => decision.content.clone(),
            Self::Signers => render_name_list(&decision.signers, language),
            Self::Status => decision
                .status
                .template_term()
                .in_language(language)
                .to_owned(),
            Self::Kind if decision.kind == DecisionKind::Decision => return None,
            Self::Kind => decision
                .kind
                .template_term()
                .in_language(language)
                .to_owned(),
            Self::Milestone => render_line_value(decision.milestone.as_deref()?),
            Self::VetoedBy if decision.vetoed_by.is_empty() => return None,
            Self::VetoedBy => render_name_list(&decision.vetoed_by, language),
            Self::Reason => decision.reason.clone()?,
            Self::AppealedBy => render_line_value(decision.appealed_by.as_deref()?),
        };
        let mut item = format!("- **{}**:", self.label().in_language(language));
        let starts_below = value.contains('\n') && value.starts_with(BLOCK_MARKERS);
        for (number, line) in value.split('\n').enumerate() {
            match (number, line) {
                (0, "") => {}
                (0, _) if !starts_below => item.push(' '),
                (_, "") => item.push('\n'),
                _ => item.push_str("\n  "),
            }
            item.push_str(line);
        }
        Some(item)
    }
}

/// First characters of a Markdown block; a text that begins with one starts on its own line.
const BLOCK_MARKERS: &[char] = &['#', '>', '-', '*', '+', '`', '~', '|', '<', '1'];

/// A record on a board, with its position.
#[derive(Debug, Clone)]
pub(super) struct DecisionRecord {
    pub(super) decision: BoardDecision,
    pub(super) language: ContentLanguage,
    /// Where its heading ends.
    pub(super) heading_end: usize,
    /// The positions of its fields, without duplicates.
    pub(super) fields: Vec<FieldPosition>,
}

/// The position of a field.
#[derive(Debug, Clone)]
pub(super) struct FieldPosition {
    pub(super) field: DecisionField,
    /// From the start of its first line to the end of its last line, without the line end.
    pub(super) range: Range<usize>,
    /// Where the line after it begins.
    pub(super) next: usize,
}

/// Returns the decisions on a board, in order.
pub fn parse_decisions(text: &str) -> Vec<BoardDecision> {
    parse_records(text, &parse_outline(text))
        .map(|record| record.decision)
        .collect()
}

/// Renders a decision as a record of the template.
///
/// Parsing the result with [`parse_decisions`] returns the decision in its [normal
/// form](BoardDecision::normalize).
pub fn render_decision(decision: &BoardDecision, language: ContentLanguage) -> String {
    render_decision_at_level(decision, language, 3)
}

/// Renders the record with a heading of the given level.
pub(super) fn render_decision_at_level(
    decision: &BoardDecision,
    language: ContentLanguage,
    level: u8,
) -> String {
    let decision = decision.clone().normalize();
    let mut text = format!(
        "{} {} #{}\n",
        "#".repeat(usize::from(level)),
        record::DECISION.in_language(language),
        decision.id
    );
    for field in DecisionField::ALL {
        if let Some(item) = field.render_item(&decision, language) {
            text.push_str(&item);
            text.push('\n');
        }
    }
    text
}

/// Iterates over the records on a board, in order.
pub(super) fn parse_records<'a>(
    text: &'a str,
    outline: &'a SectionOutline,
) -> impl Iterator<Item = DecisionRecord> + 'a {
    let mut section_end = 0;
    let headings = &outline.sections;
    headings.iter().enumerate().filter_map(move |(index, at)| {
        if heading::KEY_DECISIONS.matches(&at.title) {
            section_end = section_end.max(at.end);
            return None;
        }
        let (language, id) = parse_record_heading(&at.title)?;
        if at.heading.start >= section_end {
            return None;
        }
        let next = headings.get(index + 1);
        let end = next.map_or(text.len(), |next| next.heading.start);
        Some(parse_record(text, at.heading.end..end, language, id))
    })
}

/// Parses the language and the id of a heading such as `决策 #7: 采用 Rust`.
fn parse_record_heading(title: &str) -> Option<(ContentLanguage, &str)> {
    let (word, rest) = title.split_once(['#', '＃'])?;
    if !record::DECISION.matches(word) {
        return None;
    }
    let language = if word.trim() == record::DECISION.zh {
        ContentLanguage::Zh
    } else {
        ContentLanguage::En
    };
    let ends = |c: char| c.is_whitespace() || matches!(c, ':' | '：' | '(' | '（' | ',' | '，');
    let id = rest.trim_start().split(ends).next()?;
    (!id.is_empty() && !id.starts_with('{')).then_some((language, id))
}

fn parse_record(
    text: &str,
    body: Range<usize>,
    language: ContentLanguage,
    id: &str,
) -> DecisionRecord {
    let mut decision = BoardDecision {
        id: id.to_owned(),
        ..BoardDecision::default()
    };
    let mut fields: Vec<FieldPosition> = Vec::new();
    for item in top_level_items(text, body.clone()) {
        let Some((lines, value)) = parse_field_item(text, item) else {
            continue;
        };
        // The first occurrence counts; a repetition in a later list does not belong to the record.
        if fields.iter().all(|existing| existing.field != lines.field) {
            lines.field.parse_into(&value, &mut decision);
            fields.push(lines);
        }
    }
    DecisionRecord {
        decision,
        language,
        heading_end: body.start,
        fields,
    }
}

/// Iterates over the items of the top-level lists of a range.
fn top_level_items(
    text: &str,
    section_range: Range<usize>,
) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut depth = 0_usize;
    let offset = section_range.start;
    let markdown = text.get(section_range).unwrap_or_default();
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
fn parse_field_item(text: &str, item: Range<usize>) -> Option<(FieldPosition, String)> {
    let start = line_start(text, item.start);
    let mut all = iter_lines(text, start..item.end);
    let first = all.next()?;
    let (bullet, indent) = (item.start - start, first.indent_columns());
    let after_bullet = first.text.get(bullet..)?.strip_prefix(['-', '*', '+'])?;
    let (field, value) = parse_label(after_bullet.trim_start())?;
    let spaces = after_bullet.len() - after_bullet.trim_start_matches(' ').len();
    let mut margin = indent + 1 + if (1..=4).contains(&spaces) { spaces } else { 1 };
    let mut read = value.to_owned();
    let mut found = FieldPosition {
        field,
        range: first.range.clone(),
        next: first.next_start,
    };
    let mut blank: Vec<TextLine<'_>> = Vec::new();
    for line in all {
        if line.is_blank() {
            blank.push(line);
            continue;
        }
        // A line that is not indented was added by hand below the item.
        if line.indent_columns() <= indent {
            break;
        }
        // A value that begins below its label may be indented further.
        if read.trim().is_empty() {
            margin = margin.max(line.indent_columns());
        }
        for line in blank.drain(..).chain([line]) {
            read.push('\n');
            read.push_str(strip_margin(line.text, margin));
            found.range.end = line.range.end;
            found.next = line.next_start;
        }
    }
    Some((found, read))
}

/// Removes the indentation that a line has as part of an item; a tab is removed as a whole.
fn strip_margin(line: &str, margin: usize) -> &str {
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
fn parse_label(item: &str) -> Option<(DecisionField, &str)> {
    let mark = ["**", "__"].into_iter().find(|mark| item.starts_with(mark));
    let mark = mark.unwrap_or_default();
    let (name, value) = item.get(mark.len()..)?.split_once([':', '：'])?;
    let (name, value) = match name.trim_end().strip_suffix(mark) {
        Some(name) => (name, value),
        None => (name, value.strip_prefix(mark)?),
    };
    let field = DecisionField::ALL
        .into_iter()
        .find(|field| field.label().matches(name))?;
    Some((field, value))
}

fn is_empty_value(text: &str) -> bool {
    text.is_empty()
        || value::UNKNOWN.matches(text)
        || is_placeholder(text)
        || is_unfilled_placeholder(text)
}

fn first_line(value: &str) -> &str {
    value.trim().lines().next().unwrap_or_default().trim()
}

fn parse_line_value(value: &str) -> Option<String> {
    let line = first_line(value);
    let read = normalize_line(&unescape_characters(line));
    (!is_empty_value(line) && !read.is_empty()).then_some(read)
}

fn render_line_value(text: &str) -> String {
    if text.is_empty() {
        return value::UNKNOWN.en.to_owned();
    }
    escape_characters(text, |at, _| at == 0 && is_empty_value(text))
}

/// Parses names separated by commas of either width, `、` or ` / `, or one per line of a list.
fn parse_name_list(value: &str) -> Vec<String> {
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
        .filter(|name| !is_empty_value(name))
        .map(unescape_characters)
        .collect();
    normalize_names(&names)
}

fn render_name_list(names: &[String], language: ContentLanguage) -> String {
    if names.is_empty() {
        return value::NONE_YET.in_language(language).to_owned();
    }
    let names: Vec<_> = names
        .iter()
        .map(|name| {
            let opens_item = name.starts_with(['-', '*', '+']);
            escape_characters(name, |at, c| {
                matches!(c, ',' | '，' | '、' | '/')
                    || at == 0 && (opens_item || is_empty_value(name))
            })
        })
        .collect();
    names.join(", ")
}
