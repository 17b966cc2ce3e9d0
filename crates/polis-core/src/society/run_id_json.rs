//! Serde adapter for a run in JSON: it is sent as `runId` and also as `taskId`, the name that founding
//! requirement 001 gives it. On input either name is accepted; `runId` takes precedence.
//!
//! Used as `#[serde(flatten, with = "run_id_json")]`, for an `Option` as `run_id_json::optional`. `taskId`
//! alone would be ambiguous: everywhere else it is the number of a task.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Value, json};

use super::run_id::RunId;

/// Name of a run in JSON.
pub const RUN_ID: &str = "runId";
/// Name of a run in founding requirement 001.
pub const TASK_ID: &str = "taskId";

/// Adds a run under both names to a JSON object, for documents that have no type of their own.
pub fn with_run_id(mut document: Value, run: &RunId) -> Value {
    if let Some(fields) = document.as_object_mut() {
        for name in [RUN_ID, TASK_ID] {
            fields.insert(name.to_owned(), json!(run));
        }
    }
    document
}

/// The two names of a required run, for schemas and serialization.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunIdFields<R> {
    /// Name of the run.
    run_id: R,
    /// Alias of `runId`, kept for compatibility.
    task_id: R,
}

/// The two names of an optional run, for schemas, serialization and deserialization.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OptionalRunIdFields<R> {
    /// Name of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<R>,
    /// Alias of `runId`, kept for compatibility.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<R>,
}

/// Serializes a run under both names. Fails only if the serializer does.
pub fn serialize<S: Serializer>(run: &RunId, serializer: S) -> Result<S::Ok, S::Error> {
    RunIdFields {
        run_id: run,
        task_id: run,
    }
    .serialize(serializer)
}

/// Deserializes a run from either name. Fails if both are missing.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RunId, D::Error> {
    optional::deserialize(deserializer)?.ok_or_else(|| de::Error::missing_field(RUN_ID))
}

/// The adapter for an optional run.
pub mod optional {
    use super::{Deserialize as _, OptionalRunIdFields, RunId};
    use serde::{Deserializer, Serialize, Serializer};

    /// Serializes a run under both names, or nothing. Fails only if the serializer does.
    pub fn serialize<R: Serialize, S: Serializer>(
        run: &Option<R>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        OptionalRunIdFields {
            run_id: run.as_ref(),
            task_id: run.as_ref(),
        }
        .serialize(serializer)
    }

    /// Deserializes a run from either name; `None` if both are missing. Fails if a given id is invalid.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<RunId>, D::Error> {
        let fields = OptionalRunIdFields::deserialize(deserializer)?;
        Ok(fields.run_id.or(fields.task_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Serialize, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    struct Document {
        before: u32,
        #[serde(flatten, with = "super")]
        run: RunId,
    }

    #[derive(Debug, Serialize, Deserialize, PartialEq)]
    struct OptionalDocument {
        #[serde(flatten, with = "super::optional")]
        run: Option<RunId>,
        after: u32,
    }

    #[test]
    fn run_is_written_under_both_names_and_read_from_either() {
        let run: RunId = "todo".parse().unwrap();
        let document = Document { before: 1, run };
        let text = serde_json::to_string(&document).unwrap();
        assert_eq!(text, r#"{"before":1,"runId":"todo","taskId":"todo"}"#);
        for text in [
            text.as_str(),
            r#"{"before":1,"taskId":"todo"}"#,
            r#"{"runId":"todo","before":1}"#,
            r#"{"runId":"todo","before":1,"taskId":"other"}"#,
        ] {
            assert_eq!(
                serde_json::from_str::<Document>(text).unwrap(),
                document,
                "{text}"
            );
        }
        let error = serde_json::from_str::<Document>(r#"{"before":1}"#).unwrap_err();
        assert!(error.to_string().contains("runId"), "{error}");
        assert!(serde_json::from_str::<Document>(r#"{"before":1,"runId":"no run"}"#).is_err());
    }

    #[test]
    fn absent_run_is_not_written() {
        let document = OptionalDocument {
            run: None,
            after: 2,
        };
        let text = serde_json::to_string(&document).unwrap();
        assert_eq!(text, r#"{"after":2}"#);
        assert_eq!(
            serde_json::from_str::<OptionalDocument>(&text).unwrap(),
            document
        );
    }
}
