//! Request context of MCP over HTTP, task-local, for the servers and sessions that `rmcp` creates.
//!
//! `rmcp` creates them within the task of the request but passes no request data to their factory.

use std::sync::Arc;

use polis_i18n::UiLanguage;
use tokio_util::sync::CancellationToken;

use crate::caller_identity::CallerIdentity;
use crate::mcp::mcp_server::McpServer;
use crate::mcp::mcp_state::McpState;
use crate::mcp::resource::subscriptions::SubscriptionStart;
use crate::mcp::tool::toolset::Toolset;

/// Data of a request that is known before its body is read.
#[derive(Debug, Clone)]
pub(super) struct McpRequestContext {
    pub(super) identity: CallerIdentity,
    pub(super) tools: Toolset,
    pub(super) subscription_start: Option<Arc<SubscriptionStart>>,
    /// The language that the request names in `Accept-Language`.
    pub(super) language: Option<UiLanguage>,
    /// Cancelled when the session created by the request ends, or at shutdown.
    pub(super) ended: CancellationToken,
}

tokio::task_local! {
    /// Context of the request being handled.
    pub(super) static REQUEST_CONTEXT: McpRequestContext;
}

/// Returns the context of the request being handled. Fails outside of a request.
pub(super) fn current_request() -> Result<McpRequestContext, &'static str> {
    REQUEST_CONTEXT
        .try_with(Clone::clone)
        .map_err(|_| "no request is being handled in this task")
}

/// Creates a server for the caller of the current request.
pub(super) fn server_for_request(state: &Arc<McpState>) -> Result<McpServer, &'static str> {
    let scope = current_request()?;
    let mut server = McpServer::new(Arc::clone(state), scope.identity, scope.tools, scope.ended);
    server.subscription_start = scope.subscription_start;
    server.requested_language = scope.language;
    Ok(server)
}
