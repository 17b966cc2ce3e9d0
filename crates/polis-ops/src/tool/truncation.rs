//! Truncation of tool results that go into a model's context.
//!
//! Each tool paginates or truncates its own result in a suitable way and includes how to get the rest. [`bound`] is the
//! safety net: it enforces the size limits for any stored content.

use std::fmt::Display;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Answer;
use crate::op::cut_text;

/// Default number of entries of a list.
pub(super) const PAGE: u32 = 50;
/// Approximate maximum number of bytes of a text per result.
pub(super) const TEXT: u64 = 24_000;
/// Approximate maximum number of bytes per text if a result contains several.
const PART: usize = 8_000;
/// Text size above which the safety net truncates, in bytes: a page of a board and its description fit.
const MAX_TEXT: usize = 28_000;
/// Document size above which the safety net truncates, in bytes of JSON. A text of the usual size fits even if every
/// other character of it is escaped.
const MAX_DOCUMENT: usize = 60_000;
/// Limits of the safety net as (bytes per text, entries per list); the first pair that is sufficient is used.
const NET: [(usize, usize); 4] = [(8_000, 200), (2_000, 50), (500, 20), (100, 5)];
/// Minimum number of object members that the safety net keeps; our own types have fewer.
const MEMBERS: usize = 40;

/// Member of a document that states that it is truncated, and how to get the rest.
const CUT: &str = "cut";

/// Returns how many bytes of a text to return: the requested number, at most [`TEXT`].
pub(super) fn at_most(asked: Option<u64>) -> Option<u64> {
    Some(asked.unwrap_or(TEXT).min(TEXT))
}

/// Keeps as many entries as fit into a result, at least one. Returns whether some were removed.
pub(super) fn fit<T: Serialize>(entries: &mut Vec<T>) -> bool {
    fit_bytes(entries, usize::try_from(TEXT).unwrap_or(usize::MAX))
}

/// Keeps as many entries as fit into `max_bytes` of JSON, at least one. Returns whether some were removed.
pub(super) fn fit_bytes<T: Serialize>(entries: &mut Vec<T>, max_bytes: usize) -> bool {
    let mut room = max_bytes;
    let mut kept = 0;
    for entry in entries.iter() {
        let bytes = serde_json::to_string(entry).map_or(0, |text| text.len());
        if bytes > room && kept > 0 {
            break;
        }
        room = room.saturating_sub(bytes);
        kept += 1;
    }
    let cut = kept < entries.len();
    entries.truncate(kept);
    cut
}

/// Joins lines; returns `none` if there are no lines.
pub(super) fn join(lines: impl Iterator<Item = String>, none: &str) -> String {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return none.to_owned();
    }
    lines.join("\n")
}

/// Note that a list continues, with the parameter that gets the next page.
pub(super) fn more<T: Display>(shown: usize, parameter: &str, next: Option<&T>) -> Option<String> {
    next.map(|next| format!("{shown} shown; for more pass {parameter}={next}"))
}

/// Note that a text is truncated, with the offset of the rest.
pub(super) fn rest(next: Option<u64>, size: Option<u64>) -> Option<String> {
    let (next, size) = (next?, size?);
    Some(format!(
        "cut at byte {next} of {size}; for the rest pass offset={next}"
    ))
}

/// Truncates a long text in place and appends how to get the rest; `how` gets the offset of the rest.
pub(super) fn shorten(text: &mut String, offset: u64, how: impl Fn(u64) -> String) {
    let part = cut_text(text, PART);
    if part.len() < text.len() {
        let next = offset.saturating_add(part.len() as u64);
        *text = format!("{part}\n[cut; for the rest: {}]", how(next));
    }
}

/// Returns the beginning and the end of a text of more than `most` bytes, and the number of bytes omitted between them.
pub(super) fn ends(text: &str, most: usize) -> Option<(String, usize)> {
    if text.len() <= most {
        return None;
    }
    let head = cut_text(text, most / 2);
    let from = text.ceil_char_boundary(text.len() - most / 2);
    let tail = text.get(from..).unwrap_or_default();
    // Start at a line break if one is near.
    let line = tail.find('\n').map_or(0, |at| at + 1);
    let tail = tail
        .get(line..)
        .filter(|_| line < tail.len() / 2)
        .unwrap_or(tail);
    let left_out = text.len() - head.len() - tail.len();
    let shown = format!("{head}\n[{left_out} bytes left out]\n{tail}");
    Some((shown, left_out))
}

/// Truncates a result that is still too long.
pub(super) fn bound(answer: &mut Answer) {
    if answer.text.len() > MAX_TEXT {
        let part = cut_text(&answer.text, usize::try_from(TEXT).unwrap_or(MAX_TEXT));
        let (shown, all) = (part.len(), answer.text.len());
        answer.text = format!("{part}\n[cut: {shown} of {all} bytes; ask for less at once]");
    }
    let Some(body) = body_of(&mut answer.document) else {
        return;
    };
    let before = size_of(body);
    if before <= MAX_DOCUMENT {
        return;
    }
    for (text, list) in NET {
        body.values_mut()
            .for_each(|value| shrink(value, text, list));
        if size_of(body) <= MAX_DOCUMENT {
            break;
        }
    }
    if size_of(body) > MAX_DOCUMENT {
        body.values_mut().for_each(empty);
    }
    let note = format!("{before} bytes are too many; ask for less at once, or for a part");
    body.insert(CUT.to_owned(), note.into());
}

/// Adds a note to a result that it is truncated, with how to get the rest.
pub(super) fn note(answer: &mut Answer, how: String) {
    answer.text.push_str(&format!("\n[{how}]"));
    if let Some(document) = answer.document.as_object_mut() {
        let how = match document.get(CUT).and_then(Value::as_str) {
            Some(already) => format!("{how}; {already}"),
            None => how,
        };
        document.insert(CUT.to_owned(), how.into());
    }
}

/// Returns the members that the safety net truncates: those of the document, or of the error in it.
fn body_of(document: &mut Value) -> Option<&mut Map<String, Value>> {
    let refused = document.get("error").is_some_and(Value::is_object);
    match refused {
        true => document.get_mut("error")?.as_object_mut(),
        false => document.as_object_mut(),
    }
}

fn size_of(body: &Map<String, Value>) -> usize {
    serde_json::to_string(body).map_or(0, |text| text.len())
}

fn shrink(value: &mut Value, text: usize, list: usize) {
    match value {
        Value::String(whole) if whole.len() > text => {
            let part = cut_text(whole, text);
            *whole = format!("{part}… [{} bytes left out]", whole.len() - part.len());
        }
        Value::Array(all) => {
            all.truncate(list);
            all.iter_mut().for_each(|one| shrink(one, text, list));
        }
        Value::Object(all) => {
            let mut seen = 0;
            all.retain(|_, _| {
                seen += 1;
                seen <= list.max(MEMBERS)
            });
            all.values_mut().for_each(|one| shrink(one, text, list));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Clears arrays and objects: the last resort, for very deep nesting.
fn empty(value: &mut Value) {
    match value {
        Value::Array(all) => all.clear(),
        Value::Object(all) => all.clear(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
