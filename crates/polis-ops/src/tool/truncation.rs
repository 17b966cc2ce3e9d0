//! Truncation of tool results that go into a model's context.
//!
//! Each tool paginates or truncates its own result in a suitable way and includes how to get the rest.
//! [`enforce_size_limits`] is the safety net: it enforces the size limits for any stored content.

use std::fmt::Display;

use polis_core::number::saturating_cast;
use polis_i18n::{UiLanguage, msg};
use serde::Serialize;
use serde_json::{Map, Value};

use super::ToolOutput;
use crate::text_range::truncate_text;

/// Default number of entries of a list.
pub(super) const DEFAULT_PAGE_SIZE: u32 = 50;
/// Approximate maximum number of bytes of a text per result.
pub(super) const RESULT_TEXT_BYTES: u64 = 24_000;
/// Approximate maximum number of bytes per text if a result contains several.
const PART_TEXT_BYTES: usize = 8_000;
/// Text size above which the safety net truncates, in bytes: a page of a board and its description fit.
const MAX_RESULT_TEXT_BYTES: usize = 28_000;
/// Document size above which the safety net truncates, in bytes of JSON. A text of the usual size fits even
/// if every other character of it is escaped.
const MAX_DOCUMENT_BYTES: usize = 60_000;
/// Limits of the safety net as (bytes per text, entries per list); the first pair that is sufficient is used.
const SHRINK_STEPS: [(usize, usize); 4] = [(8_000, 200), (2_000, 50), (500, 20), (100, 5)];
/// Minimum number of object members that the safety net keeps; our own types have fewer.
const MIN_OBJECT_MEMBERS: usize = 40;

/// Member of a document that states that it is truncated, and how to get the rest.
const TRUNCATION_MEMBER: &str = "cut";

/// Returns how many bytes of a text to return: the requested number, at most [`RESULT_TEXT_BYTES`].
pub(super) fn limit_text_bytes(requested: Option<u64>) -> Option<u64> {
    Some(
        requested
            .unwrap_or(RESULT_TEXT_BYTES)
            .min(RESULT_TEXT_BYTES),
    )
}

/// Keeps as many entries as fit into a result, at least one. Returns whether some were removed.
pub(super) fn fit_entries<T: Serialize>(entries: &mut Vec<T>) -> bool {
    fit_entries_into(entries, saturating_cast::<usize>(RESULT_TEXT_BYTES))
}

/// Keeps as many entries as fit into `max_bytes` of JSON, at least one. Returns whether some were removed.
pub(super) fn fit_entries_into<T: Serialize>(entries: &mut Vec<T>, max_bytes: usize) -> bool {
    let mut remaining = max_bytes;
    let mut count = 0;
    for entry in entries.iter() {
        let bytes = serde_json::to_string(entry).map_or(0, |text| text.len());
        if bytes > remaining && count > 0 {
            break;
        }
        remaining = remaining.saturating_sub(bytes);
        count += 1;
    }
    let truncated = count < entries.len();
    entries.truncate(count);
    truncated
}

/// Joins lines; returns `empty_text` if there are no lines.
pub(super) fn join_lines(lines: impl Iterator<Item = String>, empty_text: &str) -> String {
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return empty_text.to_owned();
    }
    lines.join("\n")
}

/// Note that a list continues, with the parameter that gets the next page.
pub(super) fn next_page_note<T: Display>(
    lang: UiLanguage,
    count: usize,
    parameter: &str,
    next: Option<&T>,
) -> Option<String> {
    next.map(|next| msg::tool_result_next_page(lang, count, parameter, next))
}

/// Note that a text is truncated, with the offset of the rest.
pub(super) fn next_offset_note(
    lang: UiLanguage,
    next: Option<u64>,
    size: Option<u64>,
) -> Option<String> {
    Some(msg::tool_result_next_offset(lang, next?, size?))
}

/// Truncates a long text in place and appends how to get the rest; `advice` gets the offset of the rest.
pub(super) fn truncate_with_note(
    lang: UiLanguage,
    text: &mut String,
    offset: u64,
    advice: impl Fn(u64) -> String,
) {
    let part = truncate_text(text, PART_TEXT_BYTES);
    if part.len() < text.len() {
        let next = offset.saturating_add(part.len() as u64);
        *text = format!("{part}\n[{}]", msg::tool_result_rest(lang, advice(next)));
    }
}

/// Returns the beginning and the end of a text of more than `max_bytes` bytes, and the number of bytes omitted
/// between them.
pub(super) fn head_and_tail(
    lang: UiLanguage,
    text: &str,
    max_bytes: usize,
) -> Option<(String, usize)> {
    if text.len() <= max_bytes {
        return None;
    }
    let head = truncate_text(text, max_bytes / 2);
    let from = text.ceil_char_boundary(text.len() - max_bytes / 2);
    let tail = text.get(from..).unwrap_or_default();
    // Start at a line break if one is near.
    let line = tail.find('\n').map_or(0, |at| at + 1);
    let tail = tail
        .get(line..)
        .filter(|_| line < tail.len() / 2)
        .unwrap_or(tail);
    let left_out = text.len() - head.len() - tail.len();
    let omitted = msg::tool_result_bytes_omitted(lang, left_out);
    let excerpt = format!("{head}\n[{omitted}]\n{tail}");
    Some((excerpt, left_out))
}

/// Truncates a result that is still too long.
pub(super) fn enforce_size_limits(answer: &mut ToolOutput, lang: UiLanguage) {
    if answer.text.len() > MAX_RESULT_TEXT_BYTES {
        let part = truncate_text(
            &answer.text,
            usize::try_from(RESULT_TEXT_BYTES).unwrap_or(MAX_RESULT_TEXT_BYTES),
        );
        let (shown_bytes, all) = (part.len(), answer.text.len());
        let note = msg::tool_result_text_too_long(lang, shown_bytes, all);
        answer.text = format!("{part}\n[{note}]");
    }
    let Some(body) = truncatable_members(&mut answer.document) else {
        return;
    };
    let original_bytes = json_size(body);
    if original_bytes <= MAX_DOCUMENT_BYTES {
        return;
    }
    for (text, list) in SHRINK_STEPS {
        body.values_mut()
            .for_each(|value| shrink_value(value, text, list, lang));
        if json_size(body) <= MAX_DOCUMENT_BYTES {
            break;
        }
    }
    if json_size(body) > MAX_DOCUMENT_BYTES {
        body.values_mut().for_each(clear_collection);
    }
    let note = msg::tool_result_document_too_long(lang, original_bytes);
    body.insert(TRUNCATION_MEMBER.to_owned(), note.into());
}

/// Adds a note to a result that it is truncated, with how to get the rest.
pub(super) fn add_truncation_note(answer: &mut ToolOutput, note: String, lang: UiLanguage) {
    answer.text.push_str(&format!("\n[{note}]"));
    if let Some(document) = answer.document.as_object_mut() {
        let note = match document.get(TRUNCATION_MEMBER).and_then(Value::as_str) {
            Some(existing) => msg::tool_result_two_notes(lang, note, existing),
            None => note,
        };
        document.insert(TRUNCATION_MEMBER.to_owned(), note.into());
    }
}

/// Returns the members that the safety net truncates: those of the document, or of the error in it.
fn truncatable_members(document: &mut Value) -> Option<&mut Map<String, Value>> {
    let is_error = document.get("error").is_some_and(Value::is_object);
    if is_error {
        document.get_mut("error")?.as_object_mut()
    } else {
        document.as_object_mut()
    }
}

fn json_size(body: &Map<String, Value>) -> usize {
    serde_json::to_string(body).map_or(0, |text| text.len())
}

fn shrink_value(value: &mut Value, text: usize, list: usize, lang: UiLanguage) {
    match value {
        Value::String(string) if string.len() > text => {
            let part = truncate_text(string, text);
            let omitted = msg::tool_result_bytes_omitted(lang, string.len() - part.len());
            *string = format!("{part}… [{omitted}]");
        }
        Value::Array(all) => {
            all.truncate(list);
            all.iter_mut()
                .for_each(|one| shrink_value(one, text, list, lang));
        }
        Value::Object(all) => {
            let mut count = 0;
            all.retain(|_, _| {
                count += 1;
                count <= list.max(MIN_OBJECT_MEMBERS)
            });
            all.values_mut()
                .for_each(|one| shrink_value(one, text, list, lang));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Clears arrays and objects: the last resort, for very deep nesting.
fn clear_collection(value: &mut Value) {
    match value {
        Value::Array(all) => all.clear(),
        Value::Object(all) => all.clear(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
