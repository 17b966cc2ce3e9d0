//! `polis config`.

use clap::Subcommand;
use serde_json::json;

use crate::cli::Globals;
use crate::config::{KEYS, RBAC};
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
                    *store = json!(without_password(&config.store));
                }
                out.answer(&shown, |values| {
                    let mut text = String::new();
                    for key in KEYS {
                        let value = key.name.split('.').try_fold(values, |v, part| v.get(part));
                        let value = value.map_or_else(String::new, ToString::to_string);
                        text.push_str(&format!(
                            "{} = {value}\n    {} Takes {}; default {}.\n",
                            key.name, key.about, key.takes, key.default
                        ));
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

/// A store's URL as it may be shown.
fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    match rest.rsplit_once('@') {
        Some((login, host)) => {
            let user = login.split(':').next().unwrap_or_default();
            format!("{scheme}://{user}:***@{host}")
        }
        None => url.to_owned(),
    }
}
