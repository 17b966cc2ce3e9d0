//! Tests of `polis mcp` as clients use it: a real process over stdin and stdout, with sessions and stateless.

mod hostile_file_trees;
mod mcp_commands;
mod mcp_install;
mod mcp_sessions;
mod mcp_tools;
mod protocol_negotiation;
mod resource_subscriptions;
mod resources_and_prompts;
mod stdio_transport;
pub(crate) mod test_mcp_client;
mod tool_documents;
