//! Changing one entry of a program's configuration and nothing else, whatever its format.
//!
//! The formats find the place and write the text; here every change is read back before anybody
//! else sees it: the entry has to be there, and everything beside it as it was.

use serde_json::{Map, Value};

use super::{jsonc, toml, yaml};

/// How a configuration is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Format {
    /// JSON, with what its reader takes beyond it.
    Json(jsonc::Dialect),
    Toml,
    Yaml,
}

/// Why a text cannot be changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The line at fault, from 1.
    pub(super) line: Option<usize>,
    /// What is wrong with it.
    pub(super) why: String,
}

impl Fault {
    /// A fault of the whole text.
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self {
            line: None,
            why: why.into(),
        }
    }

    /// A fault at a byte of a text.
    pub(super) fn at(text: &str, byte: usize, why: impl Into<String>) -> Self {
        let before = text.as_bytes().iter().take(byte);
        Self {
            line: Some(1 + before.filter(|b| **b == b'\n').count()),
            why: why.into(),
        }
    }
}

/// One value of an entry, by its key.
pub(super) type Field = (&'static str, Value);

impl Format {
    /// What a text says. Numbers and times of other formats come as texts where JSON has no such
    /// thing.
    pub(super) fn tree(self, text: &str) -> Result<Value, Fault> {
        match self {
            Self::Json(dialect) => jsonc::tree(text, dialect),
            Self::Toml => toml::tree(text),
            Self::Yaml => yaml::tree(text),
        }
    }

    /// The text with these fields set in the entry at the end of `keys`, which is made if it is not
    /// there.
    pub(super) fn put(self, text: &str, keys: &[&str], fields: &[Field]) -> Result<String, Fault> {
        let before = self.tree(text)?;
        let changed = match self {
            Self::Json(dialect) => jsonc::put(text, dialect, keys, fields)?,
            Self::Toml => toml::put(text, keys, fields)?,
            Self::Yaml => yaml::put(text, keys, fields)?,
        };
        let after = self.tree(&changed).map_err(|_| unusual())?;
        let set = entry(&after, keys).is_some_and(|entry| {
            fields
                .iter()
                .all(|(key, value)| entry.get(key) == Some(value))
        });
        if set && without(before, keys) == without(after, keys) {
            Ok(changed)
        } else {
            Err(unusual())
        }
    }

    /// The text without the entry at the end of `keys`.
    pub(super) fn remove(self, text: &str, keys: &[&str]) -> Result<String, Fault> {
        let before = self.tree(text)?;
        let changed = match self {
            Self::Json(dialect) => jsonc::remove(text, dialect, keys)?,
            Self::Toml => toml::remove(text, keys)?,
            Self::Yaml => yaml::remove(text, keys)?,
        };
        let after = self.tree(&changed).map_err(|_| unusual())?;
        if entry(&after, keys).is_none() && without(before, keys) == without(after, keys) {
            Ok(changed)
        } else {
            Err(unusual())
        }
    }
}

/// Valid, but written in a way that we cannot change without touching the rest.
pub(super) fn unusual() -> Fault {
    Fault::new("it is written in a way that cannot be changed without touching the rest of it")
}

/// What stands at the end of `keys`.
pub(super) fn entry<'a>(tree: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(tree, |node, key| node.get(key))
}

/// The tree without an entry. Where that leaves nothing, there is no difference between an empty
/// table and none.
fn without(mut tree: Value, keys: &[&str]) -> Value {
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

/// The whole nested value that `keys` lead to, from its fields.
pub(super) fn nested(keys: &[&str], fields: &[Field]) -> Value {
    let leaf = fields
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()))
        .collect();
    keys.iter().rev().fold(Value::Object(leaf), |inner, key| {
        Value::Object([((*key).to_owned(), inner)].into_iter().collect())
    })
}

/// A text with some of its parts replaced; the parts are in order and do not overlap.
pub(super) fn replaced(text: &str, parts: &[(std::ops::Range<usize>, String)]) -> String {
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

/// How lines of a text end.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text.get(..at).is_some_and(|line| line.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

/// Where the line of a byte begins.
pub(super) fn line_start(text: &str, byte: usize) -> usize {
    let before = text.get(..byte).unwrap_or_default();
    before.rfind('\n').map_or(0, |at| at + 1)
}

/// Where the line of a byte ends, before its line break.
pub(super) fn line_stop(text: &str, byte: usize) -> usize {
    let rest = text.get(byte..).unwrap_or_default();
    let stop = byte + rest.find('\n').unwrap_or(rest.len());
    let line = text.get(byte..stop).unwrap_or_default();
    stop - usize::from(line.ends_with('\r'))
}

/// The blanks at the beginning of a byte's line.
pub(super) fn indent_of(text: &str, byte: usize) -> &str {
    let line = text.get(line_start(text, byte)..).unwrap_or_default();
    let blanks = line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len());
    line.get(..blanks).unwrap_or_default()
}

/// A text in double quotes, as TOML, YAML and JSON read it alike.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(c);
            }
            // Not all of them take these as they are.
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
    fn a_quoted_text_is_the_same_in_every_format() {
        let text = "a \"b\" \\ \u{1b}\u{7f}\u{85}\u{2028} 目录 😀 ${x} 'y' # z";
        let quoted = quoted(text);
        assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
        assert_eq!(
            toml::tree(&format!("a = {quoted}")).unwrap(),
            json!({"a": text})
        );
        assert_eq!(
            yaml::tree(&format!("a: {quoted}")).unwrap(),
            json!({"a": text})
        );
    }

    #[test]
    fn nothing_and_an_empty_table_are_the_same() {
        let keys = ["a", "b"];
        for tree in [
            json!({"x": 1}),
            json!({"x": 1, "a": {}}),
            json!({"x": 1, "a": {"b": [2]}}),
        ] {
            assert_eq!(without(tree, &keys), json!({"x": 1}));
        }
        assert_eq!(without(json!({"a": 3}), &keys), json!({"a": 3}));
        assert_eq!(
            without(json!({"a": {"c": 3}}), &keys),
            json!({"a": {"c": 3}})
        );
    }
}
