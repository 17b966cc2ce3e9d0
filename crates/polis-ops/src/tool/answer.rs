//! Result of a tool call: a JSON document for programs, and a short text for a model.

use serde_json::Value;

use super::hint::hint_for_tools;
use super::truncation;
use crate::error::OpError;

/// Approximate maximum number of bytes shown to a model for each long detail of a refusal (a diff, a command's output).
const MAX_PARTICULAR_BYTES: usize = 12_000;

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The same document as the command line's `--json`.
    pub document: Value,
    /// Short text with the same content.
    pub text: String,
}

impl Answer {
    /// Describes a refused or failed request: the command line's error document, with the hint rewritten in terms of
    /// tools, and a text with everything in the document: code, message, next step and details. MCP sends only the
    /// text, because an error document does not match the tool's output schema. Long details are truncated if `brief`
    /// is set.
    pub fn refused(error: &OpError, brief: bool) -> Self {
        let mut told = error.document();
        let hint = hint_for_tools(told.error.hint);
        told.error.hint = &hint;
        let mut text = format!("{}: {}", told.error.code, told.error.message);
        if !hint.is_empty() {
            text.push_str(&format!("\nNext: {hint}"));
        }
        // Our own document always serializes; if it did not, the text would still contain the error.
        let details = told.error.details.map(serde_json::to_value);
        if let Some(Ok(details)) = details {
            push_particulars(&mut text, &details, brief);
        }
        let mut answer = Self {
            document: serde_json::to_value(told).unwrap_or(Value::Null),
            text,
        };
        if brief {
            truncation::bound(&mut answer);
        }
        answer
    }
}

/// Adds a refusal's details to its text under their names in the document: first the short ones, one per line, then the
/// multi-line texts.
fn push_particulars(text: &mut String, details: &Value, brief: bool) {
    let particulars = details.as_object().into_iter().flatten();
    let mut blocks = String::new();
    for (name, value) in particulars {
        match value {
            Value::Null => {}
            Value::String(value) if value.is_empty() => {}
            Value::String(value) if value.contains('\n') => {
                let short = brief
                    .then(|| truncation::ends(value, MAX_PARTICULAR_BYTES))
                    .flatten();
                let shown = short.as_ref().map_or(value, |(shown, _)| shown);
                blocks.push_str(&format!("\n{name}:\n{}", shown.trim_end()));
            }
            Value::String(value) => text.push_str(&format!("\n{name}: {value}")),
            value => text.push_str(&format!("\n{name}: {value}")),
        }
    }
    text.push_str(&blocks);
}
