//! Tools for the agent registry: definitions, and handlers that call the operation and render its result as text.

use polis_core::agent::{Agent, AgentAddParams, AgentStatus};

use polis_i18n::{UiLanguage, msg};

use super::registry::{ToolContext, ToolReply, ToolResult, tool};
use crate::op::{self, AgentIdParams, AgentList, ListAgentsParams};
use crate::tool::Tool;
use crate::tool::truncation::{DEFAULT_PAGE_SIZE, fit_entries, join_lines, next_page_note};

/// Definitions of the registry tools.
pub(super) const AGENT_TOOLS: &[Tool] = &[
    tool!("list_agents", Agents, ReadOnly, ListAgentsParams => AgentList, list_agents, { is_offered_to_agents }),
    tool!("show_agent", Agents, ReadOnly, AgentIdParams => Agent, show_agent, { is_offered_to_agents }),
    tool!("add_agent", Agents, Additive, AgentAddParams => Agent, add_agent, {}),
    tool!("retire_agent", Agents, Destructive, AgentIdParams => Agent, retire_agent, {}),
];

async fn list_agents(call: ToolContext<'_>, mut params: ListAgentsParams) -> ToolResult<AgentList> {
    if call.for_model {
        params.limit = params.limit.or(Some(DEFAULT_PAGE_SIZE));
    }
    let mut page = op::list_agents(call.request, &params).await?;
    if call.for_model && fit_entries(&mut page.agents) {
        page.next = page.agents.last().map(|agent| agent.id.clone());
    }
    let lines = page.agents.iter();
    let lines = lines.map(|agent| render_agent(agent, call.lang));
    let text = join_lines(lines, msg::tool_agent_none(call.lang));
    let note = next_page_note(call.lang, page.agents.len(), "cursor", page.next.as_ref());
    Ok(ToolReply::new(page, text).with_continuation(note))
}

fn render_agent(agent: &Agent, lang: UiLanguage) -> String {
    let mut text = msg::tool_agent_line(lang, &agent.id, &agent.role, agent.layer.as_str());
    if let Some(supervisor) = &agent.supervisor {
        text.push_str(&msg::tool_agent_under(lang, supervisor));
    }
    match agent.status {
        AgentStatus::Active => {}
        AgentStatus::Retired => text.push_str(msg::tool_agent_retired_mark(lang)),
    }
    text
}

async fn show_agent(call: ToolContext<'_>, params: AgentIdParams) -> ToolResult<Agent> {
    let agent = op::show_agent(call.request, &params.id).await?;
    let text = render_agent(&agent, call.lang);
    Ok(ToolReply::new(agent, text))
}

async fn add_agent(call: ToolContext<'_>, params: AgentAddParams) -> ToolResult<Agent> {
    let agent = op::add_agent(call.request, &params).await?;
    let text = msg::tool_agent_registered(call.lang, render_agent(&agent, call.lang));
    Ok(ToolReply::new(agent, text))
}

async fn retire_agent(call: ToolContext<'_>, params: AgentIdParams) -> ToolResult<Agent> {
    let agent = op::retire_agent(call.request, &params.id).await?;
    let text = msg::tool_agent_retired(call.lang, &agent.id);
    Ok(ToolReply::new(agent, text))
}
