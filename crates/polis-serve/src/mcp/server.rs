//! MCP request handler of one connection: dispatches each protocol method to the other modules of this
//! directory.
//!
//! It serves the revisions with and without sessions; `rmcp` distinguishes them. The caller is authenticated
//! before a request is read and never taken from the request.

use std::borrow::Cow;
use std::sync::Arc;

use polis_core::{Code, Refusal};
use polis_ops::OpError;
use polis_ops::tool::Installation;
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

use super::call::Call;
use super::mcp_state::House;
use super::subscriptions::{self, Listener, Start, Subscriptions, Teller, Wanted};
use super::toolset::{Toolset, definition};
use super::{completion, instructions, prompts, resources, tool_results};
use crate::identity::Identity;

/// Supported protocol revisions, oldest first.
const VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];
/// Cache lifetime in milliseconds for responses that do not change while the server runs.
const LASTING: u64 = 3_600_000;

/// Server of one connection: of a stdio process, of a session, or of a single stateless request.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) house: Arc<House>,
    pub(crate) identity: Identity,
    pub(crate) tools: Toolset,
    /// Cancelled when the connection ends.
    pub(crate) ended: CancellationToken,
    /// Subscriptions of a session (revisions with sessions).
    pub(crate) subscriptions: Arc<Subscriptions>,
    /// State captured before a `subscriptions/listen` request is acknowledged.
    pub(crate) start: Option<Arc<Start>>,
}

impl Server {
    pub(crate) fn new(
        house: Arc<House>,
        identity: Identity,
        tools: Toolset,
        ended: CancellationToken,
    ) -> Self {
        Self {
            house,
            identity,
            tools,
            ended,
            subscriptions: Arc::default(),
            start: None,
        }
    }

    /// Returns the caller: over HTTP the authenticated identity of the request, which must own the session;
    /// at stdio the identity the process was started with.
    fn caller<'a>(
        &'a self,
        context: &'a RequestContext<RoleServer>,
    ) -> Result<&'a Identity, ErrorData> {
        let Some(parts) = context.extensions.get::<http::request::Parts>() else {
            return Ok(&self.identity);
        };
        let admitted = parts.extensions.get::<Identity>();
        admitted
            .filter(|who| **who == self.identity)
            .ok_or_else(|| {
                let refusal = Refusal::new(
                    Code::Unauthorized,
                    "The request does not come from who began this session.",
                    "begin a session of your own",
                );
                tool_results::protocol(&refusal.into(), None)
            })
    }

    /// Starts the task that notifies a session of changes after `start`, unless it is already running.
    fn tell(&self, identity: &Identity, context: &RequestContext<RoleServer>, start: &Start) {
        if !self.subscriptions.begin() {
            return;
        }
        let teller = Teller {
            polis: self.house.polis.clone(),
            identity: identity.clone(),
            subscriptions: Arc::clone(&self.subscriptions),
            listener: Listener::Session(context.peer.clone()),
            ended: self.ended.clone(),
        };
        let follower = self.house.hub.follow(start.place);
        tokio::spawn(teller.run(follower, start.boards.clone()));
    }
}

/// Returns whether a request uses a revision with `initialize`, in which a session is notified without a
/// stream.
fn has_session(context: &RequestContext<RoleServer>) -> bool {
    context.meta.protocol_version().is_none()
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_prompts()
            .enable_completions()
            .build();
        let itself = Implementation::new("polis", env!("CARGO_PKG_VERSION")).with_title("polis");
        ServerConfig::new(capabilities)
            .with_server_info(itself)
            .with_instructions(instructions::of(
                &self.identity.agent,
                self.house.polis.settings.boards.language,
            ))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Definition> {
        definition(name).cloned()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let identity = self.caller(&context)?;
        let installation = Installation::new(&self.house.polis.settings);
        let tools = self.tools.definitions(identity, installation);
        let mut result = ListToolsResult::with_all_items(tools);
        result.ttl_ms = Some(LASTING);
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
            .map_err(tool_results::no_tool)?;
        let identity = self.caller(&context)?.clone();
        let call = Call {
            house: &self.house,
            identity: &identity,
            ended: &self.ended,
        };
        let arguments = params.arguments.unwrap_or_default();
        Ok(call.run(tool, arguments, context).await?.into())
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let identity = self.caller(&context)?;
        let polis = &self.house.polis;
        let failed = |error: OpError| tool_results::protocol(&error, None);
        if has_session(&context) && !self.subscriptions.has_list() {
            // Only a client that has the list can have an outdated one. Changes made while it is built are
            // notified.
            let start = Start::of(&self.house, identity).await.map_err(failed)?;
            self.subscriptions.add_list();
            self.tell(identity, &context, &start);
        }
        let cursor = params.as_ref().and_then(|params| params.cursor.as_deref());
        let page = resources::list(polis, identity, cursor)
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
        let mut result = ListResourceTemplatesResult::with_all_items(resources::templates());
        result.ttl_ms = Some(LASTING);
        Ok(result)
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let identity = self.caller(&context)?;
        let read = resources::read(&self.house.polis, identity, &params.uri).await;
        let contents = read.map_err(|error| tool_results::protocol(&error, Some(&params.uri)))?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let identity = self.caller(&context)?;
        let failed = |error: OpError| tool_results::protocol(&error, Some(&params.uri));
        let start = Start::of(&self.house, identity).await.map_err(failed)?;
        let place = subscriptions::may_hear(&params.uri, identity, &start.sight)
            .and_then(|place| self.subscriptions.add(place, &params.uri));
        place.map_err(|refusal| failed(refusal.into()))?;
        self.tell(identity, &context, &start);
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
        accepted.resource_subscriptions = self
            .start
            .as_ref()
            .map(|start| Wanted::of(addresses, &self.identity, &start.sight).addresses());
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let identity = self.caller(context.request_context())?;
        let failed = |error: OpError| tool_results::protocol(&error, None);
        let Some(start) = &self.start else {
            let lost = Refusal::new(
                Code::Internal,
                "The stream of changes was not prepared.",
                "ask again",
            );
            return Err(failed(lost.into()));
        };
        let pass = self.house.streams.enter(identity);
        let _pass = pass.map_err(|refusal| failed(refusal.into()))?;
        let accepted = context.accepted();
        let addresses = accepted.resource_subscriptions.iter().flatten();
        let mut wanted = Wanted::of(addresses, identity, &start.sight);
        wanted.list = accepted.resources_list_changed == Some(true);
        let teller = Teller {
            polis: self.house.polis.clone(),
            identity: identity.clone(),
            subscriptions: Arc::new(wanted.into()),
            listener: Listener::Stream(context.sink().clone()),
            ended: self.ended.clone(),
        };
        let follower = self.house.hub.follow(start.place);
        tokio::select! {
            () = context.cancelled() => {}
            () = teller.run(follower, start.boards.clone()) => {}
        }
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let language = self.house.polis.settings.boards.language;
        let mut result = ListPromptsResult::with_all_items(prompts::list(language));
        result.ttl_ms = Some(LASTING);
        Ok(result)
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let agent = &self.caller(&context)?.agent;
        let given = params.arguments.unwrap_or_default();
        let filled = prompts::fill(&self.house.polis, agent, &params.name, &given)
            .await
            .map_err(|error| tool_results::protocol(&error, None))?;
        let message = PromptMessage::new_text(Role::User, filled.text);
        Ok(GetPromptResult::new(vec![message])
            .with_description(filled.about)
            .into())
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let identity = self.caller(&context)?;
        let polis = &self.house.polis;
        let argument = &params.argument;
        completion::complete(
            polis,
            identity,
            &params.r#ref,
            &argument.name,
            &argument.value,
        )
        .await
        .map(CompleteResult::new)
        .map_err(|error| tool_results::protocol(&error, None))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        super::malformed::answer(request, context.protocol_version().as_ref())
    }

    async fn on_initialized(&self, _: NotificationContext<RoleServer>) {}
}
