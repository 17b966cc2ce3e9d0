//! Sessions of agents: opens, renews and closes them, and refuses a claim that another live session holds.
//!
//! The surfaces call these functions for their own connections. They are not operations of an agent, so they take no
//! caller.

use polis_core::changeset::{Expect, Write};
use polis_core::session::{self, ProcessState, Session, TaskClaimant};
use polis_core::society::{Kept, versioned};
use polis_core::{AgentId, Changeset, Task};

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::Outcome;

/// How long a session lives without being renewed (milliseconds). If a process of this machine has ended, that is
/// detected earlier by its process identity.
pub const SESSION_MS: i64 = 90_000;
/// Interval at which a session is renewed (milliseconds).
pub const RENEW_SESSION_MS: u64 = 30_000;
/// Maximum number of retries of a session write on conflict.
const MAX_TRIES: u32 = 16;

/// A session that this process holds.
#[derive(Debug, Clone)]
pub struct OpenSession {
    id: String,
    kept: Kept<Session>,
}

impl OpenSession {
    /// Returns its id, for [`Polis::in_session`].
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Opens a session for a process. Returns `None` if another live process holds it.
    pub async fn open(
        polis: &Polis,
        id: String,
        agent: &AgentId,
        holder: &str,
    ) -> Result<Option<Self>, OpError> {
        Self::open_numbered(polis, id, agent, holder, None).await
    }

    /// Like [`Self::open`], under a name that polis generated for an additional session of an agent. This is recorded,
    /// to distinguish the name from one that a team gave to an agent of its own.
    pub async fn open_numbered(
        polis: &Polis,
        id: String,
        agent: &AgentId,
        holder: &str,
        numbered_for: Option<&AgentId>,
    ) -> Result<Option<Self>, OpError> {
        for _ in 0..MAX_TRIES {
            let found: Option<Kept<Session>> = polis.kept(&session::record_name(&id)).await?;
            let now = polis.clock.now_millis();
            let state_of = |holder: &str| polis.processes.state_of(holder);
            if !session::may_open(found.as_ref(), holder, now, state_of) {
                return Ok(None);
            }
            let new = Session {
                agent: agent.clone(),
                holder: holder.to_owned(),
                until: now + SESSION_MS,
                numbered_for: numbered_for
                    .cloned()
                    .or_else(|| found.as_ref()?.value.numbered_for.clone()),
            };
            let name = session::record_name(&id);
            let write = match &found {
                Some(found) => found.put(name, &new),
                None => versioned::add(name, &new),
            };
            if is_committed(polis, agent, write).await? {
                let revision = found.map_or(0, |found| found.revision) + 1;
                let kept = Kept {
                    value: new,
                    revision,
                };
                return Ok(Some(Self { id, kept }));
            }
        }
        Ok(None)
    }

    /// Extends the session. Returns whether this process still holds it.
    pub async fn renew(&mut self, polis: &Polis) -> Result<bool, OpError> {
        let until = polis.clock.now_millis() + SESSION_MS;
        self.write(polis, until).await
    }

    /// Closes the session, so that another process can open it at once. Removes its record, unless the record stores
    /// which agent the name was generated for.
    pub async fn close(mut self, polis: &Polis) -> Result<(), OpError> {
        let agent = self.kept.value.agent.clone();
        let remove = Write::DeleteRecord {
            name: session::record_name(&self.id),
            expect: Expect::Revision(self.kept.revision),
        };
        let may_remove = self.kept.value.numbered_for.is_none();
        if may_remove && is_committed(polis, &agent, remove).await? {
            return Ok(());
        }
        self.write(polis, 0).await?;
        Ok(())
    }

    async fn write(&mut self, polis: &Polis, until: i64) -> Result<bool, OpError> {
        let new = Session {
            until,
            ..self.kept.value.clone()
        };
        let write = self.kept.put(session::record_name(&self.id), &new);
        if is_committed(polis, &new.agent, write).await? {
            self.kept = Kept {
                value: new,
                revision: self.kept.revision + 1,
            };
            return Ok(true);
        }
        // The response to an earlier write may have been lost; then the record is still ours.
        let found: Option<Kept<Session>> = polis.kept(&session::record_name(&self.id)).await?;
        let ours = found.filter(|found| found.value.holder == self.kept.value.holder);
        let is_ours = ours.is_some();
        if let Some(found) = ours {
            self.kept = found;
        }
        Ok(is_ours)
    }
}

async fn is_committed(polis: &Polis, agent: &AgentId, write: Write) -> Result<bool, OpError> {
    let changes = Changeset {
        actor: agent.clone(),
        at: polis.now(),
        writes: vec![write],
        events: Vec::new(),
    };
    let outcome = polis.store.commit(changes).await?;
    Ok(matches!(outcome, Outcome::Committed(_)))
}

impl Polis {
    /// Returns the agent whose additional sessions act under a name, if polis generated the name for them.
    pub async fn session_numbered_for(&self, name: &AgentId) -> Result<Option<AgentId>, OpError> {
        let record = session::record_name(&session::stdio_id(name));
        let found: Option<Kept<Session>> = self.kept(&record).await?;
        Ok(found.and_then(|found| found.value.numbered_for))
    }

    /// Refuses to claim a task for a session if another live session of the same agent holds it.
    pub(super) async fn check_claimant(
        &self,
        task: &Task,
        caller: &AgentId,
    ) -> Result<(), OpError> {
        let now = self.clock.now_millis();
        // Once the lease has expired, any agent may take the task.
        let is_held = task.owner == caller.as_str() && !task.is_stale(now);
        let Some(session) = self.session().filter(|_| is_held) else {
            return Ok(());
        };
        let name = session::claimant_name(task.id);
        let claimant: Option<Kept<TaskClaimant>> = self.kept(&name).await?;
        let Some(claimant) = claimant.map(|kept| kept.value) else {
            return Ok(());
        };
        let is_current = Some(&claimant.claimed_at) == task.claimed_at.as_ref();
        if !is_current || claimant.session == session {
            return Ok(());
        }
        let name = session::record_name(&claimant.session);
        let other: Option<Kept<Session>> = self.kept(&name).await?;
        let is_live = |other: Session| {
            // A killed process does not close its session.
            other.is_live(now) && self.processes.state_of(&other.holder) != ProcessState::Ended
        };
        if other.is_some_and(|other| is_live(other.value)) {
            return Err(session::held_by_other_session(task.id, caller).into());
        }
        Ok(())
    }

    /// Returns the write that records which session claims a task, or `None` outside a session.
    pub(super) async fn write_claimant(&self, task: &Task) -> Result<Option<Write>, OpError> {
        let (Some(session), Some(claimed_at)) = (self.session(), &task.claimed_at) else {
            return Ok(None);
        };
        let new = TaskClaimant {
            session: session.to_owned(),
            claimed_at: claimed_at.clone(),
        };
        let name = session::claimant_name(task.id);
        let found: Option<Kept<TaskClaimant>> = self.kept(&name).await?;
        Ok(match found {
            Some(found) if found.value == new => None,
            Some(found) => Some(found.put(name, &new)),
            None => Some(versioned::add(name, &new)),
        })
    }
}
