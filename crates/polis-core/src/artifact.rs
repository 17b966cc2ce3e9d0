//! Artifacts: immutable, content-addressed values that agents pass to each other by reference.
//!
//! The id is a hash of run, type, content and meta. Putting the same artifact twice is therefore idempotent,
//! and an artifact never changes. An id is a hash and never a path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::changeset::{Changeset, Expect, Write};
use crate::digest;
use crate::event::{NewEvent, Subject, kind};
use crate::id::{AgentId, quoted};
use crate::json::Raw;
use crate::record::{RecordBody, RecordKind, RecordName};
use crate::refusal::{Code, Refusal};
use crate::society::RunId;
use crate::time::Timestamp;

/// Maximum size of an artifact, in bytes of JSON.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;
/// Maximum nesting depth of the content.
const MAX_DEPTH: usize = 64;
/// Maximum length of the type, in bytes.
const MAX_TYPE: usize = 100;
/// Prefix of an id in a reference.
const PREFIX: &str = "artifact:";
/// Number of hexadecimal digits in an id.
const DIGITS: usize = 40;

/// The parameters of `put_artifact`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutArtifact {
    /// What it is, such as `spec`, `code`, `report`.
    #[serde(rename = "type")]
    pub artifact_type: String,
    /// Text or any JSON.
    #[schemars(with = "serde_json::Value")]
    pub content: Raw,
    /// Anything to be kept beside it, a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub meta: Option<Raw>,
}

/// An artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Its reference: `artifact:ID`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Its id.
    pub id: String,
    /// What it is.
    #[serde(rename = "type")]
    pub artifact_type: String,
    /// What is in it.
    #[schemars(with = "serde_json::Value")]
    pub content: Raw,
    /// What is kept beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub meta: Option<Raw>,
    /// The run of the society it belongs to; only its members, and those outside of all runs, find it.
    #[serde(default, rename = "taskId", skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Who put it first.
    pub created_by: AgentId,
    /// When.
    pub created_at: Timestamp,
}

/// Data of the `artifact.put` event.
#[derive(Debug, Serialize)]
struct Put<'a> {
    #[serde(rename = "type")]
    artifact_type: &'a str,
    #[serde(rename = "taskId", skip_serializing_if = "Option::is_none")]
    run: Option<&'a RunId>,
    bytes: usize,
}

/// Creates an artifact from a request. Fails with `invalid_artifact` if the type, meta, size or nesting is
/// invalid.
pub fn make(params: &PutArtifact, by: &Caller, now: &Timestamp) -> Result<Artifact, Refusal> {
    let kind = params.artifact_type.trim();
    if kind.is_empty() || kind.len() > MAX_TYPE || kind.chars().any(char::is_control) {
        return Err(invalid(
            "The artifact's type is empty, longer than 100 bytes, or has control characters.",
            "give a short type such as \"spec\"",
        ));
    }
    if params
        .meta
        .as_ref()
        .is_some_and(|meta| !meta.text().starts_with('{'))
    {
        return Err(invalid(
            "An artifact's meta is a JSON object.",
            "give an object, or none",
        ));
    }
    let parts = [Some(&params.content), params.meta.as_ref()];
    let parts = || parts.iter().flatten();
    if parts().map(|raw| raw.text().len()).sum::<usize>() > MAX_BYTES {
        return Err(invalid(
            "The artifact is larger than 8 MiB.",
            "write it into a file of the workspace and put its path",
        ));
    }
    if parts().any(|raw| raw.depth() > MAX_DEPTH || raw.has_half_character()) {
        return Err(invalid(
            "The artifact is nested too deeply, or has half a character in it.",
            "put a simpler one",
        ));
    }
    let id = id_of(kind, &params.content, params.meta.as_ref(), by.run.as_ref());
    Ok(Artifact {
        reference: format!("{PREFIX}{id}"),
        id,
        artifact_type: kind.to_owned(),
        content: params.content.clone(),
        meta: params.meta.clone(),
        run: by.run.clone(),
        created_by: by.id.clone(),
        created_at: now.clone(),
    })
}

/// Returns the commit that stores a new artifact.
pub fn keep(artifact: &Artifact, by: &Caller, now: &Timestamp) -> Changeset {
    let told = Put {
        artifact_type: &artifact.artifact_type,
        run: artifact.run.as_ref(),
        bytes: artifact.content.text().len(),
    };
    let event = NewEvent::of(
        kind::ARTIFACT_PUT,
        Subject::Artifact(artifact.id.clone()),
        &told,
    );
    let body = serde_json::to_string(artifact).unwrap_or_default();
    Changeset::by(by, now.clone())
        .write(Write::PutRecord {
            name: RecordName::new(RecordKind::Artifact, &artifact.id),
            expect: Expect::Absent,
            expires_at: None,
            body: RecordBody::Text(body),
        })
        .event(event)
}

/// Returns the id in a reference. `artifact:ID` and the bare id are equivalent.
pub fn parse_reference(text: &str) -> Result<String, Refusal> {
    let id = text.strip_prefix(PREFIX).unwrap_or(text);
    let sound = id.len() == DIGITS
        && id
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if sound {
        return Ok(id.to_owned());
    }
    Err(not_found(text))
}

/// Returns the refusal for an unknown artifact.
pub fn not_found(reference: &str) -> Refusal {
    Refusal::new(
        Code::ArtifactNotFound,
        format!("There is no artifact {}.", quoted(reference)),
        "use the ref that put_artifact answered",
    )
}

/// Returns whether an artifact is visible to a caller. Members of a run do not see artifacts of other runs.
pub fn is_found(artifact: &Artifact, by: &Caller) -> bool {
    by.run.is_none() || artifact.run.is_none() || artifact.run == by.run
}

/// Returns the id of an artifact. The run is part of the hash: the same content put in two runs gives two
/// artifacts.
fn id_of(kind: &str, content: &Raw, meta: Option<&Raw>, run: Option<&RunId>) -> String {
    let mut parts = vec![kind, content.text(), meta.map_or("", Raw::text)];
    parts.extend(run.map(RunId::as_str));
    let mut digits = digest::of_parts(&parts);
    digits.truncate(DIGITS);
    digits
}

fn invalid(message: &str, hint: &str) -> Refusal {
    Refusal::new(Code::InvalidArtifact, message, hint)
}
