//! Agent sessions: opens, renews and closes them, records which session claims a task, and refuses a claim on
//! a task that another live session of the same agent holds.
//!
//! Only MCP opens sessions ([`OpenSession`]): a `polis mcp` process at its start, a connection over HTTP at
//! its first claim. Other requests have none and are not checked. An update that makes the caller the
//! owner counts as a claim. No agent asks for a session, so no caller is checked.

use polis_core::agent_session::{self, AgentSession, ProcessState, TaskClaimant};
use polis_core::changeset::{StoreWrite, WritePrecondition};
use polis_core::society::{VersionedRecord, versioned};
use polis_core::{AgentId, Changeset, Task};

use crate::app::App;
use crate::error::OpError;
use crate::op::society::load_record;
use crate::port::CommitOutcome;
use crate::request::Request;

/// How long a session lives without being renewed (milliseconds). If a process of this machine has ended,
/// that is detected earlier by its process identity.
pub const SESSION_TTL_MS: i64 = 90_000;
/// Interval at which a session is renewed (milliseconds).
pub const SESSION_RENEWAL_INTERVAL_MS: u64 = 30_000;
/// Maximum number of retries of a session write on conflict.
const MAX_ATTEMPTS: u32 = 16;

/// A session that this process holds.
#[derive(Debug, Clone)]
pub struct OpenSession {
    id: String,
    record: VersionedRecord<AgentSession>,
}

impl OpenSession {
    /// Returns its id, for [`Request::in_session`].
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Opens a session for a process. Returns `None` if another live process holds it. Fails only if the
    /// store does.
    pub async fn open(
        app: &App,
        id: String,
        agent: &AgentId,
        holder: &str,
    ) -> Result<Option<Self>, OpError> {
        Self::open_numbered(app, id, agent, holder, None).await
    }

    /// Like [`Self::open`], under a name that polis generated for an additional session of an agent. This is
    /// recorded, to distinguish the name from one that a team gave to an agent of its own. Fails only if the
    /// store does.
    pub async fn open_numbered(
        app: &App,
        id: String,
        agent: &AgentId,
        holder: &str,
        numbered_for: Option<&AgentId>,
    ) -> Result<Option<Self>, OpError> {
        for _ in 0..MAX_ATTEMPTS {
            let found: Option<VersionedRecord<AgentSession>> =
                load_record(app, &agent_session::session_record_name(&id)).await?;
            let now = app.clock.now_millis();
            let state_of = |holder: &str| app.processes.process_state(holder);
            if !agent_session::may_open_session(found.as_ref(), holder, now, state_of) {
                return Ok(None);
            }
            let new = AgentSession {
                agent: agent.clone(),
                holder: holder.to_owned(),
                until: now + SESSION_TTL_MS,
                numbered_for: numbered_for
                    .cloned()
                    .or_else(|| found.as_ref()?.value.numbered_for.clone()),
            };
            let name = agent_session::session_record_name(&id);
            let write = match &found {
                Some(found) => found.update_write(name, &new),
                None => versioned::new_record_write(name, &new),
            };
            if try_commit(app, agent, write).await? {
                let revision = found.map_or(0, |found| found.revision) + 1;
                let record = VersionedRecord {
                    value: new,
                    revision,
                };
                return Ok(Some(Self { id, record }));
            }
        }
        Ok(None)
    }

    /// Extends the session. Returns whether this process still holds it. Fails only if the store does.
    pub async fn renew(&mut self, app: &App) -> Result<bool, OpError> {
        let until = app.clock.now_millis() + SESSION_TTL_MS;
        self.write_expiry(app, until).await
    }

    /// Closes the session, so that another process can open it at once. Removes its record, unless the record
    /// stores which agent the name was generated for. Fails only if the store does.
    pub async fn close(mut self, app: &App) -> Result<(), OpError> {
        let agent = self.record.value.agent.clone();
        let remove = StoreWrite::DeleteRecord {
            name: agent_session::session_record_name(&self.id),
            expect: WritePrecondition::Revision(self.record.revision),
        };
        let may_remove = self.record.value.numbered_for.is_none();
        if may_remove && try_commit(app, &agent, remove).await? {
            return Ok(());
        }
        self.write_expiry(app, 0).await?;
        Ok(())
    }

    async fn write_expiry(&mut self, app: &App, until: i64) -> Result<bool, OpError> {
        let new = AgentSession {
            until,
            ..self.record.value.clone()
        };
        let write = self
            .record
            .update_write(agent_session::session_record_name(&self.id), &new);
        if try_commit(app, &new.agent, write).await? {
            self.record = VersionedRecord {
                value: new,
                revision: self.record.revision + 1,
            };
            return Ok(true);
        }
        // The response to an earlier write may have been lost; then the record is still ours.
        let found: Option<VersionedRecord<AgentSession>> =
            load_record(app, &agent_session::session_record_name(&self.id)).await?;
        let ours = found.filter(|found| found.value.holder == self.record.value.holder);
        let is_ours = ours.is_some();
        if let Some(found) = ours {
            self.record = found;
        }
        Ok(is_ours)
    }
}

async fn try_commit(app: &App, agent: &AgentId, write: StoreWrite) -> Result<bool, OpError> {
    let changes = Changeset {
        actor: agent.clone(),
        at: app.now(),
        writes: vec![write],
        events: Vec::new(),
    };
    let outcome = app.store.commit(changes).await?;
    Ok(matches!(outcome, CommitOutcome::Committed(_)))
}

/// Returns the agent whose additional sessions act under a name, if polis generated the name for them. Fails
/// only if the store does.
pub async fn agent_of_numbered_session(
    app: &App,
    name: &AgentId,
) -> Result<Option<AgentId>, OpError> {
    let record = agent_session::session_record_name(&agent_session::stdio_session_id(name));
    let found: Option<VersionedRecord<AgentSession>> = load_record(app, &record).await?;
    Ok(found.and_then(|found| found.value.numbered_for))
}

/// Checks whether a session may claim a task. Fails with `held_by_other_session` if another live session of
/// the same agent holds it. Outside of a session, nothing is checked.
pub(crate) async fn check_claiming_session(request: &Request, task: &Task) -> Result<(), OpError> {
    let now = request.app.clock.now_millis();
    // Once the lease has expired, any agent may take the task.
    let is_held = task.owner == request.agent().as_str() && !task.is_stale(now);
    let Some(session) = request.session_id().filter(|_| is_held) else {
        return Ok(());
    };
    let name = agent_session::claimant_record_name(task.id);
    let claimant: Option<VersionedRecord<TaskClaimant>> = load_record(&request.app, &name).await?;
    let Some(claimant) = claimant.map(|record| record.value) else {
        return Ok(());
    };
    let is_current = Some(&claimant.claimed_at) == task.claimed_at.as_ref();
    if !is_current || claimant.session == session {
        return Ok(());
    }
    let name = agent_session::session_record_name(&claimant.session);
    let other: Option<VersionedRecord<AgentSession>> = load_record(&request.app, &name).await?;
    let is_live = |other: AgentSession| {
        // A killed process does not close its session.
        other.is_live(now)
            && request.app.processes.process_state(&other.holder) != ProcessState::Ended
    };
    if other.is_some_and(|other| is_live(other.value)) {
        return Err(agent_session::held_by_other_session(task.id, request.agent()).into());
    }
    Ok(())
}

/// Returns the write that records which session claims a task, or `None` outside a session. Fails only if the
/// store does.
pub(crate) async fn claimant_write(
    request: &Request,
    task: &Task,
) -> Result<Option<StoreWrite>, OpError> {
    let (Some(session), Some(claimed_at)) = (request.session_id(), &task.claimed_at) else {
        return Ok(None);
    };
    let new = TaskClaimant {
        session: session.to_owned(),
        claimed_at: claimed_at.clone(),
    };
    let name = agent_session::claimant_record_name(task.id);
    let found: Option<VersionedRecord<TaskClaimant>> = load_record(&request.app, &name).await?;
    Ok(match found {
        Some(found) if found.value == new => None,
        Some(found) => Some(found.update_write(name, &new)),
        None => Some(versioned::new_record_write(name, &new)),
    })
}
