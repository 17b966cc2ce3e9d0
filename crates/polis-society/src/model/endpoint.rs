//! One model endpoint: its settings, the HTTP headers and JSON body of a request, fields that it turned out not to
//! support, and the price of a response.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use polis_core::society::role::ModelChoice;
use polis_core::{Code, Refusal};

use super::Ask;
use super::gate::Gate;
use super::key::Key;
use super::line::{Lines, Proxies};
use super::refusal::Quirk;
use super::trust::Trust;

/// The `User-Agent` header.
const AGENT: &str = concat!("polis/", env!("CARGO_PKG_VERSION"));

/// Configuration of an endpoint.
#[derive(Clone, PartialEq)]
pub struct EndpointSettings {
    /// Its name, by which roles select it.
    pub name: String,
    /// The base URL before `/chat/completions`, such as `https://api.example.com/v1`.
    pub base_url: String,
    /// The model name.
    pub model: String,
    /// The API key.
    pub key: Key,
    /// Tags that roles can select, such as `code`.
    pub tags: Vec<String>,
    /// The temperature, if it is to be set.
    pub temperature: Option<f64>,
    /// Maximum tokens of a response, if it is to be set.
    pub max_tokens: Option<u64>,
    /// Context limit: maximum tokens of a prompt and its response together.
    pub context: u64,
    /// Maximum number of concurrent requests.
    pub concurrency: usize,
    /// Maximum requests per minute, if that is limited.
    pub a_minute: Option<u32>,
    /// Price of a million prompt tokens.
    pub price_in: f64,
    /// Price of a million response tokens.
    pub price_out: f64,
    /// Whether responses are streamed.
    pub stream: bool,
    /// Whether the model's reasoning is sent back with the conversation, as some models require.
    pub keep_reasoning: bool,
    /// Additional headers of every request. They may contain secrets.
    pub headers: Vec<(String, String)>,
}

impl EndpointSettings {
    /// Creates the settings of an endpoint without a key, with default values.
    pub fn new(name: &str, base_url: &str, model: &str) -> Self {
        Self {
            name: name.to_owned(),
            base_url: base_url.to_owned(),
            model: model.to_owned(),
            key: Key::none(),
            tags: Vec::new(),
            temperature: None,
            max_tokens: None,
            context: 128_000,
            concurrency: 16,
            a_minute: None,
            price_in: 0.0,
            price_out: 0.0,
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
            .field("key", &self.key)
            .field("tags", &self.tags)
            .field("context", &self.context)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

/// Timeouts and retry limits of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    /// Timeout for the connection.
    pub connect: Duration,
    /// Timeout for the first byte of a response.
    pub first: Duration,
    /// Timeout between two chunks of a response.
    pub between: Duration,
    /// Timeout for the whole response.
    pub whole: Duration,
    /// Maximum attempts at an endpoint. A refusal by a rate limit counts as a third of a failure, and only if other
    /// calls were answered since the last one.
    pub tries: u32,
    /// Maximum time for all attempts at an endpoint, counted from the first failure.
    pub total: Duration,
    /// Maximum backoff before the second attempt; doubled before each further one.
    pub backoff: Duration,
    /// Maximum backoff before any attempt.
    pub longest_backoff: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            // A reasoning model may send nothing for minutes.
            first: Duration::from_secs(300),
            between: Duration::from_secs(120),
            whole: Duration::from_secs(1800),
            tries: 8,
            total: Duration::from_secs(900),
            backoff: Duration::from_millis(500),
            longest_backoff: Duration::from_secs(30),
        }
    }
}

/// A configured endpoint with its connections and limits.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) settings: EndpointSettings,
    pub(super) gate: Arc<Gate>,
    pub(super) lines: Lines,
    pub(super) headers: HeaderMap,
    pub(super) uri: Uri,
    no_stream_options: AtomicBool,
    no_temperature: AtomicBool,
    new_max_tokens: AtomicBool,
}

impl Endpoint {
    pub(super) fn new(
        settings: EndpointSettings,
        proxies: &Proxies,
        trust: Arc<Trust>,
        patience: &Patience,
    ) -> Result<Self, Refusal> {
        let name = &settings.name;
        let wrong = |what: &str| {
            Refusal::new(
                Code::InvalidConfig,
                format!("The address of the model's endpoint {name} {what}."),
                "set it to the address before /chat/completions, such as https://api.example.com/v1",
            )
        };
        let uri: Uri = completions(&settings.base_url)
            .parse()
            .map_err(|_| wrong("is none"))?;
        let lines = Lines::new(uri, proxies, trust, patience.connect).map_err(wrong)?;
        let mut headers = HeaderMap::new();
        headers.insert(HOST, lines.host().clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let accept = if settings.stream {
            "text/event-stream"
        } else {
            "application/json"
        };
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        if let Some(key) = settings.key.header()? {
            headers.insert(AUTHORIZATION, key);
        }
        if let Some(value) = lines.proxy_authorization() {
            headers.insert(PROXY_AUTHORIZATION, value.clone());
        }
        for (name, value) in &settings.headers {
            let pair = HeaderName::try_from(name)
                .ok()
                .zip(HeaderValue::try_from(value).ok());
            let Some((name, mut value)) = pair else {
                return Err(Refusal::new(
                    Code::InvalidConfig,
                    format!(
                        "A header of the model's endpoint {} is none.",
                        settings.name
                    ),
                    "a header is a name of letters and dashes, and a value on one line",
                ));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let uri = lines.target();
        Ok(Self {
            gate: Gate::new(settings.concurrency, settings.a_minute),
            settings,
            lines,
            headers,
            uri,
            no_stream_options: AtomicBool::new(false),
            no_temperature: AtomicBool::new(false),
            new_max_tokens: AtomicBool::new(false),
        })
    }

    /// Builds the request body by concatenation, without parsing the conversation.
    pub(super) fn body(&self, ask: &Ask<'_>) -> Bytes {
        let settings = &self.settings;
        let model = self.model(ask.choice);
        let mut out =
            String::with_capacity(ask.messages.len() + ask.tools.len() + model.len() + 256);
        out.push_str("{\"model\":");
        out.push_str(&serde_json::Value::from(model).to_string());
        if settings.stream {
            out.push_str(",\"stream\":true");
            if !self.no_stream_options.load(Ordering::Relaxed) {
                out.push_str(",\"stream_options\":{\"include_usage\":true}");
            }
        }
        let temperature = ask.choice.and_then(|choice| choice.temperature);
        let temperature = temperature
            .or(settings.temperature)
            .filter(|t| t.is_finite());
        if let (Some(temperature), false) =
            (temperature, self.no_temperature.load(Ordering::Relaxed))
        {
            out.push_str(",\"temperature\":");
            out.push_str(&temperature.to_string());
        }
        if let Some(most) = settings.max_tokens {
            let new = self.new_max_tokens.load(Ordering::Relaxed);
            out.push_str(if new {
                ",\"max_completion_tokens\":"
            } else {
                ",\"max_tokens\":"
            });
            out.push_str(&most.to_string());
        }
        // Most servers refuse an empty list.
        let tools = ask.tools.trim();
        if !tools.is_empty() && tools != "[]" {
            out.push_str(",\"tools\":");
            out.push_str(tools);
        }
        out.push_str(",\"messages\":[");
        out.push_str(ask.messages);
        out.push_str("]}");
        Bytes::from(out)
    }

    /// Returns the name of the model to request.
    pub(super) fn model<'a>(&'a self, choice: Option<&'a ModelChoice>) -> &'a str {
        choice
            .and_then(|choice| choice.model.as_deref())
            .unwrap_or(&self.settings.model)
    }

    /// Remembers a field that the endpoint does not support. Returns false if it was already known.
    pub(super) fn learn(&self, quirk: Quirk) -> bool {
        let known = match quirk {
            Quirk::StreamOptions => &self.no_stream_options,
            Quirk::Temperature => &self.no_temperature,
            Quirk::MaxTokens => &self.new_max_tokens,
        };
        !known.swap(true, Ordering::Relaxed)
    }

    /// Returns the cost of a response in millionths. The price of a million tokens equals the price of one token in
    /// millionths.
    pub(super) fn cost(&self, (prompt, answer): (u64, u64)) -> u64 {
        #[expect(clippy::cast_precision_loss, reason = "no answer has 2^52 tokens")]
        let sum = self.settings.price_in * prompt as f64 + self.settings.price_out * answer as f64;
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
fn completions(base: &str) -> String {
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
    use super::*;

    #[test]
    fn addresses_are_taken_as_people_write_them() {
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
            assert_eq!(completions(base), address);
        }
    }

    #[test]
    fn wrong_addresses_are_refused_without_showing_them() {
        for base in ["", "nonsense", "ftp://user:secret@host/", "/v1", "http://"] {
            let settings = EndpointSettings::new("one", base, "m");
            let made = Endpoint::new(
                settings,
                &Proxies::default(),
                Arc::default(),
                &Patience::default(),
            );
            let refusal = made.unwrap_err();
            assert_eq!(refusal.code, Code::InvalidConfig);
            assert!(!refusal.to_string().contains("secret"), "{refusal}");
        }
    }

    #[test]
    fn prices_are_of_a_million_tokens() {
        let mut settings = EndpointSettings::new("one", "http://h/v1", "m");
        (settings.price_in, settings.price_out) = (2.5, 10.0);
        let endpoint = Endpoint::new(
            settings,
            &Proxies::default(),
            Arc::default(),
            &Patience::default(),
        )
        .unwrap();
        assert_eq!(endpoint.cost((1_000_000, 0)), 2_500_000);
        assert_eq!(endpoint.cost((1000, 100)), 3500);
        assert_eq!(endpoint.cost((0, 0)), 0);
    }
}
