//! One model endpoint: its settings, the HTTP headers and JSON body of a request, fields that it turned out
//! not to support, and the price of a response.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderMap, HeaderName, HeaderValue};
use polis_core::Refusal;
use polis_core::society::society_role::ModelChoice;
use polis_http_client::{HttpClient, PostTarget, RequestTimeouts};

use super::ModelRequest;
use super::api_key::ApiKey;
use super::endpoint_limiter::EndpointLimiter;
use super::provider_error::UnsupportedField;
use crate::refusal_tables::ModelRefusal;

/// Configuration of an endpoint.
#[derive(Clone, PartialEq)]
pub struct EndpointSettings {
    /// The name by which roles select it.
    pub name: String,
    /// Where a person sets its URL and key, such as `OPENAI_BASE_URL`. Shown in errors; may be empty.
    pub setting: String,
    /// The base URL before `/chat/completions`, such as `https://api.example.com/v1`.
    pub base_url: String,
    /// The model name that is sent in requests, unless a role names another.
    pub model: String,
    /// The API key, sent as a bearer token.
    pub api_key: ApiKey,
    /// Tags that roles can select, such as `code`.
    pub tags: Vec<String>,
    /// The temperature, if it is to be set.
    pub temperature: Option<f64>,
    /// Maximum tokens of a response, if it is to be set.
    pub max_tokens: Option<u64>,
    /// Context limit: maximum tokens of a prompt and its response together.
    pub context_limit: u64,
    /// Maximum number of concurrent requests.
    pub max_concurrency: usize,
    /// Maximum requests per minute, if that is limited.
    pub requests_per_minute: Option<u32>,
    /// Price of a million prompt tokens.
    pub prompt_price: f64,
    /// Price of a million response tokens.
    pub response_price: f64,
    /// Whether responses are streamed.
    pub stream: bool,
    /// Whether the model's reasoning is sent back with the conversation, as some models require.
    pub keep_reasoning: bool,
    /// Additional headers of every request. They may contain secrets.
    pub headers: Vec<(String, String)>,
}

impl EndpointSettings {
    /// Returns the name with the setting, for errors.
    pub(super) fn label(&self) -> String {
        match self.setting.as_str() {
            "" => self.name.clone(),
            setting => format!("{} ({setting})", self.name),
        }
    }

    /// Creates the settings of an endpoint without a key, with default values.
    pub fn new(name: &str, base_url: &str, model: &str) -> Self {
        Self {
            name: name.to_owned(),
            setting: String::new(),
            base_url: base_url.to_owned(),
            model: model.to_owned(),
            api_key: ApiKey::none(),
            tags: Vec::new(),
            temperature: None,
            max_tokens: None,
            context_limit: 128_000,
            max_concurrency: 16,
            requests_per_minute: None,
            prompt_price: 0.0,
            response_price: 0.0,
            stream: true,
            keep_reasoning: false,
            headers: Vec::new(),
        }
    }
}

/// Leaves out the address, which may contain a password, and the headers, which are often secrets.
impl fmt::Debug for EndpointSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointSettings")
            .field("name", &self.name)
            .field("model", &self.model)
            .field("key", &self.api_key)
            .field("tags", &self.tags)
            .field("context", &self.context_limit)
            .field("concurrency", &self.max_concurrency)
            .finish_non_exhaustive()
    }
}

/// Timeouts and retry limits of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Timeout for the connection.
    pub connect_timeout: Duration,
    /// Timeout for the first byte of a response.
    pub first_byte_timeout: Duration,
    /// Timeout between two chunks of a response.
    pub chunk_timeout: Duration,
    /// Timeout for the whole response.
    pub response_timeout: Duration,
    /// Maximum failed attempts at an endpoint. Refusals by a rate limit are counted separately: three times
    /// as many are allowed, and only those count between which other calls succeeded.
    pub max_attempts: u32,
    /// Maximum time for all attempts at an endpoint, counted from the first failure.
    pub max_retry_time: Duration,
    /// Maximum backoff before the second attempt; doubled before each further one.
    pub initial_backoff: Duration,
    /// Maximum backoff before any attempt.
    pub max_backoff: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            // A reasoning model may send nothing for minutes.
            first_byte_timeout: Duration::from_secs(300),
            chunk_timeout: Duration::from_secs(120),
            response_timeout: Duration::from_secs(1800),
            max_attempts: 8,
            max_retry_time: Duration::from_secs(900),
            initial_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// Returns the timeouts of one request.
    pub(super) fn request_timeouts(&self) -> RequestTimeouts {
        RequestTimeouts {
            first_byte: self.first_byte_timeout,
            chunk: self.chunk_timeout,
            total: self.response_timeout,
        }
    }
}

/// A configured endpoint with its limits.
#[derive(Debug)]
pub(super) struct ModelEndpoint {
    pub(super) settings: EndpointSettings,
    pub(super) limiter: Arc<EndpointLimiter>,
    pub(super) client: HttpClient,
    pub(super) target: PostTarget,
    omits_stream_options: AtomicBool,
    omits_temperature: AtomicBool,
    uses_max_completion_tokens: AtomicBool,
}

impl ModelEndpoint {
    pub(super) fn new(settings: EndpointSettings, client: HttpClient) -> Result<Self, Refusal> {
        let mut headers = HeaderMap::new();
        let accept = if settings.stream {
            "text/event-stream"
        } else {
            "application/json"
        };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(key) = settings.api_key.authorization_header()? {
            headers.insert(AUTHORIZATION, key);
        }
        for (name, value) in &settings.headers {
            let pair = HeaderName::try_from(name)
                .ok()
                .zip(HeaderValue::try_from(value).ok());
            let Some((name, mut value)) = pair else {
                return Err(Refusal::from(ModelRefusal::InvalidHeader {
                    name: settings.name.to_string(),
                }));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let url = completions_url(&settings.base_url);
        let target = client.prepare(&url, headers).map_err(|error| {
            Refusal::from(ModelRefusal::InvalidBaseUrl {
                name: settings.name.clone(),
                detail: error.to_string(),
            })
        })?;
        Ok(Self {
            limiter: EndpointLimiter::new(settings.max_concurrency, settings.requests_per_minute),
            settings,
            client,
            target,
            omits_stream_options: AtomicBool::new(false),
            omits_temperature: AtomicBool::new(false),
            uses_max_completion_tokens: AtomicBool::new(false),
        })
    }

    /// Builds the request body by concatenation, for speed: the conversation and the tool definitions are
    /// JSON texts already, and are only copied instead of parsed and serialised again for every request.
    pub(super) fn build_body(&self, request: &ModelRequest<'_>) -> Bytes {
        let settings = &self.settings;
        let model = self.model_name(request.model_choice);
        let mut out =
            String::with_capacity(request.messages.len() + request.tools.len() + model.len() + 256);
        out.push_str("{\"model\":");
        out.push_str(&serde_json::Value::from(model).to_string());
        if settings.stream {
            out.push_str(",\"stream\":true");
            if !self.omits_stream_options.load(Ordering::Relaxed) {
                out.push_str(",\"stream_options\":{\"include_usage\":true}");
            }
        }
        let temperature = request.model_choice.and_then(|choice| choice.temperature);
        let temperature = temperature
            .or(settings.temperature)
            .filter(|t| t.is_finite());
        if let (Some(temperature), false) =
            (temperature, self.omits_temperature.load(Ordering::Relaxed))
        {
            out.push_str(",\"temperature\":");
            out.push_str(&temperature.to_string());
        }
        if let Some(max_tokens) = settings.max_tokens {
            let new = self.uses_max_completion_tokens.load(Ordering::Relaxed);
            out.push_str(if new {
                ",\"max_completion_tokens\":"
            } else {
                ",\"max_tokens\":"
            });
            out.push_str(&max_tokens.to_string());
        }
        // Most servers refuse an empty list.
        let tools = request.tools.trim();
        if !tools.is_empty() && tools != "[]" {
            out.push_str(",\"tools\":");
            out.push_str(tools);
        }
        out.push_str(",\"messages\":[");
        out.push_str(request.messages);
        out.push_str("]}");
        Bytes::from(out)
    }

    /// Returns the name of the model to request.
    pub(super) fn model_name<'a>(&'a self, choice: Option<&'a ModelChoice>) -> &'a str {
        choice
            .and_then(|choice| choice.model.as_deref())
            .unwrap_or(&self.settings.model)
    }

    /// Remembers a field that the endpoint does not support. Returns false if it was already known.
    pub(super) fn record_unsupported_field(&self, quirk: UnsupportedField) -> bool {
        let flag = match quirk {
            UnsupportedField::StreamOptions => &self.omits_stream_options,
            UnsupportedField::Temperature => &self.omits_temperature,
            UnsupportedField::MaxTokens => &self.uses_max_completion_tokens,
        };
        !flag.swap(true, Ordering::Relaxed)
    }

    /// Returns the cost of a response in millionths. The price of a million tokens equals the price of one
    /// token in millionths.
    pub(super) fn cost_micros(&self, (prompt, answer): (u64, u64)) -> u64 {
        #[expect(clippy::cast_precision_loss, reason = "no answer has 2^52 tokens")]
        let sum = self.settings.prompt_price * prompt as f64
            + self.settings.response_price * answer as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rounded and not negative; a cast stops at the largest number"
        )]
        let micros = sum.max(0.0).round() as u64;
        micros
    }
}

/// Returns the request URL: the base URL with the path appended, keeping its query.
fn completions_url(base: &str) -> String {
    let base = base.trim();
    let (path, query) = match base.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (base, None),
    };
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix("/chat/completions").unwrap_or(path);
    match query {
        Some(query) => format!("{path}/chat/completions?{query}"),
        None => format!("{path}/chat/completions"),
    }
}

#[cfg(test)]
mod tests {
    use polis_http_client::HttpClientSettings;

    use super::*;
    use polis_core::RefusalCode;

    fn test_client() -> HttpClient {
        HttpClient::new(HttpClientSettings::default())
    }

    #[test]
    fn base_url_is_accepted_with_and_without_the_path() {
        for (base, address) in [
            ("http://h/v1", "http://h/v1/chat/completions"),
            (" http://h/v1/ ", "http://h/v1/chat/completions"),
            (
                "http://h/v1/chat/completions",
                "http://h/v1/chat/completions",
            ),
            ("http://h", "http://h/chat/completions"),
            (
                "https://h/x?api-version=2",
                "https://h/x/chat/completions?api-version=2",
            ),
        ] {
            assert_eq!(completions_url(base), address);
        }
    }

    #[test]
    fn invalid_base_url_is_refused_without_showing_it() {
        for base in ["", "nonsense", "ftp://user:secret@host/", "/v1", "http://"] {
            let settings = EndpointSettings::new("one", base, "m");
            let refusal = ModelEndpoint::new(settings, test_client()).unwrap_err();
            assert_eq!(refusal.code, RefusalCode::INVALID_CONFIG);
            assert!(!refusal.to_string().contains("secret"), "{refusal}");
        }
    }

    #[test]
    fn prices_apply_per_million_tokens() {
        let mut settings = EndpointSettings::new("one", "http://h/v1", "m");
        (settings.prompt_price, settings.response_price) = (2.5, 10.0);
        let endpoint = ModelEndpoint::new(settings, test_client()).unwrap();
        assert_eq!(endpoint.cost_micros((1_000_000, 0)), 2_500_000);
        assert_eq!(endpoint.cost_micros((1000, 100)), 3500);
        assert_eq!(endpoint.cost_micros((0, 0)), 0);
    }
}
