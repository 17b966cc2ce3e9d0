//! `[models]` and `[models.NAME]`: model endpoints with their limits and prices.
//!
//! The configuration never contains an API key: an endpoint names the environment variable or the file that holds it.
//! This module validates endpoints; `polis-society` sends the requests.

use std::collections::BTreeMap;

use serde::Serialize;
use toml::de::{DeTable, DeValue};

use super::keys::{Key, count, switch, text, texts};
use super::{Config, nearest};

/// Name of the table of endpoints.
pub(super) const TABLE: &str = "models";

/// Name of the endpoint that is defined by environment variables only.
pub(crate) const FROM_ENVIRONMENT: &str = "environment";

/// `[models]`, with defaults filled in.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ModelsConfig {
    /// Default endpoint of roles that name none; empty: the only one, or the first by name.
    pub(crate) default: String,
    /// All endpoints, by name.
    #[serde(flatten)]
    pub(crate) endpoints: BTreeMap<String, EndpointConfig>,
}

/// `[models.NAME]`.
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
    /// Maximum tokens of an answer; `None`: the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<u32>,
    /// Context window: tokens of prompt and answer together.
    pub(crate) context: u32,
    /// Maximum concurrent requests.
    pub(crate) concurrency: u32,
    /// Maximum requests per minute; 0: no limit.
    pub(crate) requests_a_minute: u32,
    /// Whether answers are streamed.
    pub(crate) stream: bool,
    /// Price of a million prompt tokens.
    pub(crate) price_in: f64,
    /// Price of a million answer tokens.
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
    /// Accepted values, in words.
    pub(crate) takes: &'static str,
    /// Default value, as TOML.
    pub(crate) default: &'static str,
    /// Description.
    pub(crate) about: &'static str,
    set: fn(&mut EndpointConfig, &DeValue<'_>) -> Result<(), String>,
}

/// The keys of `[models]` itself.
pub(super) const KEYS: &[Key] = &[Key {
    name: "models.default",
    takes: "the name of an endpoint, or \"\" for the first",
    default: "\"\"",
    about: "The endpoint of agents whose role names none. --model and POLIS_MODEL win over it.",
    set: |config, value| {
        config.models.default = text(value)?;
        Ok(())
    },
}];

macro_rules! key {
    ($name:literal, $takes:literal, $default:literal, $about:literal, $field:ident, $read:expr) => {
        EndpointKey {
            name: $name,
            takes: $takes,
            default: $default,
            about: $about,
            set: |endpoint, value| {
                let read: fn(&DeValue<'_>) -> Result<_, String> = $read;
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
        "an http:// or https:// address",
        "\"https://api.openai.com/v1\"",
        "Where it is; `/chat/completions` is added.",
        base_url,
        address
    ),
    key!(
        "model",
        "a name",
        "\"gpt-4.1\"",
        "The model's name there.",
        model,
        named
    ),
    key!(
        "key_env",
        "the name of a variable, or \"\" for none",
        "\"\"",
        "The variable of the environment that has the key.",
        key_env,
        variable
    ),
    key!(
        "key_file",
        "a file, or \"\" for none",
        "\"\"",
        "The file that has the key and nothing else; a relative path is below the project's directory.",
        key_file,
        text
    ),
    key!(
        "tags",
        "a list of words",
        "[]",
        "What it is good for, such as [\"code\"]; a role names an endpoint or a tag.",
        tags,
        texts
    ),
    key!(
        "temperature",
        "a number from 0 to 2",
        "0.2",
        "How freely it answers; left out, the provider's own.",
        temperature,
        |value| {
            let number = decimal(value)?;
            if number > 2.0 {
                return Err("expected a number from 0 to 2".to_owned());
            }
            Ok(Some(number))
        }
    ),
    key!(
        "max_tokens",
        "a number from 1 to 1000000",
        "8192",
        "The longest answer; left out, the provider's own.",
        max_tokens,
        |value| count(value, 1_000_000).map(Some)
    ),
    key!(
        "context",
        "a number of tokens",
        "128000",
        "How many tokens fit into a prompt and its answer; conversations are summed up before.",
        context,
        |value| {
            let tokens = count(value, 100_000_000)?;
            if tokens < 1_000 {
                return Err("expected at least 1000 tokens".to_owned());
            }
            Ok(tokens)
        }
    ),
    key!(
        "concurrency",
        "a number from 1 to 10000",
        "8",
        "How many may ask at a time, of all agents together.",
        concurrency,
        |value| count(value, 10_000)
    ),
    key!(
        "requests_a_minute",
        "a number, 0 for no limit",
        "0",
        "How many requests it takes in a minute; what it says itself when it is too many is minded anyway.",
        requests_a_minute,
        |value| {
            let number = decimal(value)?;
            let number = if number.fract() == 0.0 {
                format!("{number}").parse().ok()
            } else {
                None
            };
            number.ok_or_else(|| "expected a whole number".to_owned())
        }
    ),
    key!(
        "stream",
        "true or false",
        "true",
        "Whether answers come piece by piece, so that a slow one is not taken for a dead one.",
        stream,
        switch
    ),
    key!(
        "price_in",
        "a number",
        "0.0",
        "What a million tokens of prompts cost, in the currency of your budgets.",
        price_in,
        decimal
    ),
    key!(
        "price_out",
        "a number",
        "0.0",
        "What a million tokens of answers cost.",
        price_out,
        decimal
    ),
];

/// Reads one endpoint. Errors carry their position in the file; a value that may be a key is never repeated.
pub(super) fn read(
    config: &mut Config,
    name: &str,
    keys: &DeTable<'_>,
) -> Result<(), (usize, String)> {
    let mut endpoint = EndpointConfig::default();
    for (key, value) in keys.iter() {
        let at = key.span().start;
        let known = ENDPOINT_KEYS
            .iter()
            .find(|known| known.name == key.get_ref());
        let known = known.ok_or_else(|| (at, unknown(name, key.get_ref())))?;
        (known.set)(&mut endpoint, value.get_ref()).map_err(|why| {
            (
                value.span().start,
                format!("{TABLE}.{name}.{}: {why}", known.name),
            )
        })?;
    }
    if !endpoint.key_env.is_empty() && !endpoint.key_file.is_empty() {
        let why = format!("{TABLE}.{name}: of key_env and key_file only one may be set");
        return Err((0, why));
    }
    config.models.endpoints.insert(name.to_owned(), endpoint);
    Ok(())
}

fn unknown(endpoint: &str, key: &str) -> String {
    let meant = if matches!(key, "key" | "api_key" | "apikey" | "token") {
        "; a key does not stand here: name its variable with key_env, or its file with key_file"
            .to_owned()
    } else {
        let names = ENDPOINT_KEYS.iter().map(|known| known.name);
        nearest(key, names).map_or_else(String::new, |n| format!("; did you mean {n:?}?"))
    };
    let name = format!("{TABLE}.{endpoint}.{key}");
    format!("unknown key {name:?}{meant}")
}

/// Reads a URL that may be displayed: without user, password or query.
fn address(value: &DeValue<'_>) -> Result<String, String> {
    let url = text(value)?;
    check_address(&url)?;
    Ok(url.trim_end_matches('/').to_owned())
}

/// Checks that a URL can be requested, and may be displayed.
pub(crate) fn check_address(url: &str) -> Result<(), String> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    match rest {
        Some(rest) if rest.contains(['@', '?', '#']) => Err(
            "expected an address without a user, a password or a query; keys are named with key_env or key_file"
                .to_owned(),
        ),
        Some(rest) if !rest.trim_matches('/').is_empty() && !rest.contains(char::is_whitespace) => {
            Ok(())
        }
        _ => Err("expected an http:// or https:// address".to_owned()),
    }
}

fn named(value: &DeValue<'_>) -> Result<String, String> {
    let name = text(value)?;
    if name.trim().is_empty() {
        return Err("expected a name".to_owned());
    }
    Ok(name)
}

/// Reads the name of an environment variable. An invalid name may be a key pasted here by mistake, so it is not
/// repeated.
fn variable(value: &DeValue<'_>) -> Result<String, String> {
    let name = text(value)?;
    let sound = name
        .bytes()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if sound && !name.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(name);
    }
    Err("expected the name of a variable, such as OPENAI_API_KEY, not the key itself".to_owned())
}

/// Reads a non-negative number, with or without decimals.
pub(super) fn decimal(value: &DeValue<'_>) -> Result<f64, String> {
    let written = match value {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        other => return Err(format!("expected a number, found {}", other.type_str())),
    };
    written
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite() && *number >= 0.0)
        .ok_or_else(|| "expected a number that is not negative".to_owned())
}
