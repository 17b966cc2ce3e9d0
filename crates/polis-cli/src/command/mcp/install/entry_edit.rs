//! Sets or removes one entry of a client's configuration and nothing else, in any of the supported formats.
//!
//! The format modules find the position and write the text. This module parses every edited text again before
//! it is used: the entry must have its new fields or be gone, and everything else must be unchanged.

use polis_core::refusal::Reason;
use serde_json::{Map, Value};

use super::{jsonc, toml, yaml};
use crate::refusal_tables::ClientFileProblem;

/// Format of a configuration file.
#[derive(Debug, Clone, Copy)]
pub(super) enum ConfigFormat {
    /// JSON, with the extensions that its reader accepts.
    Json(jsonc::JsonDialect),
    Toml,
    Yaml,
}

/// Reason why a text cannot be edited.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EditError {
    /// Line of the error, from 1.
    pub(super) line: Option<usize>,
    /// The problem, without the line.
    pub(super) reason: Reason,
}

impl EditError {
    /// Creates an error about the whole text.
    pub(super) fn new(reason: impl Into<Reason>) -> Self {
        Self {
            line: None,
            reason: reason.into(),
        }
    }

    /// Creates an error at a byte offset.
    pub(super) fn at_offset(text: &str, byte: usize, reason: impl Into<Reason>) -> Self {
        let before = text.as_bytes().iter().take(byte);
        Self {
            line: Some(1 + before.filter(|b| **b == b'\n').count()),
            reason: reason.into(),
        }
    }
}

/// A field of an entry: key and value.
pub(super) type EntryField = (&'static str, Value);

impl ConfigFormat {
    /// Parses a text. Numbers and times that JSON does not have become strings.
    pub(super) fn parse_tree(self, text: &str) -> Result<Value, EditError> {
        match self {
            Self::Json(dialect) => jsonc::parse_tree(text, dialect),
            Self::Toml => toml::parse_tree(text),
            Self::Yaml => yaml::parse_tree(text),
        }
    }

    /// Returns the text with these fields set in the entry at the path `keys`. Creates the entry if it does
    /// not exist.
    pub(super) fn set_fields(
        self,
        text: &str,
        keys: &[&str],
        fields: &[EntryField],
    ) -> Result<String, EditError> {
        let before = self.parse_tree(text)?;
        let changed = match self {
            Self::Json(dialect) => jsonc::set_fields(text, dialect, keys, fields)?,
            Self::Toml => toml::set_fields(text, keys, fields)?,
            Self::Yaml => yaml::set_fields(text, keys, fields)?,
        };
        let after = self
            .parse_tree(&changed)
            .map_err(|_| unsupported_layout())?;
        let set = find_entry(&after, keys).is_some_and(|entry| {
            fields
                .iter()
                .all(|(key, value)| entry.get(key) == Some(value))
        });
        if set && without_entry(before, keys) == without_entry(after, keys) {
            Ok(changed)
        } else {
            Err(unsupported_layout())
        }
    }

    /// Returns the text without the entry at the path `keys`.
    pub(super) fn remove_entry(self, text: &str, keys: &[&str]) -> Result<String, EditError> {
        let before = self.parse_tree(text)?;
        let changed = match self {
            Self::Json(dialect) => jsonc::remove_entry(text, dialect, keys)?,
            Self::Toml => toml::remove_entry(text, keys)?,
            Self::Yaml => yaml::remove_entry(text, keys)?,
        };
        let after = self
            .parse_tree(&changed)
            .map_err(|_| unsupported_layout())?;
        if find_entry(&after, keys).is_none()
            && without_entry(before, keys) == without_entry(after, keys)
        {
            Ok(changed)
        } else {
            Err(unsupported_layout())
        }
    }
}

/// Error for a text that is valid, but written in a way that cannot be edited without touching the rest.
pub(super) fn unsupported_layout() -> EditError {
    EditError::new(ClientFileProblem::UnsupportedLayout)
}

/// Returns the value at the path `keys`.
pub(super) fn find_entry<'a>(tree: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(tree, |node, key| node.get(key))
}

/// Returns the tree without an entry. Tables that become empty are removed, so that an empty table equals a
/// missing one.
fn without_entry(mut tree: Value, keys: &[&str]) -> Value {
    fn prune(node: &mut Value, keys: &[&str]) {
        let (Some((key, below)), Value::Object(map)) = (keys.split_first(), node) else {
            return;
        };
        let empty = match map.get_mut(*key) {
            Some(_) if below.is_empty() => true,
            Some(child) => {
                prune(child, below);
                child.is_null() || child.as_object().is_some_and(Map::is_empty)
            }
            None => false,
        };
        if empty {
            map.shift_remove(*key);
        }
    }
    prune(&mut tree, keys);
    tree
}

/// Builds the nested value at the path `keys` from its fields.
pub(super) fn nest_fields(keys: &[&str], fields: &[EntryField]) -> Value {
    let leaf = fields
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()))
        .collect();
    keys.iter().rev().fold(Value::Object(leaf), |inner, key| {
        Value::Object([((*key).to_owned(), inner)].into_iter().collect())
    })
}

/// Replaces ranges of a text; the ranges are in order and do not overlap.
pub(super) fn replace_ranges(text: &str, parts: &[(std::ops::Range<usize>, String)]) -> String {
    let mut page = String::with_capacity(text.len() + 256);
    let mut done = 0;
    for (range, new) in parts {
        page.push_str(text.get(done..range.start).unwrap_or_default());
        page.push_str(new);
        done = range.end;
    }
    page.push_str(text.get(done..).unwrap_or_default());
    page
}

/// Returns the line ending of a text.
pub(super) fn line_ending(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).is_some_and(|line| line.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

/// Returns the start of the line of a byte.
pub(super) fn line_start_offset(text: &str, byte: usize) -> usize {
    let before = text.get(..byte).unwrap_or_default();
    before.rfind('\n').map_or(0, |at| at + 1)
}

/// Returns the end of the line of a byte, before its line break.
pub(super) fn line_end_offset(text: &str, byte: usize) -> usize {
    let rest = text.get(byte..).unwrap_or_default();
    let stop = byte + rest.find('\n').unwrap_or(rest.len());
    let line = text.get(byte..stop).unwrap_or_default();
    stop - usize::from(line.ends_with('\r'))
}

/// Returns the indentation of a byte's line.
pub(super) fn line_indent(text: &str, byte: usize) -> &str {
    let line = text
        .get(line_start_offset(text, byte)..)
        .unwrap_or_default();
    let blanks = line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len());
    line.get(..blanks).unwrap_or_default()
}

/// Quotes a text in double quotes, in a form that TOML, YAML and JSON read alike.
pub(super) fn quote_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            // Not all formats accept these characters unescaped.
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                quoted.push_str(&format!("\\u{:04X}", u32::from(c)));
            }
            _ => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn quoted_text_parses_alike_in_every_format() {
        let text = "a \"b\" \\ \u{1b}\u{7f}\u{85}\u{2028} 目录 😀 ${x} 'y' # z";
        let quoted = quote_text(text);
        assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
        assert_eq!(
            toml::parse_tree(&format!("a = {quoted}")).unwrap(),
            json!({"a": text})
        );
        assert_eq!(
            yaml::parse_tree(&format!("a: {quoted}")).unwrap(),
            json!({"a": text})
        );
    }

    #[test]
    fn empty_table_equals_missing_table() {
        let keys = ["a", "b"];
        for tree in [
            json!({"x": 1}),
            json!({"x": 1, "a": {}}),
            json!({"x": 1, "a": {"b": [2]}}),
        ] {
            assert_eq!(without_entry(tree, &keys), json!({"x": 1}));
        }
        assert_eq!(without_entry(json!({"a": 3}), &keys), json!({"a": 3}));
        assert_eq!(
            without_entry(json!({"a": {"c": 3}}), &keys),
            json!({"a": {"c": 3}})
        );
    }
}
