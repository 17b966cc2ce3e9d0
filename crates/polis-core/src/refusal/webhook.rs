//! Refusals about webhooks.

crate::refusal_table! {
    /// Refusals about webhooks.
    pub enum WebhookRefusal {
        NotFound = "webhook-not-found", WEBHOOK_NOT_FOUND { id: String };
        OnlyPersonManages = "webhook-only-person-manages", PERMISSION_DENIED;
        InvalidKind = "webhook-invalid-kind", INVALID_WEBHOOK { kind: String };
        TooMany = "webhook-too-many", INVALID_WEBHOOK;
        InvalidUrl = "webhook-invalid-url", INVALID_WEBHOOK;
    }
}
