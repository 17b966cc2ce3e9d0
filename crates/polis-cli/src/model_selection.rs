//! Model selection: resolves flags, configuration and environment to model endpoints with their API keys, or to a
//! recording.
//!
//! This is the only module that reads API keys. A key is never printed: not in a refusal, not with `Debug`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use polis_core::{Code, Refusal};
use polis_society::model::{
    self, EndpointSettings, EndpointsSettings, Key, Model, Proxies, Recorder, Replay,
};

use crate::config::Config;
use crate::config::models::{EndpointConfig, FROM_ENVIRONMENT, check_address};
use crate::error::{Failure, invalid};

/// Prefix of a `--model` value that names a recording.
const REPLAY: &str = "replay:";
/// Variables that define an endpoint if the configuration has none.
const OPENAI_KEY: &str = "OPENAI_API_KEY";
const OPENAI_URL: &str = "OPENAI_BASE_URL";

/// The selected source of model answers.
#[derive(Debug)]
pub(crate) enum Thinking {
    /// A recording that is played back.
    Replay(PathBuf),
    /// Live model endpoints.
    Endpoints(Endpoints),
}

/// Endpoints with their keys, and the default endpoint for roles that name none.
#[derive(Debug)]
pub(crate) struct Endpoints {
    pub(crate) default: String,
    pub(crate) all: Vec<(String, EndpointConfig, Key)>,
}

impl Thinking {
    /// Refuses a money budget if no endpoint has a price: it would never be used up.
    pub(crate) fn check_money(&self, limited: bool) -> Result<(), Failure> {
        let priced = match self {
            Self::Replay(_) => true,
            Self::Endpoints(endpoints) => {
                let mut all = endpoints.all.iter();
                all.any(|(_, config, _)| config.price_in > 0.0 || config.price_out > 0.0)
            }
        };
        if priced || !limited {
            return Ok(());
        }
        Err(invalid(
            "The budget is money, but no endpoint has a price, so it would never be used up.",
            "set price_in and price_out of [models.NAME] in .agent-workspace/polis.toml, or use --budget-tokens",
        ))
    }

    /// Creates the model client.
    pub(crate) fn model(
        self,
        config: &Config,
        here: &dyn Surroundings,
    ) -> Result<Arc<dyn Model>, Failure> {
        match self {
            Self::Endpoints(endpoints) => Ok(endpoints.model(config.society.concurrency, here)?),
            Self::Replay(file) => {
                let text = std::fs::read_to_string(&file).map_err(|_| {
                    not_configured(
                        "The recording cannot be read.".to_owned(),
                        "name a file that `polis run --record FILE` wrote: --model replay:FILE",
                    )
                })?;
                Ok(Arc::new(Replay::new(&text)?))
            }
        }
    }
}

/// Wraps a model so that its answers are recorded to a file.
pub(crate) fn recorded(model: Arc<dyn Model>, file: &Path) -> Result<Arc<dyn Model>, Failure> {
    let recorder = Recorder::new(model, file).map_err(|_| {
        invalid(
            "The recording cannot be written there.",
            "name another file with --record",
        )
    })?;
    Ok(Arc::new(recorder))
}

impl Endpoints {
    /// Creates the client for these endpoints. Sends no request yet.
    pub(crate) fn model(
        self,
        concurrency: u32,
        here: &dyn Surroundings,
    ) -> Result<Arc<dyn Model>, Refusal> {
        let size = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let settings = |(name, config, key): (String, EndpointConfig, Key)| EndpointSettings {
            key,
            tags: config.tags,
            temperature: config.temperature,
            max_tokens: config.max_tokens.map(u64::from),
            context: u64::from(config.context),
            concurrency: size(config.concurrency),
            a_minute: Some(config.requests_a_minute).filter(|n| *n > 0),
            price_in: config.price_in,
            price_out: config.price_out,
            stream: config.stream,
            ..EndpointSettings::new(&name, &config.base_url, &config.model)
        };
        let endpoints = model::Endpoints::new(EndpointsSettings {
            endpoints: self.all.into_iter().map(settings).collect(),
            default: Some(self.default),
            concurrency: Some(size(concurrency)),
            proxies: proxies(here),
            ..EndpointsSettings::default()
        })?;
        Ok(Arc::new(endpoints))
    }
}

/// Returns the proxies from the environment; variable names in lower or upper case.
pub(crate) fn proxies(here: &dyn Surroundings) -> Proxies {
    let named = |name: &str| {
        let found = here
            .variable(name)
            .or_else(|| here.variable(&name.to_uppercase()));
        found.unwrap_or_default()
    };
    Proxies {
        all: named("all_proxy"),
        http: named("http_proxy"),
        https: named("https_proxy"),
        no: named("no_proxy"),
    }
}

/// Process environment and files, as a trait so that tests can replace them.
pub(crate) trait Surroundings {
    /// Returns an environment variable that is set and not empty.
    fn variable(&self, name: &str) -> Option<String>;
    /// Returns the text of a file.
    fn file(&self, path: &Path) -> Option<String>;
    /// Returns an identifier of the project, its directory.
    fn place(&self) -> String;
}

/// The real environment and file system. Relative paths are below the project directory.
#[derive(Debug)]
pub(crate) struct Here(pub(crate) Option<PathBuf>);

impl Surroundings for Here {
    #[expect(
        clippy::disallowed_methods,
        reason = "keys and the usual shortcuts are only in the environment"
    )]
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name)
            .ok()
            .filter(|value| !value.trim().is_empty())
    }

    fn file(&self, path: &Path) -> Option<String> {
        let path = self
            .0
            .as_deref()
            .map_or_else(|| path.to_owned(), |dir| dir.join(path));
        std::fs::read_to_string(path).ok()
    }

    fn place(&self) -> String {
        let directory = self.0.as_deref();
        directory.map_or_else(String::new, |place| place.display().to_string())
    }
}

/// Selects the model source. `model` is the value of the flag: an endpoint name, a model name, or `replay:FILE`.
pub(crate) fn choose(
    config: &Config,
    model: Option<&str>,
    here: &dyn Surroundings,
) -> Result<Thinking, Refusal> {
    if let Some(file) = model.and_then(|model| model.strip_prefix(REPLAY)) {
        return Ok(Thinking::Replay(PathBuf::from(file)));
    }
    let models = &config.models;
    let mut found: Vec<(String, EndpointConfig)> = models
        .endpoints
        .iter()
        .map(|(name, endpoint)| (name.clone(), endpoint.clone()))
        .collect();
    if found.is_empty() {
        found.push((FROM_ENVIRONMENT.to_owned(), from_environment(here)?));
    }
    let named = |name: &str| found.iter().any(|(known, _)| known == name);
    let usual = match models.default.as_str() {
        "" => found.first().map_or("", |(name, _)| name),
        default => default,
    };
    let default = model
        .filter(|model| named(model))
        .unwrap_or(usual)
        .to_owned();
    // A name that is not an endpoint is a model name at the default endpoint.
    if let Some(model) = model.filter(|model| !named(model)) {
        for (_, endpoint) in found.iter_mut().filter(|(name, _)| *name == default) {
            model.clone_into(&mut endpoint.model);
        }
    }
    let mut all = Vec::new();
    for (name, endpoint) in found {
        let key = key_of(&name, &endpoint, here)?;
        all.push((name, endpoint, key));
    }
    Ok(Thinking::Endpoints(Endpoints { default, all }))
}

/// Creates an endpoint from `OPENAI_API_KEY` and `OPENAI_BASE_URL`.
fn from_environment(here: &dyn Surroundings) -> Result<EndpointConfig, Refusal> {
    let key = here.variable(OPENAI_KEY);
    let url = here.variable(OPENAI_URL);
    if key.is_none() && url.is_none() {
        return Err(not_configured(
            "No model is configured.".to_owned(),
            "set OPENAI_API_KEY (and OPENAI_BASE_URL for another provider), or add a table [models.NAME] to \
             .agent-workspace/polis.toml; `polis demo` needs no model",
        ));
    }
    let mut endpoint = EndpointConfig::default();
    if let Some(url) = url {
        check_address(&url).map_err(|_| {
            not_configured(
                format!("{OPENAI_URL} is not an address that can be asked."),
                "set it to an http:// or https:// address without a user, a password or a query",
            )
        })?;
        url.trim_end_matches('/').clone_into(&mut endpoint.base_url);
    }
    if key.is_some() {
        OPENAI_KEY.clone_into(&mut endpoint.key_env);
    }
    Ok(endpoint)
}

fn key_of(name: &str, endpoint: &EndpointConfig, here: &dyn Surroundings) -> Result<Key, Refusal> {
    if !endpoint.key_env.is_empty() {
        let key = here.variable(&endpoint.key_env);
        return key.map(|key| Key::new(key.trim())).ok_or_else(|| {
            not_configured(
                format!(
                    "The key of the endpoint {name:?} is missing: the variable {} is not set.",
                    endpoint.key_env
                ),
                format!("set {}, or change models.{name}.key_env", endpoint.key_env),
            )
        });
    }
    if !endpoint.key_file.is_empty() {
        let text = here.file(Path::new(&endpoint.key_file));
        let key = text.as_deref().map(str::trim).filter(|key| !key.is_empty());
        return key.map(Key::new).ok_or_else(|| {
            not_configured(
                format!("The key of the endpoint {name:?} is missing: its file cannot be read, or is empty."),
                format!("check the file that models.{name}.key_file names"),
            )
        });
    }
    Ok(Key::none())
}

fn not_configured(message: String, hint: impl Into<String>) -> Refusal {
    Refusal::new(Code::ModelNotConfigured, message, hint)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Default)]
    struct Around(BTreeMap<&'static str, &'static str>);

    impl Surroundings for Around {
        fn variable(&self, name: &str) -> Option<String> {
            self.0.get(name).map(|value| (*value).to_owned())
        }
        fn file(&self, path: &Path) -> Option<String> {
            self.0.get(path.to_str()?).map(|value| (*value).to_owned())
        }
        fn place(&self) -> String {
            String::new()
        }
    }

    fn around(set: &[(&'static str, &'static str)]) -> Around {
        Around(set.iter().copied().collect())
    }

    fn chosen(config: &str, model: Option<&str>, here: &Around) -> Result<Endpoints, Refusal> {
        let room = tempfile::tempdir().unwrap();
        std::fs::write(room.path().join("polis.toml"), config).unwrap();
        let config = Config::load(room.path()).unwrap();
        match choose(&config, model, here)? {
            Thinking::Endpoints(endpoints) => Ok(endpoints),
            Thinking::Replay(file) => panic!("{file:?}"),
        }
    }

    #[test]
    fn a_key_in_the_environment_is_enough() {
        let here = around(&[("OPENAI_API_KEY", "sk-s3cret\n")]);
        let found = chosen("", None, &here).unwrap();
        let (name, endpoint, _) = &found.all[0];
        assert_eq!(
            (name.as_str(), found.default.as_str()),
            ("environment", "environment")
        );
        assert_eq!(endpoint.base_url, "https://api.openai.com/v1");
        assert!(!format!("{found:?}").contains("s3cret"), "{found:?}");

        let local = around(&[("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1/")]);
        let found = chosen("", Some("qwen3"), &local).unwrap();
        assert_eq!(found.all[0].1.base_url, "http://127.0.0.1:11434/v1");
        assert_eq!(found.all[0].1.model, "qwen3");
    }

    #[test]
    fn an_endpoint_a_model_or_the_default_is_named() {
        let config =
            "[models]\ndefault = \"b\"\n[models.a]\nmodel = \"m1\"\n[models.b]\nmodel = \"m2\"\n";
        let here = Around::default();
        let default = |model| chosen(config, model, &here).unwrap().default;
        assert_eq!(default(None), "b");
        assert_eq!(default(Some("a")), "a");
        let found = chosen(config, Some("m9"), &here).unwrap();
        let models: Vec<&str> = found.all.iter().map(|(_, e, _)| e.model.as_str()).collect();
        assert_eq!((found.default.as_str(), models), ("b", vec!["m1", "m9"]));
        let first = chosen("[models.z]\n[models.c]\n", None, &here).unwrap();
        assert_eq!(first.default, "c");
    }

    #[test]
    fn what_is_missing_is_named_and_no_key_is_shown() {
        let none = chosen("", None, &Around::default()).unwrap_err();
        assert_eq!(none.code, Code::ModelNotConfigured);
        assert!(none.hint.contains("OPENAI_API_KEY"), "{none:?}");
        let config = "[models.a]\nkey_env = \"MY_KEY\"\n";
        let unset = chosen(config, None, &Around::default()).unwrap_err();
        assert!(unset.message.contains("MY_KEY"), "{unset:?}");
        let file = "[models.a]\nkey_file = \"secrets/key\"\n";
        let empty = around(&[("secrets/key", " \n")]);
        assert!(
            chosen(file, None, &empty)
                .unwrap_err()
                .message
                .contains("its file")
        );
        let found = chosen(file, None, &around(&[("secrets/key", "sk-s3cret\n")])).unwrap();
        assert!(!format!("{found:?}").contains("s3cret"));
        let wrong = around(&[("OPENAI_BASE_URL", "https://u:s3cret@h/v1")]);
        let refused = chosen("", None, &wrong).unwrap_err();
        assert!(!format!("{refused:?}").contains("s3cret"), "{refused:?}");
    }

    #[test]
    fn a_recording_needs_no_model() {
        let replay = choose(
            &Config::default(),
            Some("replay:a.jsonl"),
            &Around::default(),
        );
        let Ok(Thinking::Replay(file)) = replay else {
            panic!("{replay:?}");
        };
        assert_eq!(file, Path::new("a.jsonl"));
    }
}
