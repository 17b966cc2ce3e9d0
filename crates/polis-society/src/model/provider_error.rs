//! Classification of provider errors by status, headers and body: retry, wait for a rate limit (429,
//! `Retry-After`), shorten the prompt, leave out an unsupported field, or give up. Pure.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use jiff::fmt::rfc2822::DateTimeParser;
use polis_i18n::{UiLanguage, msg};
use serde_json::Value;

use super::api_key::ApiKey;

/// Maximum length of a provider's error message.
const MAX_MESSAGE_BYTES: usize = 400;

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AttemptError {
    /// The prompt is too long.
    PromptTooLong(String),
    /// A permanent failure: a retry does not help.
    Permanent(String),
    /// The endpoint does not support a field that can be omitted or renamed.
    UnsupportedField(UnsupportedField),
    /// A transient failure: a retry may succeed.
    Transient {
        /// The error as a sentence.
        why: String,
        /// Set for a rate limit, with its `Retry-After` duration if there is one.
        rate_limit: Option<Option<Duration>>,
    },
}

impl AttemptError {
    /// Creates a transient failure that is not a rate limit.
    pub(super) fn transient(reason: impl Into<String>) -> Self {
        Self::Transient {
            why: reason.into(),
            rate_limit: None,
        }
    }
}

/// A field that an endpoint does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnsupportedField {
    /// `stream_options`: omitted from then on.
    StreamOptions,
    /// `temperature`: omitted from then on.
    Temperature,
    /// `max_tokens`; the endpoint expects `max_completion_tokens`.
    MaxTokens,
}

/// Texts by which providers report that a prompt is too long, in lower case.
const PROMPT_TOO_LONG_PHRASES: [&str; 20] = [
    "context_length_exceeded",
    "context length",
    "context window",
    "context size",
    "context limit",
    "maximum context",
    "maximum prompt length",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input length",
    "input token count",
    "too many input tokens",
    "exceed_context_size",
    "exceeded model token limit",
    "max_model_len",
    "reduce the length of",
    "tokens must be reduced",
    "request_too_large",
    "prompt token count",
];

/// Classifies a response by its status and body. `name` is the name of the endpoint.
pub(super) fn classify_error_response(
    name: &str,
    key: &ApiKey,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    lang: UiLanguage,
) -> AttemptError {
    let error_body = ProviderErrorBody::parse(body);
    let mut words = key.redact_key(&error_body.message);
    truncate_message(&mut words);
    let sentence = if words.is_empty() {
        msg::model_returned_status(lang, name, status.as_u16())
    } else {
        msg::model_returned_message(lang, name, status.as_u16(), words)
    };
    let full_text = error_body.full_text.to_lowercase();
    let code = status.as_u16();
    let too_long = || {
        PROMPT_TOO_LONG_PHRASES
            .iter()
            .any(|text| full_text.contains(text))
    };
    match code {
        413 => AttemptError::PromptTooLong(sentence),
        429 if full_text.contains("insufficient_quota") => AttemptError::Permanent(sentence),
        // More tokens in one request than are allowed per minute: waiting does not help, a shorter prompt
        // does.
        429 if full_text.contains("request too large") => AttemptError::PromptTooLong(sentence),
        429 => AttemptError::Transient {
            why: sentence,
            rate_limit: Some(parse_retry_after(headers)),
        },
        503 | 529 => {
            let after = parse_retry_after(headers);
            AttemptError::Transient {
                why: sentence,
                rate_limit: after.map(Some),
            }
        }
        // Some servers report a prompt that is too long in this way.
        400 | 422 | 500 if too_long() => AttemptError::PromptTooLong(sentence),
        408 | 409 | 425 | 500..=599 => AttemptError::transient(sentence),
        400 | 422 => match find_unsupported_field(&full_text) {
            Some(quirk) => AttemptError::UnsupportedField(quirk),
            None => AttemptError::Permanent(sentence),
        },
        _ => AttemptError::Permanent(sentence),
    }
}

/// Classifies an error that came within a stream.
pub(super) fn classify_stream_error(
    name: &str,
    key: &ApiKey,
    error: &str,
    lang: UiLanguage,
) -> AttemptError {
    let wrapped = format!("{{\"error\":{error}}}");
    let error_body = ProviderErrorBody::parse(wrapped.as_bytes());
    // Some providers include the status. An error without one happened during generation, and may be
    // transient.
    let status = error_body.status.unwrap_or(StatusCode::BAD_GATEWAY);
    let full_text = error_body.full_text.to_lowercase();
    let status = if PROMPT_TOO_LONG_PHRASES
        .iter()
        .any(|text| full_text.contains(text))
    {
        StatusCode::BAD_REQUEST
    } else if full_text.contains("rate_limit") || full_text.contains("rate limit") {
        StatusCode::TOO_MANY_REQUESTS
    } else {
        status
    };
    let (headers, body) = (HeaderMap::new(), wrapped.as_bytes());
    classify_error_response(name, key, status, &headers, body, lang)
}

/// Returns the unsupported field that an error text is about.
fn find_unsupported_field(full_text: &str) -> Option<UnsupportedField> {
    let unknown = [
        "unsupported",
        "not supported",
        "unrecognized",
        "unknown",
        "unexpected",
        "extra inputs",
        "extra_forbidden",
        "not permitted",
        "does not support",
        "deprecated",
    ];
    if !unknown.iter().any(|word| full_text.contains(word)) {
        return None;
    }
    if full_text.contains("stream_options") {
        Some(UnsupportedField::StreamOptions)
    } else if full_text.contains("max_completion_tokens") {
        Some(UnsupportedField::MaxTokens)
    } else if full_text.contains("temperature") {
        Some(UnsupportedField::Temperature)
    } else {
        None
    }
}

/// The contents of an error body.
struct ProviderErrorBody {
    message: String,
    status: Option<StatusCode>,
    /// The whole body, to search for keywords.
    full_text: String,
}

impl ProviderErrorBody {
    /// Parses an error body: JSON in the formats of several providers, or plain text.
    fn parse(body: &[u8]) -> Self {
        let full_text = String::from_utf8_lossy(body).into_owned();
        let Ok(json) = serde_json::from_str::<Value>(&full_text) else {
            let text = full_text.trim();
            // An HTML page has no useful message in its first lines.
            let sentence = if text.starts_with('<') { "" } else { text };
            return Self {
                message: sentence.to_owned(),
                status: None,
                full_text,
            };
        };
        let error = match &json {
            Value::Array(several) => several.first().unwrap_or(&Value::Null),
            one => one,
        };
        let error = match &error["error"] {
            Value::Null => error,
            inner => inner,
        };
        let status = [&error["status"], &error["code"]]
            .into_iter()
            .find_map(|value| match value {
                Value::Number(number) => u16::try_from(number.as_u64()?).ok(),
                Value::String(text) => text.parse().ok(),
                _ => None,
            })
            .and_then(|code| StatusCode::from_u16(code).ok())
            .filter(|status| status.is_client_error() || status.is_server_error());
        let sentence = match error {
            Value::String(text) => text.clone(),
            error => ["message", "detail", "msg", "error_msg"]
                .into_iter()
                .find_map(|field| match &error[field] {
                    Value::String(text) => Some(text.clone()),
                    Value::Array(several) => {
                        let texts = several.iter().filter_map(|one| one["msg"].as_str());
                        Some(texts.collect::<Vec<_>>().join("; "))
                    }
                    _ => None,
                })
                .unwrap_or_default(),
        };
        Self {
            message: sentence,
            status,
            full_text,
        }
    }
}

/// Truncates a sentence, and puts it on one line.
fn truncate_message(text: &mut String) {
    if text.contains(|c: char| c.is_control()) {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    if text.len() > MAX_MESSAGE_BYTES {
        let end = (0..=MAX_MESSAGE_BYTES)
            .rev()
            .find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
}

/// Returns the `Retry-After` duration, if there is one: given in milliseconds, in seconds, or as a date by
/// the server's own clock.
pub(super) fn parse_retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let number = |text: &str| {
        let number: f64 = text.trim().parse().ok()?;
        (number >= 0.0 && number.is_finite()).then_some(number)
    };
    let seconds = |number: f64| Duration::try_from_secs_f64(number).ok();
    if let Some(ms) = text("retry-after-ms").and_then(number) {
        return seconds(ms / 1000.0);
    }
    let after = text("retry-after")?;
    if let Some(number) = number(after) {
        return seconds(number);
    }
    let date = |text: &str| DateTimeParser::new().parse_timestamp(text.trim()).ok();
    let until = date(after)?;
    let now = date(text("date")?)?;
    Some(Duration::try_from(until.duration_since(now)).unwrap_or(Duration::ZERO))
}
