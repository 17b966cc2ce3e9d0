//! MCP over standard input and output: one JSON-RPC message per line.
//!
//! Standard output contains only messages. The process serves one client and ends with it: at the end of
//! input, pending requests are still answered, but running commands are stopped because no client waits for
//! them.

mod input;
mod lines;
mod message;
mod output;
mod transport;

use std::io;
use std::sync::Arc;

use polis_ops::Polis;
use rmcp::service::{QuitReason, ServerInitializeError, serve_server_with_ct};
use tokio_util::sync::CancellationToken;

use super::listen_service::Door;
use super::mcp_state::House;
use super::server::Server;
use super::toolset::Toolset;
use crate::events::Hub;
use crate::identity::Identity;
use input::Input;
use output::Output;
use transport::Stdio;

/// Serves the client on standard input and output until it closes them or `stop` is cancelled.
pub async fn serve_stdio(
    polis: Polis,
    identity: Identity,
    tools: Toolset,
    stop: CancellationToken,
) -> io::Result<()> {
    let hub = Hub::new(&polis);
    let house = Arc::new(House::new(polis, hub));
    let ended = stop.child_token();
    let door = Door::new(Server::new(house, identity, tools, ended.clone()));
    let transport = Stdio::new(Input::open()?, Output::open()?, ended);
    let served = serve_server_with_ct(door, transport, stop).await;
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
