//! `[models]` and `[models.NAME]`: model endpoints with their limits and prices.
//!
//! The configuration never contains an API key: an endpoint names the environment variable or the file that
//! holds it. This module validates endpoints; `polis-society` sends the requests.

use std::collections::BTreeMap;

use polis_core::refusal::Reason;
use polis_i18n::UiLanguage;
use serde::Serialize;
use toml_edit::{Item, TableLike};

use super::config_keys::{
    ConfigKey, KeyTexts, in_key, key_offset, parse_bool, parse_count, parse_string,
    parse_string_list, suggestion, type_of, value_offset,
};
use super::{Config, nearest_name};
use crate::refusal_tables::ConfigProblem;

/// Name of the table of endpoints.
pub(super) const MODELS_TABLE: &str = "models";

/// Name of the endpoint that is defined by environment variables only.
pub(crate) const ENVIRONMENT_ENDPOINT: &str = "environment";

/// `[models]`, with defaults filled in.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ModelsConfig {
    /// Default endpoint of roles that name none; empty: the only one, or the first by name.
    pub(crate) default: String,
    /// All endpoints, by name.
    #[serde(flatten)]
    pub(crate) endpoints: BTreeMap<String, EndpointConfig>,
}

/// `[models.NAME]`: a model endpoint, with defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct EndpointConfig {
    /// Base URL, without `/chat/completions`.
    pub(crate) base_url: String,
    /// Model name at the endpoint.
    pub(crate) model: String,
    /// Environment variable that holds the API key; empty: none.
    pub(crate) key_env: String,
    /// File that holds the API key; empty: none.
    pub(crate) key_file: String,
    /// Tags that describe the model's strengths.
    pub(crate) tags: Vec<String>,
    /// Sampling temperature; `None`: the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) temperature: Option<f64>,
    /// Maximum tokens of a response; `None`: the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<u32>,
    /// Context window: tokens of prompt and response together.
    pub(crate) context: u32,
    /// Maximum concurrent requests to this endpoint.
    pub(crate) concurrency: u32,
    /// Maximum requests per minute; 0: no limit.
    pub(crate) requests_a_minute: u32,
    /// Whether responses are streamed.
    pub(crate) stream: bool,
    /// Price of a million prompt tokens.
    pub(crate) price_in: f64,
    /// Price of a million response tokens.
    pub(crate) price_out: f64,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            base_url: "https://api.openai.com/v1".to_owned(),
            model: "gpt-4.1".to_owned(),
            key_env: String::new(),
            key_file: String::new(),
            tags: Vec::new(),
            temperature: None,
            max_tokens: None,
            context: 128_000,
            concurrency: 8,
            requests_a_minute: 0,
            stream: true,
            price_in: 0.0,
            price_out: 0.0,
        }
    }
}

/// A key of `[models.NAME]`.
#[derive(Debug)]
pub(crate) struct EndpointKey {
    /// Name, without the table.
    pub(crate) name: &'static str,
    /// Description of the accepted values.
    pub(crate) accepted_values: &'static str,
    /// Default value, as TOML.
    pub(crate) default: &'static str,
    /// Description, shown by `polis config show` and in the reference.
    pub(crate) description: &'static str,
    set: fn(&mut EndpointConfig, &Item) -> Result<(), Reason>,
}

impl EndpointKey {
    /// Returns the description and the accepted values in a language.
    pub(crate) fn texts(&self, lang: UiLanguage) -> KeyTexts {
        let id = format!("endpoint-{}", self.name);
        KeyTexts::find(&id, (self.description, self.accepted_values), lang)
    }
}

/// The keys of `[models]` itself.
pub(super) const MODELS_KEYS: &[ConfigKey] = &[ConfigKey {
    name: "models.default",
    accepted_values: "the name of an endpoint, or \"\" for the first",
    default: "\"\"",
    description: "Default endpoint, for agents whose role names none. --model and POLIS_MODEL take precedence.",
    set: |config, value| {
        config.models.default = parse_string(value)?;
        Ok(())
    },
}];

macro_rules! key {
    ($name:literal, $accepted_values:literal, $default:literal, $description:literal, $field:ident, $read:expr) => {
        EndpointKey {
            name: $name,
            accepted_values: $accepted_values,
            default: $default,
            description: $description,
            set: |endpoint, value| {
                let read: fn(&Item) -> Result<_, Reason> = $read;
                endpoint.$field = read(value)?;
                Ok(())
            },
        }
    };
}

/// The keys of `[models.NAME]`.
pub(crate) const ENDPOINT_KEYS: &[EndpointKey] = &[
    key!(
        "base_url",
        "an http:// or https:// URL",
        "\"https://api.openai.com/v1\"",
        "Base URL of the API; `/chat/completions` is appended.",
        base_url,
        parse_base_url
    ),
    key!(
        "model",
        "a name",
        "\"gpt-4.1\"",
        "Name of the model at the endpoint.",
        model,
        parse_name
    ),
    key!(
        "key_env",
        "the name of an environment variable, or \"\" for none",
        "\"\"",
        "Environment variable that holds the API key.",
        key_env,
        parse_variable_name
    ),
    key!(
        "key_file",
        "a file, or \"\" for none",
        "\"\"",
        "File that contains only the API key; a relative path is resolved against the project directory.",
        key_file,
        parse_string
    ),
    key!(
        "tags",
        "a list of words",
        "[]",
        "Tags that describe the model's strengths, such as [\"code\"]; a role selects an endpoint by name or tag.",
        tags,
        parse_string_list
    ),
    key!(
        "temperature",
        "a number from 0 to 2",
        "0.2",
        "Sampling temperature, such as 0.2; if it is not set, the provider's default applies.",
        temperature,
        |value| {
            let number = parse_decimal(value)?;
            if number > 2.0 {
                return Err(ConfigProblem::ExpectedTemperature.into());
            }
            Ok(Some(number))
        }
    ),
    key!(
        "max_tokens",
        "a number from 1 to 1000000",
        "8192",
        "Maximum tokens of an answer, such as 8192; if it is not set, the provider's default applies.",
        max_tokens,
        |value| parse_count(value, 1_000_000).map(Some)
    ),
    key!(
        "context",
        "a number of tokens",
        "128000",
        "Context window: tokens of prompt and answer together. Conversations are compacted before it is full.",
        context,
        |value| {
            let tokens = parse_count(value, 100_000_000)?;
            if tokens < 1_000 {
                return Err(ConfigProblem::ExpectedTokens.into());
            }
            Ok(tokens)
        }
    ),
    key!(
        "concurrency",
        "a number from 1 to 10000",
        "8",
        "Maximum concurrent requests, over all agents.",
        concurrency,
        |value| parse_count(value, 10_000)
    ),
    key!(
        "requests_a_minute",
        "a number, 0 for no limit",
        "0",
        "Maximum requests per minute. The endpoint's own 429 and Retry-After are always honoured.",
        requests_a_minute,
        |value| {
            let number = parse_decimal(value)?;
            let number = if number.fract() == 0.0 {
                format!("{number}").parse().ok()
            } else {
                None
            };
            number.ok_or_else(|| ConfigProblem::ExpectedWholeNumber.into())
        }
    ),
    key!(
        "stream",
        "true or false",
        "true",
        "Whether answers are streamed, so that a slow answer is not mistaken for a dead connection.",
        stream,
        parse_bool
    ),
    key!(
        "price_in",
        "a number",
        "0.0",
        "Price of a million prompt tokens, in the currency of your budgets.",
        price_in,
        parse_decimal
    ),
    key!(
        "price_out",
        "a number",
        "0.0",
        "Price of a million answer tokens.",
        price_out,
        parse_decimal
    ),
];

/// Reads one endpoint. An error carries its byte offset in the file, or 0 for the endpoint's table. A value
/// that may be a key is never repeated.
pub(super) fn read_endpoint(
    config: &mut Config,
    name: &str,
    keys: &dyn TableLike,
) -> Result<(), (usize, Reason)> {
    let mut endpoint = EndpointConfig::default();
    for (key, value) in keys.iter() {
        let at = key_offset(keys, key);
        let config_key = ENDPOINT_KEYS
            .iter()
            .find(|config_key| config_key.name == key);
        let config_key = config_key.ok_or_else(|| (at, unknown_key(name, key)))?;
        (config_key.set)(&mut endpoint, value).map_err(|reason| {
            (
                value_offset(keys, key),
                in_key(format!("{MODELS_TABLE}.{name}.{}", config_key.name), reason),
            )
        })?;
    }
    if !endpoint.key_env.is_empty() && !endpoint.key_file.is_empty() {
        let endpoint = name.to_owned();
        return Err((0, ConfigProblem::TwoKeySources { endpoint }.into()));
    }
    config.models.endpoints.insert(name.to_owned(), endpoint);
    Ok(())
}

fn unknown_key(endpoint: &str, key: &str) -> Reason {
    let suggestion = if matches!(key, "key" | "api_key" | "apikey" | "token") {
        ConfigProblem::KeyIsNotWritten.into()
    } else {
        let names = ENDPOINT_KEYS.iter().map(|config_key| config_key.name);
        suggestion(nearest_name(key, names))
    };
    let name = format!("{MODELS_TABLE}.{endpoint}.{key}");
    let key = format!("{name:?}");
    ConfigProblem::UnknownNamedKey { key, suggestion }.into()
}

/// Reads a URL that may be displayed: without user, password or query.
fn parse_base_url(value: &Item) -> Result<String, Reason> {
    let url = parse_string(value)?;
    check_http_url(&url)?;
    Ok(url.trim_end_matches('/').to_owned())
}

/// Checks that a URL can be requested, and may be displayed.
pub(crate) fn check_http_url(url: &str) -> Result<(), Reason> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    match rest {
        Some(rest) if rest.contains(['@', '?', '#']) => Err(ConfigProblem::ExpectedBareUrl.into()),
        Some(rest) if !rest.trim_matches('/').is_empty() && !rest.contains(char::is_whitespace) => {
            Ok(())
        }
        _ => Err(ConfigProblem::ExpectedHttpUrl.into()),
    }
}

fn parse_name(value: &Item) -> Result<String, Reason> {
    let name = parse_string(value)?;
    if name.trim().is_empty() {
        return Err(ConfigProblem::ExpectedName.into());
    }
    Ok(name)
}

/// Reads the name of an environment variable. An invalid name may be a key pasted here by mistake, so it is
/// not repeated.
fn parse_variable_name(value: &Item) -> Result<String, Reason> {
    let name = parse_string(value)?;
    let sound = name
        .bytes()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if sound && !name.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(name);
    }
    Err(ConfigProblem::ExpectedKeyVariable.into())
}

/// Reads a non-negative number, with or without decimals.
pub(super) fn parse_decimal(value: &Item) -> Result<f64, Reason> {
    let number = match value.as_integer() {
        #[expect(clippy::cast_precision_loss, reason = "a price has few digits")]
        Some(number) => Some(number as f64),
        None => value.as_float(),
    };
    let found = || type_of(value.type_name());
    let number = number.ok_or_else(|| ConfigProblem::ExpectedNumber { found: found() })?;
    Some(number)
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| ConfigProblem::ExpectedNonNegative.into())
}
