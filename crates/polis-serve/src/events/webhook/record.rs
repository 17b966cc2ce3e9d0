//! Load and save of a webhook's record, with optimistic concurrency control.
//!
//! Saving emits no event: a webhook that received events about its own delivery position would never finish.

use polis_core::record::{RecordKind, RecordName, Stored};
use polis_core::webhook::Webhook;
use polis_core::{AgentId, Changeset, Expect};
use polis_ops::{Outcome, Polis, PortError};

/// A webhook and the revision at which it was read or written.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) hook: Webhook,
    revision: u64,
}

/// Result of a save.
#[derive(Debug)]
pub(super) enum Saved {
    /// The write is durable.
    Done(Box<Kept>),
    /// The record was changed or deleted concurrently: reload it.
    Changed,
}

impl Kept {
    /// Reads a webhook. Returns `None` if it does not exist or cannot be parsed.
    pub(super) async fn read(polis: &Polis, id: &str) -> Result<Option<Self>, PortError> {
        let name = RecordName::new(RecordKind::Webhook, id);
        let stored = polis.store.record(&name).await?;
        Ok(stored.and_then(Self::of))
    }

    /// Parses a stored record.
    pub(super) fn of(stored: Stored) -> Option<Self> {
        Some(Self {
            hook: serde_json::from_str(&stored.body).ok()?,
            revision: stored.revision,
        })
    }

    /// Writes the new state, unless the record was changed since it was read.
    pub(super) async fn save(&self, polis: &Polis, hook: Webhook) -> Result<Saved, PortError> {
        let changes = Changeset {
            actor: AgentId::user(),
            at: polis.now(),
            writes: vec![hook.put(Expect::Revision(self.revision))],
            events: Vec::new(),
        };
        Ok(match polis.store.commit(changes).await? {
            Outcome::Committed(_) => Saved::Done(Box::new(Self {
                hook,
                revision: self.revision + 1,
            })),
            Outcome::Conflict(_) => Saved::Changed,
        })
    }
}
