//! Request admission, the middleware in front of every route: checks Host and Origin (CORS), authenticates
//! the bearer token and applies the rate limits: of requests by token, and of wrong tokens by address.
//!
//! The order matters: the cheapest checks come first, a body is not read before its sender is authenticated,
//! and a refused client learns only the reason of the refusal. Without a token, only health checks from this
//! machine and web pages are admitted; web pages check their own session.

pub(super) mod cors;
pub mod host_allow_list;
pub mod rate_limit;

use std::net::IpAddr;
use std::time::Duration;

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::{HeaderMap, HeaderValue, Method, Uri};
use polis_core::token::{TokenSecret, unauthorized_refusal};
use polis_core::{Refusal, RefusalCode};
use polis_ops::op;

use super::options::ServerOptions;
use super::problem::HttpProblem;
use super::server_state::ServerState;
use crate::caller_identity::{CallerIdentity, CallerRegistryEntry};
use crate::refusal_tables::HttpRefusal;
use host_allow_list::{HostAllowList, OriginClass};
use rate_limit::{KeyedRateLimiter, RateQuota};

/// Maximum number of addresses with failed authentication that are tracked.
const MAX_TRACKED_ADDRESSES: usize = 10_000;
/// Maximum number of tokens that are tracked for the rate limit.
const MAX_TRACKED_TOKENS: usize = 100_000;
/// Peer of a connection: remote and local address, and whether TLS is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionPeer {
    /// Remote address; `None` on a Unix socket.
    pub remote: Option<IpAddr>,
    /// Local address the peer connected to.
    pub local: Option<IpAddr>,
    /// Whether the connection uses TLS.
    pub is_tls: bool,
}

impl ConnectionPeer {
    /// Returns whether the peer is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.remote
            .is_none_or(|address| address.to_canonical().is_loopback())
    }

    fn scheme(&self) -> &'static str {
        if self.is_tls { "https" } else { "http" }
    }

    /// Returns the address by which failed authentications are counted. For IPv6 it is the /64 prefix, which
    /// is what one customer of a provider usually has.
    pub fn rate_limit_address(&self) -> IpAddr {
        match self.remote.map(|address| address.to_canonical()) {
            Some(IpAddr::V6(address)) => {
                let prefix = address.to_bits() & (u128::MAX << 64);
                IpAddr::V6(prefix.into())
            }
            Some(address) => address,
            None => IpAddr::from([127, 0, 0, 1]),
        }
    }
}

/// Admission checks of a server.
#[derive(Debug)]
pub(crate) struct RequestAdmission {
    allow_list: HostAllowList,
    token_limiter: KeyedRateLimiter<String>,
    failure_limiter: KeyedRateLimiter<IpAddr>,
    serves_web_pages: bool,
}

impl RequestAdmission {
    pub(crate) fn new(options: &ServerOptions) -> Self {
        let second = Duration::from_secs(1);
        let minute = Duration::from_secs(60);
        Self {
            allow_list: HostAllowList::new(&options.hosts, &options.origins),
            serves_web_pages: options.serves_web_pages,
            token_limiter: KeyedRateLimiter::new(
                RateQuota::new(options.requests_per_second, second, options.burst),
                MAX_TRACKED_TOKENS,
            ),
            failure_limiter: KeyedRateLimiter::new(
                RateQuota::new(
                    options.auth_failures_per_minute,
                    minute,
                    options.auth_failures_per_minute,
                ),
                MAX_TRACKED_ADDRESSES,
            ),
        }
    }

    /// Fails with `OriginForbidden` if Host is not one of our names or Origin is not allowed. Returns the
    /// origin to name in the CORS response headers if it is a configured one.
    pub(crate) fn check_host_and_origin(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        peer: &ConnectionPeer,
    ) -> Result<Option<HeaderValue>, Refusal> {
        let host = host_header(headers)?;
        let authority = uri.authority().map(http::uri::Authority::as_str);
        // An absolute-form request target takes precedence over Host (RFC 9112, 3.2.2); both have to be ours.
        for name in authority.into_iter().chain([host]) {
            if !self.allow_list.allows_host(name, peer.local) {
                return Err(Refusal::from(HttpRefusal::HostForbidden));
            }
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let (first, second) = (origins.next(), origins.next());
        let Some(origin) = first else {
            return Ok(None);
        };
        let text = origin.to_str().ok().filter(|_| second.is_none());
        let host = authority.unwrap_or(host);
        match text.map(|text| self.allow_list.classify_origin(text, peer.scheme(), host)) {
            Some(OriginClass::Same) => Ok(None),
            Some(OriginClass::Listed) => Ok(Some(origin.clone())),
            Some(OriginClass::Foreign) | None => Err(Refusal::from(HttpRefusal::OriginForbidden)),
        }
    }

    /// Authenticates the caller and applies the rate limits. Returns the caller; `None` for anonymous health
    /// checks and web pages. Fails with `Unauthorized` or `RateLimited`.
    pub(crate) async fn admit(
        &self,
        state: &ServerState,
        request: &http::request::Parts,
        peer: &ConnectionPeer,
    ) -> Result<Option<CallerIdentity>, HttpProblem> {
        let headers = &request.headers;
        let bearer = bearer_token(headers);
        let about_health = matches!(request.uri.path(), "/healthz" | "/readyz")
            && matches!(request.method, Method::GET | Method::HEAD);
        let Some(bearer) = bearer else {
            if about_health && peer.is_local() {
                return Ok(None);
            }
            // Web pages authenticate with their own session.
            if self.serves_web_pages && is_web_page_path(request.uri.path()) {
                return Ok(None);
            }
            return Err(unauthorized_refusal().into());
        };
        // Text that does not have the form of a token is no guess at one: it is neither looked up nor
        // counted.
        let Some(secret) = TokenSecret::parse(bearer) else {
            return Err(unauthorized_refusal().into());
        };
        self.check_failure_limit(state, &secret, peer)?;
        let admitted = match op::authenticate_token(&state.app, bearer).await {
            // A browser session is valid only for web pages, which check it themselves.
            Ok(admitted) if admitted.is_session => return Err(self.count_failure(state, peer)),
            Ok(admitted) => admitted,
            Err(error) if error.code() == RefusalCode::UNAUTHORIZED => {
                return Err(self.count_failure(state, peer));
            }
            Err(error) => return Err(error.into()),
        };
        let acquired = self
            .token_limiter
            .try_acquire(admitted.token_id.as_str(), state.nanos_since_start());
        acquired.map_err(|wait| {
            let refusal = Refusal::from(HttpRefusal::TokenRateLimited);
            HttpProblem::from(refusal).with_retry_after(wait)
        })?;
        Ok(Some(CallerIdentity {
            agent: admitted.agent,
            scopes: admitted.scopes,
            token: Some(admitted.token_id),
            registry_entry: CallerRegistryEntry::Loaded(Box::new(admitted.entry)),
            session: None,
        }))
    }

    /// Fails with `RateLimited` if too many wrong tokens came from this address. Tokens that were valid
    /// recently are still checked: one faulty client must not lock out others behind the same address.
    fn check_failure_limit(
        &self,
        state: &ServerState,
        secret: &TokenSecret,
        peer: &ConnectionPeer,
    ) -> Result<(), HttpProblem> {
        let wait = self
            .failure_limiter
            .retry_after(&peer.rate_limit_address(), state.nanos_since_start());
        match wait {
            None => Ok(()),
            Some(_) if self.token_limiter.has_bucket(secret.id.as_str()) => Ok(()),
            Some(wait) => Err(too_many_auth_failures(wait)),
        }
    }

    /// Counts a wrong token against its address and returns the problem to send.
    fn count_failure(&self, state: &ServerState, peer: &ConnectionPeer) -> HttpProblem {
        match self
            .failure_limiter
            .try_acquire(&peer.rate_limit_address(), state.nanos_since_start())
        {
            Ok(()) => unauthorized_refusal().into(),
            Err(wait) => too_many_auth_failures(wait),
        }
    }
}

fn too_many_auth_failures(wait: Duration) -> HttpProblem {
    let refusal = Refusal::from(HttpRefusal::AddressRateLimited);
    HttpProblem::from(refusal).with_retry_after(wait)
}

/// Returns whether a path belongs to the web interface: everything except the API paths.
pub fn is_web_page_path(path: &str) -> bool {
    let first = path.split('/').nth(1).unwrap_or_default();
    !matches!(first, "v1" | "mcp" | "metrics" | "healthz" | "readyz")
}

/// Returns the Host of a request. Fails with `InvalidInput` if there is not exactly one.
fn host_header(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next().map(HeaderValue::to_str), hosts.next()) {
        (Some(Ok(host)), None) => Ok(host),
        _ => Err(Refusal::from(HttpRefusal::HostMissing)),
    }
}

/// Returns the bearer token of a request; `None` without an Authorization header, and an empty text if that
/// header is not a single bearer token.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (first, second) = (values.next()?, values.next());
    let text = first.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") && second.is_none() => {
            Some(token.trim_start_matches(' '))
        }
        // A malformed Authorization header must not fall back to anonymous access.
        _ => Some(""),
    }
}
