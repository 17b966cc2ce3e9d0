//! HTTP errors as `application/problem+json` (RFC 9457), with the same error codes as all other surfaces.
//!
//! One table maps error codes to status codes ([`status_for_code`]). The causes of a failure go to the server
//! log and never into the response.

use std::error::Error as _;
use std::time::Duration;

use axum::body::Body;
use http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use polis_core::refusal::Reason;
use polis_core::{Refusal, RefusalCode, RefusalDetails, RefusalKind, Timestamp};
use polis_i18n::{RefusalText, Surface, UiLanguage, describe_code, render_reason};
use polis_ops::OpError;
use serde::Serialize;
use serde_json::{Map, Value};

use super::request_language::{request_language, set_language_headers};
use crate::refusal_tables::{HttpCode, HttpRefusal};

/// Media type of problem documents.
pub const PROBLEM_MEDIA_TYPE: &str = "application/problem+json";
/// Prefix of the error code in a problem's `type`.
pub(crate) const PROBLEM_TYPE_PREFIX: &str = "urn:polis:problem:";

/// An error to be sent as a response.
#[derive(Debug)]
pub struct HttpProblem {
    error: Box<OpError>,
    status: StatusCode,
    retry_after: Option<Duration>,
    allow: Option<HeaderValue>,
}

/// Returns the status of an error code.
pub fn status_for_code(code: RefusalCode) -> StatusCode {
    use StatusCode as S;
    match code {
        RefusalCode::REQUEST_TOO_LARGE
        | RefusalCode::BOARD_TOO_LARGE
        | RefusalCode::FILE_TOO_LARGE => S::PAYLOAD_TOO_LARGE,
        HttpCode::UNSUPPORTED_MEDIA_TYPE => S::UNSUPPORTED_MEDIA_TYPE,
        HttpCode::METHOD_NOT_ALLOWED => S::METHOD_NOT_ALLOWED,
        // A command that timed out. Not 408, after which clients may retry automatically.
        RefusalCode::IDEMPOTENCY_KEY_REUSED | RefusalCode::COMMAND_TIMEOUT => {
            S::UNPROCESSABLE_ENTITY
        }
        RefusalCode::UNAUTHORIZED => S::UNAUTHORIZED,
        RefusalCode::BOARD_LOCKED | RefusalCode::FILE_BUSY => S::LOCKED,
        RefusalCode::RATE_LIMITED => S::TOO_MANY_REQUESTS,
        HttpCode::REQUEST_TIMEOUT => S::REQUEST_TIMEOUT,
        RefusalCode::STORE_BUSY
        | RefusalCode::STORE_UNAVAILABLE
        | RefusalCode::STORE_READ_ONLY
        | RefusalCode::STORE_FULL
        | RefusalCode::STORE_TOO_NEW
        | RefusalCode::COMMIT_UNKNOWN => S::SERVICE_UNAVAILABLE,
        other => match other.kind() {
            RefusalKind::Internal => S::INTERNAL_SERVER_ERROR,
            RefusalKind::Invalid => S::BAD_REQUEST,
            RefusalKind::Forbidden => S::FORBIDDEN,
            RefusalKind::NotFound => S::NOT_FOUND,
            RefusalKind::Conflict => S::CONFLICT,
            RefusalKind::Busy => S::SERVICE_UNAVAILABLE,
        },
    }
}

/// Returns whether a code means that a resource is not at the expected version or hash.
fn is_version_mismatch(code: RefusalCode) -> bool {
    matches!(
        code,
        RefusalCode::VERSION_MISMATCH
            | RefusalCode::VERSION_CONFLICT
            | RefusalCode::HASH_MISMATCH
            | RefusalCode::FILE_EXISTS
    )
}

/// Returns the status of an error code in the response to a conditional or unconditional request.
pub(crate) fn status_for_operation_error(code: RefusalCode, conditional: bool) -> StatusCode {
    match code {
        code if conditional && is_version_mismatch(code) => StatusCode::PRECONDITION_FAILED,
        // The request arrived, but the operation timed out. Not 408: clients may retry that automatically,
        // and it is unknown what was carried out.
        HttpCode::REQUEST_TIMEOUT => StatusCode::SERVICE_UNAVAILABLE,
        code => status_for_code(code),
    }
}

/// JSON body of a problem response (RFC 9457).
#[derive(Debug, Serialize)]
struct ProblemDocument<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: RefusalCode,
    #[serde(skip_serializing_if = "str::is_empty")]
    hint: &'a str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    details: Option<&'a RefusalDetails>,
}

impl HttpProblem {
    /// Returns the error code.
    pub fn code(&self) -> RefusalCode {
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
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Creates a 405 problem; `allow` lists the methods of the path.
    pub(crate) fn method_not_allowed(allow: &HeaderValue) -> Self {
        let refusal = Refusal::from(HttpRefusal::MethodNotAllowed);
        let mut problem = Self::from(refusal);
        problem.allow = Some(allow.clone());
        problem
    }

    /// Creates a 404 problem for an unknown path.
    pub fn route_not_found() -> Self {
        Refusal::from(HttpRefusal::NoRoute).into()
    }

    /// Builds the response. `now` (milliseconds) is needed to compute `Retry-After` from the expiry of a
    /// lock.
    pub fn to_response(&self, now: i64) -> Response<Body> {
        let mut answer = build_problem_response(&self.error, self.status, request_language());
        let headers = answer.headers_mut();
        let details = self.error.details();
        if let Some(wait) = self.retry_after_seconds(details, now) {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait));
        }
        if let Some(allow) = &self.allow {
            headers.insert(ALLOW, allow.clone());
        }
        answer
    }

    /// Returns `Retry-After` in whole seconds, for statuses after which a retry makes sense.
    fn retry_after_seconds(&self, details: Option<&RefusalDetails>, now: i64) -> Option<u64> {
        let until = match details {
            Some(RefusalDetails::Locked { expires_at, .. }) => Timestamp::millis(expires_at),
            _ => None,
        };
        let locked = until
            .map(|until| Duration::from_millis(until.saturating_sub(now).max(0).unsigned_abs()));
        let wait = self.retry_after.or(locked);
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

/// Error code and causes for the server log; never sent to the client.
#[derive(Debug, Clone)]
pub(crate) struct LoggedError {
    pub(crate) code: RefusalCode,
    /// The message and its chain of causes, for server errors.
    pub(crate) error_chain: Option<String>,
}

/// Builds the response to an error, with the status of its code.
pub fn error_response(error: &OpError) -> Response<Body> {
    let mut answer =
        build_problem_response(error, status_for_code(error.code()), request_language());
    if answer.status() == StatusCode::SERVICE_UNAVAILABLE {
        answer
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}

fn build_problem_response(error: &OpError, status: StatusCode, lang: UiLanguage) -> Response<Body> {
    let code = error.code();
    let RefusalText { message, hint } = error.render(Surface::Http, lang);
    let document = ProblemDocument {
        r#type: format!("{PROBLEM_TYPE_PREFIX}{code}"),
        title: describe_code(code, lang),
        status: status.as_u16(),
        detail: &message,
        code,
        hint: &hint,
        details: error.details(),
    };
    let body = serde_json::to_vec(&document).unwrap_or_default();
    let mut answer = Response::new(Body::from(body));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_MEDIA_TYPE));
    set_language_headers(headers, lang);
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    answer.extensions_mut().insert(LoggedError {
        code,
        error_chain: status.is_server_error().then(|| format_error_chain(error)),
    });
    answer
}

fn format_error_chain(error: &OpError) -> String {
    let mut text = error.render(Surface::Cli, UiLanguage::En).message;
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

impl From<OpError> for HttpProblem {
    fn from(error: OpError) -> Self {
        Self {
            status: status_for_code(error.code()),
            error: Box::new(error),
            retry_after: None,
            allow: None,
        }
    }
}

impl From<Refusal> for HttpProblem {
    fn from(refusal: Refusal) -> Self {
        OpError::from(refusal).into()
    }
}

/// Rebuilds the problem response from a stored error document, identical to the original response; `None` if
/// the document is not an error.
pub(crate) fn problem_from_stored_document(
    document: &Value,
    conditional: bool,
) -> Option<Response<Body>> {
    let lang = request_language();
    let (status, problem) = stored_problem(document, conditional, lang)?;
    let mut answer = Response::new(Body::from(Value::Object(problem).to_string()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_MEDIA_TYPE));
    set_language_headers(headers, lang);
    Some(answer)
}

/// Returns the status and the problem document of a stored error.
fn stored_problem(
    document: &Value,
    conditional: bool,
    lang: UiLanguage,
) -> Option<(StatusCode, Map<String, Value>)> {
    let error = document.get("error")?.as_object()?;
    let name = error.get("code")?.as_str()?;
    let code = RefusalCode::from_name(name).or_else(|| HttpCode::from_name(name))?;
    let status = status_for_operation_error(code, conditional);
    let mut problem = Map::new();
    problem.insert(
        "type".to_owned(),
        format!("{PROBLEM_TYPE_PREFIX}{code}").into(),
    );
    problem.insert("title".to_owned(), describe_code(code, lang).into());
    problem.insert("status".to_owned(), status.as_u16().into());
    for (field, value) in error {
        match field.as_str() {
            // Versions that stored the rendered text.
            "message" => {
                problem.insert("detail".to_owned(), value.clone());
            }
            "reason" => {
                let reason: Reason = serde_json::from_value(value.clone()).ok()?;
                let RefusalText { message, hint } = render_reason(&reason, Surface::Http, lang);
                problem.insert("detail".to_owned(), message.into());
                if !hint.is_empty() {
                    problem.insert("hint".to_owned(), hint.into());
                }
            }
            field => {
                problem.insert(field.to_owned(), value.clone());
            }
        }
    }
    Some((status, problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use polis_ops::PortError;

    #[test]
    fn every_error_code_has_an_error_status() {
        for code in RefusalCode::ALL.iter().chain(HttpCode::ALL) {
            let status = status_for_code(*code);
            assert!(
                status.is_client_error() || status.is_server_error(),
                "{code}"
            );
        }
    }

    #[test]
    fn error_chain_is_logged_but_not_sent() {
        let failed = PortError::internal("Reading", "/var/secret: no such file");
        let problem = HttpProblem::from(OpError::from(failed));
        let mut answer = problem.to_response(0);
        let logged = answer.extensions_mut().remove::<LoggedError>().unwrap();
        assert!(logged.error_chain.unwrap().contains("/var/secret"));
        assert!(!format!("{answer:?}").contains("secret"));
        assert_eq!(problem.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[test]
    fn locked_board_sets_retry_after() {
        let locked = Refusal::new(RefusalCode::BOARD_LOCKED, Reason::new("board-locked"))
            .with_details(RefusalDetails::Locked {
                holder: "a".to_owned(),
                expires_at: Timestamp::from_millis(14_200),
            });
        let problem = HttpProblem::from(locked);
        assert_eq!(problem.to_response(10_000).headers()[RETRY_AFTER], "5");
        assert_eq!(problem.to_response(20_000).headers()[RETRY_AFTER], "1");
    }

    #[test]
    fn stored_errors_of_all_versions_are_replayed() {
        let stored = [
            // Stored by versions that rendered the text before they stored it.
            serde_json::json!({ "error": {
                "code": "task_not_found",
                "message": "Task #7 not found.",
                "hint": "list the tasks with `GET /v1/tasks`",
            }}),
            serde_json::json!({ "error": {
                "code": "task_not_found",
                "reason": { "id": "task-not-found", "args": [["id", { "text": "7" }]] },
            }}),
        ];
        let refusal = Refusal::from(polis_core::refusal::TaskRefusal::NotFound {
            id: "7".parse().unwrap(),
        });
        let encoded = serde_json::to_value(&refusal.reason).unwrap();
        assert_eq!(stored[1]["error"]["reason"], encoded);
        for document in stored {
            let (status, problem) = stored_problem(&document, false, UiLanguage::En).unwrap();
            assert_eq!(status, StatusCode::NOT_FOUND);
            assert_eq!(problem["detail"], "Task #7 not found.");
            assert_eq!(problem["hint"], "list the tasks with `GET /v1/tasks`");
        }
    }
}
