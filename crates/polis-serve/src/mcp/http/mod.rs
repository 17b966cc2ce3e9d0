//! MCP over streamable HTTP, as a `tower` service to be mounted at a path.
//!
//! The caller is the [`CallerIdentity`] in the request's extensions, set by the authentication in front of this
//! service; a request without one is refused. Host, Origin, token and rate limit are checked before.

mod request_context;
mod request_replay;
mod session_manager;

use std::convert::Infallible;
use std::fmt::Display;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use percent_encoding::percent_decode_str;
use polis_core::{Refusal, RefusalCode, RefusalKind, token};
use polis_i18n::UiLanguage;
use polis_ops::tool::ToolOutput;
use polis_ops::{App, OpError};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::mcp_server::McpServer;
use super::mcp_state::McpState;
use super::resource::media_types::JSON_MEDIA_TYPE;
use super::resource::subscriptions::SubscriptionStart;
use super::tool::toolset::Toolset;
use crate::caller_identity::CallerIdentity;
use crate::events::Hub;
use crate::http::request_language::requested_language;
use crate::metrics::ServerMetrics;
use crate::refusal_tables::McpRefusal;
use request_context::{McpRequestContext, REQUEST_CONTEXT};
use session_manager::{McpSessionLimits, McpSessionManager};

/// Header with the session id.
pub(super) const SESSION_ID_HEADER: &str = "mcp-session-id";
/// Header with the method of a request in the stateless protocol revision.
const MCP_METHOD_HEADER: &str = "mcp-method";

/// Settings of MCP over HTTP.
#[derive(Debug, Clone)]
pub struct McpHttpOptions {
    /// Cancelling it ends streams, sessions and commands.
    pub stop: CancellationToken,
    /// Maximum size of a request in bytes.
    pub max_body_bytes: usize,
    /// Maximum number of sessions.
    pub max_sessions: usize,
    /// Maximum number of sessions per token.
    pub max_sessions_per_token: usize,
    /// Idle timeout of a session.
    pub idle_timeout: Duration,
    /// How long a response is kept for replay to a client that lost its connection.
    pub replay_ttl: Duration,
    /// Metrics of tool calls.
    pub metrics: Option<Arc<ServerMetrics>>,
}

impl McpHttpOptions {
    /// Returns the default settings with this cancellation token.
    pub fn new(stop: CancellationToken) -> Self {
        Self {
            stop,
            max_body_bytes: 24 << 20,
            max_sessions: 1_024,
            max_sessions_per_token: 32,
            idle_timeout: Duration::from_secs(600),
            replay_ttl: Duration::from_secs(300),
            metrics: None,
        }
    }
}

/// Response of the MCP service.
pub type McpHttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// MCP as a `tower` service. Clones share the same state.
#[derive(Clone)]
pub struct McpHttpService {
    inner: StreamableHttpService<McpServer, McpSessionManager>,
    state: Arc<McpState>,
    sessions: Arc<McpSessionManager>,
    stop: CancellationToken,
}

impl std::fmt::Debug for McpHttpService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpHttpService")
            .field("sessions", &self.sessions.count())
            .finish_non_exhaustive()
    }
}

/// Creates the service, to be mounted at a path such as `/mcp`. It starts no task until the first request.
pub fn mcp_http_service(app: App, hub: Hub, options: McpHttpOptions) -> McpHttpService {
    let state = Arc::new(McpState {
        metrics: options.metrics,
        ..McpState::new(app, hub)
    });
    let sessions = Arc::new(McpSessionManager::new(McpSessionLimits {
        max_total: options.max_sessions,
        max_per_owner: options.max_sessions_per_token,
        idle_timeout: options.idle_timeout,
        replay_ttl: options.replay_ttl,
    }));
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_json_response(true)
        // The empty priming event at the start of every stream is not JSON, and clients older than revision
        // 2025-11-25 fail on it. For newer clients the session sends it.
        .with_sse_retry(None)
        .with_max_request_body_bytes(options.max_body_bytes)
        .with_cancellation_token(options.stop.clone());
    let for_servers = Arc::clone(&state);
    let new_server =
        move || request_context::server_for_request(&for_servers).map_err(std::io::Error::other);
    McpHttpService {
        inner: StreamableHttpService::new(new_server, Arc::clone(&sessions), config),
        state,
        sessions,
        stop: options.stop,
    }
}

impl McpHttpService {
    /// Returns whether a tool call is in progress.
    pub fn is_busy(&self) -> bool {
        !(self.state.call_limit.is_unused() && self.state.command_limit.is_unused())
    }

    /// Returns the number of sessions.
    pub fn session_count(&self) -> usize {
        self.sessions.count()
    }

    async fn handle<B>(&self, request: Request<B>) -> McpHttpResponse
    where
        B: Body + Send + 'static,
        B::Error: Display,
    {
        let language = requested_language(request.headers());
        let lang = language.unwrap_or(self.state.app.settings.language);
        let Some(identity) = request.extensions().get::<CallerIdentity>().cloned() else {
            return refusal_response(&token::unauthorized_refusal().into(), lang);
        };
        if let Some(session) = header_text(request.headers(), SESSION_ID_HEADER)
            && !self.sessions.admit_caller(session, &identity)
        {
            // Other callers must not learn that the session exists.
            return plain_response(StatusCode::NOT_FOUND, "Not Found: Session not found");
        }
        let tools = match parse_tool_groups(request.uri().query().unwrap_or_default()) {
            Ok(tools) => tools,
            Err(refusal) => return refusal_response(&refusal.into(), lang),
        };
        let start =
            if header_text(request.headers(), MCP_METHOD_HEADER) == Some("subscriptions/listen") {
                match SubscriptionStart::capture(&self.state, &identity).await {
                    Ok(start) => Some(Arc::new(start)),
                    Err(error) => return refusal_response(&error, lang),
                }
            } else {
                None
            };
        let scope = McpRequestContext {
            identity,
            tools,
            subscription_start: start,
            language,
            ended: self.stop.child_token(),
        };
        REQUEST_CONTEXT
            .scope(scope, self.inner.handle(request))
            .await
    }
}

impl<B> tower_service::Service<Request<B>> for McpHttpService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Display,
{
    type Response = McpHttpResponse;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<McpHttpResponse, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.handle(request).await) })
    }
}

fn header_text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Parses the tool groups selected in the URL: `?tools=tasks,boards`.
fn parse_tool_groups(query: &str) -> Result<Toolset, Refusal> {
    let groups = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("tools="));
    let groups = percent_decode_str(groups.unwrap_or_default()).decode_utf8();
    let groups = groups.map_err(|_| Refusal::from(McpRefusal::GroupsNotUtf8))?;
    Toolset::from_groups(groups.split(','))
}

fn plain_response(status: StatusCode, text: &'static str) -> McpHttpResponse {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}

/// Returns the response to a request that was not admitted.
fn refusal_response(error: &OpError, lang: UiLanguage) -> McpHttpResponse {
    let output = ToolOutput::from_error(error, lang, false);
    let mut answer = Response::new(Full::new(Bytes::from(output.document.to_string())).boxed());
    *answer.status_mut() = match error.kind() {
        RefusalKind::Forbidden if error.code() == RefusalCode::UNAUTHORIZED => {
            StatusCode::UNAUTHORIZED
        }
        RefusalKind::Forbidden => StatusCode::FORBIDDEN,
        RefusalKind::Invalid => StatusCode::BAD_REQUEST,
        RefusalKind::NotFound => StatusCode::NOT_FOUND,
        RefusalKind::Conflict => StatusCode::CONFLICT,
        RefusalKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        RefusalKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_MEDIA_TYPE));
    if error.code() == RefusalCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer
}
