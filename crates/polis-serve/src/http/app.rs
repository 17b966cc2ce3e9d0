//! HTTP application without sockets: takes a request through admission (`gate`), routing, panic handling,
//! CORS headers, metrics and the access log, and returns the response.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use polis_core::{Code, Refusal};
use polis_ops::{OpError, Polis, PortError};
use tokio::sync::Semaphore;
use tower_service::Service as _;

use super::admission::{self, Gate, Passed, Peer};
use super::background_services::MCP;
use super::body;
use super::builtin_routes::{Own, OwnEndpoint};
use super::endpoint::{Endpoint, Served};
use super::options::Options;
use super::problem::{Problem, Told};
use super::request_id::{RequestIds, X_REQUEST_ID};
use super::response;
use super::route::ROUTES;
use super::server_state::{Closing, Ground};
use crate::metrics::{Going, Metrics};

/// Long-polling and long-running paths: they are never logged as slow.
const PATIENT: [&str; 3] = ["/v1/commands", "/v1/messages/check", MCP];

/// The API of a server, without its sockets.
#[derive(Debug)]
pub struct App {
    ground: Arc<Ground>,
    gate: Gate,
    router: Router,
    ids: RequestIds,
    room: Semaphore,
}

impl App {
    /// Creates the API over a store.
    pub fn new(polis: Polis, options: Options) -> Result<Self, Refusal> {
        Self::with(polis, options, |router, _| router)
    }

    /// Like [`App::new`], with additional routes. They are behind the same admission checks and find the
    /// authenticated caller in the request's extensions ([`crate::Identity`]).
    pub fn with(
        polis: Polis,
        options: Options,
        mount: impl FnOnce(Router, &Arc<Metrics>) -> Router,
    ) -> Result<Self, Refusal> {
        let gate = Gate::new(&options);
        let ids = RequestIds::new(&polis.chance.token());
        let room = Semaphore::new(options.max_requests.min(Semaphore::MAX_PERMITS));
        let ground = Arc::new(Ground::new(polis, options));
        let router = mount(router(&ground)?, &ground.metrics);
        Ok(Self {
            gate,
            router,
            ids,
            room,
            ground,
        })
    }

    /// Returns its settings.
    pub(crate) fn options(&self) -> &Options {
        &self.ground.options
    }

    /// Returns its metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.ground.metrics
    }

    /// Returns its shutdown state.
    pub fn closing(&self) -> &Closing {
        &self.ground.closing
    }

    /// Handles a request.
    pub async fn answer<B>(&self, peer: &Peer, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let begun = Instant::now();
        let id = self.ids.of(request.headers());
        let metrics = &self.ground.metrics;
        let _going = Going::on(&metrics.in_flight);
        let seen = Seen::of(&request);
        let (mut answer, who) = self.within(peer, request).await;
        metrics.answered(answer.status().as_u16());
        let told = answer.extensions_mut().remove::<Told>();
        self.log(&Line {
            id: &id,
            seen: &seen,
            who: who.as_ref(),
            peer,
            status: answer.status(),
            took: begun.elapsed(),
            told: told.as_ref(),
        });
        answer.headers_mut().insert(X_REQUEST_ID, id);
        answer
    }

    /// Returns the response and, if the access log needs it, the caller.
    async fn within<B>(&self, peer: &Peer, request: Request<B>) -> (Response<Body>, Option<Who>)
    where
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        let refuse = |problem: Problem| {
            self.ground.metrics.refused(problem.code());
            response::refused(&self.ground, &problem)
        };
        let (mut parts, body) = request.into_parts();
        let origin = match self.gate.check_names(&parts.uri, &parts.headers, peer) {
            Ok(origin) => origin,
            Err(refusal) => return (refuse(refusal.into()), None),
        };
        let named = |mut answer: Response<Body>| {
            if let Some(origin) = origin.clone() {
                admission::allow_origin(answer.headers_mut(), origin);
            }
            answer
        };
        // A server at its concurrency limit is still alive, so the health check is exempt.
        let room = self.room.try_acquire();
        if room.is_err() && parts.uri.path() != "/healthz" {
            return (named(refuse(no_room())), None);
        }
        let passed = self.gate.pass(&self.ground, &parts, peer, origin.is_some());
        let identity = match passed.await {
            Ok(Passed::Preflight) => return (named(admission::preflight()), None),
            Ok(Passed::On(identity)) => identity,
            Err(problem) => return (named(refuse(problem)), None),
        };
        let who = identity
            .as_ref()
            .filter(|_| self.wants_names())
            .map(|identity| Who {
                agent: identity.agent.to_string(),
                token: identity.token.clone().unwrap_or_default(),
            });
        if let Some(identity) = identity {
            parts.extensions.insert(identity);
        }
        parts.extensions.insert(*peer);
        let mut body = Body::new(body);
        if parts.uri.path() == MCP {
            // The MCP service reads bodies in its own time; read the body here so that the request limits
            // apply.
            let options = &self.ground.options;
            match body::read(body, options.max_body, options.body_timeout).await {
                Ok(whole) => body = Body::from(whole),
                Err(refusal) => return (named(refuse(refusal.into())), who),
            }
        }
        let request = Request::from_parts(parts, body);
        let answered = caught(self.router.clone().call(request)).await;
        let mut answer = answered.unwrap_or_else(|| response::refused(&self.ground, &panicked()));
        // Mounted routes may leave this status to the router, whose 405 response has no body.
        if answer.status() == StatusCode::METHOD_NOT_ALLOWED
            && !answer.headers().contains_key(CONTENT_TYPE)
        {
            let allow = answer.headers().get(ALLOW).cloned();
            let allow = allow.unwrap_or(HeaderValue::from_static(""));
            answer = response::refused(&self.ground, &Problem::method(&allow));
        }
        (named(answer), who)
    }

    /// Returns whether the access log needs the caller's name.
    fn wants_names(&self) -> bool {
        self.ground.options.access_log
    }

    fn log(&self, line: &Line<'_>) {
        let options = &self.ground.options;
        let failed = line.status.is_server_error();
        let slow = line.took >= options.slow && !PATIENT.contains(&line.seen.uri.path());
        if options.access_log {
            line.write();
        } else if failed || slow {
            line.warn(slow);
        }
    }
}

fn router(ground: &Arc<Ground>) -> Result<Router, Refusal> {
    let mut router = Router::new();
    let mut done: Vec<&str> = Vec::new();
    for route in ROUTES {
        if done.contains(&route.path) {
            continue;
        }
        done.push(route.path);
        let methods = ROUTES.iter().filter(|other| other.path == route.path);
        let served = methods
            .map(|route| Served::new(route, ground))
            .collect::<Result<Vec<_>, _>>()?;
        router = router.route_service(route.path, Endpoint::new(Arc::clone(ground), served));
    }
    for (path, own) in Own::ALL {
        let ground = Arc::clone(ground);
        router = router.route_service(path, OwnEndpoint { ground, own });
    }
    let ground = Arc::clone(ground);
    let nothing = move || std::future::ready(response::refused(&ground, &Problem::no_route()));
    Ok(router.fallback(nothing))
}

/// Awaits a response. Returns `None` if the handler panicked.
async fn caught(
    answering: impl Future<Output = Result<Response<Body>, Infallible>>,
) -> Option<Response<Body>> {
    let mut answering = pin!(answering);
    std::future::poll_fn(|cx| {
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| answering.as_mut().poll(cx)));
        match polled {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(Ok(answer))) => Poll::Ready(Some(answer)),
            Ok(Poll::Ready(Err(never))) => match never {},
            Err(_) => Poll::Ready(None),
        }
    })
    .await
}

fn panicked() -> Problem {
    OpError::from(PortError::internal("The request", "it panicked")).into()
}

fn no_room() -> Problem {
    let refusal = Refusal::new(
        Code::StoreBusy,
        "The server has as many requests under way as it takes.",
        "wait a moment and send it again",
    );
    Problem::from(refusal).after(Duration::from_secs(1))
}

/// Request data for the access log: never the query, which may contain secrets, nor the body.
struct Seen {
    method: http::Method,
    uri: http::Uri,
}

impl Seen {
    fn of<B>(request: &Request<B>) -> Self {
        Self {
            method: request.method().clone(),
            uri: request.uri().clone(),
        }
    }
}

struct Who {
    agent: String,
    token: String,
}

/// An entry of the access log.
struct Line<'a> {
    id: &'a HeaderValue,
    seen: &'a Seen,
    who: Option<&'a Who>,
    peer: &'a Peer,
    status: StatusCode,
    took: Duration,
    told: Option<&'a Told>,
}

impl Line<'_> {
    fn id(&self) -> &str {
        self.id.to_str().unwrap_or("-")
    }

    fn write(&self) {
        let remote = self.peer.remote.map(|address| address.to_string());
        tracing::info!(
            target: "polis::access",
            id = self.id(),
            remote = remote.as_deref().unwrap_or("unix"),
            agent = self.who.map(|who| who.agent.as_str()),
            token = self.who.map(|who| who.token.as_str()),
            method = self.seen.method.as_str(),
            path = self.seen.uri.path(),
            status = self.status.as_u16(),
            code = self.told.map(|told| told.code.as_str()),
            cause = self.told.and_then(|told| told.causes.as_deref()),
            us = u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
            "request"
        );
    }

    fn warn(&self, slow: bool) {
        tracing::warn!(
            target: "polis::access",
            id = self.id(),
            method = self.seen.method.as_str(),
            path = self.seen.uri.path(),
            status = self.status.as_u16(),
            code = self.told.map(|told| told.code.as_str()),
            cause = self.told.and_then(|told| told.causes.as_deref()),
            us = u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
            "{}",
            if slow { "slow request" } else { "failed request" }
        );
    }
}
