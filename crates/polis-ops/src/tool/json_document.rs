//! Serializes a tool result as a JSON document.
//!
//! The content that agents store with a task or send in messages is kept byte for byte. It may contain
//! numbers that do not fit into a double, and nest deeper than most JSON readers support. The document
//! contains such a part as a string with its JSON text.

use polis_core::{RawJson, RawObject};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::OpError;
use crate::port::PortError;

/// Maximum nesting depth of a document.
const MAX_DEPTH: usize = 100;

/// Returns a tool result as JSON.
pub(super) fn to_json_document(answer: &impl Serialize) -> Result<Value, OpError> {
    if let Ok(value) = serde_json::to_value(answer) {
        return Ok(value);
    }
    let text = serde_json::to_string(answer);
    let text = text.map_err(|error| PortError::internal("Writing the answer", error))?;
    Ok(parse_lenient(&text, MAX_DEPTH))
}

/// Parses JSON with arbitrary numbers and nesting depth.
fn parse_lenient(text: &str, depth: usize) -> Value {
    let as_text = || Value::String(text.to_owned());
    let Some(deeper) = depth.checked_sub(1) else {
        return as_text();
    };
    match text.as_bytes().first() {
        Some(b'{') => match serde_json::from_str::<RawObject>(text) {
            Ok(fields) => {
                let members = fields.iter();
                let members = members
                    .map(|(name, value)| (name.to_owned(), parse_lenient(value.as_str(), deeper)));
                Value::Object(members.collect::<Map<_, _>>())
            }
            Err(_) => as_text(),
        },
        Some(b'[') => match serde_json::from_str::<Vec<RawJson>>(text) {
            Ok(all) => all
                .iter()
                .map(|one| parse_lenient(one.as_str(), deeper))
                .collect(),
            Err(_) => as_text(),
        },
        _ => serde_json::from_str(text).unwrap_or_else(|_| as_text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_beyond_double_range_becomes_text() {
        let raw = RawJson::parse(r#"{"a":[1,1e999,"x"],"b":2}"#).unwrap();
        let document = to_json_document(&raw).unwrap();
        assert_eq!(
            document,
            serde_json::json!({ "a": [1, "1e999", "x"], "b": 2 })
        );
    }

    #[test]
    fn nesting_beyond_the_limit_becomes_text() {
        let deep = format!("{}1e999{}", "[".repeat(5_000), "]".repeat(5_000));
        let document = to_json_document(&RawJson::parse(&deep).unwrap()).unwrap();
        let mut at = &document;
        let mut depth = 0;
        while let Some(inner) = at.get(0) {
            at = inner;
            depth += 1;
        }
        assert_eq!(depth, MAX_DEPTH);
        assert!(at.as_str().is_some_and(|text| text.starts_with("[[[")));
    }
}
