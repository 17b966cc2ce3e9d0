//! In-place editing of TOML. `toml_edit` finds the position of every header, key and value; edits are made in the
//! original text, so that nothing else of it changes. Its own writer would not do: it ends every line with a line
//! feed, drops a byte order mark, moves dotted keys together, and writes a table's name alike in all headers.

use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document, Item, Key, Table, TableLike};

use super::entry_edit::{
    EditError, EntryField, line_end_offset, line_ending, line_start_offset, quote_text,
    replace_ranges, unsupported_layout,
};
use crate::output::sanitize_line;
use crate::refusal_tables::{ClientFileProblem, ConfigProblem};

/// Parses a TOML text into a JSON tree.
pub(super) fn parse_tree(text: &str) -> Result<Value, EditError> {
    Ok(table_to_json(parse_document(text)?.as_table()))
}

/// Returns the text with the fields of an entry set.
pub(super) fn set_fields(
    text: &str,
    keys: &[&str],
    fields: &[EntryField],
) -> Result<String, EditError> {
    let document = parse_document(text)?;
    let Some(entry) = find_entry(text, document.as_item(), keys)? else {
        return Ok(append_table(text, keys, fields));
    };
    let table = entry.as_table_like().ok_or_else(unsupported_layout)?;
    let mut parts = Vec::new();
    let mut missing = String::new();
    for (key, value) in fields {
        match table.get(key) {
            Some(found) if item_to_json(found) == *value => {}
            Some(found) => {
                let span = found.span().ok_or_else(unsupported_layout)?;
                parts.push((span, render_value(value)));
            }
            None => missing.push_str(&format!(
                "{}{key} = {}",
                line_ending(text),
                render_value(value)
            )),
        }
    }
    if !missing.is_empty() {
        // Only a table with its own header has a line after which new keys can be inserted.
        let header = entry.as_table().and_then(header_range);
        let at = line_end_offset(text, header.ok_or_else(unsupported_layout)?.end);
        parts.push((at..at, missing));
    }
    parts.sort_by_key(|(range, _)| range.start);
    Ok(replace_ranges(text, &parts))
}

/// Returns the text without the lines of an entry.
pub(super) fn remove_entry(text: &str, keys: &[&str]) -> Result<String, EditError> {
    let document = parse_document(text)?;
    let mut table: &dyn TableLike = document.as_table();
    let mut found = None;
    for key in keys {
        let Some((name, item)) = table.get_key_value(key) else {
            return Ok(text.to_owned());
        };
        found = Some((name, item));
        match item.as_table_like() {
            Some(below) => table = below,
            None => break,
        }
    }
    let mut ranges = Vec::new();
    if let Some((name, item)) = found {
        collect_ranges(name, item, &mut ranges);
    }
    ranges.sort_by_key(|range| range.start);
    let mut lines: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        let start = line_start_offset(text, range.start);
        let stop = line_end_offset(text, range.end);
        let rest = text.get(stop..).unwrap_or_default();
        let end = text.len() - rest.trim_start_matches('\r').len();
        let end = end + usize::from(text.get(end..).is_some_and(|t| t.starts_with('\n')));
        match lines.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => lines.push(start..end),
        }
    }
    let parts: Vec<_> = lines
        .into_iter()
        .map(|lines| (extend_over_blank_line(text, lines), String::new()))
        .collect();
    Ok(replace_ranges(text, &parts))
}

/// Extends the removed range by one of two adjacent blank lines.
fn extend_over_blank_line(text: &str, lines: Range<usize>) -> Range<usize> {
    let before = text.get(..lines.start).unwrap_or_default();
    let behind = text.get(lines.end..).unwrap_or_default();
    let blank_behind = behind.is_empty() || behind.starts_with('\n') || behind.starts_with("\r\n");
    let above = before.strip_suffix('\n');
    let above = above.map(|above| above.strip_suffix('\r').unwrap_or(above));
    match above {
        Some(above) if blank_behind && above.ends_with('\n') => above.len()..lines.end,
        _ => lines,
    }
}

/// Collects all ranges of the text that belong to an item: its headers, and its keys with their values.
fn collect_ranges(name: &Key, item: &Item, into: &mut Vec<Range<usize>>) {
    let tables: Vec<&Table> = match item {
        Item::None => return,
        Item::Value(value) => {
            let spans = [name.span(), value.span()].into_iter().flatten();
            into.extend(spans.reduce(|name, value| name.start.min(value.start)..value.end));
            return;
        }
        Item::Table(table) => vec![table],
        Item::ArrayOfTables(list) => list.iter().collect(),
    };
    for table in tables {
        into.extend(header_range(table));
        for (key, below) in table.iter() {
            if let Some(name) = table.key(key) {
                collect_ranges(name, below, into);
            }
        }
    }
}

/// Returns the range of a table's header; a table that is implied by headers and keys below it has none.
fn header_range(table: &Table) -> Option<Range<usize>> {
    let is_implied = table.is_implicit() || table.is_dotted();
    table.span().filter(|span| !is_implied && !span.is_empty())
}

/// Returns the entry at the path `keys`. Fails if a part of the path is not a table, or is an inline table, which
/// cannot be extended from outside its braces.
fn find_entry<'d>(
    text: &str,
    root: &'d Item,
    keys: &[&str],
) -> Result<Option<&'d Item>, EditError> {
    let mut item = root;
    for (depth, key) in keys.iter().enumerate() {
        let table = item.as_table_like().ok_or_else(unsupported_layout)?;
        let Some((name, below)) = table.get_key_value(key) else {
            return Ok(None);
        };
        let key = (*key).to_owned();
        let problem = if !below.is_table_like() {
            ClientFileProblem::KeyNotATable { key }
        } else if below.is_inline_table() && depth + 1 < keys.len() {
            ClientFileProblem::KeyIsInlineTable { key }
        } else {
            item = below;
            continue;
        };
        let start = name.span().unwrap_or_default().start;
        return Err(EditError::at_offset(text, start, problem));
    }
    Ok(Some(item))
}

/// Returns the text with a new table appended.
fn append_table(text: &str, keys: &[&str], fields: &[EntryField]) -> String {
    let end = line_ending(text);
    let mut page = text.to_owned();
    let written = text.trim_start_matches('\u{feff}');
    if !written.is_empty() {
        if !written.ends_with('\n') {
            page.push_str(end);
        }
        page.push_str(end);
    }
    page.push_str(&format!("[{}]{end}", keys.join(".")));
    for (key, value) in fields {
        page.push_str(&format!("{key} = {}{end}", render_value(value)));
    }
    page
}

fn render_value(value: &Value) -> String {
    match value {
        Value::String(text) => quote_text(text),
        Value::Array(list) => {
            let items: Vec<_> = list.iter().map(render_value).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn parse_document(text: &str) -> Result<Document<&str>, EditError> {
    Document::parse(text).map_err(|found| {
        let error = sanitize_line(found.message().lines().next().unwrap_or_default());
        let problem = ConfigProblem::Syntax { error };
        match found.span() {
            Some(span) => EditError::at_offset(text, span.start, problem),
            None => EditError::new(problem),
        }
    })
}

fn table_to_json(table: &dyn TableLike) -> Value {
    let members = table.iter();
    let members = members.map(|(key, item)| (key.to_owned(), item_to_json(item)));
    Value::Object(members.collect::<Map<_, _>>())
}

fn item_to_json(item: &Item) -> Value {
    match item {
        Item::None => Value::Null,
        Item::Value(value) => value_to_json(value),
        Item::Table(table) => table_to_json(table),
        Item::ArrayOfTables(list) => list.iter().map(|table| table_to_json(table)).collect(),
    }
}

/// Converts a value to JSON; values that JSON does not have become strings as written.
fn value_to_json(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => text.value().as_str().into(),
        toml_edit::Value::Integer(number) => (*number.value()).into(),
        toml_edit::Value::Float(number) => number.display_repr().into_owned().into(),
        toml_edit::Value::Boolean(yes) => (*yes.value()).into(),
        toml_edit::Value::Datetime(time) => time.value().to_string().into(),
        toml_edit::Value::Array(list) => list.iter().map(value_to_json).collect(),
        toml_edit::Value::InlineTable(below) => table_to_json(below),
    }
}

#[cfg(test)]
mod tests;
