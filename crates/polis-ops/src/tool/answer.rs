//! What a tool answers: a document for programs, and a short text for a model.

use serde_json::Value;

use super::hint::hint_for_tools;
use super::truncation;
use crate::error::OpError;

/// About how many bytes of each long particular of a refusal (a diff, a command's output) are shown to a model.
const MAX_PARTICULAR_BYTES: usize = 12_000;

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The same document as the command line's `--json`.
    pub document: Value,
    /// The same in a few words.
    pub text: String,
}

impl Answer {
    /// Describes a refused or failed request: the command line's error document with the next step in the words of
    /// tools, and a text with all that the document says: the code, the sentence, the next step and the particulars. MCP sends only the text, because a refusal's document does not match the tool's output schema.
    /// Long particulars are cut if it is to be `brief`.
    pub fn refused(error: &OpError, brief: bool) -> Self {
        let mut told = error.document();
        let hint = hint_for_tools(told.error.hint);
        told.error.hint = &hint;
        let mut text = format!("{}: {}", told.error.code, told.error.message);
        if !hint.is_empty() {
            text.push_str(&format!("\nNext: {hint}"));
        }
        // Our own document serialises; should it not, the text still says what is wrong.
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

/// Adds a refusal's particulars to its text under the names they have in the document: short ones on a line
/// each, then texts of several lines.
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
