//! What is known of a request before its body is read, for the servers and sessions it begins.
//!
//! `rmcp` makes those within the request's own task, but hands nothing of the request to what makes them.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::identity::Identity;
use crate::mcp::mcp_state::House;
use crate::mcp::server::Server;
use crate::mcp::subscriptions::Start;
use crate::mcp::toolset::Toolset;

/// What is known of a request.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) identity: Identity,
    pub(super) tools: Toolset,
    pub(super) start: Option<Arc<Start>>,
    /// Cancelled when the session that it begins ends, or everything does.
    pub(super) ended: CancellationToken,
}

tokio::task_local! {
    /// The request that is being answered.
    pub(super) static REQUEST: Scope;
}

/// The request that is being answered.
pub(super) fn current() -> Result<Scope, &'static str> {
    REQUEST
        .try_with(Clone::clone)
        .map_err(|_| "no request is being answered here")
}

/// A server for whoever the request comes from.
pub(super) fn server(house: &Arc<House>) -> Result<Server, &'static str> {
    let scope = current()?;
    let mut server = Server::new(Arc::clone(house), scope.identity, scope.tools, scope.ended);
    server.start = scope.start;
    Ok(server)
}
