//! Inserts and updates decision records in a board's text without changing any other byte.
//!
//! Looks records up by id, adds new ones, and replaces the changed fields of existing ones. Each edit is a
//! [`TextSplice`].

use super::record_format::{
    DecisionField, DecisionRecord, FieldPosition, parse_records, render_decision_at_level,
};
use super::{BoardDecision, parse_decisions};
use crate::board::insertion_point::{InsertionScope, insert_where_readable, insertion_points};
use crate::board::section::parse_outline;
use crate::board::splice::TextSplice;
use crate::board::template_text::{ContentLanguage, heading};
use crate::board::text_lines::iter_lines;
use crate::id::quote_untrusted;
use crate::refusal::{DecisionRefusal, Refusal};

/// Returns the decision with this id, written `7` or `#7`. Fails with `decision_not_found` if there is none.
pub fn find_decision(text: &str, id: &str) -> Result<BoardDecision, Refusal> {
    find_decision_record(text, id).map(|record| record.decision)
}

/// Returns the number for the next decision: the highest existing one plus one.
pub fn next_decision_id(text: &str) -> u64 {
    parse_decisions(text)
        .iter()
        .filter_map(|decision| decision.id.parse::<u64>().ok())
        .max()
        .unwrap_or(0)
        .saturating_add(1)
}

/// Adds a record at the end of the key decisions section, replacing its placeholder. If the board has no such
/// section, one is added at its end.
pub fn insert_decision(
    text: &str,
    decision: &BoardDecision,
    language: ContentLanguage,
) -> TextSplice {
    let normalized = decision.clone().normalize();
    let name = heading::KEY_DECISIONS;
    insert_where_readable(
        text,
        &insertion_points(
            text,
            &parse_outline(text),
            name,
            language,
            InsertionScope::Section,
        ),
        |point| render_decision_at_level(decision, language, point.level + 1),
        |changed| parse_decisions(changed).contains(&normalized),
    )
}

/// Rewrites the fields of a record that differ from the decision, in the language of the record. Fields that
/// already have the right value, and text added by hand, are not changed. Fails with `decision_not_found` if
/// the board has no record with the decision's id.
pub fn replace_decision(text: &str, decision: &BoardDecision) -> Result<TextSplice, Refusal> {
    let record = find_decision_record(text, &decision.id)?;
    let normalized = decision.clone().normalize();
    let language = record.language;
    let mut edits = Vec::new();
    let mut on_top = Vec::new();
    for field in DecisionField::ALL {
        let item = field.render_item(&normalized, language);
        if item == field.render_item(&record.decision, language) {
            continue;
        }
        let current = record
            .fields
            .iter()
            .find(|position| position.field == field);
        match (current, item) {
            (Some(at), Some(text)) => edits.push(TextSplice {
                start: at.range.start,
                removed: at.range.len(),
                text,
            }),
            (Some(at), None) => edits.push(TextSplice {
                start: at.range.start,
                removed: at.next - at.range.start,
                text: String::new(),
            }),
            (None, Some(item)) => match nearest_field_before(&record, field, &normalized) {
                Some(previous) => edits.push(TextSplice {
                    start: previous.range.end,
                    removed: 0,
                    text: format!("\n{item}"),
                }),
                None => on_top.push(item),
            },
            (None, None) => {}
        }
    }
    if !on_top.is_empty() {
        edits.push(insert_below_heading(text, &record, &on_top.join("\n")));
    }
    Ok(join_splices(text, edits))
}

fn find_decision_record(text: &str, id: &str) -> Result<DecisionRecord, Refusal> {
    let number = id.trim().trim_start_matches('#');
    parse_records(text, &parse_outline(text))
        .find(|record| record.decision.id == number)
        .ok_or_else(|| {
            Refusal::from(DecisionRefusal::NotFound {
                id: quote_untrusted(id),
            })
        })
}

/// Returns the field after which a new one is inserted: the nearest preceding one, in template order, that
/// stays.
fn nearest_field_before<'a>(
    record: &'a DecisionRecord,
    field: DecisionField,
    decision: &BoardDecision,
) -> Option<&'a FieldPosition> {
    record
        .fields
        .iter()
        .filter(|position| position.field < field)
        .filter(|position| {
            position
                .field
                .render_item(decision, record.language)
                .is_some()
        })
        .max_by_key(|position| position.field)
}

/// Inserts items directly below the heading, separated from the text that follows.
fn insert_below_heading(text: &str, record: &DecisionRecord, items: &str) -> TextSplice {
    let unfinished = text
        .get(..record.heading_end)
        .is_some_and(|before| !before.ends_with(['\n', '\r']));
    let first = iter_lines(text, record.heading_end..text.len()).next();
    let followed = first.is_some_and(|line| {
        let starts_here = |position: &FieldPosition| position.range.start == line.range.start;
        !line.is_blank() && !record.fields.iter().any(starts_here)
    });
    let before = if unfinished { "\n" } else { "" };
    let after = if followed { "\n" } else { "" };
    TextSplice {
        start: record.heading_end,
        removed: 0,
        text: format!("{before}{items}\n{after}"),
    }
}

/// Combines several splices into one, including the text between them. Splices at the same position keep
/// their order.
fn join_splices(text: &str, mut edits: Vec<TextSplice>) -> TextSplice {
    edits.sort_by_key(|edit| edit.start);
    let Some(start) = edits.first().map(|edit| edit.start) else {
        return TextSplice::default();
    };
    let mut end = start;
    let mut replacement = String::new();
    for edit in edits {
        replacement.push_str(text.get(end..edit.start).unwrap_or_default());
        replacement.push_str(&edit.text);
        end = edit.start + edit.removed;
    }
    TextSplice {
        start,
        removed: end - start,
        text: replacement,
    }
}
