//! In-place editing of YAML: lines are inserted below a key, and values are replaced at their position.
//!
//! The parser reports exact start positions but only approximate ends, so ends are searched in the text. An edit of an
//! unforeseen style produces a wrong text, which is detected when it is parsed again, and refused.

use std::ops::Range;

use saphyr::{MarkedYaml, ScalarOwned, YamlData};
use serde_json::{Map, Value};

use super::edit::{
    Fault, Field, indent_of, line_end, line_start, line_stop, nested, quoted, replaced, unusual,
};
use crate::yaml_text;

/// Parses the text.
pub(super) fn tree(text: &str) -> Result<Value, Fault> {
    Ok(Page::read(text)?
        .root()
        .map_or_else(|| Value::Object(Map::new()), json))
}

/// Returns the text with the fields of an entry set.
pub(super) fn put(text: &str, keys: &[&str], fields: &[Field]) -> Result<String, Fault> {
    let mut text = text.to_owned();
    // One change at a time: each shifts the text after it. There are at most as many changes as fields.
    for _ in 0..=fields.len() {
        let parts = Page::read(&text)
            .map_err(|_| unusual())?
            .next_change(keys, fields)?;
        let Some(parts) = parts else {
            break;
        };
        text = replaced(&text, &parts);
    }
    Ok(text)
}

/// Returns the text without an entry.
pub(super) fn remove(text: &str, keys: &[&str]) -> Result<String, Fault> {
    let parts = Page::read(text)?.removal(keys)?;
    Ok(replaced(text, &parts.unwrap_or_default()))
}

type Parts = Vec<(Range<usize>, String)>;
type Node<'t> = MarkedYaml<'t>;

/// A parsed text.
struct Page<'t> {
    text: &'t str,
    documents: Vec<Node<'t>>,
    /// Byte offset of each character, and of the end of the text.
    bytes: Vec<usize>,
}

impl<'t> Page<'t> {
    fn read(text: &'t str) -> Result<Self, Fault> {
        let documents = yaml_text::load(text).map_err(|fault| Fault {
            line: Some(fault.line),
            why: fault.why,
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
            return Err(page.fault(second, "there is a second document"));
        }
        match page.root() {
            Some(root) if root.data.as_mapping().is_none() => {
                Err(page.fault(root, "it is not a mapping of names"))
            }
            _ => Ok(page),
        }
    }

    /// Returns the root of the first document, if it is not empty.
    fn root(&self) -> Option<&Node<'t>> {
        self.documents.first().filter(|root| !root.data.is_null())
    }

    fn fault(&self, node: &Node<'_>, why: impl Into<String>) -> Fault {
        Fault {
            line: Some(node.span.start.line()),
            why: why.into(),
        }
    }

    /// Returns the next change to make, if any.
    fn next_change(&self, keys: &[&str], fields: &[Field]) -> Result<Option<Parts>, Fault> {
        let Some(mut node) = self.root() else {
            return Ok(Some(self.at_the_end("", &nested(keys, fields))));
        };
        let mut above: Option<&Node<'_>> = None;
        for (depth, key) in keys.iter().enumerate() {
            let Some((name, value)) = find(node, key) else {
                let value = nested(keys.get(depth..).unwrap_or_default(), fields);
                return self.insertion(above, node, &value).map(Some);
            };
            above = Some(name);
            node = value;
            if node.data.is_null() && depth + 1 < keys.len() {
                let value = nested(keys.get(depth + 1..).unwrap_or_default(), fields);
                return self.insertion(above, node, &value).map(Some);
            }
            if node.data.as_mapping().is_none() || self.starts(node, "*") {
                return Err(self.fault(name, format!("\"{key}\" is not a mapping of names")));
            }
        }
        for (key, value) in fields {
            let Some((_, found)) = find(node, key) else {
                let value = nested(&[], &[(*key, value.clone())]);
                return self.insertion(above, node, &value).map(Some);
            };
            if json(found) != *value {
                return self.replacement(found, value).map(Some);
            }
        }
        Ok(None)
    }

    /// Inserts members at the beginning of a mapping, directly below its key.
    fn insertion(
        &self,
        name: Option<&Node<'_>>,
        mapping: &Node<'_>,
        value: &Value,
    ) -> Result<Parts, Fault> {
        let end = line_end(self.text);
        let start = self.byte(mapping.span.start.index());
        if self.starts(mapping, "{") && mapping.data.as_mapping().is_some_and(|m| !m.is_empty()) {
            let flow = flow(value);
            let inner = flow
                .get(1..flow.len().saturating_sub(1))
                .unwrap_or_default();
            return Ok(vec![(start + 1..start + 1, format!("{inner}, "))]);
        }
        let Some(name) = name else {
            if self.starts(mapping, "{") {
                return Err(unusual());
            }
            return Ok(self.at_the_end(indent_of(self.text, start), value));
        };
        let key = self.byte(name.span.start.index());
        let outer = indent_of(self.text, key);
        let first = mapping.data.as_mapping().and_then(|map| map.iter().next());
        let inner = first.map_or_else(
            || format!("{outer}  "),
            |(first, _)| " ".repeat(first.span.start.col()),
        );
        let stop = line_stop(self.text, key);
        let mut parts = Parts::new();
        // A null or empty value on the key's line is replaced.
        if mapping.data.is_null() || first.is_none() {
            let written = self.token(mapping)?;
            let before = self.text.get(..written.start).unwrap_or_default();
            let start = before.trim_end_matches([' ', '\t']).len();
            if !written.is_empty() {
                parts.push((start..written.end, String::new()));
            }
        }
        let lines = block(value, &inner, end);
        parts.push((
            stop..stop,
            format!("{end}{}", lines.trim_end_matches(['\r', '\n'])),
        ));
        Ok(parts)
    }

    /// Appends members to the outermost mapping.
    fn at_the_end(&self, indent: &str, value: &Value) -> Parts {
        let end = line_end(self.text);
        let written = self.text.trim_start_matches('\u{feff}');
        let gap = if written.is_empty() || written.ends_with('\n') {
            ""
        } else {
            end
        };
        let at = self.text.len();
        vec![(at..at, format!("{gap}{}", block(value, indent, end)))]
    }

    /// Replaces a value.
    fn replacement(&self, found: &Node<'_>, value: &Value) -> Result<Parts, Fault> {
        let (Some(items), Some(list)) = (found.data.as_sequence(), value.as_array()) else {
            return Ok(vec![(self.token(found)?, flow(value))]);
        };
        let (Some(first), Some(last)) = (items.first(), items.last()) else {
            return Ok(vec![(self.token(found)?, flow(value))]);
        };
        if self.starts(found, "[") {
            return Ok(vec![(self.token(found)?, flow(value))]);
        }
        // The lines of the list, each item with its dash.
        let start = line_start(self.text, self.byte(first.span.start.index()));
        let stop = line_stop(self.text, self.token(last)?.end);
        let indent = indent_of(self.text, start);
        let items: Vec<_> = list
            .iter()
            .map(|item| format!("{indent}- {}", flow(item)))
            .collect();
        Ok(vec![(start..stop, items.join(line_end(self.text)))])
    }

    /// Returns the change that removes an entry, if there is one.
    fn removal(&self, keys: &[&str]) -> Result<Option<Parts>, Fault> {
        let (Some(mut node), Some((name, above))) = (self.root(), keys.split_last()) else {
            return Ok(None);
        };
        let mut parent = None;
        for key in above {
            let Some((name, value)) = find(node, key) else {
                return Ok(None);
            };
            (parent, node) = (Some(name), value);
        }
        let Some((key, value)) = find(node, name) else {
            return Ok(None);
        };
        if self.starts(node, "{") {
            return self.removal_in_braces(key, value).map(Some);
        }
        let start = line_start(self.text, self.byte(key.span.start.index()));
        let stop = line_stop(self.text, self.last(key).max(self.last(value)));
        let rest = self.text.get(stop..).unwrap_or_default();
        let end = match rest
            .strip_prefix("\r\n")
            .or_else(|| rest.strip_prefix('\n'))
        {
            Some(rest) => self.text.len() - rest.len(),
            None => stop,
        };
        let mut parts = Parts::new();
        let alone = node.data.as_mapping().is_some_and(|map| map.len() == 1);
        if let Some(parent) = parent.filter(|_| alone) {
            // The parent becomes empty: write `{}`, since a client may expect a mapping.
            let colon = self.token(parent)?.end;
            let line = self
                .text
                .get(colon..line_stop(self.text, colon))
                .unwrap_or_default();
            let colon = colon + line.find(':').ok_or_else(unusual)? + 1;
            parts.push((colon..colon, " {}".to_owned()));
        }
        parts.push((start..end, String::new()));
        Ok(Some(parts))
    }

    /// Removes an entry of a flow mapping, with one comma.
    fn removal_in_braces(&self, key: &Node<'_>, value: &Node<'_>) -> Result<Parts, Fault> {
        let start = self.token(key)?.start;
        let end = self.token(value)?.end;
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
    fn last(&self, node: &Node<'_>) -> usize {
        let end = self.byte(node.span.end.index());
        let own = self.text.get(..end).unwrap_or_default().trim_end().len();
        let is_flow = self.starts(node, "{") || self.starts(node, "[");
        match &node.data {
            YamlData::Mapping(map) if !is_flow => {
                let ends = map
                    .iter()
                    .map(|(key, value)| self.last(key).max(self.last(value)));
                ends.max().unwrap_or(own)
            }
            YamlData::Sequence(list) if !is_flow => {
                list.iter().map(|item| self.last(item)).max().unwrap_or(own)
            }
            _ if is_flow => end,
            _ => own.max(self.byte(node.span.start.index())),
        }
    }

    /// Returns the range of a scalar or flow value; fails if its end cannot be determined.
    fn token(&self, node: &Node<'_>) -> Result<Range<usize>, Fault> {
        let start = self.byte(node.span.start.index());
        let end = self.byte(node.span.end.index());
        let rest = self.text.get(start..).unwrap_or_default();
        let length = match rest.chars().next() {
            _ if start == end => 0,
            // The parser's span excludes the closing bracket.
            Some('{' | '[') => {
                let behind = self.text.get(end..).unwrap_or_default();
                if !behind.starts_with(['}', ']']) {
                    return Err(unusual());
                }
                end + 1 - start
            }
            Some('"') => closing(rest, '"', '\\').ok_or_else(unusual)?,
            Some('\'') => closing(rest, '\'', '\0').ok_or_else(unusual)?,
            Some('|' | '>' | '&' | '*' | '!') => return Err(unusual()),
            _ if matches!(node.data, YamlData::Mapping(_) | YamlData::Sequence(_)) => {
                return Err(unusual());
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

    fn starts(&self, node: &Node<'_>, with: &str) -> bool {
        let start = self.byte(node.span.start.index());
        self.text
            .get(start..)
            .is_some_and(|rest| rest.starts_with(with))
    }

    fn byte(&self, character: usize) -> usize {
        let end = self.text.len();
        self.bytes.get(character).copied().unwrap_or(end)
    }
}

/// Returns the length of a quoted string including both quotes; a doubled quote is an escaped one.
fn closing(text: &str, quote: char, escape: char) -> Option<usize> {
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

fn find<'a, 't>(mapping: &'a Node<'t>, key: &str) -> Option<(&'a Node<'t>, &'a Node<'t>)> {
    let map = mapping.data.as_mapping()?;
    map.iter().find(|(name, _)| name.data.as_str() == Some(key))
}

/// Formats a block mapping; lists have a dash for each item.
fn block(value: &Value, indent: &str, end: &str) -> String {
    let mut lines = String::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        match value {
            Value::Object(map) if !map.is_empty() => {
                lines.push_str(&format!("{indent}{key}:{end}"));
                lines.push_str(&block(value, &format!("{indent}  "), end));
            }
            Value::Array(list) if !list.is_empty() => {
                lines.push_str(&format!("{indent}{key}:{end}"));
                for item in list {
                    lines.push_str(&format!("{indent}  - {}{end}", flow(item)));
                }
            }
            _ => lines.push_str(&format!("{indent}{key}: {}{end}", flow(value))),
        }
    }
    lines
}

/// Formats a value on one line (flow style).
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(list) => {
            format!("[{}]", list.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let members = map
                .iter()
                .map(|(key, value)| format!("{key}: {}", flow(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Converts a value to JSON; values that JSON does not have become strings that differ for different values.
fn json(node: &Node<'_>) -> Value {
    match &node.data {
        YamlData::Value(scalar) => match scalar.clone().into_owned() {
            ScalarOwned::Null => Value::Null,
            ScalarOwned::Boolean(yes) => yes.into(),
            ScalarOwned::Integer(number) => number.into(),
            ScalarOwned::FloatingPoint(number) => format!("{number:?}").into(),
            ScalarOwned::String(text) => text.into(),
        },
        YamlData::Sequence(list) => list.iter().map(json).collect(),
        YamlData::Mapping(map) => {
            let members = map.iter().map(|(key, value)| {
                let name = key.data.as_str().map(str::to_owned);
                (
                    name.unwrap_or_else(|| format!("\0{}", json(key))),
                    json(value),
                )
            });
            Value::Object(members.collect())
        }
        YamlData::Tagged(tag, node) => Value::Array(vec![
            format!("\0!{}{}", tag.handle, tag.suffix).into(),
            json(node),
        ]),
        YamlData::Representation(text, ..) => text.as_ref().into(),
        YamlData::Alias(number) => format!("\0*{number}").into(),
        YamlData::BadValue => Value::String("\0".to_owned()),
    }
}

#[cfg(test)]
mod tests;
