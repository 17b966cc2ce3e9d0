//! MCP over streamable HTTP, as a `tower` service to be mounted at a path.
//!
//! The caller is the [`Identity`] in the request's extensions, set by the authentication in front of this
//! service; a request without one is refused. Host, Origin, token and rate limit are checked before.

mod replay;
mod scope;
mod sessions;

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
use polis_core::{Code, Kind, Refusal, token};
use polis_ops::tool::Answer;
use polis_ops::{OpError, Polis};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;

use super::mcp_state::House;
use super::media::JSON;
use super::server::Server;
use super::subscriptions::Start;
use super::toolset::Toolset;
use crate::events::Hub;
use crate::identity::Identity;
use crate::metrics::Metrics;
use scope::{REQUEST, Scope};
use sessions::{Limits, Sessions};

/// Header with the session id.
pub(super) const SESSION: &str = "mcp-session-id";
/// Header with the method of a request in the stateless protocol revision.
const METHOD: &str = "mcp-method";

/// Settings of MCP over HTTP.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Cancelling it ends streams, sessions and commands.
    pub stop: CancellationToken,
    /// Maximum size of a request in bytes.
    pub max_body_bytes: usize,
    /// Maximum number of sessions.
    pub max_sessions: usize,
    /// Maximum number of sessions per token.
    pub max_sessions_each: usize,
    /// Idle timeout of a session.
    pub idle: Duration,
    /// How long a response is kept for replay to a client that lost its connection.
    pub replay: Duration,
    /// Metrics of tool calls.
    pub metrics: Option<Arc<Metrics>>,
}

impl HttpOptions {
    /// Returns the default settings with this cancellation token.
    pub fn new(stop: CancellationToken) -> Self {
        Self {
            stop,
            max_body_bytes: 24 << 20,
            max_sessions: 1_024,
            max_sessions_each: 32,
            idle: Duration::from_secs(600),
            replay: Duration::from_secs(300),
            metrics: None,
        }
    }
}

/// Response of the service.
pub type Answered = Response<BoxBody<Bytes, Infallible>>;

/// MCP as a `tower` service. Clones share the same state.
#[derive(Clone)]
pub struct HttpService {
    inner: StreamableHttpService<Server, Sessions>,
    house: Arc<House>,
    sessions: Arc<Sessions>,
    stop: CancellationToken,
}

impl std::fmt::Debug for HttpService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpService")
            .field("sessions", &self.sessions.count())
            .finish_non_exhaustive()
    }
}

/// Creates the service, to be mounted at a path such as `/mcp`. It starts no task until the first request.
pub fn service(polis: Polis, hub: Hub, options: HttpOptions) -> HttpService {
    let house = Arc::new(House {
        metrics: options.metrics,
        ..House::new(polis, hub)
    });
    let sessions = Arc::new(Sessions::new(Limits {
        all: options.max_sessions,
        each: options.max_sessions_each,
        idle: options.idle,
        replay: options.replay,
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
    let for_servers = Arc::clone(&house);
    let new_server = move || scope::server(&for_servers).map_err(std::io::Error::other);
    HttpService {
        inner: StreamableHttpService::new(new_server, Arc::clone(&sessions), config),
        house,
        sessions,
        stop: options.stop,
    }
}

impl HttpService {
    /// Returns whether a tool call is in progress.
    pub fn is_busy(&self) -> bool {
        !(self.house.calls.is_free() && self.house.commands.is_free())
    }

    /// Returns the number of sessions.
    pub fn sessions(&self) -> usize {
        self.sessions.count()
    }

    async fn answer<B>(&self, request: Request<B>) -> Answered
    where
        B: Body + Send + 'static,
        B::Error: Display,
    {
        let Some(identity) = request.extensions().get::<Identity>().cloned() else {
            return refused(&token::unauthorized().into());
        };
        if let Some(session) = header(request.headers(), SESSION)
            && !self.sessions.admits(session, &identity)
        {
            // Other callers must not learn that the session exists.
            return plain(StatusCode::NOT_FOUND, "Not Found: Session not found");
        }
        let tools = match chosen(request.uri().query().unwrap_or_default()) {
            Ok(tools) => tools,
            Err(refusal) => return refused(&refusal.into()),
        };
        let start = if header(request.headers(), METHOD) == Some("subscriptions/listen") {
            match Start::of(&self.house, &identity).await {
                Ok(start) => Some(Arc::new(start)),
                Err(error) => return refused(&error),
            }
        } else {
            None
        };
        let scope = Scope {
            identity,
            tools,
            start,
            ended: self.stop.child_token(),
        };
        REQUEST.scope(scope, self.inner.handle(request)).await
    }
}

impl<B> tower_service::Service<Request<B>> for HttpService
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Display,
{
    type Response = Answered;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answered, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move { Ok(service.answer(request).await) })
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Parses the tool groups selected in the URL: `?tools=tasks,boards`.
fn chosen(query: &str) -> Result<Toolset, Refusal> {
    let groups = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("tools="));
    let groups = percent_decode_str(groups.unwrap_or_default()).decode_utf8();
    let groups = groups.map_err(|_| {
        Refusal::new(
            Code::InvalidInput,
            "The groups of tools in the address are not UTF-8.",
            "name groups of tools such as ?tools=tasks,boards",
        )
    })?;
    Toolset::of(groups.split(','))
}

fn plain(status: StatusCode, text: &'static str) -> Answered {
    let mut answer = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *answer.status_mut() = status;
    answer
}

/// Returns the response to a request that was not admitted.
fn refused(error: &OpError) -> Answered {
    let told = Answer::refused(error, false);
    let mut answer = Response::new(Full::new(Bytes::from(told.document.to_string())).boxed());
    *answer.status_mut() = match error.kind() {
        Kind::Forbidden if error.code() == Code::Unauthorized => StatusCode::UNAUTHORIZED,
        Kind::Forbidden => StatusCode::FORBIDDEN,
        Kind::Invalid => StatusCode::BAD_REQUEST,
        Kind::NotFound => StatusCode::NOT_FOUND,
        Kind::Conflict => StatusCode::CONFLICT,
        Kind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    if error.code() == Code::Unauthorized {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer
}
