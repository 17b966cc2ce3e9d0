//! MCP over standard input and output: one JSON-RPC message per line.
//!
//! Standard output contains only messages. The process serves one client and ends with it: at the end of
//! input, pending requests are still answered, but running commands are stopped because no client waits for
//! them.

mod json_rpc;
mod line_splitter;
mod stdin;
mod stdout;
mod transport;

use std::io;
use std::sync::Arc;

use polis_ops::App;
use rmcp::service::{QuitReason, ServerInitializeError, serve_server_with_ct};
use tokio_util::sync::CancellationToken;

use super::listen_service::ListenService;
use super::mcp_server::McpServer;
use super::mcp_state::McpState;
use super::tool::toolset::Toolset;
use crate::caller_identity::CallerIdentity;
use crate::events::Hub;
use stdin::StdinReader;
use stdout::StdoutWriter;
use transport::StdioTransport;

/// Serves the client on standard input and output until it closes them or `stop` is cancelled. Fails if
/// standard input or output cannot be opened, the client does not initialize the session as the protocol
/// requires, or the server's task panics.
pub async fn serve_stdio(
    app: App,
    identity: CallerIdentity,
    tools: Toolset,
    stop: CancellationToken,
) -> io::Result<()> {
    let hub = Hub::new(&app);
    let state = Arc::new(McpState::new(app, hub));
    let ended = stop.child_token();
    let server = McpServer::new(state, identity, tools, ended.clone());
    let (lang, service) = (server.lang(), ListenService::new(server));
    let transport = StdioTransport::new(StdinReader::open()?, StdoutWriter::open()?, ended, lang);
    let served = serve_server_with_ct(service, transport, stop).await;
    match served {
        Ok(running) => match running.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(io::Error::other(error)),
            Ok(_) => Ok(()),
        },
        // The client disconnected, or the server was stopped, before the first request.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(io::Error::other(error)),
    }
}
