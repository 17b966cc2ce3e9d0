//! Refusals about webhooks.

crate::refusal_table! {
    /// Refusals about webhooks.
    pub enum WebhookRefusal {
        NotFound = "webhook-not-found", WebhookNotFound { id: String };
        OnlyPersonManages = "webhook-only-person-manages", PermissionDenied;
        InvalidKind = "webhook-invalid-kind", InvalidWebhook { kind: String };
        TooMany = "webhook-too-many", InvalidWebhook;
        InvalidUrl = "webhook-invalid-url", InvalidWebhook;
    }
}
