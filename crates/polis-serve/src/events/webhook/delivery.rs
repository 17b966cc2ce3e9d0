//! Webhook delivery: posts one document to a receiver and evaluates the response.
//!
//! Redirects are not followed, proxies are never used, and a response body is read only as far as keeping the
//! connection is worth it. The courier decides when to send and when to retry.

use std::io::ErrorKind;
use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{HeaderMap, StatusCode};
use polis_core::refusal::Reason;
use polis_http_client::{
    HttpClient, HttpClientSettings, PostTarget, RequestError, RequestTimeouts, TlsRoots,
};

use super::WebhookSettings;
use crate::refusal_tables::{ConnectionProblem, DeliveryProblem};

/// Timeout for reading the response body; the status is known before.
const RESPONSE_BODY_TIMEOUT: Duration = Duration::from_secs(1);

/// Error of a failed delivery.
#[derive(Debug)]
pub(super) struct DeliveryError {
    /// The problem, without the URL, which may contain a password.
    pub(super) problem: Reason,
    /// The receiver's `Retry-After` header.
    pub(super) retry_after: Option<String>,
    /// Whether the receiver answered 410 Gone.
    pub(super) is_gone: bool,
}

impl DeliveryError {
    /// Creates an error without a response of the receiver.
    pub(super) fn without_response(problem: DeliveryProblem) -> Self {
        Self {
            problem: problem.into(),
            retry_after: None,
            is_gone: false,
        }
    }
}

/// Client for the deliveries to all receivers of a server. Clones share its connections.
#[derive(Debug, Clone)]
pub(super) struct DeliveryClient {
    client: HttpClient,
    timeout: Duration,
}

impl DeliveryClient {
    /// Creates a client with the timeout and the certificates of these settings.
    pub(super) fn new(settings: &WebhookSettings) -> Self {
        let client = HttpClient::new(HttpClientSettings {
            tls_roots: TlsRoots::with_extra_certificates(settings.extra_roots.clone()),
            ..HttpClientSettings::default()
        });
        Self {
            client,
            timeout: settings.delivery_timeout,
        }
    }

    /// Returns the target of a webhook's URL; `None` if nothing can be delivered to it.
    pub(super) fn prepare(&self, url: &str) -> Option<PostTarget> {
        self.client.prepare(url, HeaderMap::new()).ok()
    }

    /// Posts a document. Succeeds if the receiver answers with a 2xx status within the timeout.
    pub(super) async fn post(
        &self,
        target: &PostTarget,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<(), DeliveryError> {
        let timeouts = RequestTimeouts::total(self.timeout);
        let response = self.client.post(target, headers, body, timeouts).await;
        let response = response
            .map_err(|error| DeliveryError::without_response(self.describe_error(error)))?;
        let status = response.status();
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.and_then(|value| value.to_str().ok().map(str::to_owned));
        response.drain(RESPONSE_BODY_TIMEOUT).await;
        if status.is_success() {
            return Ok(());
        }
        let answer = status.to_string();
        let problem = if status.is_redirection() {
            DeliveryProblem::Redirected { status: answer }
        } else {
            DeliveryProblem::Answered { status: answer }
        };
        Err(DeliveryError {
            problem: problem.into(),
            retry_after,
            is_gone: status == StatusCode::GONE,
        })
    }

    /// Returns why there is no response.
    fn describe_error(&self, error: RequestError) -> DeliveryProblem {
        let cause = match error {
            RequestError::Unreachable(kind) => connection_problem(kind),
            RequestError::UntrustedCertificate(detail) | RequestError::TlsHandshake(detail) => {
                return DeliveryProblem::TlsHandshakeFailed { detail };
            }
            RequestError::FirstByteTimeout | RequestError::ChunkTimeout => {
                let seconds = self.timeout.as_secs_f32().to_string();
                return DeliveryProblem::ResponseTimeout { seconds };
            }
            RequestError::InvalidResponse => return DeliveryProblem::InvalidResponse,
            RequestError::ConnectionClosed => return DeliveryProblem::ConnectionClosed,
            RequestError::ConnectTimeout => ConnectionProblem::ConnectTimeout,
            RequestError::ProxyUnreachable => ConnectionProblem::ProxyUnreachable,
            RequestError::TunnelRefused => ConnectionProblem::TunnelRefused,
            RequestError::TlsUnavailable(detail) => ConnectionProblem::Other {
                detail: detail.to_owned(),
            },
        };
        DeliveryProblem::NoConnection {
            cause: cause.into(),
        }
    }
}

/// Returns why an address cannot be reached.
fn connection_problem(kind: ErrorKind) -> ConnectionProblem {
    match kind {
        ErrorKind::ConnectionRefused => ConnectionProblem::Refused,
        ErrorKind::ConnectionReset => ConnectionProblem::Reset,
        ErrorKind::HostUnreachable => ConnectionProblem::HostUnreachable,
        ErrorKind::NetworkUnreachable => ConnectionProblem::NetworkUnreachable,
        ErrorKind::TimedOut => ConnectionProblem::TimedOut,
        other => ConnectionProblem::Other {
            detail: other.to_string(),
        },
    }
}
