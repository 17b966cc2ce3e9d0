//! `polis trust`: trusts a project that this user did not create on this machine, ends that trust, or
//! releases a directory from being an agent's workspace.

use std::path::{Path, PathBuf};

use clap::Args;
use polis_core::Refusal;
use polis_i18n::{UiLanguage, msg};
use polis_workspace::machine_registry::MachineRegistry;
use serde::Serialize;

use crate::cli::GlobalArgs;
use crate::command::init;
use crate::config::Config;
use crate::context::data_dir_of;
use crate::error::CliError;
use crate::output::{CliOutput, sanitize_line};
use crate::refusal_tables::ProjectRefusal;
use crate::trust;

/// Trust a project that was not created by this user on this machine: one that was copied, moved or cloned.
/// Its configuration decides where API keys are sent and what commands may read, so review it first.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Project directory; default: the current one
    directory: Option<PathBuf>,
    /// Revoke trust: polis refuses the project until it is trusted again
    #[arg(long, conflicts_with = "release")]
    remove: bool,
    /// Forget that the directory is the workspace of an agent, so that it can be a project itself or be bound
    /// elsewhere
    #[arg(long)]
    release: bool,
}

/// Result of `polis trust`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TrustResult {
    /// The project directory, or the released workspace.
    dir: String,
    /// Whether the project is trusted from now on.
    trusted: bool,
    /// Model endpoints of its configuration, which receive the API keys it names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    endpoints: Vec<EndpointSummary>,
    /// Paths of this machine, outside their workspace, that its commands may read or write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    granted_paths: Vec<String>,
    /// The project of which the directory was an agent's workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    released_from: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EndpointSummary {
    name: String,
    base_url: String,
    /// Environment variable or file that holds its API key; empty: none.
    key: String,
}

impl TrustArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let directory = match &self.directory {
            Some(directory) => directory.clone(),
            None => init::target_project_dir(globals)?,
        };
        let registry = MachineRegistry::for_current_user();
        if self.release {
            return release_workspace(&registry, &directory, out);
        }
        let data = data_dir_of(&directory);
        if !data.is_dir() {
            return Err(Refusal::from(ProjectRefusal::NothingToTrust).into());
        }
        let data = trust::canonicalize_existing(&data);
        let dir = trust::project_dir_of(&data).display().to_string();
        if self.remove {
            registry.distrust_project(&data)?;
            let answer = TrustResult::new(dir, false);
            return out.print_result(&answer, |answer| {
                msg::cli_project_no_longer_trusted(out.lang(), sanitize_line(&answer.dir))
            });
        }
        trust::check_location(&registry, &data)?;
        let mut answer = TrustResult::new(dir, true);
        // A configuration that cannot be read grants nothing: polis refuses it at every use.
        if let Ok(config) = Config::load(&data) {
            answer.add_grants(&config);
        }
        trust::trust_project(&registry, &data)?;
        out.print_result(&answer, |answer| render_trust_result(answer, out.lang()))
    }
}

fn release_workspace(
    registry: &MachineRegistry,
    directory: &Path,
    out: &CliOutput,
) -> Result<(), CliError> {
    let canonical = trust::canonicalize_existing(directory);
    let released = match registry.forget_workspace(&canonical) {
        Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
            return Err(CliError::from(ProjectRefusal::CommandStillRuns));
        }
        answer => answer?,
    };
    let Some(released) = released else {
        return Err(CliError::from(ProjectRefusal::NotAWorkspace));
    };
    let answer = TrustResult {
        released_from: Some(
            trust::project_dir_of(&released.project)
                .display()
                .to_string(),
        ),
        ..TrustResult::new(released.directory.display().to_string(), false)
    };
    out.print_result(&answer, |answer| {
        let project = answer.released_from.as_deref().unwrap_or_default();
        msg::cli_project_workspace_released(
            out.lang(),
            sanitize_line(&answer.dir),
            sanitize_line(project),
        )
    })
}

impl TrustResult {
    fn new(dir: String, trusted: bool) -> Self {
        Self {
            dir,
            trusted,
            endpoints: Vec::new(),
            granted_paths: Vec::new(),
            released_from: None,
        }
    }

    fn add_grants(&mut self, config: &Config) {
        self.endpoints = config
            .models
            .endpoints
            .iter()
            .map(|(name, model)| EndpointSummary {
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

fn render_trust_result(answer: &TrustResult, lang: UiLanguage) -> String {
    let mut lines = vec![msg::cli_project_trusted(lang, sanitize_line(&answer.dir))];
    for endpoint in &answer.endpoints {
        let name = sanitize_line(&endpoint.name);
        let url = sanitize_line(&endpoint.base_url);
        let line = match endpoint.key.as_str() {
            "" => msg::cli_project_trusted_endpoint(lang, name, url),
            key => msg::cli_project_trusted_endpoint_with_key(lang, name, url, sanitize_line(key)),
        };
        lines.push(format!("  {line}"));
    }
    for path in &answer.granted_paths {
        let line = msg::cli_project_granted_path(lang, sanitize_line(path));
        lines.push(format!("  {line}"));
    }
    lines.join("\n")
}
