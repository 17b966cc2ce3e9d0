//! Classifies provider errors (status, headers and body): retry, wait for a rate limit, shorten the prompt, leave out
//! an unsupported field, or give up. Pure.

use std::time::Duration;

use http::{HeaderMap, StatusCode};
use jiff::fmt::rfc2822::DateTimeParser;
use serde_json::Value;

use super::key::Key;

/// Maximum length of a provider's error message.
const LONGEST: usize = 400;

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The prompt is too long.
    TooLong(String),
    /// A permanent failure: a retry does not help.
    Permanent(String),
    /// The endpoint does not support a field that can be omitted or renamed.
    Quirk(Quirk),
    /// A transient failure: a retry may succeed.
    Passing {
        /// What happened.
        why: String,
        /// Set for a rate limit, with its `Retry-After` duration if there is one.
        limited: Option<Option<Duration>>,
    },
}

impl Failure {
    /// Creates a transient failure that is not a rate limit.
    pub(super) fn passing(why: impl Into<String>) -> Self {
        Self::Passing {
            why: why.into(),
            limited: None,
        }
    }
}

/// A field that an endpoint does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quirk {
    /// `stream_options`.
    StreamOptions,
    /// `temperature`.
    Temperature,
    /// `max_tokens`; the endpoint expects `max_completion_tokens`.
    MaxTokens,
}

/// Texts by which providers report that a prompt is too long, in lower case.
const TOO_LONG: [&str; 20] = [
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
pub(super) fn judge(
    name: &str,
    key: &Key,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Failure {
    let said = Said::read(body);
    let mut words = key.hidden_in(&said.sentence);
    shorten(&mut words);
    let sentence = if words.is_empty() {
        format!("The model's endpoint {name} answered {}.", status.as_u16())
    } else {
        format!(
            "The model's endpoint {name} answered {}: {words}",
            status.as_u16()
        )
    };
    let whole = said.all.to_lowercase();
    let code = status.as_u16();
    let too_long = || TOO_LONG.iter().any(|text| whole.contains(text));
    match code {
        413 => Failure::TooLong(sentence),
        429 if whole.contains("insufficient_quota") => Failure::Permanent(sentence),
        // More tokens in one request than are allowed per minute: waiting does not help, a shorter prompt does.
        429 if whole.contains("request too large") => Failure::TooLong(sentence),
        429 => Failure::Passing {
            why: sentence,
            limited: Some(retry_after(headers)),
        },
        503 | 529 => {
            let after = retry_after(headers);
            Failure::Passing {
                why: sentence,
                limited: after.map(Some),
            }
        }
        // Some servers report a prompt that is too long in this way.
        400 | 422 | 500 if too_long() => Failure::TooLong(sentence),
        408 | 409 | 425 | 500..=599 => Failure::passing(sentence),
        400 | 422 => match quirk(&whole) {
            Some(quirk) => Failure::Quirk(quirk),
            None => Failure::Permanent(sentence),
        },
        _ => Failure::Permanent(sentence),
    }
}

/// Classifies an error that came within a stream.
pub(super) fn judge_within(name: &str, key: &Key, error: &str) -> Failure {
    let wrapped = format!("{{\"error\":{error}}}");
    let said = Said::read(wrapped.as_bytes());
    // Some providers include the status. An error without one happened during generation, and may be transient.
    let status = said.status.unwrap_or(StatusCode::BAD_GATEWAY);
    let whole = said.all.to_lowercase();
    let status = if TOO_LONG.iter().any(|text| whole.contains(text)) {
        StatusCode::BAD_REQUEST
    } else if whole.contains("rate_limit") || whole.contains("rate limit") {
        StatusCode::TOO_MANY_REQUESTS
    } else {
        status
    };
    judge(name, key, status, &HeaderMap::new(), wrapped.as_bytes())
}

fn quirk(whole: &str) -> Option<Quirk> {
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
    if !unknown.iter().any(|word| whole.contains(word)) {
        return None;
    }
    if whole.contains("stream_options") {
        Some(Quirk::StreamOptions)
    } else if whole.contains("max_completion_tokens") {
        Some(Quirk::MaxTokens)
    } else if whole.contains("temperature") {
        Some(Quirk::Temperature)
    } else {
        None
    }
}

/// The contents of an error body.
struct Said {
    sentence: String,
    status: Option<StatusCode>,
    /// The whole body, to search for keywords.
    all: String,
}

impl Said {
    fn read(body: &[u8]) -> Self {
        let all = String::from_utf8_lossy(body).into_owned();
        let Ok(json) = serde_json::from_str::<Value>(&all) else {
            let text = all.trim();
            // An HTML page has no useful message in its first lines.
            let sentence = if text.starts_with('<') { "" } else { text };
            return Self {
                sentence: sentence.to_owned(),
                status: None,
                all,
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
            sentence,
            status,
            all,
        }
    }
}

/// Truncates a sentence, and puts it on one line.
fn shorten(text: &mut String) {
    if text.contains(|c: char| c.is_control()) {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    if text.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text.push('…');
    }
}

/// Returns the `Retry-After` duration, if there is one: given in milliseconds, in seconds, or as a date by the server's
/// own clock.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
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
