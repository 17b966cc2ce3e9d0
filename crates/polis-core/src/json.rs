//! Raw JSON values: preserve the original text of metadata and unknown fields.
//!
//! Metadata and unknown fields belong to other programs. [`RawJson`] keeps the original text of such a value
//! (without insignificant white space), so that large numbers, key order and escapes survive a round trip.
//! [`RawObject`] is an ordered object of such values; of a repeated key, the last value is kept.
//!
//! A value is checked and kept as text, never built as a tree, so deep nesting cannot overflow the stack.
//! Callers compare `depth()` with [`MAX_JSON_DEPTH`] when they accept input.

use std::borrow::Cow;
use std::collections::HashMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Maximum nesting depth of a JSON value from outside. It is checked on input and never when stored data is
/// read back: an event wraps such a value and nests deeper.
pub const MAX_JSON_DEPTH: usize = 128;

/// Serializes one of our own types as JSON text. This cannot fail: none of them has a map with keys that are
/// not texts, or a `Serialize` that returns an error. If one had, the text would be empty and its reader
/// would report it.
pub fn to_json_text(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// One JSON value as compact text.
#[derive(Debug, Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Parses one JSON value and removes insignificant white space. Fails with the parser's message.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value: Box<RawValue> = serde_json::from_str(text).map_err(|e| e.to_string())?;
        Self::from_raw_value(value).map_err(|e| e.to_string())
    }

    /// Serializes any value. Fails with the serializer's message.
    pub fn from_value(value: &impl Serialize) -> Result<Self, String> {
        let value = serde_json::value::to_raw_value(value).map_err(|e| e.to_string())?;
        Self::from_raw_value(value).map_err(|e| e.to_string())
    }

    /// Returns JSON's `null`.
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    fn from_raw_value(value: Box<RawValue>) -> serde_json::Result<Self> {
        let text = value.get();
        let compact = remove_whitespace(text);
        if compact.len() == text.len() {
            return Ok(Self(value));
        }
        RawValue::from_string(compact).map(Self)
    }

    /// Returns whether a string in it contains an unpaired surrogate escape. JSON's grammar allows it, but no
    /// Unicode text can represent it, and strict parsers reject the whole document.
    pub fn has_unpaired_surrogate(&self) -> bool {
        let text = self.as_str().as_bytes();
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
        for_each_char_outside_strings(self.as_str(), |c| match c {
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
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Deserializes the value as a `T`. Returns `None` if it has another shape.
    pub fn parse_as<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        serde_json::from_str(self.as_str()).ok()
    }

    /// Returns whether this is JSON's `null`.
    pub fn is_null(&self) -> bool {
        self.as_str() == "null"
    }
}

/// Copies JSON text without white space outside strings.
fn remove_whitespace(text: &str) -> String {
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

/// Calls the function with every character outside of strings.
fn for_each_char_outside_strings(text: &str, mut visit: impl FnMut(char)) {
    let (mut in_string, mut escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else {
            in_string = c == '"';
            visit(c);
        }
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for RawJson {}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_raw_value(value).map_err(D::Error::custom)
    }
}

/// A JSON object with raw values in their original order. Of a repeated key, the last value is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawObject(Vec<(String, RawJson)>);

impl RawObject {
    /// Returns whether the object has no fields.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawJson)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the value of `key`, if the object has it.
    pub fn get(&self, key: &str) -> Option<&RawJson> {
        self.0
            .iter()
            .find(|(k, _)| k == key)
            .map(|(_, value)| value)
    }

    /// Removes `key` and returns its value, if the object had it.
    pub fn remove(&mut self, key: &str) -> Option<RawJson> {
        let at = self.0.iter().position(|(k, _)| k == key)?;
        Some(self.0.remove(at).1)
    }

    /// Sets `key`: in place if it exists, otherwise at the end.
    pub fn set(&mut self, key: impl Into<String>, value: RawJson) {
        let key = key.into();
        match self.0.iter_mut().find(|(k, _)| *k == key) {
            Some(slot) => slot.1 = value,
            None => self.0.push((key, value)),
        }
    }

    /// Applies a merge patch: sets every field of `patch`; a `null` removes its key.
    pub fn merge_patch(&mut self, patch: &Self) {
        for (key, value) in patch.iter() {
            if value.is_null() {
                self.remove(key);
            } else {
                self.set(key, value.clone());
            }
        }
    }

    /// Returns whether a value contains an unpaired surrogate; see [`RawJson::has_unpaired_surrogate`].
    pub fn has_unpaired_surrogate(&self) -> bool {
        self.0
            .iter()
            .any(|(_, value)| value.has_unpaired_surrogate())
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
    pub fn encoded_size(&self) -> usize {
        self.0
            .iter()
            .map(|(key, value)| key.len() + value.as_str().len() + 4)
            .sum()
    }
}

impl FromIterator<(String, RawJson)> for RawObject {
    fn from_iter<I: IntoIterator<Item = (String, RawJson)>>(fields: I) -> Self {
        let mut all = Self::default();
        for (key, value) in fields {
            all.set(key, value);
        }
        all
    }
}

impl Serialize for RawObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl RawObject {
    /// Parses an object and returns it with the keys that occurred more than once. Fails with the parser's
    /// error if the text is not a JSON object.
    pub fn parse_with_duplicates(text: &str) -> Result<(Self, Vec<String>), serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let read = reader.deserialize_map(RawObjectVisitor)?;
        reader.end()?;
        Ok(read)
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_map(RawObjectVisitor)
            .map(|(fields, _)| fields)
    }
}

/// Visitor for an object and its repeated keys.
struct RawObjectVisitor;

impl<'de> Visitor<'de> for RawObjectVisitor {
    type Value = (RawObject, Vec<String>);

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = RawObject::default();
        let mut repeats = Vec::new();
        // Indexed with a map, because a hostile object may have very many keys.
        let mut positions: HashMap<String, usize> = HashMap::new();
        while let Some((key, value)) = map.next_entry::<String, RawJson>()? {
            match positions.get(&key) {
                Some(&at) => {
                    fields.0[at].1 = value;
                    repeats.push(key);
                }
                None => {
                    positions.insert(key.clone(), fields.0.len());
                    fields.0.push((key, value));
                }
            }
        }
        Ok((fields, repeats))
    }
}

impl JsonSchema for RawObject {
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
    fn values_keep_text_without_white_space() {
        let text = "{ \"n\" : 12345678901234567890123 ,\n \"s\": \"a \\\" b\", \"f\":1.50 }";
        let raw = RawJson::parse(text).unwrap();
        assert_eq!(
            raw.as_str(),
            r#"{"n":12345678901234567890123,"s":"a \" b","f":1.50}"#
        );
    }

    #[test]
    fn deep_nesting_is_counted_without_recursion() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert_eq!(RawJson::parse(&deep).unwrap().depth(), 200_000);
        assert_eq!(RawJson::parse(r#"{"a":"[[[","b":[1]}"#).unwrap().depth(), 2);
    }

    #[test]
    fn unpaired_surrogates_are_found() {
        for whole in [r#""\ud83d\ude80""#, r#""\\ud800""#, r#""é \u00e9""#, "1"] {
            assert!(
                !RawJson::parse(whole).unwrap().has_unpaired_surrogate(),
                "{whole}"
            );
        }
        for half in [r#""\ud800""#, r#"["\ude80\ud83d"]"#, r#""\\\ud83dx""#] {
            assert!(
                RawJson::parse(half).unwrap().has_unpaired_surrogate(),
                "{half}"
            );
        }
    }

    #[test]
    fn object_with_many_keys_parses_and_duplicate_keeps_last() {
        let keys: Vec<_> = (0..100_000).map(|n| format!("\"k{n}\":1")).collect();
        let text = format!("{{{},\"k5\":2}}", keys.join(","));
        let fields: RawObject = serde_json::from_str(&text).unwrap();
        assert_eq!(fields.iter().count(), 100_000);
        assert_eq!(fields.get("k5").unwrap().as_str(), "2");
    }

    #[test]
    fn merge_patch_sets_replaces_and_removes() {
        let mut all: RawObject = serde_json::from_str(r#"{"a":1,"b":2}"#).unwrap();
        all.merge_patch(&serde_json::from_str(r#"{"b":null,"c":[1, 2],"a":3}"#).unwrap());
        assert_eq!(serde_json::to_string(&all).unwrap(), r#"{"a":3,"c":[1,2]}"#);
    }
}
