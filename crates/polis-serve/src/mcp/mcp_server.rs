//! MCP request handler of one connection: dispatches each protocol method to the other modules of this
//! directory.
//!
//! It serves the revisions with and without sessions; `rmcp` distinguishes them. The caller is authenticated
//! before a request is read and never taken from the request.

use std::borrow::Cow;
use std::sync::Arc;

use polis_core::Refusal;
use polis_i18n::UiLanguage;
use polis_ops::OpError;
use polis_ops::tool::ToolSchemaSettings;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, PromptMessage, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Role, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, SubscriptionFilter, Tool as Definition, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;

use super::mcp_state::McpState;
use super::resource::resources;
use super::resource::subscriptions::{
    self, NotificationTarget, ResourceNotifier, SessionSubscriptions, SubscriptionSet,
    SubscriptionStart,
};
use super::tool::tool_call::McpToolCall;
use super::tool::tool_results;
use super::tool::toolset::{Toolset, tool_definition};
use super::{completion, instructions, prompts};
use crate::caller_identity::CallerIdentity;
use crate::refusal_tables::McpRefusal;

/// Supported protocol revisions, oldest first.
const SUPPORTED_VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];
/// Cache lifetime in milliseconds for responses that do not change while the server runs.
const STATIC_TTL_MS: u64 = 3_600_000;

/// Server of one connection: of a stdio process, of a session, or of a single stateless request.
#[derive(Debug, Clone)]
pub(crate) struct McpServer {
    pub(crate) state: Arc<McpState>,
    pub(crate) identity: CallerIdentity,
    pub(crate) tools: Toolset,
    /// Cancelled when the connection ends.
    pub(crate) ended: CancellationToken,
    /// Subscriptions of a session (revisions with sessions).
    pub(crate) subscriptions: Arc<SessionSubscriptions>,
    /// State captured before a `subscriptions/listen` request is acknowledged.
    pub(crate) subscription_start: Option<Arc<SubscriptionStart>>,
    /// The language that the client asked for, over HTTP.
    pub(crate) requested_language: Option<UiLanguage>,
}

impl McpServer {
    /// Returns the language of all texts: the one that the client asked for, or else that of the installation.
    pub(crate) fn lang(&self) -> UiLanguage {
        self.requested_language
            .unwrap_or(self.state.app.settings.language)
    }

    pub(crate) fn new(
        state: Arc<McpState>,
        identity: CallerIdentity,
        tools: Toolset,
        ended: CancellationToken,
    ) -> Self {
        Self {
            state,
            identity,
            tools,
            ended,
            subscriptions: Arc::default(),
            subscription_start: None,
            requested_language: None,
        }
    }

    /// Returns the caller: over HTTP the authenticated identity of the request, which must own the session;
    /// at stdio the identity the process was started with.
    fn authenticated_caller<'a>(
        &'a self,
        context: &'a RequestContext<RoleServer>,
    ) -> Result<&'a CallerIdentity, ErrorData> {
        let Some(parts) = context.extensions.get::<http::request::Parts>() else {
            return Ok(&self.identity);
        };
        let admitted = parts.extensions.get::<CallerIdentity>();
        admitted
            .filter(|caller| **caller == self.identity)
            .ok_or_else(|| {
                let refusal = Refusal::from(McpRefusal::OtherSession);
                tool_results::protocol_error(&refusal.into(), None, self.lang())
            })
    }

    /// Starts the task that notifies a session of changes after `start`, unless it is already running.
    fn start_notifier(
        &self,
        identity: &CallerIdentity,
        context: &RequestContext<RoleServer>,
        start: &SubscriptionStart,
    ) {
        if !self.subscriptions.mark_notifier_started() {
            return;
        }
        let notifier = ResourceNotifier {
            app: self.state.app.clone(),
            identity: identity.clone(),
            subscriptions: Arc::clone(&self.subscriptions),
            target: NotificationTarget::Session(context.peer.clone()),
            ended: self.ended.clone(),
        };
        let follower = self.state.hub.follow(start.log_position);
        tokio::spawn(notifier.run(follower, start.boards.clone()));
    }
}

/// Returns whether a request uses a revision with `initialize`, in which a session is notified without a
/// stream.
fn uses_session(context: &RequestContext<RoleServer>) -> bool {
    context.meta.protocol_version().is_none()
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_prompts()
            .enable_completions()
            .build();
        let implementation =
            Implementation::new("polis", env!("CARGO_PKG_VERSION")).with_title("polis");
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(instructions::agent_instructions(
                &self.identity.agent,
                self.lang(),
            ))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(SUPPORTED_VERSIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Definition> {
        tool_definition(name, self.lang()).cloned()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let identity = self.authenticated_caller(&context)?;
        let app = &self.state.app;
        let settings = &app.settings;
        // The role is looked up only if it makes a difference.
        let caller = if settings.command_policies.roles.is_empty() {
            None
        } else {
            identity.request(app).resolve_caller().await.ok()
        };
        let installation = match &caller {
            Some(caller) => ToolSchemaSettings::for_role(settings, &caller.role),
            None => ToolSchemaSettings::new(settings),
        };
        let tools = self.tools.definitions(identity, installation, self.lang());
        let mut result = ListToolsResult::with_all_items(tools);
        result.ttl_ms = Some(STATIC_TTL_MS);
        Ok(result)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = self
            .tools
            .find(&params.name)
            .map_err(|refusal| tool_results::unknown_tool_error(refusal, self.lang()))?;
        let identity = self.authenticated_caller(&context)?.clone();
        let call = McpToolCall {
            state: &self.state,
            identity: &identity,
            ended: &self.ended,
            lang: self.lang(),
        };
        let arguments = params.arguments.unwrap_or_default();
        Ok(call.run(tool, arguments, context).await?.into())
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let identity = self.authenticated_caller(&context)?;
        let app = &self.state.app;
        let failed = |error: OpError| tool_results::protocol_error(&error, None, self.lang());
        if uses_session(&context) && !self.subscriptions.has_list() {
            // Only a client that has the list can have an outdated one. Changes made while it is built are
            // notified.
            let start = SubscriptionStart::capture(&self.state, identity)
                .await
                .map_err(failed)?;
            self.subscriptions.add_list();
            self.start_notifier(identity, &context, &start);
        }
        let cursor = params.as_ref().and_then(|params| params.cursor.as_deref());
        let page = resources::list_resources(app, identity, cursor, self.lang())
            .await
            .map_err(failed)?;
        let mut result = ListResourcesResult::with_all_items(page.resources);
        result.next_cursor = page.next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut result =
            ListResourceTemplatesResult::with_all_items(resources::resource_templates(self.lang()));
        result.ttl_ms = Some(STATIC_TTL_MS);
        Ok(result)
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let identity = self.authenticated_caller(&context)?;
        let (app, uri) = (&self.state.app, &params.uri);
        let read = resources::read_resource(app, identity, uri, self.lang()).await;
        let contents = read.map_err(|error| {
            tool_results::protocol_error(&error, Some(&params.uri), self.lang())
        })?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let identity = self.authenticated_caller(&context)?;
        let failed =
            |error: OpError| tool_results::protocol_error(&error, Some(&params.uri), self.lang());
        let start = SubscriptionStart::capture(&self.state, identity)
            .await
            .map_err(failed)?;
        let added = subscriptions::parse_subscribable_uri(&params.uri, identity, &start.visibility)
            .and_then(|resource| self.subscriptions.add(resource, &params.uri));
        added.map_err(|refusal| failed(refusal.into()))?;
        self.start_notifier(identity, &context, &start);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = requested.resources_list_changed;
        let addresses = requested.resource_subscriptions.iter().flatten();
        accepted.resource_subscriptions = self.subscription_start.as_ref().map(|start| {
            SubscriptionSet::from_visible_uris(addresses, &self.identity, &start.visibility).uris()
        });
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let identity = self.authenticated_caller(context.request_context())?;
        let failed = |error: OpError| tool_results::protocol_error(&error, None, self.lang());
        let Some(start) = &self.subscription_start else {
            let refusal = Refusal::from(McpRefusal::StreamNotPrepared);
            return Err(failed(refusal.into()));
        };
        let permit = self.state.stream_limit.acquire(identity);
        let _permit = permit.map_err(|refusal| failed(refusal.into()))?;
        let accepted = context.accepted();
        let addresses = accepted.resource_subscriptions.iter().flatten();
        let mut requested =
            SubscriptionSet::from_visible_uris(addresses, identity, &start.visibility);
        requested.resource_list = accepted.resources_list_changed == Some(true);
        let notifier = ResourceNotifier {
            app: self.state.app.clone(),
            identity: identity.clone(),
            subscriptions: Arc::new(requested.into()),
            target: NotificationTarget::Stream(context.sink().clone()),
            ended: self.ended.clone(),
        };
        let follower = self.state.hub.follow(start.log_position);
        tokio::select! {
            () = context.cancelled() => {}
            () = notifier.run(follower, start.boards.clone()) => {}
        }
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut result = ListPromptsResult::with_all_items(prompts::list_prompts(self.lang()));
        result.ttl_ms = Some(STATIC_TTL_MS);
        Ok(result)
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let agent = &self.authenticated_caller(&context)?.agent;
        let arguments = params.arguments.unwrap_or_default();
        let (app, lang) = (&self.state.app, self.lang());
        let filled = prompts::fill_prompt(app, agent, &params.name, &arguments, lang)
            .await
            .map_err(|error| tool_results::protocol_error(&error, None, lang))?;
        let message = PromptMessage::new_text(Role::User, filled.text);
        Ok(GetPromptResult::new(vec![message])
            .with_description(filled.description)
            .into())
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let identity = self.authenticated_caller(&context)?;
        let app = &self.state.app;
        let argument = &params.argument;
        completion::complete_argument(
            app,
            identity,
            &params.r#ref,
            &argument.name,
            &argument.value,
        )
        .await
        .map(CompleteResult::new)
        .map_err(|error| tool_results::protocol_error(&error, None, self.lang()))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        super::malformed_request::respond_to_malformed(
            request,
            context.protocol_version().as_ref(),
            self.lang(),
        )
    }

    async fn on_initialized(&self, _: NotificationContext<RoleServer>) {}
}
