//! Task briefs: the instructions that an agent gets when it is hired.
//!
//! All fields except the objective are optional. Models write a field as a text or as a list of texts, and both
//! are accepted.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::refusal::{Code, Refusal};

/// A task brief. It stands in every prompt of its agent, so nothing of it is ever forgotten.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskBrief {
    /// What is to be reached.
    pub objective: String,
    /// What limits the way there.
    #[serde(
        default,
        deserialize_with = "texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Texts")]
    pub constraints: Vec<String>,
    /// What there is to work with.
    #[serde(
        default,
        deserialize_with = "lines",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(with = "Texts")]
    pub inputs: String,
    /// What is to be delivered.
    #[serde(
        default,
        deserialize_with = "lines",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(with = "Texts")]
    pub outputs: String,
    /// How it is known to be done.
    #[serde(
        default,
        deserialize_with = "lines",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(with = "Texts")]
    pub completion_criteria: String,
    /// Whom to work with: agents and what they do.
    #[serde(
        default,
        deserialize_with = "texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Texts")]
    pub collaborators: Vec<String>,
    /// Where to read more: files, boards, artifacts.
    #[serde(
        default,
        deserialize_with = "texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "Texts")]
    pub references: Vec<String>,
    /// How urgent it is.
    #[serde(
        default,
        deserialize_with = "lines",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(with = "Texts")]
    pub priority: String,
}

/// Maximum size of a brief, in bytes of JSON.
const MAX_BYTES: usize = 64 * 1024;

impl TaskBrief {
    /// Creates a brief that consists only of an objective.
    pub fn of(objective: impl Into<String>) -> Self {
        Self {
            objective: objective.into(),
            ..Self::default()
        }
    }

    /// Fails with `invalid_brief` if the objective is empty or the brief is too long.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.objective.trim().is_empty() {
            return Err(Refusal::new(
                Code::InvalidBrief,
                "The brief does not say what is to be reached.",
                "give an objective, and best also constraints, inputs, outputs and completionCriteria",
            ));
        }
        if serde_json::to_string(self).map_or(0, |text| text.len()) > MAX_BYTES {
            return Err(Refusal::new(
                Code::InvalidBrief,
                "The brief is longer than 64 KiB.",
                "put the long part where the new agent can read it (put_artifact, a file) and name it in references",
            ));
        }
        Ok(())
    }
}

/// A text or a list of texts: models write either.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
enum Texts {
    One(String),
    Several(Vec<String>),
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match Texts::deserialize(deserializer)? {
        Texts::One(text) if text.trim().is_empty() => Vec::new(),
        Texts::One(text) => vec![text],
        Texts::Several(texts) => texts,
    })
}

/// Deserializes a text, or a list of texts, which is joined with newlines.
fn lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(texts(deserializer)?.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_lists_are_both_understood() {
        let brief: TaskBrief = serde_json::from_str(
            r#"{"objective":"x","constraints":"one","inputs":["a","b"],"outputs":"c"}"#,
        )
        .unwrap();
        assert_eq!(brief.constraints, ["one"]);
        assert_eq!(
            (brief.inputs.as_str(), brief.outputs.as_str()),
            ("a\nb", "c")
        );
        assert!(serde_json::from_str::<TaskBrief>(r#"{"objective":"x","inputs":3}"#).is_err());
    }

    #[test]
    fn a_brief_has_an_objective() {
        assert!(TaskBrief::of("x").check().is_ok());
        assert!(TaskBrief::of(" ").check().is_err());
        assert!(TaskBrief::of("x".repeat(MAX_BYTES)).check().is_err());
    }
}
