//! Plans a change to a client's file in memory: finds the file, and computes its new text. Nothing here
//! writes.

use std::path::{Path, PathBuf};

use polis_core::Refusal;
use serde_json::Value;

use super::client_table::{ClientProfile, SERVER_NAME};
use super::config_location::{self, ConfigFile, ConfigScope};
use super::entry_edit::{self, EditError, EntryField};
use super::server_launch::ServerLaunch;
use crate::error::CliError;
use crate::refusal_tables::{InstallPart, InstallRefusal};

/// A planned change of a file.
pub(super) struct InstallPlan {
    /// The new text, if it differs.
    pub(super) text: Option<String>,
    /// Our entry in the new text.
    pub(super) entry: Value,
    /// Whether our entry already existed.
    pub(super) existed: bool,
}

/// Adds or updates our entry in a file's text.
pub(super) fn plan_install(
    profile: &ClientProfile,
    file: &ConfigFile,
    text: &str,
    launch: &ServerLaunch,
    allow_tools: Option<&EntryField>,
) -> Result<InstallPlan, CliError> {
    let format = profile.format;
    let at = |error: EditError| invalid_file_error(profile, file, &error);
    let tree = format.parse_tree(text).map_err(at)?;
    let keys = profile.entry_path(&tree);
    let (mut fields, begins) = profile.entry_fields(launch);
    fields.extend(allow_tools.cloned());
    let found = entry_edit::find_entry(&tree, &keys);
    match found {
        None => fields.extend(begins),
        Some(entry) if !profile.is_our_entry(entry, Some(launch)) => {
            return Err(name_taken_error(profile, file));
        }
        Some(entry) => fields.retain(|(key, value)| entry.get(key) != Some(value)),
    }
    let existed = found.is_some();
    if existed && fields.is_empty() {
        return Ok(InstallPlan {
            text: None,
            entry: found.cloned().unwrap_or_default(),
            existed,
        });
    }
    let changed = format.set_fields(text, &keys, &fields).map_err(at)?;
    let tree = format.parse_tree(&changed).map_err(at)?;
    Ok(InstallPlan {
        entry: entry_edit::find_entry(&tree, &keys)
            .cloned()
            .unwrap_or_default(),
        text: Some(changed),
        existed,
    })
}

/// Returns a file's text without our entry, if it has one.
pub(super) fn plan_uninstall(
    profile: &ClientProfile,
    file: &ConfigFile,
    text: &str,
) -> Result<Option<String>, CliError> {
    let at = |error: EditError| invalid_file_error(profile, file, &error);
    let tree = profile.format.parse_tree(text).map_err(at)?;
    let keys = profile.entry_path(&tree);
    match entry_edit::find_entry(&tree, &keys) {
        None => Ok(None),
        Some(entry) if !profile.is_our_entry(entry, None) => Err(name_taken_error(profile, file)),
        Some(_) => profile
            .format
            .remove_entry(text, &keys)
            .map(Some)
            .map_err(at),
    }
}

/// Returns the file to change: the one that has our entry, else the first that exists, else the first.
pub(super) fn choose_config_file(
    profile: &ClientProfile,
    scope: ConfigScope,
    project: &Path,
) -> Result<ConfigFile, CliError> {
    let environment = |name: &str| match name {
        "HOME" => std::env::home_dir(),
        _ => std::env::var_os(name).map(PathBuf::from),
    };
    let mut files = config_location::candidate_files(profile, scope, project, &environment);
    let has_entry = |file: &ConfigFile| {
        let text = file.read_text().ok().flatten()?;
        let tree = profile.format.parse_tree(&text).ok()?;
        entry_edit::find_entry(&tree, &profile.entry_path(&tree)).map(|_| ())
    };
    let several = files.len() > 1;
    let at = files
        .iter()
        .position(|file| several && has_entry(file).is_some())
        .or_else(|| files.iter().position(|file| file.path.exists()))
        .unwrap_or(0);
    if files.is_empty() {
        return Err(CliError::from(InstallRefusal::NoHomeDirectory));
    }
    Ok(files.swap_remove(at))
}

fn invalid_file_error(profile: &ClientProfile, file: &ConfigFile, error: &EditError) -> CliError {
    let line = error
        .line
        .map_or(InstallPart::NoLine, |line| InstallPart::Line { line });
    Refusal::from(InstallRefusal::InvalidFile {
        file: file.display_name.to_string(),
        line: line.into(),
        reason: error.reason.clone(),
        client: profile.title.to_string(),
    })
    .into()
}

fn name_taken_error(profile: &ClientProfile, file: &ConfigFile) -> CliError {
    Refusal::from(InstallRefusal::OtherServer {
        file: file.display_name.to_string(),
        server_name: SERVER_NAME.to_string(),
        client: profile.title.to_string(),
    })
    .into()
}
