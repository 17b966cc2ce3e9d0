//! Result of a tool call: a JSON document for programs, and a short text for a model.

use polis_i18n::{Surface, UiLanguage, msg};
use serde_json::Value;

use super::truncation;
use crate::error::OpError;

/// Approximate maximum number of bytes shown to a model for each long detail of a refusal (a diff, a
/// command's output).
const MAX_DETAIL_BYTES: usize = 12_000;

/// Result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// The same document as the command line's `--json`.
    pub document: Value,
    /// Short text with the same content.
    pub text: String,
}

impl ToolOutput {
    /// Describes a refused or failed request: the error document, with a hint that names tools, and a text with
    /// everything in the document: code, message, next step and details. MCP sends only the text, because an
    /// error document does not match the tool's output schema. Long details are truncated if `brief` is set.
    pub fn from_error(error: &OpError, lang: UiLanguage, brief: bool) -> Self {
        let document = error.error_document(Surface::Tool, lang);
        let hint = &document.error.hint;
        let mut text = format!("{}: {}", document.error.code, document.error.message);
        if !hint.is_empty() {
            text.push('\n');
            text.push_str(&msg::refusal_next_step(lang, hint));
        }
        // Our own document always serializes; if it did not, the text would still contain the error.
        let details = document.error.details.map(serde_json::to_value);
        if let Some(Ok(details)) = details {
            push_details(&mut text, &details, lang, brief);
        }
        let mut answer = Self {
            document: serde_json::to_value(document).unwrap_or(Value::Null),
            text,
        };
        if brief {
            truncation::enforce_size_limits(&mut answer, lang);
        }
        answer
    }
}

/// Adds a refusal's details to its text under their names in the document: first the short ones, one per
/// line, then the multi-line texts.
fn push_details(text: &mut String, details: &Value, lang: UiLanguage, brief: bool) {
    let particulars = details.as_object().into_iter().flatten();
    let mut blocks = String::new();
    for (name, value) in particulars {
        match value {
            Value::Null => {}
            Value::String(value) if value.is_empty() => {}
            Value::String(value) if value.contains('\n') => {
                let excerpt = brief
                    .then(|| truncation::head_and_tail(lang, value, MAX_DETAIL_BYTES))
                    .flatten();
                let shown_text = excerpt.as_ref().map_or(value, |(shown_text, _)| shown_text);
                blocks.push_str(&format!("\n{name}:\n{}", shown_text.trim_end()));
            }
            Value::String(value) => text.push_str(&format!("\n{name}: {value}")),
            value => text.push_str(&format!("\n{name}: {value}")),
        }
    }
    text.push_str(&blocks);
}
