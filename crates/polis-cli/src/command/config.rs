//! `polis config`: prints the effective configuration and checks the files.

use clap::Subcommand;
use polis_i18n::{UiLanguage, msg};
use serde_json::json;

use crate::cli::GlobalArgs;
use crate::config::models_config::{ENDPOINT_KEYS, EndpointConfig};
use crate::config::{KeyTexts, RBAC_FILE, all_keys};
use crate::context::ProjectLocation;
use crate::error::CliError;
use crate::output::CliOutput;

/// Show or check the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every key with its value and description
    Show,
    /// Check polis.toml and rbac.yaml
    Check,
}

impl ConfigCommand {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let location = ProjectLocation::find(globals)?;
        let config = location.load_config()?;
        let policy = location.load_policy(&config)?;
        match self {
            Self::Show => {
                let mut document = serde_json::to_value(&config).map_err(std::io::Error::other)?;
                if let Some(store) = document.get_mut("store") {
                    *store = json!(redact_store_url(&config.store));
                }
                let lang = out.lang();
                out.print_result(&document, |values| {
                    let mut text = String::new();
                    for key in all_keys() {
                        let value = key.name.split('.').try_fold(values, |v, part| v.get(part));
                        let value = value.map_or_else(String::new, ToString::to_string);
                        let about = describe_key(key.texts(lang), key.default, lang);
                        text.push_str(&format!("{} = {value}\n    {about}\n", key.name));
                    }
                    for (name, endpoint) in &config.models.endpoints {
                        text.push_str(&render_endpoint(name, endpoint, lang));
                    }
                    text
                })
            }
            Self::Check => {
                let rbac = location
                    .data_dir
                    .as_ref()
                    .is_some_and(|w| w.join(RBAC_FILE).exists());
                let answer = json!({ "ok": true, "rbac": rbac, "roles": policy.roles.len() });
                out.print_result(&answer, |_| {
                    let text = if rbac {
                        msg::cli_project_config_and_rbac_valid(out.lang())
                    } else {
                        msg::cli_project_config_valid(out.lang())
                    };
                    text.to_owned()
                })
            }
        }
    }
}

/// Lists the keys of a model endpoint; its API key is only named, not shown.
fn render_endpoint(name: &str, endpoint: &EndpointConfig, lang: UiLanguage) -> String {
    let values = serde_json::to_value(endpoint).unwrap_or_default();
    let mut text = String::new();
    for key in ENDPOINT_KEYS {
        let value = values.get(key.name).map_or_else(
            || msg::cli_project_config_not_set(lang).to_owned(),
            ToString::to_string,
        );
        let about = describe_key(key.texts(lang), key.default, lang);
        text.push_str(&format!(
            "models.{name}.{} = {value}\n    {about}\n",
            key.name
        ));
    }
    text
}

fn describe_key(texts: KeyTexts, default: &str, lang: UiLanguage) -> String {
    msg::cli_project_config_key(lang, texts.description, texts.accepted_values, default)
}

/// Returns a store's URL for display, without credentials and parameters.
fn redact_store_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return String::new();
    };
    let rest = rest.split('?').next().unwrap_or_default();
    let address = rest.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_url_is_shown_without_credentials() {
        for url in [
            "postgres://u:secret@h:5432/db",
            "postgres://h:5432/db?user=u&password=secret",
            "postgres://u:sec@ret@h:5432/db?options=secret",
        ] {
            assert_eq!(redact_store_url(url), "postgres://h:5432/db");
        }
        assert_eq!(redact_store_url(""), "");
    }
}
