//! Refusals about artifacts.

crate::refusal_table! {
    /// Refusals about artifacts.
    pub enum ArtifactRefusal {
        NotFound = "artifact-not-found", ArtifactNotFound { reference: String };
        InvalidType = "artifact-invalid-type", InvalidArtifact;
        InvalidMeta = "artifact-invalid-meta", InvalidArtifact;
        TooLarge = "artifact-too-large", InvalidArtifact;
        TooDeep = "artifact-too-deep", InvalidArtifact;
    }
}
