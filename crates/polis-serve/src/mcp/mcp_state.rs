//! Server state shared by all MCP connections of a process: store, event hub, concurrency limits, sessions,
//! metrics.

use std::sync::Arc;

use polis_ops::Polis;

use super::concurrency_limit::Gate;
use super::session_keeper::HttpSessions;
use crate::events::Hub;
use crate::metrics::Metrics;

/// Maximum concurrent tool calls per caller.
const CALLS: usize = 1_024;
/// Maximum concurrent commands per caller.
const COMMANDS: usize = 32;
/// Maximum open subscription streams per caller.
const STREAMS: usize = 32;

/// Server state shared by all MCP connections.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) polis: Polis,
    pub(crate) hub: Hub,
    pub(crate) calls: Arc<Gate>,
    pub(crate) commands: Arc<Gate>,
    pub(crate) streams: Arc<Gate>,
    /// HTTP sessions that have claimed a task.
    pub(crate) http_sessions: HttpSessions,
    /// Metrics of tool calls; `None` over stdio, where metrics cannot be scraped.
    pub(crate) metrics: Option<Arc<Metrics>>,
}

impl House {
    pub(crate) fn new(polis: Polis, hub: Hub) -> Self {
        Self {
            http_sessions: HttpSessions::new(&polis),
            polis,
            hub,
            calls: Gate::new(CALLS, "calls"),
            commands: Gate::new(COMMANDS, "commands"),
            streams: Gate::new(STREAMS, "streams of changes"),
            metrics: None,
        }
    }
}
