//! Operations behind the `put_artifact` and `get_artifact` tools: storing and reading content-addressed artifacts.

use polis_core::artifact::{self, Artifact, PutArtifact};
use polis_core::record::{RecordKind, RecordName};
use polis_core::{AgentId, Changeset, Code};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_range::window_of;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::PortError;

/// The parameters of `get_artifact`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GetArtifact {
    /// What `put_artifact` answered: `artifact:ID`, or the id alone.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Where to begin, in bytes of text: the `nextOffset` of the part before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// About how many bytes to answer; all if left out.
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
    /// How many bytes of text the content has, if only a part is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Where the next part begins; left out at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// An artifact without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptArtifact {
    /// Its reference: `artifact:ID`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Its id.
    pub id: String,
    /// What it is.
    #[serde(rename = "type")]
    pub artifact_type: String,
    /// Whether it was there before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub existed: bool,
}

impl KeptArtifact {
    fn of(artifact: Artifact, existed: bool) -> Self {
        Self {
            reference: artifact.reference,
            id: artifact.id,
            artifact_type: artifact.artifact_type,
            existed,
        }
    }
}

/// Stores an artifact; storing the same artifact again has no effect and returns `existed`.
pub async fn put_artifact(
    polis: &Polis,
    caller: &AgentId,
    params: &PutArtifact,
) -> Result<KeptArtifact, OpError> {
    let caller = &polis.caller(caller).await?;
    let made = &artifact::make(params, caller, &polis.now())?;
    let name = &RecordName::new(RecordKind::Artifact, &made.id);
    let decide = || -> Attempt<'_, (Artifact, bool)> {
        Box::pin(async move {
            if polis.store.record(name).await?.is_some() {
                let nothing = Changeset::by(caller, polis.now());
                return Ok(((made.clone(), true), nothing));
            }
            let changes = artifact::keep(made, caller, &polis.now());
            Ok(((made.clone(), false), changes))
        })
    };
    polis
        .settle(decide, |(artifact, existed), _| {
            KeptArtifact::of(artifact, existed)
        })
        .await
}

/// Returns an artifact, or a part of its content. Fails if it does not exist or is not visible to the caller.
pub async fn get_artifact(
    polis: &Polis,
    caller: &AgentId,
    params: &GetArtifact,
) -> Result<ArtifactView, OpError> {
    let caller = polis.caller(caller).await?;
    let id = artifact::parse_reference(&params.reference)?;
    let name = RecordName::new(RecordKind::Artifact, id);
    let Some(stored) = polis.store.record(&name).await? else {
        return Err(artifact::not_found(&params.reference).into());
    };
    let mut artifact: Artifact = serde_json::from_str(&stored.body).map_err(|e| {
        PortError::new(
            Code::StoreCorrupt,
            "An artifact in the store cannot be read.",
            "put it again under another type",
        )
        .because(e.to_string())
    })?;
    if !artifact::is_found(&artifact, &caller) {
        return Err(artifact::not_found(&params.reference).into());
    }
    let part = window_of(&artifact.content, params.offset, params.max_bytes);
    let (size, next_offset) = (part.size, part.next);
    if let Some(part) = part.as_json() {
        artifact.content = part;
    }
    Ok(ArtifactView {
        artifact,
        size,
        next_offset,
    })
}
