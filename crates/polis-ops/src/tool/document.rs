//! Serializes a tool result as a JSON document.
//!
//! The content that agents store with a task or send in messages is kept byte for byte. It may contain numbers that do
//! not fit into a double, and nest deeper than most JSON readers support. The document contains such a part as a string
//! with its JSON text.

use polis_core::{Fields, Raw};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::OpError;
use crate::port::PortError;

/// Maximum nesting depth of a document.
const MAX_DEPTH: usize = 100;

/// Returns a tool result as JSON.
pub(super) fn of(answer: &impl Serialize) -> Result<Value, OpError> {
    if let Ok(value) = serde_json::to_value(answer) {
        return Ok(value);
    }
    let text = serde_json::to_string(answer);
    let text = text.map_err(|error| PortError::internal("Writing the answer", error))?;
    Ok(lenient(&text, MAX_DEPTH))
}

/// Parses JSON with arbitrary numbers and nesting depth.
fn lenient(text: &str, depth: usize) -> Value {
    let kept = || Value::String(text.to_owned());
    let Some(deeper) = depth.checked_sub(1) else {
        return kept();
    };
    match text.as_bytes().first() {
        Some(b'{') => match serde_json::from_str::<Fields>(text) {
            Ok(fields) => {
                let members = fields.iter();
                let members =
                    members.map(|(name, value)| (name.to_owned(), lenient(value.text(), deeper)));
                Value::Object(members.collect::<Map<_, _>>())
            }
            Err(_) => kept(),
        },
        Some(b'[') => match serde_json::from_str::<Vec<Raw>>(text) {
            Ok(all) => all.iter().map(|one| lenient(one.text(), deeper)).collect(),
            Err(_) => kept(),
        },
        _ => serde_json::from_str(text).unwrap_or_else(|_| kept()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_no_double_holds_is_told_as_it_is_written() {
        let raw = Raw::parse(r#"{"a":[1,1e999,"x"],"b":2}"#).unwrap();
        let told = of(&raw).unwrap();
        assert_eq!(told, serde_json::json!({ "a": [1, "1e999", "x"], "b": 2 }));
    }

    #[test]
    fn what_nests_without_end_is_told_as_text() {
        let deep = format!("{}1e999{}", "[".repeat(5_000), "]".repeat(5_000));
        let told = of(&Raw::parse(&deep).unwrap()).unwrap();
        let mut at = &told;
        let mut depth = 0;
        while let Some(inner) = at.get(0) {
            at = inner;
            depth += 1;
        }
        assert_eq!(depth, MAX_DEPTH);
        assert!(at.as_str().is_some_and(|text| text.starts_with("[[[")));
    }
}
