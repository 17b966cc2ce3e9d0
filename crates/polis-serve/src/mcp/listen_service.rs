//! Wrapper of the MCP server at stdio that prepares `subscriptions/listen` before the server handles it.
//!
//! `rmcp` acknowledges `subscriptions/listen` before its server sees it, and changes made in between must not
//! be lost. So the log position is taken here first. Over HTTP the same happens before the body is read (see
//! `http`).

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{ClientNotification, ClientRequest, ProtocolVersion, ServerConfig, ServerResult};
use rmcp::service::{NotificationContext, RequestContext, Service};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::mcp_server::McpServer;
use super::resource::subscriptions::SubscriptionStart;
use super::tool::tool_results;

/// Wraps a server and prepares its subscription requests.
#[derive(Debug)]
pub(crate) struct ListenService(McpServer);

impl ListenService {
    pub(crate) fn new(server: McpServer) -> Self {
        Self(server)
    }
}

impl Service<RoleServer> for ListenService {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        if !matches!(request, ClientRequest::SubscriptionsListenRequest(_)) {
            return self.0.handle_request(request, context).await;
        }
        let start = SubscriptionStart::capture(&self.0.state, &self.0.identity)
            .await
            .map_err(|error| tool_results::protocol_error(&error, None, self.0.lang()))?;
        let mut server = self.0.clone();
        server.subscription_start = Some(Arc::new(start));
        server.handle_request(request, context).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        ServerHandler::get_info(&self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        ServerHandler::supported_protocol_versions(&self.0)
    }
}
