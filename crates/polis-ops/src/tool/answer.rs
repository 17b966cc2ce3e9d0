//! What a tool answers: a document for programs, and a short text for a model.

use polis_core::Details;
use serde_json::Value;

use super::brief;
use super::hint::for_a_model;
use crate::error::OpError;

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The same document as the command line's `--json`.
    pub document: Value,
    /// The same in a few words.
    pub text: String,
}

impl Answer {
    /// What is told of a request that was not carried out: the command line's error document, and the
    /// code, the sentence, the next step and what there is to go on with. Long particulars are cut if it is to
    /// be `brief`.
    pub fn refused(error: &OpError, brief: bool) -> Self {
        let told = error.document();
        let body = told.error;
        let mut text = format!("{}: {}", body.code, body.message);
        if !body.hint.is_empty() {
            text.push_str(&format!("\nNext: {}", for_a_model(body.hint)));
        }
        for (name, particulars) in body.details.map(particulars).unwrap_or_default() {
            text.push_str(&format!("\n{name}:\n{particulars}"));
        }
        let mut answer = Self {
            // Our own document serialises; should it not, the text still says what is wrong.
            document: serde_json::to_value(told).unwrap_or(Value::Null),
            text,
        };
        if brief {
            brief::bound(&mut answer);
        }
        answer
    }
}

/// The texts that a refusal brings along for whoever tries again.
fn particulars(details: &Details) -> Vec<(&'static str, &str)> {
    let mut texts = match details {
        Details::Version { diff, merge, .. } => vec![
            ("changed since", diff.as_deref().unwrap_or_default()),
            ("merge", merge.as_deref().unwrap_or_default()),
        ],
        Details::TimedOut { stdout, stderr, .. } => {
            vec![("stdout", stdout.as_str()), ("stderr", stderr)]
        }
        Details::Locked { .. } | Details::Blocked { .. } | Details::Hash { .. } => Vec::new(),
    };
    texts.retain(|(_, text)| !text.is_empty());
    texts
}
