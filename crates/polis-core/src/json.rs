//! JSON values preserved as raw text.
//!
//! Metadata and unknown fields belong to others. [`Raw`] keeps the original text of such a value (without
//! insignificant white space), so that large numbers, key order and escapes survive a round trip. [`Fields`] is
//! an ordered object of such values. Parsing does not recurse: nesting is counted, so hostile depth cannot
//! overflow the stack.

use std::borrow::Cow;
use std::collections::HashMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Maximum nesting depth of a JSON value from outside. It is checked on input and never when stored data is
/// read back: an event wraps such a value and nests deeper.
pub const MAX_DEPTH: usize = 128;

/// One JSON value as compact text.
#[derive(Debug, Clone)]
pub struct Raw(Box<RawValue>);

impl Raw {
    /// Parses one JSON value and removes insignificant white space.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Box<RawValue> = serde_json::from_str(text).map_err(|e| e.to_string())?;
        Self::compact(value).map_err(|e| e.to_string())
    }

    /// Serializes any value.
    pub fn of(value: &impl Serialize) -> Result<Self, String> {
        let value = serde_json::value::to_raw_value(value).map_err(|e| e.to_string())?;
        Self::compact(value).map_err(|e| e.to_string())
    }

    /// Returns JSON's `null`.
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    fn compact(value: Box<RawValue>) -> serde_json::Result<Self> {
        let text = value.get();
        let compact = squeeze(text);
        if compact.len() == text.len() {
            return Ok(Self(value));
        }
        RawValue::from_string(compact).map(Self)
    }

    /// Returns whether a string in it contains an unpaired surrogate escape. JSON's grammar allows it, but no
    /// Unicode text can represent it, and strict parsers reject the whole document.
    pub fn has_half_character(&self) -> bool {
        let text = self.text().as_bytes();
        let unit = |at: usize| {
            let digits = text.get(at..at + 6).filter(|e| e.starts_with(b"\\u"))?;
            let digits = std::str::from_utf8(&digits[2..]).ok()?;
            u16::from_str_radix(digits, 16).ok()
        };
        let mut at = 0;
        while at < text.len() {
            match (text[at], unit(at)) {
                (b'\\', Some(0xD800..=0xDBFF)) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => {
                    at += 12;
                }
                (b'\\', Some(0xD800..=0xDFFF)) => return true,
                (b'\\', _) => at += 2,
                _ => at += 1,
            }
        }
        false
    }

    /// Returns the nesting depth: 0 for a number or a string, 1 for a list of those.
    pub fn depth(&self) -> usize {
        let (mut depth, mut deepest) = (0_usize, 0_usize);
        outside_strings(self.text(), |c| match c {
            '{' | '[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        });
        deepest
    }

    /// Returns the JSON text.
    pub fn text(&self) -> &str {
        self.0.get()
    }

    /// Deserializes the value as a `T`. Returns `None` if it has another shape.
    pub fn to<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        serde_json::from_str(self.text()).ok()
    }

    /// Returns whether this is JSON's `null`.
    pub fn is_null(&self) -> bool {
        self.text() == "null"
    }
}

/// Copies JSON text without white space outside strings.
fn squeeze(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c == '"' {
            in_string = true;
        } else if c.is_ascii_whitespace() {
            continue;
        }
        out.push(c);
    }
    out
}

/// Calls `tell` with every character outside of strings.
fn outside_strings(text: &str, mut tell: impl FnMut(char)) {
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else {
            in_string = c == '"';
            tell(c);
        }
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Raw {}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        Self::compact(value).map_err(D::Error::custom)
    }
}

/// A JSON object with raw values in their original order. Of a repeated key, the last value is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, Raw)>);

impl Fields {
    /// Returns whether the object has no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Raw)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the value of `key`.
    pub fn get(&self, key: &str) -> Option<&Raw> {
        self.0
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, value)| value)
    }

    /// Removes `key` and returns its value.
    pub fn take(&mut self, key: &str) -> Option<Raw> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(at).1)
    }

    /// Sets `key`: in place if it exists, otherwise at the end.
    pub fn set(&mut self, key: impl Into<String>, value: Raw) {
        let key = key.into();
        match self.0.iter_mut().find(|(k, _)| *k == key) {
            Some(slot) => slot.1 = value,
            None => self.0.push((key, value)),
        }
    }

    /// Applies a merge patch: sets every field of `patch`; a `null` removes its key.
    pub fn merge(&mut self, patch: &Self) {
        for (key, value) in patch.iter() {
            if value.is_null() {
                self.take(key);
            } else {
                self.set(key, value.clone());
            }
        }
    }

    /// Returns whether a value contains an unpaired surrogate; see [`Raw::has_half_character`].
    pub fn has_half_character(&self) -> bool {
        self.0.iter().any(|(_, value)| value.has_half_character())
    }

    /// Returns the nesting depth of the deepest value.
    pub fn depth(&self) -> usize {
        self.0
            .iter()
            .map(|(_, value)| value.depth())
            .max()
            .unwrap_or(0)
    }

    /// Returns the approximate size of the object as JSON, in bytes.
    pub fn size(&self) -> usize {
        self.0
            .iter()
            .map(|(key, value)| key.len() + value.text().len() + 4)
            .sum()
    }
}

impl FromIterator<(String, Raw)> for Fields {
    fn from_iter<I: IntoIterator<Item = (String, Raw)>>(fields: I) -> Self {
        let mut all = Self::default();
        for (key, value) in fields {
            all.set(key, value);
        }
        all
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl Fields {
    /// Parses an object and returns it with the keys that occurred more than once.
    pub fn parse_telling_repeats(text: &str) -> Result<(Self, Vec<String>), serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let read = reader.deserialize_map(FieldsVisitor)?;
        reader.end()?;
        Ok(read)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_map(FieldsVisitor)
            .map(|(fields, _)| fields)
    }
}

/// Visitor for an object and its repeated keys.
struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = (Fields, Vec<String>);

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Fields::default();
        let mut repeats = Vec::new();
        // Indexed with a map, because a hostile object may have very many keys.
        let mut places: HashMap<String, usize> = HashMap::new();
        while let Some((key, value)) = map.next_entry::<String, Raw>()? {
            match places.get(&key) {
                Some(&at) => {
                    fields.0[at].1 = value;
                    repeats.push(key);
                }
                None => {
                    places.insert(key.clone(), fields.0.len());
                    fields.0.push((key, value));
                }
            }
        }
        Ok((fields, repeats))
    }
}

impl JsonSchema for Fields {
    fn schema_name() -> Cow<'static, str> {
        "Metadata".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({ "type": "object", "additionalProperties": true })
    }

    fn inline_schema() -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_text_but_not_their_white_space() {
        let text = "{ \"n\" : 12345678901234567890123 ,\n \"s\": \"a \\\" b\", \"f\":1.50 }";
        let raw = Raw::parse(text).unwrap();
        assert_eq!(
            raw.text(),
            r#"{"n":12345678901234567890123,"s":"a \" b","f":1.50}"#
        );
    }

    #[test]
    fn depth_is_counted_not_recursed() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(Raw::parse(&deep).unwrap().depth(), 200_000);
        assert_eq!(Raw::parse(r#"{"a":"[[[","b":[1]}"#).unwrap().depth(), 2);
    }

    #[test]
    fn half_characters_are_found() {
        for whole in [r#""\ud83d\ude80""#, r#""\\ud800""#, r#""é \u00e9""#, "1"] {
            assert!(!Raw::parse(whole).unwrap().has_half_character(), "{whole}");
        }
        for half in [r#""\ud800""#, r#"["\ude80\ud83d"]"#, r#""\\\ud83dx""#] {
            assert!(Raw::parse(half).unwrap().has_half_character(), "{half}");
        }
    }

    #[test]
    fn many_keys_are_read_in_no_time_and_a_repeated_one_keeps_the_last() {
        let keys: Vec<_> = (0..100_000).map(|n| format!("\"k{n}\":1")).collect();
        let text = format!("{{{},\"k5\":2}}", keys.join(","));
        let fields: Fields = serde_json::from_str(&text).unwrap();
        assert_eq!(fields.iter().count(), 100_000);
        assert_eq!(fields.get("k5").unwrap().text(), "2");
    }

    #[test]
    fn merging_sets_replaces_and_removes() {
        let mut all: Fields = serde_json::from_str(r#"{"a":1,"b":2}"#).unwrap();
        all.merge(&serde_json::from_str(r#"{"b":null,"c":[1, 2],"a":3}"#).unwrap());
        assert_eq!(serde_json::to_string(&all).unwrap(), r#"{"a":3,"c":[1,2]}"#);
    }
}
