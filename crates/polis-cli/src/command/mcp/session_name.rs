//! Opens the agent session of a `polis mcp` process: under the agent's own name, or under a numbered name
//! while another live process holds that one.
//!
//! Clients start one server for each of their sessions, all with the same configuration. Two sessions under
//! one name could both claim the same task, so a second live session acts as `claude-2`, which is registered
//! here with the role, layer and supervisor of `claude`. A numbered name that a team gave to an agent of its
//! own is skipped.

use std::time::Duration;

use polis_core::agent::AgentAddParams;
use polis_core::agent_session::stdio_session_id;
use polis_core::{Agent, AgentId, AgentStatus, Refusal, RefusalCode};
use polis_ops::op::{self, OpenSession};
use polis_ops::{App, OpError};

use crate::refusal_tables::InstallRefusal;

/// Maximum time to wait for the agent's own name, and the polling interval.
const NAME_WAIT_TIMEOUT: Duration = Duration::from_millis(500);
const NAME_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of live sessions of one agent.
const MAX_SESSIONS: u32 = 1_000;

/// Opens a session for an agent: under its own name if no live process holds it, else under the next free
/// name. Returns the name and the session. Fails with `HeldByOtherSession` if no name is free.
pub(super) async fn open_agent_session(
    app: &App,
    agent: &AgentId,
) -> Result<(AgentId, OpenSession), OpError> {
    // Random, because a system without /proc provides no process identity.
    let name = format!("mcp-{}", app.random.random_token());
    let holder = app.processes.with_identity(&name);
    let base = find_registered(app, agent).await?;
    // A client that restarts its server does not wait for the old one to exit, so its name may be held for a
    // moment.
    let deadline = tokio::time::Instant::now() + NAME_WAIT_TIMEOUT;
    loop {
        let opened = try_open_session(app, agent, &holder, None).await?;
        if let Some(session) = opened {
            return Ok((agent.clone(), session));
        }
        if tokio::time::Instant::now() >= deadline {
            break;
        }
        tokio::time::sleep(NAME_POLL_INTERVAL).await;
    }
    for number in 2..=MAX_SESSIONS {
        // A name of maximum length cannot be numbered.
        let Ok(name) = format!("{agent}-{number}").parse::<AgentId>() else {
            break;
        };
        if !may_use_name(app, &name, agent).await? {
            continue;
        }
        let Some(session) = try_open_session(app, &name, &holder, Some(agent)).await? else {
            continue;
        };
        if let Some(base) = &base {
            register_numbered(app, &name, base).await?;
        }
        return Ok((name, session));
    }
    Err(Refusal::from(InstallRefusal::SessionNamesTaken {
        agent: agent.to_string(),
    })
    .into())
}

/// Opens the session of a name. Returns `None` if another live process holds it.
async fn try_open_session(
    app: &App,
    name: &AgentId,
    holder: &str,
    numbered_for: Option<&AgentId>,
) -> Result<Option<OpenSession>, OpError> {
    let id = stdio_session_id(name);
    OpenSession::open_numbered(app, id, name, holder, numbered_for).await
}

async fn find_registered(app: &App, agent: &AgentId) -> Result<Option<Agent>, OpError> {
    let found = app.store.agent(agent).await?;
    Ok(found.map(|found| found.agent))
}

/// Returns whether a numbered name can be used for another session of the same agent: it is new, or polis
/// registered it for one. A name that a team gave to an agent of its own is not used.
async fn may_use_name(app: &App, name: &AgentId, agent: &AgentId) -> Result<bool, OpError> {
    let Some(found) = find_registered(app, name).await? else {
        return Ok(true);
    };
    let numbered_for = op::agent_of_numbered_session(app, name).await?;
    Ok(found.status == AgentStatus::Active && numbered_for.as_ref() == Some(agent))
}

/// Registers a numbered name with the properties of the agent it is a session of.
async fn register_numbered(app: &App, name: &AgentId, base: &Agent) -> Result<(), OpError> {
    if find_registered(app, name).await?.is_some() {
        return Ok(());
    }
    let add = AgentAddParams {
        id: name.clone(),
        name: None,
        role: base.role.clone(),
        layer: Some(base.layer),
        supervisor: base.supervisor.clone(),
        workspace_path: None,
    };
    match op::add_agent(&app.request(&AgentId::user()), &add).await {
        // Another process registered it at the same moment; the session is still held by this process.
        Err(OpError::Refused(refusal)) if refusal.code == RefusalCode::AGENT_EXISTS => Ok(()),
        added => added.map(|_| ()),
    }
}
