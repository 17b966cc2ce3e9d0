//! Operations behind the `put_artifact` and `get_artifact` tools: storing and reading content-addressed
//! artifacts.

use polis_core::Changeset;
use polis_core::artifact::{self, Artifact, PutArtifactParams};
use polis_core::record::{RecordKind, RecordName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::port::PortError;
use crate::refusal_tables::OperationRefusal;
use crate::request::{AttemptFuture, Request};
use crate::text_range::json_text_range;

/// Parameters of `get_artifact`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetArtifactParams {
    /// Reference returned by `put_artifact`: `artifact:ID`, or the id alone.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Start offset in bytes: `nextOffset` of the previous part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Approximate number of bytes to return; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// An artifact, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactView {
    /// The artifact.
    #[serde(flatten)]
    pub artifact: Artifact,
    /// Total size of the content in bytes, if only a part is returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Offset of the next part; omitted for the last part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// An artifact without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PutArtifactResult {
    /// Its reference: `artifact:ID`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Its id.
    pub id: String,
    /// Its type.
    #[serde(rename = "type")]
    pub artifact_type: String,
    /// Whether it was already stored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub existed: bool,
}

impl PutArtifactResult {
    fn from_artifact(artifact: Artifact, existed: bool) -> Self {
        Self {
            reference: artifact.reference,
            id: artifact.id,
            artifact_type: artifact.artifact_type,
            existed,
        }
    }
}

/// Stores an artifact; storing the same artifact again has no effect and returns `existed`. Fails with
/// `invalid_artifact` if its type, meta, size or nesting is invalid.
pub async fn put_artifact(
    request: &Request,
    params: &PutArtifactParams,
) -> Result<PutArtifactResult, OpError> {
    let caller = &request.resolve_caller().await?;
    let new_artifact = &artifact::create_artifact(params, caller, &request.app.now())?;
    let name = &RecordName::new(RecordKind::Artifact, &new_artifact.id);
    let decide = || -> AttemptFuture<'_, (Artifact, bool)> {
        Box::pin(async move {
            if request.app.store.record(name).await?.is_some() {
                let no_changes = Changeset::new(caller, request.app.now());
                return Ok(((new_artifact.clone(), true), no_changes));
            }
            let changes = artifact::artifact_changeset(new_artifact, caller, &request.app.now());
            Ok(((new_artifact.clone(), false), changes))
        })
    };
    request
        .retry_on_conflict(decide, |(artifact, existed), _| {
            PutArtifactResult::from_artifact(artifact, existed)
        })
        .await
}

/// Returns an artifact, or a part of its content. Fails if it does not exist or is not visible to the caller.
pub async fn get_artifact(
    request: &Request,
    params: &GetArtifactParams,
) -> Result<ArtifactView, OpError> {
    let caller = request.resolve_caller().await?;
    let id = artifact::parse_artifact_reference(&params.reference)?;
    let name = RecordName::new(RecordKind::Artifact, id);
    let Some(stored) = request.app.store.record(&name).await? else {
        return Err(artifact::artifact_not_found(&params.reference).into());
    };
    let mut artifact: Artifact = serde_json::from_str(&stored.body).map_err(|e| {
        PortError::from(OperationRefusal::ArtifactDamaged).with_source(e.to_string())
    })?;
    if !artifact::is_artifact_visible(&artifact, &caller) {
        return Err(artifact::artifact_not_found(&params.reference).into());
    }
    let part = json_text_range(&artifact.content, params.offset, params.max_bytes);
    let (size, next_offset) = (part.total_size, part.next_offset);
    if let Some(part) = part.as_json() {
        artifact.content = part;
    }
    Ok(ArtifactView {
        artifact,
        size,
        next_offset,
    })
}
