//! Task briefs: the instructions that an agent gets when it is hired.
//!
//! All fields except the objective are optional. Models write a field other than the objective as a text or
//! as a list of texts, and both are accepted.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::refusal::{Refusal, SocietyRefusal};

/// A task brief. It is part of every prompt of its agent, so compaction never drops it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskBrief {
    /// Goal of the work.
    pub objective: String,
    /// Constraints on the solution.
    #[serde(
        default,
        deserialize_with = "deserialize_text_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "TextOrList")]
    pub constraints: Vec<String>,
    /// Available inputs.
    #[serde(
        default,
        deserialize_with = "deserialize_joined_lines",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(with = "TextOrList")]
    pub inputs: String,
    /// Expected deliverables.
    #[serde(
        default,
        deserialize_with = "deserialize_joined_lines",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(with = "TextOrList")]
    pub outputs: String,
    /// Criteria for completion.
    #[serde(
        default,
        deserialize_with = "deserialize_joined_lines",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(with = "TextOrList")]
    pub completion_criteria: String,
    /// Agents to work with, and what they do.
    #[serde(
        default,
        deserialize_with = "deserialize_text_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "TextOrList")]
    pub collaborators: Vec<String>,
    /// Further reading: files, boards, artifacts.
    #[serde(
        default,
        deserialize_with = "deserialize_text_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(with = "TextOrList")]
    pub references: Vec<String>,
    /// Priority of the work.
    #[serde(
        default,
        deserialize_with = "deserialize_joined_lines",
        skip_serializing_if = "String::is_empty"
    )]
    #[schemars(with = "TextOrList")]
    pub priority: String,
}

/// Maximum size of a brief, in bytes of JSON.
const MAX_BRIEF_BYTES: usize = 64 * 1024;

impl TaskBrief {
    /// Creates a brief that consists only of an objective.
    pub fn from_objective(objective: impl Into<String>) -> Self {
        Self {
            objective: objective.into(),
            ..Self::default()
        }
    }

    /// Fails with `invalid_brief` if the objective is empty or the brief is too long.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.objective.trim().is_empty() {
            return Err(Refusal::from(SocietyRefusal::BriefWithoutObjective));
        }
        if serde_json::to_string(self).map_or(0, |text| text.len()) > MAX_BRIEF_BYTES {
            return Err(Refusal::from(SocietyRefusal::BriefTooLong));
        }
        Ok(())
    }
}

/// A text or a list of texts: models write either.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
enum TextOrList {
    One(String),
    Several(Vec<String>),
}

fn deserialize_text_list<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    Ok(match TextOrList::deserialize(deserializer)? {
        TextOrList::One(text) if text.trim().is_empty() => Vec::new(),
        TextOrList::One(text) => vec![text],
        TextOrList::Several(texts) => texts,
    })
}

/// Deserializes a text, or a list of texts, which is joined with newlines.
fn deserialize_joined_lines<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<String, D::Error> {
    Ok(deserialize_text_list(deserializer)?.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brief_field_is_text_or_list() {
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
    fn brief_without_objective_is_refused() {
        assert!(TaskBrief::from_objective("x").check().is_ok());
        assert!(TaskBrief::from_objective(" ").check().is_err());
        assert!(
            TaskBrief::from_objective("x".repeat(MAX_BRIEF_BYTES))
                .check()
                .is_err()
        );
    }
}
