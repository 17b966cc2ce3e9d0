//! A webhook's record as its courier knows it, and how it is written back.
//!
//! Nothing written here makes an event: a webhook that heard of its own place would never be done.

use polis_core::record::{RecordKind, RecordName, Stored};
use polis_core::webhook::Webhook;
use polis_core::{AgentId, Changeset, Expect};
use polis_ops::{Outcome, Polis, PortError};

/// A webhook and the revision it was read or written at.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) hook: Webhook,
    revision: u64,
}

/// What became of a write.
#[derive(Debug)]
pub(super) enum Saved {
    /// It is durable.
    Done(Box<Kept>),
    /// Somebody else has written, or removed it: look again.
    Changed,
}

impl Kept {
    /// Reads a webhook; `None` if it is gone, or cannot be read.
    pub(super) async fn read(polis: &Polis, id: &str) -> Result<Option<Self>, PortError> {
        let name = RecordName::new(RecordKind::Webhook, id);
        let stored = polis.store.record(&name).await?;
        Ok(stored.and_then(Self::of))
    }

    /// A webhook as a store has it.
    pub(super) fn of(stored: Stored) -> Option<Self> {
        Some(Self {
            hook: serde_json::from_str(&stored.body).ok()?,
            revision: stored.revision,
        })
    }

    /// Writes its new state, if nobody else has written since.
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
