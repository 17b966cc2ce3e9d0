//! Webhook record: loads and saves it with optimistic concurrency control.
//!
//! Saving emits no event: a webhook that received events about its own delivery position would never finish.

use polis_core::record::{RecordKind, RecordName, StoredRecord};
use polis_core::webhook::Webhook;
use polis_core::{AgentId, Changeset, WritePrecondition};
use polis_ops::{App, CommitOutcome, PortError};

/// A webhook and the revision at which it was read or written.
#[derive(Debug, Clone)]
pub(super) struct WebhookRecord {
    pub(super) webhook: Webhook,
    revision: u64,
}

/// Result of saving a webhook's record.
#[derive(Debug)]
pub(super) enum WebhookSaveResult {
    /// The write is durable.
    Saved(Box<WebhookRecord>),
    /// The record was changed or deleted concurrently: reload it.
    Conflict,
}

impl WebhookRecord {
    /// Reads a webhook. Returns `None` if it does not exist or cannot be parsed.
    pub(super) async fn load(app: &App, id: &str) -> Result<Option<Self>, PortError> {
        let name = RecordName::new(RecordKind::Webhook, id);
        let stored = app.store.record(&name).await?;
        Ok(stored.and_then(Self::from_stored))
    }

    /// Parses a stored record.
    pub(super) fn from_stored(stored: StoredRecord) -> Option<Self> {
        Some(Self {
            webhook: serde_json::from_str(&stored.body).ok()?,
            revision: stored.revision,
        })
    }

    /// Writes the new state, unless the record was changed since it was read.
    pub(super) async fn save(
        &self,
        app: &App,
        hook: Webhook,
    ) -> Result<WebhookSaveResult, PortError> {
        let changes = Changeset {
            actor: AgentId::user(),
            at: app.now(),
            writes: vec![hook.to_write(WritePrecondition::Revision(self.revision))],
            events: Vec::new(),
        };
        Ok(match app.store.commit(changes).await? {
            CommitOutcome::Committed(_) => WebhookSaveResult::Saved(Box::new(Self {
                webhook: hook,
                revision: self.revision + 1,
            })),
            CommitOutcome::Conflict(_) => WebhookSaveResult::Conflict,
        })
    }
}
