//! Request admission: checks Host and Origin (CORS), authenticates the bearer token and applies the rate
//! limit.
//!
//! The order matters: the cheapest checks come first, a body is not read before its sender is authenticated,
//! and a refused client learns only the reason of the refusal.

use std::net::IpAddr;
use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    AUTHORIZATION, HOST, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri};
use polis_core::token::{Secret, unauthorized};
use polis_core::{Code, Refusal};
use polis_ops::op;

use super::host::{Names, OriginIs};
use super::options::Options;
use super::problem::Problem;
use super::rate_limit::{Buckets, Quota};
use super::server_state::Ground;
use crate::identity::{Entry, Identity};

/// Maximum number of addresses with failed authentication that are tracked.
const ADDRESSES: usize = 10_000;
/// Maximum number of tokens that are tracked for the rate limit.
const TOKENS: usize = 100_000;
/// Methods and request headers allowed for cross-origin requests (CORS).
const CORS_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
const CORS_HEADERS: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, X-Request-Id, \
     Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name",
);
/// Response headers readable by cross-origin pages (CORS).
const CORS_EXPOSED: HeaderValue = HeaderValue::from_static(
    "ETag, Link, Location, Retry-After, Idempotency-Replayed, X-Request-Id, Mcp-Session-Id",
);
const CORS_AGE: HeaderValue = HeaderValue::from_static("600");

/// The peer of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Remote address; `None` on a Unix socket.
    pub remote: Option<IpAddr>,
    /// Local address the peer connected to.
    pub local: Option<IpAddr>,
    /// Whether the connection uses TLS.
    pub secure: bool,
}

impl Peer {
    /// Returns whether the peer is on this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.remote
            .is_none_or(|address| address.to_canonical().is_loopback())
    }

    fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// Returns the address by which failed authentications are counted. For IPv6 it is the /64 prefix, which
    /// is what one customer of a provider usually has.
    pub fn counted(&self) -> IpAddr {
        match self.remote.map(|address| address.to_canonical()) {
            Some(IpAddr::V6(address)) => {
                let own = address.to_bits() & (u128::MAX << 64);
                IpAddr::V6(own.into())
            }
            Some(address) => address,
            None => IpAddr::from([127, 0, 0, 1]),
        }
    }
}

/// Admission checks of a server.
#[derive(Debug)]
pub(crate) struct Gate {
    names: Names,
    tokens: Buckets<String>,
    failures: Buckets<IpAddr>,
    pages: bool,
}

/// Result of admission.
#[derive(Debug)]
pub(crate) enum Passed {
    /// Admitted as this caller; `None` for anonymous health checks and web pages.
    On(Option<Identity>),
    /// A CORS preflight request, to be answered directly.
    Preflight,
}

impl Gate {
    pub(crate) fn new(options: &Options) -> Self {
        let second = Duration::from_secs(1);
        let minute = Duration::from_secs(60);
        Self {
            names: Names::new(&options.hosts, &options.origins),
            pages: options.pages,
            tokens: Buckets::new(Quota::new(options.rate, second, options.burst), TOKENS),
            failures: Buckets::new(
                Quota::new(options.failures, minute, options.failures),
                ADDRESSES,
            ),
        }
    }

    /// Fails with `OriginForbidden` if Host is not one of our names or Origin is not allowed. Returns the
    /// origin to name in the CORS response headers if it is a configured one.
    pub(crate) fn check_names(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        peer: &Peer,
    ) -> Result<Option<HeaderValue>, Refusal> {
        let host = host_of(headers)?;
        let authority = uri.authority().map(http::uri::Authority::as_str);
        // An absolute-form request target takes precedence over Host (RFC 9112, 3.2.2); both have to be ours.
        for name in authority.into_iter().chain([host]) {
            if !self.names.knows(name, peer.local) {
                return Err(Refusal::new(
                    Code::OriginForbidden,
                    "This server does not go by that name.",
                    "use localhost or the address it listens on, or have the name listed in [serve] hosts",
                ));
            }
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let (first, second) = (origins.next(), origins.next());
        let Some(origin) = first else {
            return Ok(None);
        };
        let text = origin.to_str().ok().filter(|_| second.is_none());
        let host = authority.unwrap_or(host);
        match text.map(|text| self.names.origin(text, peer.scheme(), host)) {
            Some(OriginIs::Same) => Ok(None),
            Some(OriginIs::Listed) => Ok(Some(origin.clone())),
            Some(OriginIs::Foreign) | None => Err(Refusal::new(
                Code::OriginForbidden,
                "Pages of this origin may not ask this server.",
                "have the origin listed in [serve] origins",
            )),
        }
    }

    /// Authenticates the caller and applies the rate limit.
    pub(crate) async fn pass(
        &self,
        ground: &Ground,
        request: &http::request::Parts,
        peer: &Peer,
        listed_origin: bool,
    ) -> Result<Passed, Problem> {
        let headers = &request.headers;
        if listed_origin
            && request.method == Method::OPTIONS
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
        {
            return Ok(Passed::Preflight);
        }
        let bearer = bearer(headers);
        let about_health = matches!(request.uri.path(), "/healthz" | "/readyz")
            && matches!(request.method, Method::GET | Method::HEAD);
        let Some(bearer) = bearer else {
            if about_health && peer.is_here() {
                return Ok(Passed::On(None));
            }
            // Web pages authenticate with their own session.
            if self.pages && is_page(request.uri.path()) {
                return Ok(Passed::On(None));
            }
            return Err(unauthorized().into());
        };
        // Text that does not have the form of a token is no guess at one: it is neither looked up nor
        // counted.
        let Some(secret) = Secret::parse(bearer) else {
            return Err(unauthorized().into());
        };
        self.may_try(ground, &secret, peer)?;
        let admitted = match op::admit(&ground.polis, bearer).await {
            // A browser session is valid only for web pages, which check it themselves.
            Ok(admitted) if admitted.session => return Err(self.failed(ground, peer)),
            Ok(admitted) => admitted,
            Err(error) if error.code() == Code::Unauthorized => {
                return Err(self.failed(ground, peer));
            }
            Err(error) => return Err(error.into()),
        };
        let taken = self.tokens.take(admitted.token.as_str(), ground.clock());
        taken.map_err(|wait| {
            let refusal = Refusal::new(
                Code::RateLimited,
                "This token sends more requests than it may.",
                "send fewer; the person who runs polis may set [serve] rate and burst",
            );
            Problem::from(refusal).after(wait)
        })?;
        Ok(Passed::On(Some(Identity {
            agent: admitted.agent,
            scopes: admitted.scopes,
            token: Some(admitted.token),
            entry: Entry::Known(Box::new(admitted.entry)),
        })))
    }

    /// Fails with `RateLimited` if too many wrong tokens came from this address. Tokens that were valid
    /// recently are still checked: one faulty client must not lock out others behind the same address.
    fn may_try(&self, ground: &Ground, secret: &Secret, peer: &Peer) -> Result<(), Problem> {
        let wait = self.failures.is_empty(&peer.counted(), ground.clock());
        match wait {
            None => Ok(()),
            Some(_) if self.tokens.knows(secret.id.as_str()) => Ok(()),
            Some(wait) => Err(too_many_wrong(wait)),
        }
    }

    /// Counts a wrong token.
    fn failed(&self, ground: &Ground, peer: &Peer) -> Problem {
        match self.failures.take(&peer.counted(), ground.clock()) {
            Ok(()) => unauthorized().into(),
            Err(wait) => too_many_wrong(wait),
        }
    }
}

fn too_many_wrong(wait: Duration) -> Problem {
    let refusal = Refusal::new(
        Code::RateLimited,
        "Too many requests without a valid token came from this address.",
        "send `Authorization: Bearer TOKEN` with a token that counts",
    );
    Problem::from(refusal).after(wait)
}

/// Returns whether a path belongs to the web interface: everything except the API paths.
pub fn is_page(path: &str) -> bool {
    let first = path.split('/').nth(1).unwrap_or_default();
    !matches!(first, "v1" | "mcp" | "metrics" | "healthz" | "readyz")
}

/// Returns the Host of a request. Fails with `InvalidInput` if there is not exactly one.
fn host_of(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next().map(HeaderValue::to_str), hosts.next()) {
        (Some(Ok(host)), None) => Ok(host),
        _ => Err(Refusal::new(
            Code::InvalidInput,
            "The request has no Host, or more than one.",
            "send exactly one Host header",
        )),
    }
}

/// Returns the bearer token of a request; `None` without an Authorization header, and an empty text if that
/// header is not a single bearer token.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (first, second) = (given.next()?, given.next());
    let text = first.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && second.is_none() => {
            Some(token.trim_start_matches(' '))
        }
        // A malformed Authorization header must not fall back to anonymous access.
        _ => Some(""),
    }
}

/// Adds the CORS headers for an allowed origin to a response.
pub(crate) fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, CORS_EXPOSED);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

/// Returns the response to a CORS preflight request.
pub(crate) fn preflight() -> Response<axum::body::Body> {
    let mut answer = Response::new(axum::body::Body::empty());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, CORS_METHODS);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, CORS_HEADERS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, CORS_AGE);
    answer
}
