//! Tools for the agent registry: definitions and text rendering.

use polis_core::agent::{Agent, AgentAdd, AgentStatus};

use super::Tool;
use super::registry::{Call, Reply, Told, tool};
use super::truncation::{PAGE, fit, join, more};
use crate::op::{self, AgentList, ListAgents, OfAgent};

/// The registry tools.
pub(super) const TOOLS: &[Tool] = &[
    tool!("list_agents", Agents, Look, ListAgents => AgentList, list, { listed },
        "List who is on the team."),
    tool!("show_agent", Agents, Look, OfAgent => Agent, show, {},
        "Show one agent."),
    tool!("add_agent", Agents, Add, AgentAdd => Agent, add, {},
        "Register an agent."),
    tool!("retire_agent", Agents, Change, OfAgent => Agent, retire, {},
        "Retire an agent that holds no unfinished task and supervises nobody."),
];

async fn list(call: Call<'_>, mut given: ListAgents) -> Told<AgentList> {
    if call.brief {
        given.limit = given.limit.or(Some(PAGE));
    }
    let mut page = op::list_agents(call.polis, &given).await?;
    if call.brief && fit(&mut page.agents) {
        page.next = page.agents.last().map(|agent| agent.id.clone());
    }
    let text = join(page.agents.iter().map(line), "No agents.");
    let cut = more(page.agents.len(), "cursor", page.next.as_ref());
    Ok(Reply::new(page, text).cut(cut))
}

fn line(agent: &Agent) -> String {
    let above = agent.supervisor.as_ref();
    let above = above.map_or_else(String::new, |id| format!(", under {id}"));
    let retired = match agent.status {
        AgentStatus::Active => "",
        AgentStatus::Retired => ", retired",
    };
    format!(
        "{}: {}, {} layer{above}{retired}",
        agent.id,
        agent.role,
        agent.layer.as_str()
    )
}

async fn show(call: Call<'_>, given: OfAgent) -> Told<Agent> {
    let agent = op::show_agent(call.polis, &given.id).await?;
    let text = line(&agent);
    Ok(Reply::new(agent, text))
}

async fn add(call: Call<'_>, given: AgentAdd) -> Told<Agent> {
    let agent = op::add_agent(call.polis, call.by, &given).await?;
    let text = format!("Registered {}", line(&agent));
    Ok(Reply::new(agent, text))
}

async fn retire(call: Call<'_>, given: OfAgent) -> Told<Agent> {
    let agent = op::retire_agent(call.polis, call.by, &given.id).await?;
    let text = format!("{} is retired.", agent.id);
    Ok(Reply::new(agent, text))
}
