//! Writes decision records to a board's text without changing any other byte.
//!
//! Looks records up by id, adds new ones, and replaces the changed fields of existing ones. Each edit is a
//! [`Splice`].

use super::record::{Field, FieldLines, Record, records, render_at};
use super::{Decision, decisions};
use crate::board::insertion_point::{Ending, places, put};
use crate::board::lines::lines;
use crate::board::section::outline;
use crate::board::splice::Splice;
use crate::board::template_text::{Language, heading};
use crate::id::quoted;
use crate::refusal::{Code, Refusal};

/// Returns the decision with this id, written `7` or `#7`. Fails with `decision_not_found` if there is none.
pub fn find_decision(text: &str, id: &str) -> Result<Decision, Refusal> {
    find_record(text, id).map(|record| record.decision)
}

/// Returns the number for the next decision: the highest existing one plus one.
pub fn next_id(text: &str) -> u64 {
    decisions(text)
        .iter()
        .filter_map(|decision| decision.id.parse::<u64>().ok())
        .max()
        .unwrap_or(0)
        .saturating_add(1)
}

/// Adds a record at the end of the key decisions section, replacing its placeholder. If the board has no such
/// section, one is added at its end.
pub fn insert_decision(text: &str, decision: &Decision, language: Language) -> Splice {
    let wanted = decision.clone().normal();
    let name = heading::KEY_DECISIONS;
    put(
        text,
        &places(text, &outline(text), name, language, Ending::Section),
        |place| render_at(decision, language, place.level + 1),
        |changed| decisions(changed).contains(&wanted),
    )
}

/// Rewrites the fields of a record that differ from the decision, in the language of the record. Fields that
/// already have the right value, and text added by hand, are not changed.
pub fn replace_decision(text: &str, decision: &Decision) -> Result<Splice, Refusal> {
    let record = find_record(text, &decision.id)?;
    let wanted = decision.clone().normal();
    let language = record.language;
    let mut edits = Vec::new();
    let mut on_top = Vec::new();
    for field in Field::ALL {
        let item = field.item(&wanted, language);
        if item == field.item(&record.decision, language) {
            continue;
        }
        let current = record.fields.iter().find(|known| known.field == field);
        match (current, item) {
            (Some(at), Some(text)) => edits.push(Splice {
                start: at.range.start,
                removed: at.range.len(),
                text,
            }),
            (Some(at), None) => edits.push(Splice {
                start: at.range.start,
                removed: at.next - at.range.start,
                text: String::new(),
            }),
            (None, Some(item)) => match nearest_before(&record, field, &wanted) {
                Some(known) => edits.push(Splice {
                    start: known.range.end,
                    removed: 0,
                    text: format!("\n{item}"),
                }),
                None => on_top.push(item),
            },
            (None, None) => {}
        }
    }
    if !on_top.is_empty() {
        edits.push(below_heading(text, &record, &on_top.join("\n")));
    }
    Ok(joined(text, edits))
}

fn find_record(text: &str, id: &str) -> Result<Record, Refusal> {
    let wanted = id.trim().trim_start_matches('#');
    records(text, &outline(text))
        .find(|record| record.decision.id == wanted)
        .ok_or_else(|| {
            Refusal::new(
                Code::DecisionNotFound,
                format!("Decision {} not found on this board.", quoted(id)),
                "see the decisions there are with `polis board decisions BOARD`",
            )
        })
}

/// Returns the field after which a new one is inserted: the nearest preceding one, in template order, that
/// stays.
fn nearest_before<'a>(
    record: &'a Record,
    field: Field,
    wanted: &Decision,
) -> Option<&'a FieldLines> {
    record
        .fields
        .iter()
        .filter(|known| known.field < field)
        .filter(|known| known.field.item(wanted, record.language).is_some())
        .max_by_key(|known| known.field)
}

/// Inserts items directly below the heading, separated from the text that follows.
fn below_heading(text: &str, record: &Record, items: &str) -> Splice {
    let unfinished = text
        .get(..record.top)
        .is_some_and(|before| !before.ends_with(['\n', '\r']));
    let first = lines(text, record.top..text.len()).next();
    let followed = first.is_some_and(|line| {
        let starts_here = |known: &FieldLines| known.range.start == line.range.start;
        !line.is_blank() && !record.fields.iter().any(starts_here)
    });
    let before = if unfinished { "\n" } else { "" };
    let after = if followed { "\n" } else { "" };
    Splice {
        start: record.top,
        removed: 0,
        text: format!("{before}{items}\n{after}"),
    }
}

/// Combines several splices into one, including the text between them. Splices at the same position keep their
/// order.
fn joined(text: &str, mut edits: Vec<Splice>) -> Splice {
    edits.sort_by_key(|edit| edit.start);
    let Some(start) = edits.first().map(|edit| edit.start) else {
        return Splice::default();
    };
    let mut end = start;
    let mut written = String::new();
    for edit in edits {
        written.push_str(text.get(end..edit.start).unwrap_or_default());
        written.push_str(&edit.text);
        end = edit.start + edit.removed;
    }
    Splice {
        start,
        removed: end - start,
        text: written,
    }
}
