//! Task-local request context, for the servers and sessions that `rmcp` creates.
//!
//! `rmcp` creates them within the task of the request but passes no request data to their factory.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::identity::Identity;
use crate::mcp::mcp_state::House;
use crate::mcp::server::Server;
use crate::mcp::subscriptions::Start;
use crate::mcp::toolset::Toolset;

/// Data of a request that is known before its body is read.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) identity: Identity,
    pub(super) tools: Toolset,
    pub(super) start: Option<Arc<Start>>,
    /// Cancelled when the session created by the request ends, or at shutdown.
    pub(super) ended: CancellationToken,
}

tokio::task_local! {
    /// Context of the request being handled.
    pub(super) static REQUEST: Scope;
}

/// Returns the context of the request being handled. Fails outside of a request.
pub(super) fn current() -> Result<Scope, &'static str> {
    REQUEST
        .try_with(Clone::clone)
        .map_err(|_| "no request is being answered here")
}

/// Creates a server for the caller of the current request.
pub(super) fn server(house: &Arc<House>) -> Result<Server, &'static str> {
    let scope = current()?;
    let mut server = Server::new(Arc::clone(house), scope.identity, scope.tools, scope.ended);
    server.start = scope.start;
    Ok(server)
}
