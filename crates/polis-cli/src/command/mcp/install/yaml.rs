//! In-place editing of YAML: inserts lines below a key, replaces values at their position, and removes entries.
//!
//! The parser reports exact start positions but only approximate ends, so ends are searched in the text. Known
//! unsupported styles are refused here; `entry_edit` parses each result again and refuses a wrong one.

use std::ops::Range;

use saphyr::{MarkedYaml, ScalarOwned, YamlData};
use serde_json::{Map, Value};

use super::entry_edit::{
    EditError, EntryField, line_end_offset, line_ending, line_indent, line_start_offset,
    nest_fields, quote_text, replace_ranges, unsupported_layout,
};
use crate::refusal_tables::ClientFileProblem;
use crate::yaml_loader;

/// Parses a YAML text into a JSON tree; an empty text is read as `{}`.
pub(super) fn parse_tree(text: &str) -> Result<Value, EditError> {
    Ok(YamlDocument::parse(text)?
        .root_node()
        .map_or_else(|| Value::Object(Map::new()), node_to_json))
}

/// Returns the text with the fields of an entry set.
pub(super) fn set_fields(
    text: &str,
    keys: &[&str],
    fields: &[EntryField],
) -> Result<String, EditError> {
    let mut text = text.to_owned();
    // One change at a time: each shifts the text after it. There are at most as many changes as fields.
    for _ in 0..=fields.len() {
        let parts = YamlDocument::parse(&text)
            .map_err(|_| unsupported_layout())?
            .next_change(keys, fields)?;
        let Some(parts) = parts else {
            break;
        };
        text = replace_ranges(&text, &parts);
    }
    Ok(text)
}

/// Returns the text without an entry.
pub(super) fn remove_entry(text: &str, keys: &[&str]) -> Result<String, EditError> {
    let parts = YamlDocument::parse(text)?.removal_edits(keys)?;
    Ok(replace_ranges(text, &parts.unwrap_or_default()))
}

type YamlEdits = Vec<(Range<usize>, String)>;
type SpannedYaml<'t> = MarkedYaml<'t>;

/// A parsed YAML text with source positions.
struct YamlDocument<'t> {
    text: &'t str,
    documents: Vec<SpannedYaml<'t>>,
    /// Byte offset of each character, and of the end of the text.
    bytes: Vec<usize>,
}

impl<'t> YamlDocument<'t> {
    fn parse(text: &'t str) -> Result<Self, EditError> {
        let documents = yaml_loader::load_yaml(text).map_err(|error| EditError {
            line: Some(error.line),
            reason: error.reason,
        })?;
        let page = Self {
            text,
            documents,
            bytes: text
                .char_indices()
                .map(|(at, _)| at)
                .chain([text.len()])
                .collect(),
        };
        if let Some(second) = page.documents.get(1) {
            return Err(page.error_at(second, ClientFileProblem::SecondDocument));
        }
        match page.root_node() {
            Some(root) if root.data.as_mapping().is_none() => {
                Err(page.error_at(root, ClientFileProblem::FileNotAMapping))
            }
            _ => Ok(page),
        }
    }

    /// Returns the root of the first document, if it is not empty.
    fn root_node(&self) -> Option<&SpannedYaml<'t>> {
        self.documents.first().filter(|root| !root.data.is_null())
    }

    fn error_at(&self, node: &SpannedYaml<'_>, problem: ClientFileProblem) -> EditError {
        EditError {
            line: Some(node.span.start.line()),
            reason: problem.into(),
        }
    }

    /// Returns the next change to make, if any.
    fn next_change(
        &self,
        keys: &[&str],
        fields: &[EntryField],
    ) -> Result<Option<YamlEdits>, EditError> {
        let Some(mut node) = self.root_node() else {
            return Ok(Some(self.append_members("", &nest_fields(keys, fields))));
        };
        let mut above: Option<&SpannedYaml<'_>> = None;
        for (depth, key) in keys.iter().enumerate() {
            let Some((name, value)) = find_member(node, key) else {
                let value = nest_fields(keys.get(depth..).unwrap_or_default(), fields);
                return self.insert_members(above, node, &value).map(Some);
            };
            above = Some(name);
            node = value;
            if node.data.is_null() && depth + 1 < keys.len() {
                let value = nest_fields(keys.get(depth + 1..).unwrap_or_default(), fields);
                return self.insert_members(above, node, &value).map(Some);
            }
            if node.data.as_mapping().is_none() || self.starts_with(node, "*") {
                let key = (*key).to_owned();
                return Err(self.error_at(name, ClientFileProblem::KeyNotAMapping { key }));
            }
        }
        for (key, value) in fields {
            let Some((_, found)) = find_member(node, key) else {
                let value = nest_fields(&[], &[(*key, value.clone())]);
                return self.insert_members(above, node, &value).map(Some);
            };
            if node_to_json(found) != *value {
                return self.replace_value(found, value).map(Some);
            }
        }
        Ok(None)
    }

    /// Returns the change that inserts members at the beginning of a mapping, directly below its key.
    fn insert_members(
        &self,
        name: Option<&SpannedYaml<'_>>,
        mapping: &SpannedYaml<'_>,
        value: &Value,
    ) -> Result<YamlEdits, EditError> {
        let end = line_ending(self.text);
        let start = self.byte_offset(mapping.span.start.index());
        if self.starts_with(mapping, "{")
            && mapping.data.as_mapping().is_some_and(|m| !m.is_empty())
        {
            let flow = format_flow(value);
            let inner = flow
                .get(1..flow.len().saturating_sub(1))
                .unwrap_or_default();
            return Ok(vec![(start + 1..start + 1, format!("{inner}, "))]);
        }
        let Some(name) = name else {
            if self.starts_with(mapping, "{") {
                return Err(unsupported_layout());
            }
            return Ok(self.append_members(line_indent(self.text, start), value));
        };
        let key = self.byte_offset(name.span.start.index());
        let outer = line_indent(self.text, key);
        let first = mapping.data.as_mapping().and_then(|map| map.iter().next());
        let inner = first.map_or_else(
            || format!("{outer}  "),
            |(first, _)| " ".repeat(first.span.start.col()),
        );
        let stop = line_end_offset(self.text, key);
        let mut parts = YamlEdits::new();
        // A null or empty value on the key's line is replaced.
        if mapping.data.is_null() || first.is_none() {
            let written = self.value_range(mapping)?;
            let before = self.text.get(..written.start).unwrap_or_default();
            let start = before.trim_end_matches([' ', '\t']).len();
            if !written.is_empty() {
                parts.push((start..written.end, String::new()));
            }
        }
        let lines = format_block(value, &inner, end);
        parts.push((
            stop..stop,
            format!("{end}{}", lines.trim_end_matches(['\r', '\n'])),
        ));
        Ok(parts)
    }

    /// Returns the change that appends members to the outermost mapping.
    fn append_members(&self, indent: &str, value: &Value) -> YamlEdits {
        let end = line_ending(self.text);
        let written = self.text.trim_start_matches('\u{feff}');
        let gap = if written.is_empty() || written.ends_with('\n') {
            ""
        } else {
            end
        };
        let at = self.text.len();
        vec![(at..at, format!("{gap}{}", format_block(value, indent, end)))]
    }

    /// Returns the change that replaces a value.
    fn replace_value(
        &self,
        found: &SpannedYaml<'_>,
        value: &Value,
    ) -> Result<YamlEdits, EditError> {
        let (Some(items), Some(list)) = (found.data.as_sequence(), value.as_array()) else {
            return Ok(vec![(self.value_range(found)?, format_flow(value))]);
        };
        let (Some(first), Some(last)) = (items.first(), items.last()) else {
            return Ok(vec![(self.value_range(found)?, format_flow(value))]);
        };
        if self.starts_with(found, "[") {
            return Ok(vec![(self.value_range(found)?, format_flow(value))]);
        }
        // The lines of the list, each item with its dash.
        let start = line_start_offset(self.text, self.byte_offset(first.span.start.index()));
        let stop = line_end_offset(self.text, self.value_range(last)?.end);
        let indent = line_indent(self.text, start);
        let items: Vec<_> = list
            .iter()
            .map(|item| format!("{indent}- {}", format_flow(item)))
            .collect();
        Ok(vec![(start..stop, items.join(line_ending(self.text)))])
    }

    /// Returns the change that removes an entry, if there is one.
    fn removal_edits(&self, keys: &[&str]) -> Result<Option<YamlEdits>, EditError> {
        let (Some(mut node), Some((name, above))) = (self.root_node(), keys.split_last()) else {
            return Ok(None);
        };
        let mut parent = None;
        for key in above {
            let Some((name, value)) = find_member(node, key) else {
                return Ok(None);
            };
            (parent, node) = (Some(name), value);
        }
        let Some((key, value)) = find_member(node, name) else {
            return Ok(None);
        };
        if self.starts_with(node, "{") {
            return self.flow_removal_edits(key, value).map(Some);
        }
        let start = line_start_offset(self.text, self.byte_offset(key.span.start.index()));
        let stop = line_end_offset(self.text, self.last_byte(key).max(self.last_byte(value)));
        let rest = self.text.get(stop..).unwrap_or_default();
        let end = match rest
            .strip_prefix("\r\n")
            .or_else(|| rest.strip_prefix('\n'))
        {
            Some(rest) => self.text.len() - rest.len(),
            None => stop,
        };
        let mut parts = YamlEdits::new();
        let alone = node.data.as_mapping().is_some_and(|map| map.len() == 1);
        if let Some(parent) = parent.filter(|_| alone) {
            // The parent becomes empty: write `{}`, since a client may expect a mapping.
            let colon = self.value_range(parent)?.end;
            let line = self
                .text
                .get(colon..line_end_offset(self.text, colon))
                .unwrap_or_default();
            let colon = colon + line.find(':').ok_or_else(unsupported_layout)? + 1;
            parts.push((colon..colon, " {}".to_owned()));
        }
        parts.push((start..end, String::new()));
        Ok(Some(parts))
    }

    /// Returns the change that removes an entry of a flow mapping, with one comma.
    fn flow_removal_edits(
        &self,
        key: &SpannedYaml<'_>,
        value: &SpannedYaml<'_>,
    ) -> Result<YamlEdits, EditError> {
        let start = self.value_range(key)?.start;
        let end = self.value_range(value)?.end;
        let behind = self.text.get(end..).unwrap_or_default();
        let rest = behind.trim_ascii_start();
        if let Some(rest) = rest.strip_prefix(',') {
            let rest = rest.trim_start_matches([' ', '\t']);
            return Ok(vec![(start..self.text.len() - rest.len(), String::new())]);
        }
        let before = self.text.get(..start).unwrap_or_default().trim_ascii_end();
        let before = before.strip_suffix(',').unwrap_or(before);
        Ok(vec![(before.len()..end, String::new())])
    }

    /// Returns the last byte of a value, or one shortly after it on the same line.
    fn last_byte(&self, node: &SpannedYaml<'_>) -> usize {
        let end = self.byte_offset(node.span.end.index());
        let own = self.text.get(..end).unwrap_or_default().trim_end().len();
        let is_flow = self.starts_with(node, "{") || self.starts_with(node, "[");
        match &node.data {
            YamlData::Mapping(map) if !is_flow => {
                let ends = map
                    .iter()
                    .map(|(key, value)| self.last_byte(key).max(self.last_byte(value)));
                ends.max().unwrap_or(own)
            }
            YamlData::Sequence(list) if !is_flow => list
                .iter()
                .map(|item| self.last_byte(item))
                .max()
                .unwrap_or(own),
            _ if is_flow => end,
            _ => own.max(self.byte_offset(node.span.start.index())),
        }
    }

    /// Returns the range of a scalar or flow value; fails if its end cannot be determined.
    fn value_range(&self, node: &SpannedYaml<'_>) -> Result<Range<usize>, EditError> {
        let start = self.byte_offset(node.span.start.index());
        let end = self.byte_offset(node.span.end.index());
        let rest = self.text.get(start..).unwrap_or_default();
        let length = match rest.chars().next() {
            _ if start == end => 0,
            // The parser's span excludes the closing bracket.
            Some('{' | '[') => {
                let behind = self.text.get(end..).unwrap_or_default();
                if !behind.starts_with(['}', ']']) {
                    return Err(unsupported_layout());
                }
                end + 1 - start
            }
            Some('"') => quoted_length(rest, '"', '\\').ok_or_else(unsupported_layout)?,
            Some('\'') => quoted_length(rest, '\'', '\0').ok_or_else(unsupported_layout)?,
            Some('|' | '>' | '&' | '*' | '!') => return Err(unsupported_layout()),
            _ if matches!(node.data, YamlData::Mapping(_) | YamlData::Sequence(_)) => {
                return Err(unsupported_layout());
            }
            _ => self
                .text
                .get(start..end)
                .unwrap_or_default()
                .trim_end()
                .len(),
        };
        Ok(start..start + length)
    }

    fn starts_with(&self, node: &SpannedYaml<'_>, with: &str) -> bool {
        let start = self.byte_offset(node.span.start.index());
        self.text
            .get(start..)
            .is_some_and(|rest| rest.starts_with(with))
    }

    fn byte_offset(&self, character: usize) -> usize {
        let end = self.text.len();
        self.bytes.get(character).copied().unwrap_or(end)
    }
}

/// Returns the length of a quoted string including both quotes; a doubled quote is an escaped one.
fn quoted_length(text: &str, quote: char, escape: char) -> Option<usize> {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c == escape {
            characters.next();
        } else if c == quote {
            if quote == '\'' && characters.next_if(|(_, next)| *next == quote).is_some() {
                continue;
            }
            return Some(at + quote.len_utf8());
        }
    }
    None
}

fn find_member<'a, 't>(
    mapping: &'a SpannedYaml<'t>,
    key: &str,
) -> Option<(&'a SpannedYaml<'t>, &'a SpannedYaml<'t>)> {
    let map = mapping.data.as_mapping()?;
    map.iter().find(|(name, _)| name.data.as_str() == Some(key))
}

/// Formats a block mapping; lists have a dash for each item.
fn format_block(value: &Value, indent: &str, end: &str) -> String {
    let mut lines = String::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Object(map) if !map.is_empty() => {
                lines.push_str(&format!("{indent}{key}:{end}"));
                lines.push_str(&format_block(value, &format!("{indent}  "), end));
            }
            Value::Array(list) if !list.is_empty() => {
                lines.push_str(&format!("{indent}{key}:{end}"));
                for item in list {
                    lines.push_str(&format!("{indent}  - {}{end}", format_flow(item)));
                }
            }
            _ => lines.push_str(&format!("{indent}{key}: {}{end}", format_flow(value))),
        }
    }
    lines
}

/// Formats a value on one line (flow style).
fn format_flow(value: &Value) -> String {
    match value {
        Value::String(text) => quote_text(text),
        Value::Array(list) => {
            format!(
                "[{}]",
                list.iter().map(format_flow).collect::<Vec<_>>().join(", ")
            )
        }
        Value::Object(map) => {
            let members = map
                .iter()
                .map(|(key, value)| format!("{key}: {}", format_flow(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Converts a value to JSON; values that JSON does not have become strings that differ for different values.
fn node_to_json(node: &SpannedYaml<'_>) -> Value {
    match &node.data {
        YamlData::Value(scalar) => match scalar.clone().into_owned() {
            ScalarOwned::Null => Value::Null,
            ScalarOwned::Boolean(yes) => yes.into(),
            ScalarOwned::Integer(number) => number.into(),
            ScalarOwned::FloatingPoint(number) => format!("{number:?}").into(),
            ScalarOwned::String(text) => text.into(),
        },
        YamlData::Sequence(list) => list.iter().map(node_to_json).collect(),
        YamlData::Mapping(map) => {
            let members = map.iter().map(|(key, value)| {
                let name = key.data.as_str().map(str::to_owned);
                (
                    name.unwrap_or_else(|| format!("\0{}", node_to_json(key))),
                    node_to_json(value),
                )
            });
            Value::Object(members.collect())
        }
        YamlData::Tagged(tag, node) => Value::Array(vec![
            format!("\0!{}{}", tag.handle, tag.suffix).into(),
            node_to_json(node),
        ]),
        YamlData::Representation(text, ..) => text.as_ref().into(),
        YamlData::Alias(number) => format!("\0*{number}").into(),
        YamlData::BadValue => Value::String("\0".to_owned()),
    }
}

#[cfg(test)]
mod tests;
