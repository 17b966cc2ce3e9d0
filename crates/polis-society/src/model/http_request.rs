//! One HTTP request to an endpoint: sends it, reads the response (streamed or in one piece) and classifies
//! errors. Retries are decided in `model_endpoints`.

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use polis_http_client::{PostResponse, RequestError};
use polis_i18n::{UiLanguage, msg};

use super::assembly::{AssembledResponse, InvalidResponseError, ResponseAssembler};
use super::model_endpoint::{ModelEndpoint, RetryPolicy};
use super::provider_error::{AttemptError, classify_error_response, classify_stream_error};
use super::sse;
use super::{ModelRequest, ResponseObserver};

/// Maximum size of an error body that is read.
const MAX_ERROR_BODY_BYTES: usize = 64 << 10;
/// Maximum size of a response that is not streamed.
const MAX_RESPONSE_BODY_BYTES: usize = 32 << 20;
/// How long the end of the body may follow the end marker, to reuse the connection. It comes with the marker or
/// right after it.
const END_OF_BODY_TIMEOUT: Duration = Duration::from_millis(20);

/// Makes one request and reads its response.
pub(super) async fn attempt_request(
    endpoint: &ModelEndpoint,
    retry_policy: &RetryPolicy,
    request: &ModelRequest<'_>,
    body: Bytes,
) -> Result<AssembledResponse, AttemptError> {
    let (label, lang) = (endpoint.settings.label(), request.lang);
    let name = label.as_str();
    let timeouts = retry_policy.request_timeouts();
    let posting = endpoint
        .client
        .post(&endpoint.target, HeaderMap::new(), body, timeouts);
    let mut response = posting
        .await
        .map_err(|error| request_failure(name, &error, lang))?;
    let status = response.status();
    if !status.is_success() {
        let body = response.read_body(MAX_ERROR_BODY_BYTES).await;
        return Err(classify_error_response(
            name,
            &endpoint.settings.api_key,
            status,
            response.headers(),
            &body.unwrap_or_default().contents,
            lang,
        ));
    }
    let observer = request.observer.as_deref();
    let kind = response.headers().get(CONTENT_TYPE);
    let is_stream = match kind.and_then(|kind| kind.to_str().ok()) {
        Some(kind) => !kind.starts_with("application/json"),
        None => endpoint.settings.stream,
    };
    let mut assembly = ResponseAssembler::default();
    let read = if is_stream {
        read_stream(response, &mut assembly, observer).await
    } else {
        read_whole(response, &mut assembly, observer).await
    };
    let invalid_response = |flaw: InvalidResponseError| match flaw {
        InvalidResponseError::ReportedError(error) => {
            classify_stream_error(name, &endpoint.settings.api_key, &error, lang)
        }
        flaw => AttemptError::transient(describe_flaw(name, &flaw, lang)),
    };
    read.map_err(|failure| match failure {
        ResponseReadError::Request(error) => request_failure(name, &error, lang),
        ResponseReadError::Invalid(flaw) => invalid_response(flaw),
    })?;
    assembly
        .finish_response(request.response_index, endpoint.settings.keep_reasoning)
        .map_err(invalid_response)
}

/// Classifies an error of the connection to the endpoint of this name.
fn request_failure(name: &str, error: &RequestError, lang: UiLanguage) -> AttemptError {
    let problem = describe_problem(error, lang);
    if error.is_permanent() {
        return AttemptError::Permanent(msg::model_unusable(lang, name, problem));
    }
    AttemptError::transient(msg::model_no_response(lang, name, problem))
}

/// Describes a problem of the connection, as the end of a sentence.
fn describe_problem(error: &RequestError, lang: UiLanguage) -> &'static str {
    match error {
        RequestError::Unreachable(_) => msg::model_unreachable(lang),
        RequestError::ProxyUnreachable => msg::model_proxy_unreachable(lang),
        RequestError::TunnelRefused => msg::model_tunnel_refused(lang),
        RequestError::ConnectTimeout => msg::model_connect_timeout(lang),
        RequestError::UntrustedCertificate(_) => msg::model_untrusted_certificate(lang),
        RequestError::TlsHandshake(_) => msg::model_tls_handshake(lang),
        RequestError::TlsUnavailable(detail) => detail,
        RequestError::FirstByteTimeout => msg::model_first_byte_timeout(lang),
        RequestError::ChunkTimeout => msg::model_chunk_timeout(lang),
        RequestError::InvalidResponse => msg::model_not_http(lang),
        RequestError::ConnectionClosed => msg::model_connection_closed(lang),
    }
}

/// Describes an invalid response of the endpoint of this name.
fn describe_flaw(name: &str, flaw: &InvalidResponseError, lang: UiLanguage) -> String {
    match flaw {
        InvalidResponseError::Truncated => msg::model_response_broke_off(lang, name),
        InvalidResponseError::NoChoice => msg::model_no_choice(lang, name),
        InvalidResponseError::MissingCalls => msg::model_announced_calls(lang, name),
        InvalidResponseError::Malformed | InvalidResponseError::ReportedError(_) => {
            msg::model_invalid_response(lang, name)
        }
    }
}

/// Why reading a response failed.
enum ResponseReadError {
    Request(RequestError),
    Invalid(InvalidResponseError),
}

impl From<RequestError> for ResponseReadError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl From<InvalidResponseError> for ResponseReadError {
    fn from(flaw: InvalidResponseError) -> Self {
        Self::Invalid(flaw)
    }
}

impl From<sse::LineTooLongError> for ResponseReadError {
    fn from(line: sse::LineTooLongError) -> Self {
        Self::Invalid(line.into())
    }
}

/// Reads a response that is not streamed.
async fn read_whole(
    mut response: PostResponse,
    assembly: &mut ResponseAssembler,
    observer: Option<&dyn ResponseObserver>,
) -> Result<(), ResponseReadError> {
    let body = response.read_body(MAX_RESPONSE_BODY_BYTES).await?;
    if !body.is_complete {
        return Err(InvalidResponseError::Malformed.into());
    }
    Ok(assembly.push_whole_body(&body.contents, observer)?)
}

/// Reads a stream to its end marker, or to the end of the body.
async fn read_stream(
    mut response: PostResponse,
    assembly: &mut ResponseAssembler,
    observer: Option<&dyn ResponseObserver>,
) -> Result<(), ResponseReadError> {
    let mut lines = sse::SseDataParser::default();
    while let Some(bytes) = response.next_chunk().await? {
        lines.feed_chunk(&bytes, |data| {
            assembly
                .push_event_data(data, observer)
                .map_err(ResponseReadError::Invalid)
        })?;
        if assembly.has_end_marker() {
            // A server that takes longer loses the connection, not the response.
            response.drain(END_OF_BODY_TIMEOUT).await;
            return Ok(());
        }
    }
    Ok(lines.finish_stream(|data| assembly.push_event_data(data, observer))?)
}
