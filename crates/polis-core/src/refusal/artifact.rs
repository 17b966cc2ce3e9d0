//! Refusals about artifacts.

crate::refusal_table! {
    /// Refusals about artifacts.
    pub enum ArtifactRefusal {
        NotFound = "artifact-not-found", ARTIFACT_NOT_FOUND { reference: String };
        InvalidType = "artifact-invalid-type", INVALID_ARTIFACT;
        InvalidMeta = "artifact-invalid-meta", INVALID_ARTIFACT;
        TooLarge = "artifact-too-large", INVALID_ARTIFACT;
        TooDeep = "artifact-too-deep", INVALID_ARTIFACT;
    }
}
