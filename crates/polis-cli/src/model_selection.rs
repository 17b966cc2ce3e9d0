//! Model selection: resolves the `--model` flag, configuration and environment to model endpoints with their
//! API keys, or to a recording, and creates the model client.
//!
//! This is the only module that reads API keys. A key is never printed: not in a refusal, not with `Debug`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use polis_core::Refusal;
use polis_core::number::saturating_cast;
use polis_society::model::{
    self, ApiKey, EndpointSettings, LanguageModel, ModelEndpointsSettings, ProxySettings,
    RecordingModel, ReplayModel,
};

use crate::config::Config;
use crate::config::models_config::{ENVIRONMENT_ENDPOINT, EndpointConfig, check_http_url};
use crate::error::CliError;
use crate::refusal_tables::CommandRefusal;

/// Prefix of a `--model` value that names a recording.
const REPLAY_PREFIX: &str = "replay:";
/// Variables that define an endpoint if the configuration has none.
const OPENAI_KEY_VARIABLE: &str = "OPENAI_API_KEY";
const OPENAI_URL_VARIABLE: &str = "OPENAI_BASE_URL";

/// The selected source of model responses.
#[derive(Debug)]
pub(crate) enum ModelSource {
    /// A recording that is played back.
    Replay(PathBuf),
    /// Model endpoints that are called over HTTP.
    Endpoints(SelectedEndpoints),
}

/// Endpoints with their keys, and the default endpoint for roles that name none.
#[derive(Debug)]
pub(crate) struct SelectedEndpoints {
    pub(crate) default: String,
    pub(crate) all: Vec<(String, EndpointConfig, ApiKey)>,
}

impl ModelSource {
    /// Refuses a money budget if no endpoint has a price: it would never be used up.
    pub(crate) fn check_money_budget(&self, limited: bool) -> Result<(), CliError> {
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
        Err(CliError::from(CommandRefusal::BudgetWithoutPrice))
    }

    /// Creates the model client.
    pub(crate) fn into_model(
        self,
        config: &Config,
        environment: &dyn EnvironmentSource,
    ) -> Result<Arc<dyn LanguageModel>, CliError> {
        match self {
            Self::Endpoints(endpoints) => {
                Ok(endpoints.into_model(config.society.concurrency, environment)?)
            }
            Self::Replay(file) => {
                let text = std::fs::read_to_string(&file)
                    .map_err(|_| CommandRefusal::RecordingUnreadable)?;
                Ok(Arc::new(ReplayModel::new(&text)?))
            }
        }
    }
}

/// Wraps a model so that its responses are recorded to a file.
pub(crate) fn record_responses(
    model: Arc<dyn LanguageModel>,
    file: &Path,
) -> Result<Arc<dyn LanguageModel>, CliError> {
    let recorder = RecordingModel::new(model, file)
        .map_err(|_| CliError::from(CommandRefusal::RecordingNotWritable))?;
    Ok(Arc::new(recorder))
}

impl SelectedEndpoints {
    /// Creates the client for these endpoints. Sends no request yet.
    pub(crate) fn into_model(
        self,
        concurrency: u32,
        environment: &dyn EnvironmentSource,
    ) -> Result<Arc<dyn LanguageModel>, Refusal> {
        let size = |number: u32| saturating_cast::<usize>(number);
        let settings = |(name, config, key): (String, EndpointConfig, ApiKey)| EndpointSettings {
            setting: describe_setting(&name),
            api_key: key,
            tags: config.tags,
            temperature: config.temperature,
            max_tokens: config.max_tokens.map(u64::from),
            context_limit: u64::from(config.context),
            max_concurrency: size(config.concurrency),
            requests_per_minute: Some(config.requests_a_minute).filter(|n| *n > 0),
            prompt_price: config.price_in,
            response_price: config.price_out,
            stream: config.stream,
            ..EndpointSettings::new(&name, &config.base_url, &config.model)
        };
        let endpoints = model::ModelEndpoints::new(ModelEndpointsSettings {
            endpoints: self.all.into_iter().map(settings).collect(),
            default_endpoint: Some(self.default),
            max_concurrency: Some(size(concurrency)),
            proxies: proxies_from_environment(environment),
            ..ModelEndpointsSettings::default()
        })?;
        Ok(Arc::new(endpoints))
    }
}

/// Returns where the URL and key of an endpoint are set.
fn describe_setting(endpoint: &str) -> String {
    if endpoint == ENVIRONMENT_ENDPOINT {
        format!("{OPENAI_URL_VARIABLE}, {OPENAI_KEY_VARIABLE}")
    } else {
        format!("[models.{endpoint}]")
    }
}

/// Returns the proxies from the environment; variable names in lower or upper case.
pub(crate) fn proxies_from_environment(environment: &dyn EnvironmentSource) -> ProxySettings {
    let named = |name: &str| {
        let found = environment
            .env_variable(name)
            .or_else(|| environment.env_variable(&name.to_uppercase()));
        found.unwrap_or_default()
    };
    ProxySettings {
        all: named("all_proxy"),
        http: named("http_proxy"),
        https: named("https_proxy"),
        no_proxy: named("no_proxy"),
    }
}

/// Process environment and files, as a trait so that tests can replace them.
pub(crate) trait EnvironmentSource {
    /// Returns an environment variable that is set and not empty.
    fn env_variable(&self, name: &str) -> Option<String>;
    /// Returns the text of a file.
    fn read_file(&self, path: &Path) -> Option<String>;
    /// Returns the project directory, which identifies the project in traces. Empty without a project.
    fn project_dir(&self) -> String;
}

/// The real environment and file system. Relative paths are below the project directory.
#[derive(Debug)]
pub(crate) struct ProcessEnvironment(pub(crate) Option<PathBuf>);

impl EnvironmentSource for ProcessEnvironment {
    #[expect(
        clippy::disallowed_methods,
        reason = "API keys and the OPENAI_* variables are only in the environment"
    )]
    fn env_variable(&self, name: &str) -> Option<String> {
        std::env::var(name)
            .ok()
            .filter(|value| !value.trim().is_empty())
    }

    fn read_file(&self, path: &Path) -> Option<String> {
        let path = self
            .0
            .as_deref()
            .map_or_else(|| path.to_owned(), |dir| dir.join(path));
        std::fs::read_to_string(path).ok()
    }

    fn project_dir(&self) -> String {
        let directory = self.0.as_deref();
        directory.map_or_else(String::new, |path| path.display().to_string())
    }
}

/// Selects the model source. `model` is the value of the flag: an endpoint name, a model name, or
/// `replay:FILE`. Fails if no endpoint is configured or an API key is missing.
pub(crate) fn select_model(
    config: &Config,
    model: Option<&str>,
    environment: &dyn EnvironmentSource,
) -> Result<ModelSource, Refusal> {
    if let Some(file) = model.and_then(|model| model.strip_prefix(REPLAY_PREFIX)) {
        return Ok(ModelSource::Replay(PathBuf::from(file)));
    }
    let models = &config.models;
    let mut found: Vec<(String, EndpointConfig)> = models
        .endpoints
        .iter()
        .map(|(name, endpoint)| (name.clone(), endpoint.clone()))
        .collect();
    if found.is_empty() {
        found.push((
            ENVIRONMENT_ENDPOINT.to_owned(),
            endpoint_from_environment(environment)?,
        ));
    }
    let named = |name: &str| found.iter().any(|(candidate, _)| candidate == name);
    let configured = match models.default.as_str() {
        "" => found.first().map_or("", |(name, _)| name),
        default => default,
    };
    let default = model
        .filter(|model| named(model))
        .unwrap_or(configured)
        .to_owned();
    // A name that is not an endpoint is a model name at the default endpoint.
    if let Some(model) = model.filter(|model| !named(model)) {
        for (_, endpoint) in found.iter_mut().filter(|(name, _)| *name == default) {
            model.clone_into(&mut endpoint.model);
        }
    }
    let mut all = Vec::new();
    for (name, endpoint) in found {
        let key = read_api_key(&name, &endpoint, environment)?;
        all.push((name, endpoint, key));
    }
    Ok(ModelSource::Endpoints(SelectedEndpoints { default, all }))
}

/// Creates an endpoint from `OPENAI_API_KEY` and `OPENAI_BASE_URL`.
fn endpoint_from_environment(
    environment: &dyn EnvironmentSource,
) -> Result<EndpointConfig, Refusal> {
    let key = environment.env_variable(OPENAI_KEY_VARIABLE);
    let url = environment.env_variable(OPENAI_URL_VARIABLE);
    if key.is_none() && url.is_none() {
        return Err(CommandRefusal::NoModel.into());
    }
    let mut endpoint = EndpointConfig::default();
    if let Some(url) = url {
        check_http_url(&url).map_err(|_| CommandRefusal::UnusableUrl {
            variable: OPENAI_URL_VARIABLE.to_owned(),
        })?;
        url.trim_end_matches('/').clone_into(&mut endpoint.base_url);
    }
    if key.is_some() {
        OPENAI_KEY_VARIABLE.clone_into(&mut endpoint.key_env);
    }
    Ok(endpoint)
}

fn read_api_key(
    name: &str,
    endpoint: &EndpointConfig,
    environment: &dyn EnvironmentSource,
) -> Result<ApiKey, Refusal> {
    if !endpoint.key_env.is_empty() {
        let key = environment.env_variable(&endpoint.key_env);
        return key.map(|key| ApiKey::new(key.trim())).ok_or_else(|| {
            CommandRefusal::KeyVariableMissing {
                endpoint: format!("{name:?}"),
                variable: endpoint.key_env.clone(),
                name: name.to_owned(),
            }
            .into()
        });
    }
    if !endpoint.key_file.is_empty() {
        let text = environment.read_file(Path::new(&endpoint.key_file));
        let key = text.as_deref().map(str::trim).filter(|key| !key.is_empty());
        return key.map(ApiKey::new).ok_or_else(|| {
            CommandRefusal::KeyFileUnreadable {
                endpoint: format!("{name:?}"),
                name: name.to_owned(),
            }
            .into()
        });
    }
    Ok(ApiKey::none())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::refusal_tables::CliCode;

    fn rendered(refusal: &Refusal) -> polis_i18n::RefusalText {
        let (surface, lang) = (polis_i18n::Surface::Cli, polis_i18n::UiLanguage::En);
        polis_i18n::render_reason(&refusal.reason, surface, lang)
    }

    #[derive(Default)]
    struct FakeEnvironment(BTreeMap<&'static str, &'static str>);

    impl EnvironmentSource for FakeEnvironment {
        fn env_variable(&self, name: &str) -> Option<String> {
            self.0.get(name).map(|value| (*value).to_owned())
        }
        fn read_file(&self, path: &Path) -> Option<String> {
            self.0.get(path.to_str()?).map(|value| (*value).to_owned())
        }
        fn project_dir(&self) -> String {
            String::new()
        }
    }

    fn fake_environment(set: &[(&'static str, &'static str)]) -> FakeEnvironment {
        FakeEnvironment(set.iter().copied().collect())
    }

    fn select_endpoints(
        config: &str,
        model: Option<&str>,
        environment: &FakeEnvironment,
    ) -> Result<SelectedEndpoints, Refusal> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("polis.toml"), config).unwrap();
        let config = Config::load(directory.path()).unwrap();
        match select_model(&config, model, environment)? {
            ModelSource::Endpoints(endpoints) => Ok(endpoints),
            ModelSource::Replay(file) => panic!("{file:?}"),
        }
    }

    #[test]
    fn api_key_in_environment_defines_endpoint() {
        let environment = fake_environment(&[("OPENAI_API_KEY", "sk-s3cret\n")]);
        let found = select_endpoints("", None, &environment).unwrap();
        let (name, endpoint, _) = &found.all[0];
        assert_eq!(
            (name.as_str(), found.default.as_str()),
            ("environment", "environment")
        );
        assert_eq!(endpoint.base_url, "https://api.openai.com/v1");
        assert!(!format!("{found:?}").contains("s3cret"), "{found:?}");

        let local = fake_environment(&[("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1/")]);
        let found = select_endpoints("", Some("qwen3"), &local).unwrap();
        assert_eq!(found.all[0].1.base_url, "http://127.0.0.1:11434/v1");
        assert_eq!(found.all[0].1.model, "qwen3");
    }

    #[test]
    fn model_flag_selects_endpoint_or_model_name() {
        let config =
            "[models]\ndefault = \"b\"\n[models.a]\nmodel = \"m1\"\n[models.b]\nmodel = \"m2\"\n";
        let environment = FakeEnvironment::default();
        let default = |model| {
            select_endpoints(config, model, &environment)
                .unwrap()
                .default
        };
        assert_eq!(default(None), "b");
        assert_eq!(default(Some("a")), "a");
        let found = select_endpoints(config, Some("m9"), &environment).unwrap();
        let models: Vec<&str> = found.all.iter().map(|(_, e, _)| e.model.as_str()).collect();
        assert_eq!((found.default.as_str(), models), ("b", vec!["m1", "m9"]));
        let first = select_endpoints("[models.z]\n[models.c]\n", None, &environment).unwrap();
        assert_eq!(first.default, "c");
    }

    #[test]
    fn missing_key_is_refused_without_leaking_secrets() {
        let none = select_endpoints("", None, &FakeEnvironment::default()).unwrap_err();
        assert_eq!(none.code, CliCode::MODEL_NOT_CONFIGURED);
        assert!(rendered(&none).hint.contains("OPENAI_API_KEY"), "{none:?}");
        let config = "[models.a]\nkey_env = \"MY_KEY\"\n";
        let unset = select_endpoints(config, None, &FakeEnvironment::default()).unwrap_err();
        assert!(rendered(&unset).message.contains("MY_KEY"), "{unset:?}");
        let file = "[models.a]\nkey_file = \"secrets/key\"\n";
        let empty = fake_environment(&[("secrets/key", " \n")]);
        assert!(
            rendered(&select_endpoints(file, None, &empty).unwrap_err())
                .message
                .contains("its file")
        );
        let found = select_endpoints(
            file,
            None,
            &fake_environment(&[("secrets/key", "sk-s3cret\n")]),
        )
        .unwrap();
        assert!(!format!("{found:?}").contains("s3cret"));
        let wrong = fake_environment(&[("OPENAI_BASE_URL", "https://u:s3cret@h/v1")]);
        let refused = select_endpoints("", None, &wrong).unwrap_err();
        assert!(!format!("{refused:?}").contains("s3cret"), "{refused:?}");
    }

    #[test]
    fn replay_needs_no_configured_model() {
        let replay = select_model(
            &Config::default(),
            Some("replay:a.jsonl"),
            &FakeEnvironment::default(),
        );
        let Ok(ModelSource::Replay(file)) = replay else {
            panic!("{replay:?}");
        };
        assert_eq!(file, Path::new("a.jsonl"));
    }
}
