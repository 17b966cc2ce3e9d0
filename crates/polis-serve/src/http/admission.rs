//! What every request passes before anything else happens: is it for us, does it come from a page that
//! may ask, whose token is it, and has it not asked too often.
//!
//! The order matters: what costs nothing is asked first, a body is not touched before its sender is
//! known, and whoever is refused learns nothing but the reason.

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

/// How many addresses with wrong tokens are remembered.
const ADDRESSES: usize = 10_000;
/// How many tokens are remembered.
const TOKENS: usize = 100_000;
/// What a page may send.
const CORS_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE");
const CORS_HEADERS: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, X-Request-Id, \
     Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name",
);
/// What a page may read of an answer's head.
const CORS_EXPOSED: HeaderValue = HeaderValue::from_static(
    "ETag, Link, Location, Retry-After, Idempotency-Replayed, X-Request-Id, Mcp-Session-Id",
);
const CORS_AGE: HeaderValue = HeaderValue::from_static("600");

/// Who is at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Its address; none on a Unix socket.
    pub remote: Option<IpAddr>,
    /// The address it came to.
    pub local: Option<IpAddr>,
    /// Whether the connection is encrypted.
    pub secure: bool,
}

impl Peer {
    /// Whether it is on this machine.
    pub(crate) fn is_here(&self) -> bool {
        self.remote
            .is_none_or(|address| address.to_canonical().is_loopback())
    }

    fn scheme(&self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    /// What wrong tokens are counted by: an address, or what one customer of a provider has of them.
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

/// The gate of a server.
#[derive(Debug)]
pub(crate) struct Gate {
    names: Names,
    tokens: Buckets<String>,
    failures: Buckets<IpAddr>,
    pages: bool,
}

/// What the gate makes of a request.
#[derive(Debug)]
pub(crate) enum Passed {
    /// It goes on, as this caller; nobody in particular for the health of the server.
    On(Option<Identity>),
    /// It is a browser's question before the request, and this is the answer.
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

    /// Refuses what is not addressed to us, or comes from a page that may not ask. Answers the origin to
    /// be named in the answer, if it is a listed one.
    pub(crate) fn check_names(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        peer: &Peer,
    ) -> Result<Option<HeaderValue>, Refusal> {
        let host = host_of(headers)?;
        let authority = uri.authority().map(http::uri::Authority::as_str);
        // A proxy's form of address counts before the header (RFC 9112, 3.2.2); both have to be ours.
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

    /// Who asks, or why it may not.
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
            // Pages are behind a session, which is theirs to ask for.
            if self.pages && is_page(request.uri.path()) {
                return Ok(Passed::On(None));
            }
            return Err(unauthorized().into());
        };
        // What is not even a token's shape guesses at nothing: it is neither looked up nor counted.
        let Some(secret) = Secret::parse(bearer) else {
            return Err(unauthorized().into());
        };
        self.may_try(ground, &secret, peer)?;
        let admitted = match op::admit(&ground.polis, bearer).await {
            // A browser's session counts for pages, which look at it themselves.
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

    /// Refuses to look at another token from an address that sent too many wrong ones. Tokens that were
    /// good a moment ago are still looked at: one who errs does not shut others out.
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

/// Whether an address is a page's: everything that is not for programs.
pub fn is_page(path: &str) -> bool {
    let first = path.split('/').nth(1).unwrap_or_default();
    !matches!(first, "v1" | "mcp" | "metrics" | "healthz" | "readyz")
}

/// The one Host of a request.
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

/// The token of a request. What is no bearer token is as good as none.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (first, second) = (given.next()?, given.next());
    let text = first.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && second.is_none() => {
            Some(token.trim_start_matches(' '))
        }
        // Something was sent, so nobody is let in as nobody in particular.
        _ => Some(""),
    }
}

/// Names a listed origin in an answer.
pub(crate) fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, CORS_EXPOSED);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

/// The answer to a browser's question before a request.
pub(crate) fn preflight() -> Response<axum::body::Body> {
    let mut answer = Response::new(axum::body::Body::empty());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, CORS_METHODS);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, CORS_HEADERS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, CORS_AGE);
    answer
}
