//! What all connections of a process share.

use std::sync::Arc;

use polis_ops::Polis;

use super::concurrency_limit::Gate;
use super::session_keeper::HttpSessions;
use crate::events::Hub;
use crate::metrics::Metrics;

/// How many calls of tools one caller may have under way.
const CALLS: usize = 1_024;
/// How many of them may be commands.
const COMMANDS: usize = 32;
/// How many streams of changes one caller may have open.
const STREAMS: usize = 32;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) polis: Polis,
    pub(crate) hub: Hub,
    pub(crate) calls: Arc<Gate>,
    pub(crate) commands: Arc<Gate>,
    pub(crate) streams: Arc<Gate>,
    /// Sessions over HTTP that have claimed something.
    pub(crate) http_sessions: HttpSessions,
    /// Where calls are counted; over stdio nobody reads figures.
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
