//! In-place editing of TOML: values are replaced at their position, a new table is appended, and a removal deletes
//! whole lines. Positions come from the parser that reads polis.toml.

use std::ops::Range;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::edit::{Fault, Field, line_end, line_start, line_stop, quoted, replaced, unusual};

/// Parses the text.
pub(super) fn tree(text: &str) -> Result<Value, Fault> {
    Ok(table(parse(text)?.get_ref()))
}

/// Returns the text with the fields of an entry set.
pub(super) fn put(text: &str, keys: &[&str], fields: &[Field]) -> Result<String, Fault> {
    let root = parse(text)?;
    let mut table = root.get_ref();
    let mut head = 0..0;
    for (depth, key) in keys.iter().enumerate() {
        let Some((name, value)) = find(table, key) else {
            // An inline table cannot be extended from outside its braces.
            return Ok(appended(text, keys, fields));
        };
        head = value.span();
        table = match value.get_ref() {
            DeValue::Table(below) if depth + 1 == keys.len() || !is_inline(text, value) => below,
            DeValue::Table(_) => return Err(inline_table(text, &name.span(), key)),
            _ => {
                return Err(Fault::at(
                    text,
                    name.span().start,
                    format!("\"{key}\" is not a table"),
                ));
            }
        };
    }
    let mut parts = Vec::new();
    let mut missing = String::new();
    for (key, value) in fields {
        let Some((_, found)) = find(table, key) else {
            missing.push_str(&format!("{}{key} = {}", line_end(text), rendered(value)));
            continue;
        };
        if json(found.get_ref()) != *value {
            parts.push((found.span(), rendered(value)));
        }
    }
    if !missing.is_empty() {
        // Only a table with its own header has a line after which new keys can be inserted.
        if !text
            .get(head.clone())
            .is_some_and(|head| head.starts_with('['))
        {
            return Err(unusual());
        }
        let at = line_stop(text, head.end);
        parts.push((at..at, missing));
    }
    parts.sort_by_key(|(range, _)| range.start);
    Ok(replaced(text, &parts))
}

/// Returns the text without the lines of an entry.
pub(super) fn remove(text: &str, keys: &[&str]) -> Result<String, Fault> {
    let root = parse(text)?;
    let mut table = root.get_ref();
    let mut found = None;
    for key in keys {
        let Some(entry) = find(table, key) else {
            return Ok(text.to_owned());
        };
        found = Some(entry);
        match entry.1.get_ref() {
            DeValue::Table(below) => table = below,
            _ => break,
        }
    }
    let mut ranges = Vec::new();
    if let Some((name, value)) = found {
        collect(text, name.span(), value, &mut ranges);
    }
    ranges.sort_by_key(|range| range.start);
    let mut lines: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        let start = line_start(text, range.start);
        let stop = line_stop(text, range.end);
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
        .map(|lines| (with_gap(text, lines), String::new()))
        .collect();
    Ok(replaced(text, &parts))
}

/// Extends the removed range by one of two adjacent blank lines.
fn with_gap(text: &str, lines: Range<usize>) -> Range<usize> {
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

/// Collects all ranges of the text that belong to a value: its headers, and its keys with their values.
fn collect(
    text: &str,
    name: Range<usize>,
    value: &Spanned<DeValue<'_>>,
    into: &mut Vec<Range<usize>>,
) {
    let head = text.get(value.span()).unwrap_or_default();
    match value.get_ref() {
        // A table with a header, or one that is implied by the headers and keys below it.
        DeValue::Table(below) if !head.starts_with('{') => {
            if head.starts_with('[') {
                into.push(value.span());
            }
            for (name, value) in below {
                collect(text, name.span(), value, into);
            }
        }
        DeValue::Array(list) if head.starts_with("[[") && list.iter().any(is_table) => {
            for item in list {
                collect(text, name.clone(), item, into);
            }
        }
        _ => into.push(name.start.min(value.span().start)..value.span().end),
    }
}

fn is_table(value: &Spanned<DeValue<'_>>) -> bool {
    matches!(value.get_ref(), DeValue::Table(_))
}

fn is_inline(text: &str, value: &Spanned<DeValue<'_>>) -> bool {
    text.get(value.span())
        .is_some_and(|written| written.starts_with('{'))
}

fn inline_table(text: &str, name: &Range<usize>, key: &str) -> Fault {
    Fault::at(
        text,
        name.start,
        format!("\"{key}\" is a table in braces; write it as [{key}.NAME]"),
    )
}

/// Returns the text with a new table appended.
fn appended(text: &str, keys: &[&str], fields: &[Field]) -> String {
    let end = line_end(text);
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
        page.push_str(&format!("{key} = {}{end}", rendered(value)));
    }
    page
}

fn rendered(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(list) => {
            let items: Vec<_> = list.iter().map(rendered).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Fault> {
    DeTable::parse(text).map_err(|error| {
        let why = error
            .message()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        match error.span() {
            Some(span) => Fault::at(text, span.start, why),
            None => Fault::new(why),
        }
    })
}

fn find<'a, 'i>(
    table: &'a DeTable<'i>,
    key: &str,
) -> Option<(
    &'a Spanned<std::borrow::Cow<'i, str>>,
    &'a Spanned<DeValue<'i>>,
)> {
    table.iter().find(|(name, _)| name.get_ref() == key)
}

fn table(table: &DeTable<'_>) -> Value {
    let members = table.iter();
    let members = members.map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref())));
    Value::Object(members.collect::<Map<_, _>>())
}

/// Converts a value to JSON; values that JSON does not have become strings as written.
fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) => {
            let decimal = number.as_str().parse::<i64>().ok();
            decimal.filter(|_| number.radix() == 10).map_or_else(
                || format!("{}:{number}", number.radix()).into(),
                Value::from,
            )
        }
        DeValue::Float(number) => number.as_str().into(),
        DeValue::Boolean(yes) => (*yes).into(),
        DeValue::Datetime(time) => time.to_string().into(),
        DeValue::Array(list) => list.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(below) => table(below),
    }
}

#[cfg(test)]
mod tests;
