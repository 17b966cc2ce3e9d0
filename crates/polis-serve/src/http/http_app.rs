//! HTTP application without sockets: the middleware chain around the router.
//!
//! Takes a request through request id, access log, the checks of `admission`, CORS, the concurrency limit,
//! authentication, routing and panic handling, and returns the response.

use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::routing::any;
use http::header::{ALLOW, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use polis_core::Refusal;
use polis_core::number::saturating_cast;
use polis_ops::{App, OpError, PortError};
use tokio::sync::Semaphore;
use tower::{Layer as _, ServiceExt as _, service_fn};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::CorsLayer;
use tower_http::request_id::{MakeRequestUuid, PropagateRequestId, RequestId, SetRequestId};

use super::admission::cors;
use super::admission::{ConnectionPeer, RequestAdmission};
use super::builtin_routes::{BuiltinEndpoint, BuiltinRoute};
use super::options::ServerOptions;
use super::problem::{HttpProblem, LoggedError};
use super::request::body;
use super::request::request_id::remove_invalid_request_id;
use super::request_language::{in_language, preferred_language};
use super::response;
use super::route::ROUTES;
use super::route_endpoint::{RouteEndpoint, RouteHandler};
use super::server::background_services::MCP_PATH;
use super::server_state::{GracefulShutdown, ServerState};
use crate::metrics::{GaugeGuard, ServerMetrics};
use crate::refusal_tables::HttpRefusal;

/// Long-polling and long-running paths: they are never logged as slow.
const SLOW_LOG_EXEMPT_PATHS: [&str; 3] = ["/v1/commands", "/v1/messages/check", MCP_PATH];

/// The API of a server, without its sockets.
#[derive(Debug)]
pub struct HttpApp {
    state: Arc<ServerState>,
    admission: RequestAdmission,
    router: Router,
    cors: CorsLayer,
    request_permits: Semaphore,
}

impl HttpApp {
    /// Creates the API over a store, without additional routes. Fails with `tool_not_found` if the tool of a
    /// route does not exist.
    pub fn new(app: App, options: ServerOptions) -> Result<Self, Refusal> {
        Self::with_routes(app, options, |router, _| router)
    }

    /// Like `new`, with additional routes. They are behind the same admission checks and find the
    /// authenticated caller in the request's extensions ([`crate::CallerIdentity`]). Fails like `new`.
    pub fn with_routes(
        app: App,
        options: ServerOptions,
        mount: impl FnOnce(Router, &Arc<ServerMetrics>) -> Router,
    ) -> Result<Self, Refusal> {
        let admission = RequestAdmission::new(&options);
        let request_permits = Semaphore::new(options.max_requests.min(Semaphore::MAX_PERMITS));
        let state = Arc::new(ServerState::new(app, options));
        let panicked_state = Arc::clone(&state);
        let panic_response = move |_: Box<dyn Any + Send>| {
            response::problem_response(&panicked_state, &panic_problem())
        };
        let router = mount(build_router(&state)?, &state.metrics)
            .layer(CatchPanicLayer::custom(panic_response));
        Ok(Self {
            admission,
            router,
            cors: cors::cors_layer(),
            request_permits,
            state,
        })
    }

    /// Returns the settings of the server.
    pub(crate) fn options(&self) -> &ServerOptions {
        &self.state.options
    }

    /// Returns the metrics of the server.
    pub fn metrics(&self) -> &ServerMetrics {
        &self.state.metrics
    }

    /// Returns the shutdown signals of the server.
    pub fn shutdown(&self) -> &GracefulShutdown {
        &self.state.shutdown
    }

    /// Handles a request: assigns its id, runs it, counts and logs the response.
    pub async fn handle<B>(&self, peer: &ConnectionPeer, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let mut request = request.map(Body::new);
        remove_invalid_request_id(request.headers_mut());
        let logged = service_fn(|request| self.handle_logged(peer, request));
        let with_id = PropagateRequestId::x_request_id(logged);
        let service = SetRequestId::x_request_id(with_id, MakeRequestUuid);
        let Ok(answer) = service.oneshot(request).await;
        answer
    }

    /// Runs a request, counts and logs the response.
    async fn handle_logged(
        &self,
        peer: &ConnectionPeer,
        request: Request<Body>,
    ) -> Result<Response<Body>, Infallible> {
        let start = Instant::now();
        let metrics = &self.state.metrics;
        let _guard = GaugeGuard::new(&metrics.in_flight);
        let logged_request = LoggedRequest::from_request(&request);
        let lang = preferred_language(request.headers());
        let routed = in_language(lang, self.check_origin_and_route(peer, request));
        let Ok(mut answer) = routed.await;
        metrics.count_response(answer.status().as_u16());
        let extensions = answer.extensions_mut();
        let (error, caller) = (extensions.remove::<LoggedError>(), extensions.remove());
        self.log_request(&AccessLogEntry {
            request: &logged_request,
            caller: caller.as_ref(),
            peer,
            status: answer.status(),
            duration: start.elapsed(),
            error: error.as_ref(),
        });
        Ok(answer)
    }

    /// Checks Host and Origin before anything else. A request from an allowed origin passes the CORS layer.
    async fn check_origin_and_route(
        &self,
        peer: &ConnectionPeer,
        request: Request<Body>,
    ) -> Result<Response<Body>, Infallible> {
        let checked = self
            .admission
            .check_host_and_origin(request.uri(), request.headers(), peer);
        let is_preflight = cors::is_preflight(&request);
        match checked {
            Err(refusal) => Ok(self.refuse_request(&refusal.into())),
            // The layer would answer every OPTIONS request as if it were a preflight request.
            Ok(Some(_)) if is_preflight || request.method() != Method::OPTIONS => {
                let admitted = service_fn(|request| self.admit_and_route(peer, request));
                let mut answer = self.cors.layer(admitted).oneshot(request).await?;
                if is_preflight {
                    *answer.status_mut() = StatusCode::NO_CONTENT;
                }
                Ok(answer)
            }
            Ok(_) => self.admit_and_route(peer, request).await,
        }
    }

    /// Applies the concurrency limit, authenticates the caller and routes the request.
    async fn admit_and_route(
        &self,
        peer: &ConnectionPeer,
        request: Request<Body>,
    ) -> Result<Response<Body>, Infallible> {
        let (mut parts, body) = request.into_parts();
        // A server at its concurrency limit is still alive, so the health check is exempt.
        let permit = self.request_permits.try_acquire();
        if permit.is_err() && parts.uri.path() != "/healthz" {
            return Ok(self.refuse_request(&overload_problem()));
        }
        let identity = match self.admission.admit(&self.state, &parts, peer).await {
            Ok(identity) => identity,
            Err(problem) => return Ok(self.refuse_request(&problem)),
        };
        let caller = identity
            .as_ref()
            .filter(|_| self.logs_caller_names())
            .map(|identity| LoggedCaller {
                agent: identity.agent.to_string(),
                token: identity.token.clone().unwrap_or_default(),
            });
        if let Some(identity) = identity {
            parts.extensions.insert(identity);
        }
        parts.extensions.insert(*peer);
        let mut answer = match self.limit_body(&parts, body).await {
            Ok(body) => self.route_request(Request::from_parts(parts, body)).await?,
            Err(refusal) => self.refuse_request(&refusal.into()),
        };
        if let Some(caller) = caller {
            answer.extensions_mut().insert(caller);
        }
        Ok(answer)
    }

    /// Reads the body of a request to the MCP service, which reads bodies in its own time, so that the limits of
    /// requests apply. All other routes do this themselves.
    async fn limit_body(&self, parts: &Parts, body: Body) -> Result<Body, Refusal> {
        if parts.uri.path() != MCP_PATH {
            return Ok(body);
        }
        let options = &self.state.options;
        let bytes = body::read_body(body, options.max_body_bytes, options.body_timeout).await?;
        Ok(Body::from(bytes))
    }

    async fn route_request(&self, request: Request<Body>) -> Result<Response<Body>, Infallible> {
        let answer = self.router.clone().oneshot(request).await?;
        // Mounted routes may leave this status to the router, whose 405 response has no body.
        if answer.status() == StatusCode::METHOD_NOT_ALLOWED
            && !answer.headers().contains_key(CONTENT_TYPE)
        {
            let allow = answer.headers().get(ALLOW).cloned();
            let allow = allow.unwrap_or(HeaderValue::from_static(""));
            let problem = HttpProblem::method_not_allowed(&allow);
            return Ok(response::problem_response(&self.state, &problem));
        }
        Ok(answer)
    }

    /// Returns the response to a request that is not admitted, and counts it.
    fn refuse_request(&self, problem: &HttpProblem) -> Response<Body> {
        self.state.metrics.count_refused_request(problem.code());
        response::problem_response(&self.state, problem)
    }

    /// Returns whether the access log needs the caller's name.
    fn logs_caller_names(&self) -> bool {
        self.state.options.access_log
    }

    fn log_request(&self, line: &AccessLogEntry<'_>) {
        let options = &self.state.options;
        let failed = line.status.is_server_error();
        let slow = line.duration >= options.slow_threshold
            && !SLOW_LOG_EXEMPT_PATHS.contains(&line.request.uri.path());
        if options.access_log {
            line.log_info();
        } else if failed || slow {
            line.log_warning(slow);
        }
    }
}

fn build_router(state: &Arc<ServerState>) -> Result<Router, Refusal> {
    let mut router = Router::new();
    let mut done: Vec<&str> = Vec::new();
    for route in ROUTES {
        if done.contains(&route.path) {
            continue;
        }
        done.push(route.path);
        let methods = ROUTES.iter().filter(|other| other.path == route.path);
        let served = methods
            .map(|route| RouteHandler::new(route, state))
            .collect::<Result<Vec<_>, _>>()?;
        let endpoint = RouteEndpoint::new(Arc::clone(state), served);
        let handler = move |request: Request<Body>| endpoint.handle(request);
        router = router.route(route.path, any(handler));
    }
    for (path, builtin) in BuiltinRoute::ALL {
        let endpoint = BuiltinEndpoint {
            state: Arc::clone(state),
            route: builtin,
        };
        let handler = move |request: Request<Body>| endpoint.handle(request);
        router = router.route(path, any(handler));
    }
    let state = Arc::clone(state);
    let not_found = move || {
        std::future::ready(response::problem_response(
            &state,
            &HttpProblem::route_not_found(),
        ))
    };
    Ok(router.fallback(not_found))
}

fn panic_problem() -> HttpProblem {
    OpError::from(PortError::internal("The request", "it panicked")).into()
}

fn overload_problem() -> HttpProblem {
    let refusal = Refusal::from(HttpRefusal::TooManyRequests);
    HttpProblem::from(refusal).with_retry_after(Duration::from_secs(1))
}

/// Request data for the access log: never the query, which may contain secrets, nor the body.
struct LoggedRequest {
    id: Option<RequestId>,
    method: Method,
    uri: http::Uri,
}

impl LoggedRequest {
    fn from_request<B>(request: &Request<B>) -> Self {
        Self {
            id: request.extensions().get().cloned(),
            method: request.method().clone(),
            uri: request.uri().clone(),
        }
    }
}

/// Caller of a request, for the access log: passed on in the extensions of the response.
#[derive(Debug, Clone)]
struct LoggedCaller {
    agent: String,
    token: String,
}

/// One entry of the access log.
struct AccessLogEntry<'a> {
    request: &'a LoggedRequest,
    caller: Option<&'a LoggedCaller>,
    peer: &'a ConnectionPeer,
    status: StatusCode,
    duration: Duration,
    error: Option<&'a LoggedError>,
}

impl AccessLogEntry<'_> {
    fn request_id_text(&self) -> &str {
        let id = self.request.id.as_ref();
        id.and_then(|id| id.header_value().to_str().ok())
            .unwrap_or("-")
    }

    fn log_info(&self) {
        let remote = self.peer.remote.map(|address| address.to_string());
        tracing::info!(
            target: "polis::access",
            id = self.request_id_text(),
            remote = remote.as_deref().unwrap_or("unix"),
            agent = self.caller.map(|caller| caller.agent.as_str()),
            token = self.caller.map(|caller| caller.token.as_str()),
            method = self.request.method.as_str(),
            path = self.request.uri.path(),
            status = self.status.as_u16(),
            code = self.error.map(|logged| logged.code.as_str()),
            cause = self.error.and_then(|logged| logged.error_chain.as_deref()),
            us = saturating_cast::<u64>(self.duration.as_micros()),
            "request"
        );
    }

    fn log_warning(&self, slow: bool) {
        tracing::warn!(
            target: "polis::access",
            id = self.request_id_text(),
            method = self.request.method.as_str(),
            path = self.request.uri.path(),
            status = self.status.as_u16(),
            code = self.error.map(|logged| logged.code.as_str()),
            cause = self.error.and_then(|logged| logged.error_chain.as_deref()),
            us = saturating_cast::<u64>(self.duration.as_micros()),
            "{}",
            if slow { "slow request" } else { "failed request" }
        );
    }
}
