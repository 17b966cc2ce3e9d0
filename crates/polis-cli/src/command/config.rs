//! `polis config`: prints the effective configuration and checks the files.

use clap::Subcommand;
use serde_json::json;

use crate::cli::Globals;
use crate::config::models::{ENDPOINT_KEYS, EndpointConfig};
use crate::config::{RBAC, keys};
use crate::context::Place;
use crate::error::Failure;
use crate::output::Output;

/// Show or check the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print every key, what it is set to, and what it is for
    Show,
    /// Check polis.toml and rbac.yaml
    Check,
}

impl Config {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let place = Place::find(globals)?;
        let config = place.config()?;
        let policy = place.policy(&config)?;
        match self {
            Self::Show => {
                let mut shown = serde_json::to_value(&config).map_err(std::io::Error::other)?;
                if let Some(store) = shown.get_mut("store") {
                    *store = json!(place_of(&config.store));
                }
                out.answer(&shown, |values| {
                    let mut text = String::new();
                    for key in keys() {
                        let value = key.name.split('.').try_fold(values, |v, part| v.get(part));
                        let value = value.map_or_else(String::new, ToString::to_string);
                        text.push_str(&format!(
                            "{} = {value}\n    {} Takes {}; default {}.\n",
                            key.name, key.about, key.takes, key.default
                        ));
                    }
                    for (name, endpoint) in &config.models.endpoints {
                        text.push_str(&endpoint_text(name, endpoint));
                    }
                    text
                })
            }
            Self::Check => {
                let rbac = place
                    .workspace
                    .as_ref()
                    .is_some_and(|w| w.join(RBAC).exists());
                let answer = json!({ "ok": true, "rbac": rbac, "roles": policy.roles.len() });
                out.answer(&answer, |_| {
                    let about = if rbac {
                        "rbac.yaml is sound."
                    } else {
                        "There is no rbac.yaml."
                    };
                    format!("polis.toml is sound. {about}")
                })
            }
        }
    }
}

/// Lists the keys of a model endpoint; its API key is only named, not shown.
fn endpoint_text(name: &str, endpoint: &EndpointConfig) -> String {
    let values = serde_json::to_value(endpoint).unwrap_or_default();
    let mut text = String::new();
    for key in ENDPOINT_KEYS {
        let value = values
            .get(key.name)
            .map_or_else(|| "not set".to_owned(), ToString::to_string);
        text.push_str(&format!(
            "models.{name}.{} = {value}\n    {} Takes {}; default {}.\n",
            key.name, key.about, key.takes, key.default
        ));
    }
    text
}

/// Returns a store's URL for display, without credentials and parameters.
fn place_of(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return String::new();
    };
    let rest = rest.split('?').next().unwrap_or_default();
    let place = rest.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{place}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_to_write_a_password_shows_it() {
        for url in [
            "postgres://u:secret@h:5432/db",
            "postgres://h:5432/db?user=u&password=secret",
            "postgres://u:sec@ret@h:5432/db?options=secret",
        ] {
            assert_eq!(place_of(url), "postgres://h:5432/db");
        }
        assert_eq!(place_of(""), "");
    }
}
