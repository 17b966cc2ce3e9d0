//! Artifacts: immutable, content-addressed values that agents pass to each other by reference.
//!
//! The id is a hash of run, type, content and meta. Putting the same artifact twice is therefore idempotent,
//! and an artifact never changes. An id is a hash and never a path.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::changeset::{Changeset, StoreWrite, WritePrecondition};
use crate::digest;
use crate::event::{ArtifactPutEvent, EventPayload, EventSubject, NewEvent};
use crate::id::{AgentId, quote_untrusted};
use crate::json::RawJson;
use crate::json::to_json_text;
use crate::number::saturating_cast;
use crate::record::{RecordBody, RecordKind, RecordName};
use crate::refusal::{ArtifactRefusal, Refusal};
use crate::society::RunId;
use crate::timestamp::Timestamp;

/// Maximum size of an artifact, in bytes of JSON.
pub const MAX_ARTIFACT_BYTES: usize = 8 * 1024 * 1024;
/// Maximum nesting depth of the content.
const MAX_ARTIFACT_DEPTH: usize = 64;
/// Maximum length of the type, in bytes.
const MAX_TYPE_BYTES: usize = 100;
/// Prefix of an id in a reference.
const REFERENCE_PREFIX: &str = "artifact:";
/// Number of hexadecimal digits in an id.
const ID_DIGITS: usize = 40;

/// The parameters of `put_artifact`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutArtifactParams {
    /// Type of the artifact, such as `spec`, `code` or `report`.
    #[serde(rename = "type")]
    pub artifact_type: String,
    /// Content: text or any JSON value.
    #[schemars(with = "serde_json::Value")]
    pub content: RawJson,
    /// Metadata: a JSON object stored with the artifact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub meta: Option<RawJson>,
}

/// A stored artifact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Reference to pass to other agents: `artifact:ID`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Id: a hash of run, type, content and meta.
    pub id: String,
    /// Type of the artifact.
    #[serde(rename = "type")]
    pub artifact_type: String,
    /// Content: text or any JSON value.
    #[schemars(with = "serde_json::Value")]
    pub content: RawJson,
    /// Metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub meta: Option<RawJson>,
    /// The run of the society it belongs to. Visible to members of this run and to agents outside of all
    /// runs.
    #[serde(flatten, with = "crate::society::run_id_json::optional")]
    #[schemars(with = "crate::society::run_id_json::OptionalRunIdFields<RunId>")]
    pub run: Option<RunId>,
    /// The agent that first stored it.
    pub created_by: AgentId,
    /// When it was first stored.
    pub created_at: Timestamp,
}

/// Creates an artifact from a request. Fails with `invalid_artifact` if the type, meta, size or nesting is
/// invalid.
pub fn create_artifact(
    params: &PutArtifactParams,
    caller: &Caller,
    now: &Timestamp,
) -> Result<Artifact, Refusal> {
    let kind = params.artifact_type.trim();
    if kind.is_empty() || kind.len() > MAX_TYPE_BYTES || kind.chars().any(char::is_control) {
        return Err(ArtifactRefusal::InvalidType.into());
    }
    if params
        .meta
        .as_ref()
        .is_some_and(|meta| !meta.as_str().starts_with('{'))
    {
        return Err(ArtifactRefusal::InvalidMeta.into());
    }
    let parts = [Some(&params.content), params.meta.as_ref()];
    let parts = || parts.iter().flatten();
    if parts().map(|raw| raw.as_str().len()).sum::<usize>() > MAX_ARTIFACT_BYTES {
        return Err(ArtifactRefusal::TooLarge.into());
    }
    if parts().any(|raw| raw.depth() > MAX_ARTIFACT_DEPTH || raw.has_unpaired_surrogate()) {
        return Err(ArtifactRefusal::TooDeep.into());
    }
    let id = compute_artifact_id(
        kind,
        &params.content,
        params.meta.as_ref(),
        caller.run.as_ref(),
    );
    Ok(Artifact {
        reference: format!("{REFERENCE_PREFIX}{id}"),
        id,
        artifact_type: kind.to_owned(),
        content: params.content.clone(),
        meta: params.meta.clone(),
        run: caller.run.clone(),
        created_by: caller.id.clone(),
        created_at: now.clone(),
    })
}

/// Returns the changeset that stores a new artifact.
pub fn artifact_changeset(artifact: &Artifact, caller: &Caller, now: &Timestamp) -> Changeset {
    let data = ArtifactPutEvent {
        artifact_type: artifact.artifact_type.clone(),
        run: artifact.run.clone(),
        bytes: saturating_cast(artifact.content.as_str().len()),
    };
    let event = NewEvent::new(
        EventSubject::Artifact(artifact.id.clone()),
        EventPayload::ArtifactPut(data),
    );
    let body = to_json_text(artifact);
    Changeset::new(caller, now.clone())
        .with_write(StoreWrite::PutRecord {
            name: RecordName::new(RecordKind::Artifact, &artifact.id),
            expect: WritePrecondition::Absent,
            expires_at: None,
            body: RecordBody::Text(body),
        })
        .with_event(event)
}

/// Returns the id in a reference. `artifact:ID` and the bare id are equivalent. Fails with
/// `artifact_not_found` if it cannot be an id.
pub fn parse_artifact_reference(text: &str) -> Result<String, Refusal> {
    let id = text.strip_prefix(REFERENCE_PREFIX).unwrap_or(text);
    let valid = id.len() == ID_DIGITS
        && id
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    if valid {
        return Ok(id.to_owned());
    }
    Err(artifact_not_found(text))
}

/// Returns the refusal for an unknown artifact.
pub fn artifact_not_found(reference: &str) -> Refusal {
    Refusal::from(ArtifactRefusal::NotFound {
        reference: quote_untrusted(reference),
    })
}

/// Returns whether an artifact is visible to a caller. Members of a run do not see artifacts of other runs.
pub fn is_artifact_visible(artifact: &Artifact, caller: &Caller) -> bool {
    caller.run.is_none() || artifact.run.is_none() || artifact.run == caller.run
}

/// Returns the id of an artifact. The run is part of the hash: the same content put in two runs gives two
/// artifacts.
fn compute_artifact_id(
    kind: &str,
    content: &RawJson,
    meta: Option<&RawJson>,
    run: Option<&RunId>,
) -> String {
    let mut parts = vec![kind, content.as_str(), meta.map_or("", RawJson::as_str)];
    parts.extend(run.map(RunId::as_str));
    let mut digits = digest::sha256_hex_of_parts(&parts);
    digits.truncate(ID_DIGITS);
    digits
}
