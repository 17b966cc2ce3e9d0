//! MCP server instructions for a model: which agent it is and how to work with the tools.
//!
//! They state that the tools are those of polis: some clients (Claude Code) have tools with the same names.

use polis_core::AgentId;
use polis_i18n::{UiLanguage, msg};

/// Returns the instructions for an agent.
pub(crate) fn agent_instructions(agent: &AgentId, lang: UiLanguage) -> String {
    msg::mcp_instructions(lang, agent)
}
