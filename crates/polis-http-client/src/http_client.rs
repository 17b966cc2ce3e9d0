//! The client: its settings, its connection pool, and sending a request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body_util::Full;
use hyper_util::client::legacy;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::{Instant, sleep_until};

use crate::connector::TransportConnector;
use crate::post_response::{PostResponse, complete_before};
use crate::post_target::{InvalidUrlError, PostTarget};
use crate::proxy_settings::ProxySettings;
use crate::request_error::RequestError;
use crate::tls_roots::TlsRoots;

/// How long an idle connection is kept.
const IDLE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// Time without data after which an HTTP/2 connection with open requests is probed. All requests to an origin share
/// it, so a dead connection would otherwise fail each of them by its timeout.
const HTTP2_PING_INTERVAL: Duration = Duration::from_secs(30);
/// Timeout of such a probe.
const HTTP2_PING_TIMEOUT: Duration = Duration::from_secs(15);

/// Settings of a client.
#[derive(Debug, Clone)]
pub struct HttpClientSettings {
    /// The proxies to use.
    pub proxies: ProxySettings,
    /// The trusted certificates.
    pub tls_roots: Arc<TlsRoots>,
    /// Timeout for a connection, with proxy and TLS handshake.
    pub connect_timeout: Duration,
}

impl Default for HttpClientSettings {
    fn default() -> Self {
        Self {
            proxies: ProxySettings::default(),
            tls_roots: TlsRoots::system(),
            connect_timeout: Duration::from_secs(10),
        }
    }
}

/// Timeouts of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTimeouts {
    /// Timeout for the head of the response, from the start of the request.
    pub first_byte: Duration,
    /// Timeout between two chunks of the response body.
    pub chunk: Duration,
    /// Timeout for the whole request.
    pub total: Duration,
}

impl RequestTimeouts {
    /// Creates timeouts that limit only the whole request.
    pub fn total(total: Duration) -> Self {
        Self {
            first_byte: total,
            chunk: total,
            total,
        }
    }
}

/// HTTP client with a connection pool. Clones share the pool.
#[derive(Clone)]
pub struct HttpClient {
    pool: legacy::Client<TransportConnector, Full<Bytes>>,
    proxies: Arc<Matcher>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpClient")
    }
}

impl HttpClient {
    /// Creates a client. Opens no connection yet.
    pub fn new(settings: HttpClientSettings) -> Self {
        let proxies = Arc::new(settings.proxies.to_matcher());
        let connector = TransportConnector::new(
            Arc::clone(&proxies),
            settings.tls_roots,
            settings.connect_timeout,
        );
        let pool = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_CONNECTION_TIMEOUT)
            .http2_keep_alive_interval(HTTP2_PING_INTERVAL)
            .http2_keep_alive_timeout(HTTP2_PING_TIMEOUT)
            .build(connector);
        Self { pool, proxies }
    }

    /// Checks a URL, and returns it as a target with these headers. Headers that are missing are added: content type,
    /// user agent, and credentials of the URL and of its proxy. Fails if requests to this URL are not possible.
    pub fn prepare(&self, url: &str, headers: HeaderMap) -> Result<PostTarget, InvalidUrlError> {
        PostTarget::new(url, headers, &self.proxies)
    }

    /// Posts a JSON document with these headers in addition to those of the target. Returns the response as soon as
    /// its head has arrived, whatever its status. Fails with `FirstByteTimeout` if the head does not arrive in
    /// time, and with another [`RequestError`] if the connection fails.
    pub async fn post(
        &self,
        target: &PostTarget,
        headers: HeaderMap,
        body: Bytes,
        timeouts: RequestTimeouts,
    ) -> Result<PostResponse, RequestError> {
        let started = Instant::now();
        let deadline = started + timeouts.total;
        let mut timer = Box::pin(sleep_until((started + timeouts.first_byte).min(deadline)));
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = target.uri.clone();
        *request.headers_mut() = target.headers.clone();
        request.headers_mut().extend(headers);
        let sending = self.pool.request(request);
        let response = complete_before(timer.as_mut(), sending)
            .await
            .ok_or(RequestError::FirstByteTimeout)?
            .map_err(|error| RequestError::from_send_error(&error))?;
        Ok(PostResponse::new(response, timer, timeouts.chunk, deadline))
    }
}
