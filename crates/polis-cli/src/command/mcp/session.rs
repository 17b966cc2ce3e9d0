//! Session names of `polis mcp` processes: the agent's own name, or the next free numbered one while another live
//! process holds it.
//!
//! Clients start one server for each of their sessions, all with the same configuration. Two sessions under one name
//! would both "claim" the same task, so a second live session acts as `claude-2`, registered like `claude`.

use std::time::Duration;

use polis_core::agent::AgentAdd;
use polis_core::session::stdio_id;
use polis_core::{Agent, AgentId, AgentStatus, Code, Refusal};
use polis_ops::op::{self, OpenSession};
use polis_ops::{OpError, Polis};

/// Maximum time to wait for the agent's own name, and the polling interval.
const WAIT_FOR_NAME: Duration = Duration::from_millis(500);
const POLL_NAME: Duration = Duration::from_millis(20);
/// Maximum number of live sessions of one agent.
const MAX_SESSIONS: u32 = 1_000;

/// Opens a session for an agent: under its own name if no live process holds it, else under the next free name.
pub(super) async fn open(
    polis: &Polis,
    agent: &AgentId,
) -> Result<(AgentId, OpenSession), OpError> {
    // Random, because a system without /proc provides no process identity.
    let name = format!("mcp-{}", polis.chance.token());
    let holder = polis.processes.with_identity(&name);
    let base = registered(polis, agent).await?;
    // A client that restarts its server does not wait for the old one to exit, so its name may be held for a moment.
    let deadline = tokio::time::Instant::now() + WAIT_FOR_NAME;
    loop {
        let opened = open_as(polis, agent, &holder, None).await?;
        if let Some(session) = opened {
            return Ok((agent.clone(), session));
        }
        if tokio::time::Instant::now() >= deadline {
            break;
        }
        tokio::time::sleep(POLL_NAME).await;
    }
    for number in 2..=MAX_SESSIONS {
        // A name of maximum length cannot be numbered.
        let Ok(name) = format!("{agent}-{number}").parse::<AgentId>() else {
            break;
        };
        if !may_use(polis, &name, agent).await? {
            continue;
        }
        let Some(session) = open_as(polis, &name, &holder, Some(agent)).await? else {
            continue;
        };
        if let Some(base) = &base {
            register(polis, &name, base).await?;
        }
        return Ok((name, session));
    }
    Err(Refusal::new(
        Code::HeldByOtherSession,
        format!(
            "Other live sessions act as \"{agent}\", and there is no free name for another one."
        ),
        "end one of them, or use another name with --agent",
    )
    .into())
}

/// Opens the session of a name. Returns `None` if another live process holds it.
async fn open_as(
    polis: &Polis,
    name: &AgentId,
    holder: &str,
    numbered_for: Option<&AgentId>,
) -> Result<Option<OpenSession>, OpError> {
    let id = stdio_id(name);
    OpenSession::open_numbered(polis, id, name, holder, numbered_for).await
}

async fn registered(polis: &Polis, agent: &AgentId) -> Result<Option<Agent>, OpError> {
    let found = polis.store.agent(agent).await?;
    Ok(found.map(|found| found.agent))
}

/// Returns whether a numbered name can be used for another session of the same agent: it is new, or polis registered it
/// for one. A name that a team gave to an agent of its own is not used.
async fn may_use(polis: &Polis, name: &AgentId, agent: &AgentId) -> Result<bool, OpError> {
    let Some(found) = registered(polis, name).await? else {
        return Ok(true);
    };
    let numbered_for = polis.session_numbered_for(name).await?;
    Ok(found.status == AgentStatus::Active && numbered_for.as_ref() == Some(agent))
}

/// Registers a numbered name with the properties of the agent it is a session of.
async fn register(polis: &Polis, name: &AgentId, base: &Agent) -> Result<(), OpError> {
    if registered(polis, name).await?.is_some() {
        return Ok(());
    }
    let add = AgentAdd {
        id: name.clone(),
        name: None,
        role: base.role.clone(),
        layer: Some(base.layer),
        supervisor: base.supervisor.clone(),
        workspace_path: None,
    };
    match op::add_agent(polis, &AgentId::user(), &add).await {
        // Another process registered it at the same moment; the session is still held by this process.
        Err(OpError::Refused(refusal)) if refusal.code == Code::AgentExists => Ok(()),
        added => added.map(|_| ()),
    }
}
