//! HTTP errors as `application/problem+json` (RFC 9457), with the same error codes as all other surfaces.
//!
//! One table maps error codes to status codes. The causes of a failure go to the server log and never into
//! the response.

use std::error::Error as _;
use std::time::Duration;

use axum::body::Body;
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use polis_core::{Code, Details, Kind, Refusal, Timestamp};
use polis_ops::OpError;
use serde::Serialize;
use serde_json::Value;

use super::route::hint_for_api;

/// Media type of problem documents.
pub const MEDIA_TYPE: &str = "application/problem+json";
/// Prefix of the error code in a problem's `type`.
pub(crate) const TYPE: &str = "urn:polis:problem:";

/// An error to be sent as a response.
#[derive(Debug)]
pub struct Problem {
    error: Box<OpError>,
    status: StatusCode,
    wait: Option<Duration>,
    allow: Option<HeaderValue>,
}

/// Returns the status of an error code.
pub fn status_of(code: Code) -> StatusCode {
    use StatusCode as S;
    match code {
        Code::RequestTooLarge | Code::BoardTooLarge | Code::FileTooLarge => S::PAYLOAD_TOO_LARGE,
        Code::UnsupportedMediaType => S::UNSUPPORTED_MEDIA_TYPE,
        Code::MethodNotAllowed => S::METHOD_NOT_ALLOWED,
        // A command that timed out. Not 408, after which clients may retry automatically.
        Code::IdempotencyKeyReused | Code::CommandTimeout => S::UNPROCESSABLE_ENTITY,
        Code::Unauthorized => S::UNAUTHORIZED,
        Code::BoardLocked | Code::FileBusy => S::LOCKED,
        Code::RateLimited => S::TOO_MANY_REQUESTS,
        Code::RequestTimeout => S::REQUEST_TIMEOUT,
        Code::StoreBusy
        | Code::StoreUnavailable
        | Code::StoreReadOnly
        | Code::StoreFull
        | Code::StoreTooNew
        | Code::CommitUnknown => S::SERVICE_UNAVAILABLE,
        other => match other.kind() {
            Kind::Internal => S::INTERNAL_SERVER_ERROR,
            Kind::Invalid => S::BAD_REQUEST,
            Kind::Forbidden => S::FORBIDDEN,
            Kind::NotFound => S::NOT_FOUND,
            Kind::Conflict => S::CONFLICT,
            Kind::Busy => S::SERVICE_UNAVAILABLE,
        },
    }
}

/// Returns whether a code means that a resource is not at the expected version or hash.
fn is_mismatch(code: Code) -> bool {
    matches!(
        code,
        Code::VersionMismatch | Code::VersionConflict | Code::HashMismatch | Code::FileExists
    )
}

/// Returns the status of an error code in the response to a conditional or unconditional request.
pub(crate) fn status_in(code: Code, conditional: bool) -> StatusCode {
    match code {
        code if conditional && is_mismatch(code) => StatusCode::PRECONDITION_FAILED,
        // The request arrived, but the operation timed out. Not 408: clients may retry that automatically,
        // and it is unknown what was carried out.
        Code::RequestTimeout => StatusCode::SERVICE_UNAVAILABLE,
        code => status_of(code),
    }
}

/// A problem document.
#[derive(Debug, Serialize)]
struct Document<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: Code,
    #[serde(skip_serializing_if = "str::is_empty")]
    hint: &'a str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    details: Option<&'a Details>,
}

impl Problem {
    /// Returns the error code.
    pub fn code(&self) -> Code {
        self.error.code()
    }

    /// Returns the response status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// Overrides the status of its code.
    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Sets the time after which to retry (`Retry-After`).
    #[must_use]
    pub fn after(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Creates a 405 problem; `allow` lists the methods of the path.
    pub(crate) fn method(allow: &HeaderValue) -> Self {
        let refusal = Refusal::new(
            Code::MethodNotAllowed,
            "This address does not take this method.",
            "use one of those in the Allow header; /v1/openapi.json describes every address",
        );
        let mut problem = Self::from(refusal);
        problem.allow = Some(allow.clone());
        problem
    }

    /// Creates a 404 problem for an unknown path.
    pub fn no_route() -> Self {
        Refusal::new(
            Code::RouteNotFound,
            "There is nothing at this address.",
            "look at /v1/openapi.json; a board's name or a path is one segment, with / as %2F",
        )
        .into()
    }

    /// Builds the response. `now` (milliseconds) is needed to compute `Retry-After` from the expiry of a
    /// lock.
    pub fn answer(&self, now: i64) -> Response<Body> {
        let mut answer = written(&self.error, self.status);
        let headers = answer.headers_mut();
        let details = self.error.document().error.details;
        if let Some(wait) = self.retry_after(details, now) {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait));
        }
        if let Some(allow) = &self.allow {
            headers.insert(ALLOW, allow.clone());
        }
        answer
    }

    /// Returns `Retry-After` in whole seconds, for statuses after which a retry makes sense.
    fn retry_after(&self, details: Option<&Details>, now: i64) -> Option<u64> {
        let until = match details {
            Some(Details::Locked { expires_at, .. }) => Timestamp::millis(expires_at),
            _ => None,
        };
        let locked = until
            .map(|until| Duration::from_millis(until.saturating_sub(now).max(0).unsigned_abs()));
        let wait = self.wait.or(locked);
        let busy = matches!(
            self.status,
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE | StatusCode::LOCKED
        );
        busy.then(|| {
            let wait = wait.unwrap_or(Duration::from_secs(1));
            wait.as_millis().div_ceil(1_000).clamp(1, 3_600)
        })
        .and_then(|seconds| u64::try_from(seconds).ok())
    }
}

/// What went wrong, for the server log; never sent to the client.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) code: Code,
    /// The message and its chain of causes, for server errors.
    pub(crate) causes: Option<String>,
}

/// Builds the response to an error, with the status of its code.
pub fn response(error: &OpError) -> Response<Body> {
    let mut answer = written(error, status_of(error.code()));
    if answer.status() == StatusCode::SERVICE_UNAVAILABLE {
        answer
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}

fn written(error: &OpError, status: StatusCode) -> Response<Body> {
    let told = error.document().error;
    let hint = hint_for_api(told.hint);
    let document = Document {
        r#type: format!("{TYPE}{}", told.code),
        title: told.code.about(),
        status: status.as_u16(),
        detail: told.message,
        code: told.code,
        hint: &hint,
        details: told.details,
    };
    let body = serde_json::to_vec(&document).unwrap_or_default();
    let mut answer = Response::new(Body::from(body));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer.extensions_mut().insert(Told {
        code: told.code,
        causes: status.is_server_error().then(|| causes(error)),
    });
    answer
}

fn causes(error: &OpError) -> String {
    let mut text = error.to_string();
    let mut cause = match error {
        OpError::Refused(_) => None,
        OpError::Failed(failed) => failed.source(),
    };
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

impl From<OpError> for Problem {
    fn from(error: OpError) -> Self {
        Self {
            status: status_of(error.code()),
            error: Box::new(error),
            wait: None,
            allow: None,
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        OpError::from(refusal).into()
    }
}

/// Rebuilds the problem response from a stored error document, identical to the original response.
pub(crate) fn of_document(document: &Value, conditional: bool) -> Option<Response<Body>> {
    let error = document.get("error")?.as_object()?;
    let name = error.get("code")?.as_str()?;
    let code = Code::ALL.iter().find(|code| code.as_str() == name)?;
    let status = status_in(*code, conditional);
    let mut problem = serde_json::Map::new();
    problem.insert("type".to_owned(), format!("{TYPE}{code}").into());
    problem.insert("title".to_owned(), code.about().into());
    problem.insert("status".to_owned(), status.as_u16().into());
    for (field, value) in error {
        let field = if field == "message" { "detail" } else { field };
        problem.insert(field.to_owned(), value.clone());
    }
    let mut answer = Response::new(Body::from(Value::Object(problem).to_string()));
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polis_ops::PortError;

    #[test]
    fn every_code_has_a_status_of_an_error() {
        for code in Code::ALL {
            let status = status_of(*code);
            assert!(
                status.is_client_error() || status.is_server_error(),
                "{code}"
            );
        }
    }

    #[test]
    fn causes_are_for_the_operator_alone() {
        let failed = PortError::internal("Reading", "/var/secret: no such file");
        let problem = Problem::from(OpError::from(failed));
        let mut answer = problem.answer(0);
        let told = answer.extensions_mut().remove::<Told>().unwrap();
        assert!(told.causes.unwrap().contains("/var/secret"));
        assert!(!format!("{answer:?}").contains("secret"));
        assert_eq!(problem.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[test]
    fn a_lock_says_when_it_ends() {
        let locked = Refusal::new(Code::BoardLocked, "Locked.", "wait").with(Details::Locked {
            holder: "a".to_owned(),
            expires_at: Timestamp::from_millis(14_200),
        });
        let problem = Problem::from(locked);
        assert_eq!(problem.answer(10_000).headers()[RETRY_AFTER], "5");
        assert_eq!(problem.answer(20_000).headers()[RETRY_AFTER], "1");
    }
}
