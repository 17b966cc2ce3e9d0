//! Server state shared by all MCP connections of a process: store, event hub, concurrency limits, HTTP
//! sessions that have claimed a task, and metrics.

use std::sync::Arc;

use polis_ops::App;

use super::agent_session_renewal::ClaimingHttpSessions;
use super::concurrency_limit::CallerConcurrencyLimit;
use crate::events::Hub;
use crate::metrics::ServerMetrics;

/// Maximum concurrent tool calls per caller (token or agent).
const MAX_CALLS_PER_CALLER: usize = 1_024;
/// Maximum concurrent commands per caller.
const MAX_COMMANDS_PER_CALLER: usize = 32;
/// Maximum open subscription streams per caller.
const MAX_STREAMS_PER_CALLER: usize = 32;

/// Server state shared by all MCP connections.
#[derive(Debug)]
pub(crate) struct McpState {
    pub(crate) app: App,
    pub(crate) hub: Hub,
    pub(crate) call_limit: Arc<CallerConcurrencyLimit>,
    pub(crate) command_limit: Arc<CallerConcurrencyLimit>,
    pub(crate) stream_limit: Arc<CallerConcurrencyLimit>,
    /// HTTP sessions that have claimed a task.
    pub(crate) http_sessions: ClaimingHttpSessions,
    /// Metrics of tool calls; `None` over stdio, where metrics cannot be scraped.
    pub(crate) metrics: Option<Arc<ServerMetrics>>,
}

impl McpState {
    pub(crate) fn new(app: App, hub: Hub) -> Self {
        Self {
            http_sessions: ClaimingHttpSessions::new(&app),
            app,
            hub,
            call_limit: CallerConcurrencyLimit::new(MAX_CALLS_PER_CALLER, "tool-calls"),
            command_limit: CallerConcurrencyLimit::new(MAX_COMMANDS_PER_CALLER, "commands"),
            stream_limit: CallerConcurrencyLimit::new(MAX_STREAMS_PER_CALLER, "streams"),
            metrics: None,
        }
    }
}
