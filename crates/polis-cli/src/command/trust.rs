//! `polis trust`: trusts a project that this user did not create on this machine, ends that trust, or
//! releases a directory from being an agent's workspace.

use std::path::{Path, PathBuf};

use clap::Args;
use polis_core::{Code, Refusal};
use polis_workspace::registry::MachineRegistry;
use serde::Serialize;

use crate::cli::Globals;
use crate::command::init;
use crate::config::Config;
use crate::context::workspace_of;
use crate::error::{Failure, invalid};
use crate::output::{Output, clean};
use crate::trust;

/// Trust a project that was not created by this user on this machine: one that was copied, moved or cloned. Its
/// configuration decides where keys are sent and what commands may read, so look at it first.
#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// The project's directory; default: the current one
    directory: Option<PathBuf>,
    /// Take trust back: polis refuses the project until it is trusted again
    #[arg(long, conflicts_with = "release")]
    remove: bool,
    /// Forget that the directory is the workspace of an agent, so that it can be a project itself or be bound elsewhere
    #[arg(long)]
    release: bool,
}

/// Result of the command.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    /// The project directory.
    dir: String,
    /// Whether the project is trusted from now on.
    trusted: bool,
    /// Model endpoints of its configuration, which receive the API keys it names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    endpoints: Vec<Endpoint>,
    /// Paths of this machine, outside their workspace, that its commands may read or write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    granted_paths: Vec<String>,
    /// The project of which the directory was an agent's workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    released_from: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Endpoint {
    name: String,
    base_url: String,
    /// Environment variable or file that holds its API key; empty: none.
    key: String,
}

impl Trust {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let directory = match &self.directory {
            Some(directory) => directory.clone(),
            None => init::directory(globals)?,
        };
        let registry = MachineRegistry::of_user();
        if self.release {
            return release(&registry, &directory, out);
        }
        let data = workspace_of(&directory);
        if !data.is_dir() {
            return Err(Refusal::new(
                Code::NotInitialized,
                "There is no polis in that directory.",
                "name the directory of a project, the one that has .agent-workspace in it",
            )
            .into());
        }
        let data = trust::whole(&data);
        let dir = trust::project_of(&data).display().to_string();
        if self.remove {
            registry.distrust(&data)?;
            let answer = Answer::of(dir, false);
            return out.answer(&answer, |answer| {
                format!("No longer trusted: {}\n", clean(&answer.dir))
            });
        }
        trust::check_place(&registry, &data)?;
        let mut answer = Answer::of(dir, true);
        // A configuration that cannot be read grants nothing: polis refuses it at every use.
        if let Ok(config) = Config::load(&data) {
            answer.describe(&config);
        }
        trust::trust(&registry, &data)?;
        out.answer(&answer, text)
    }
}

fn release(registry: &MachineRegistry, directory: &Path, out: &Output) -> Result<(), Failure> {
    let whole = trust::whole(directory);
    let forgotten = match registry.forget_workspace(&whole) {
        Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
            return Err(invalid(
                "A command of an agent runs in that workspace.",
                "wait until it ends, or stop it; `polis ws commands` shows it",
            ));
        }
        answer => answer?,
    };
    let Some(forgotten) = forgotten else {
        return Err(invalid(
            "The directory is not the workspace of an agent, nor in one.",
            "name the directory that was bound",
        ));
    };
    let answer = Answer {
        released_from: Some(trust::project_of(&forgotten.project).display().to_string()),
        ..Answer::of(forgotten.directory.display().to_string(), false)
    };
    out.answer(&answer, |answer| {
        format!(
            "{} is no longer known as a workspace. The project in {} takes it again if its agent still works there.\n",
            clean(&answer.dir),
            clean(answer.released_from.as_deref().unwrap_or_default())
        )
    })
}

impl Answer {
    fn of(dir: String, trusted: bool) -> Self {
        Self {
            dir,
            trusted,
            endpoints: Vec::new(),
            granted_paths: Vec::new(),
            released_from: None,
        }
    }

    fn describe(&mut self, config: &Config) {
        self.endpoints = config
            .models
            .endpoints
            .iter()
            .map(|(name, model)| Endpoint {
                name: name.clone(),
                base_url: model.base_url.clone(),
                key: Some(&model.key_env)
                    .filter(|variable| !variable.is_empty())
                    .unwrap_or(&model.key_file)
                    .clone(),
            })
            .collect();
        self.granted_paths = config.sandbox.granted_paths();
    }
}

fn text(answer: &Answer) -> String {
    let mut text = format!("Trusted: {}\n", clean(&answer.dir));
    for endpoint in &answer.endpoints {
        let key = match endpoint.key.as_str() {
            "" => String::new(),
            key => format!(", with the key in {}", clean(key)),
        };
        text.push_str(&format!(
            "  endpoint {}: {}{key}\n",
            clean(&endpoint.name),
            clean(&endpoint.base_url)
        ));
    }
    for path in &answer.granted_paths {
        text.push_str(&format!("  commands may use {}\n", clean(path)));
    }
    text
}
