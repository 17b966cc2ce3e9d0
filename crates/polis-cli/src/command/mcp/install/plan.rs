//! Plans a change to a client's file in memory: finds the file, and computes its new text. Nothing here writes.

use std::path::{Path, PathBuf};

use polis_core::{Code, Refusal};
use serde_json::Value;

use super::client::{Profile, SERVER};
use super::config_location::{self, Named, Scope};
use super::edit::{self, Fault, Field};
use super::launch::Launch;
use crate::error::{Failure, invalid};
use crate::output::clean;

/// A planned change of a file.
pub(super) struct Plan {
    /// The new text, if it differs.
    pub(super) text: Option<String>,
    /// Our entry in the new text.
    pub(super) entry: Value,
    /// Whether our entry already existed.
    pub(super) was_there: bool,
}

/// Adds or updates our entry in a file's text.
pub(super) fn plan(
    profile: &Profile,
    file: &Named,
    text: &str,
    launch: &Launch,
    allow_tools: Option<&Field>,
) -> Result<Plan, Failure> {
    let format = profile.format;
    let at = |fault: Fault| faulty(profile, file, &fault);
    let tree = format.tree(text).map_err(at)?;
    let keys = profile.keys(&tree);
    let (mut fields, begins) = profile.fields(launch);
    fields.extend(allow_tools.cloned());
    let found = edit::entry(&tree, &keys);
    match found {
        None => fields.extend(begins),
        Some(entry) if !profile.is_ours(entry, Some(launch)) => return Err(taken(profile, file)),
        Some(entry) => fields.retain(|(key, value)| entry.get(key) != Some(value)),
    }
    let was_there = found.is_some();
    if was_there && fields.is_empty() {
        return Ok(Plan {
            text: None,
            entry: found.cloned().unwrap_or_default(),
            was_there,
        });
    }
    let changed = format.put(text, &keys, &fields).map_err(at)?;
    let tree = format.tree(&changed).map_err(at)?;
    Ok(Plan {
        entry: edit::entry(&tree, &keys).cloned().unwrap_or_default(),
        text: Some(changed),
        was_there,
    })
}

/// Returns a file's text without our entry, if it has one.
pub(super) fn removal(
    profile: &Profile,
    file: &Named,
    text: &str,
) -> Result<Option<String>, Failure> {
    let at = |fault: Fault| faulty(profile, file, &fault);
    let tree = profile.format.tree(text).map_err(at)?;
    let keys = profile.keys(&tree);
    match edit::entry(&tree, &keys) {
        None => Ok(None),
        Some(entry) if !profile.is_ours(entry, None) => Err(taken(profile, file)),
        Some(_) => profile.format.remove(text, &keys).map(Some).map_err(at),
    }
}

/// Returns the file to change: the one that has our entry, else the first that exists, else the first.
pub(super) fn choose(profile: &Profile, scope: Scope, project: &Path) -> Result<Named, Failure> {
    let environment = |name: &str| match name {
        "HOME" => std::env::home_dir(),
        _ => std::env::var_os(name).map(PathBuf::from),
    };
    let mut files = config_location::files(profile, scope, project, &environment);
    let has_entry = |file: &Named| {
        let text = file.read().ok().flatten()?;
        let tree = profile.format.tree(&text).ok()?;
        edit::entry(&tree, &profile.keys(&tree)).map(|_| ())
    };
    let several = files.len() > 1;
    let at = files
        .iter()
        .position(|file| several && has_entry(file).is_some())
        .or_else(|| files.iter().position(|file| file.path.exists()))
        .unwrap_or(0);
    if files.is_empty() {
        return Err(invalid(
            "There is no home directory to write to.",
            "set HOME, or write the project's configuration with --scope project",
        ));
    }
    Ok(files.swap_remove(at))
}

fn faulty(profile: &Profile, file: &Named, fault: &Fault) -> Failure {
    let line = fault
        .line
        .map_or_else(String::new, |line| format!(", line {line}"));
    let why = clean(&fault.why);
    Refusal::new(
        Code::InvalidConfig,
        format!("{}{line}: {why}; nothing was changed.", file.shown),
        format!(
            "mend the file so that {} reads it, or add the entry by hand: --print shows it",
            profile.title
        ),
    )
    .into()
}

fn taken(profile: &Profile, file: &Named) -> Failure {
    Refusal::new(
        Code::InvalidConfig,
        format!(
            "{} has a server \"{SERVER}\" that starts something else; nothing was changed.",
            file.shown
        ),
        format!(
            "rename or remove it in {}, or add ours by hand under another name: --print shows it",
            profile.title
        ),
    )
    .into()
}
