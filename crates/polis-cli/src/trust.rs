//! Project trust: polis uses only projects that this user created on this machine or has trusted with `polis
//! trust`. [`check_trusted`] is the check.
//!
//! polis finds the project of a command by searching upward from the current directory, and the project's
//! configuration decides where API keys are sent and what commands may read. An agent can write to its
//! workspace, and a repository can contain anything, so a data directory that is found there may come from
//! anyone. For the same reason a project is refused if git tracks its database or private files, or if its
//! tracked configuration has changed since it was trusted: a pull can replace tracked files.

use std::path::{Path, PathBuf};

use polis_core::Refusal;
use polis_core::workspace::workspace_path::PROJECT_DATA_DIR;
use polis_workspace::machine_registry::{
    CONFIGURATION_FILES, MachineRegistry, TEAMS_DIR, TrustedProject, configuration_fingerprint,
};

use crate::error::CliError;
use crate::git;
use crate::refusal_tables::ProjectRefusal;

/// Returns the canonical path of a data directory. Refuses one that lies in a workspace, or that this user
/// neither created nor trusts. Callers must use only the returned path: a symlink in the given path may be
/// changed after the check.
pub(crate) fn check_trusted(data: &Path) -> Result<PathBuf, Refusal> {
    let data = canonicalize_existing(data);
    let registry = MachineRegistry::for_current_user();
    check_location(&registry, &data)?;
    if let Some(trusted) = registry.trusted_project(&data) {
        check_tracked_files(&registry, &data, &trusted)?;
        return Ok(data);
    }
    let project = project_dir_of(&data);
    let tracked = git::list_tracked_files(&project, PROJECT_DATA_DIR).unwrap_or_default();
    if let Some(refusal) = tracked_data_refusal(&project, &tracked) {
        return Err(refusal);
    }
    Err(Refusal::from(ProjectRefusal::NotCreatedHere {
        project: project.display().to_string(),
        project_data_dir: PROJECT_DATA_DIR.to_string(),
    }))
}

/// Refuses a data directory in a location that an agent can write to.
pub(crate) fn check_location(registry: &MachineRegistry, data: &Path) -> Result<(), Refusal> {
    let project = project_dir_of(data);
    let is_in_data = project.ancestors().any(|ancestor| {
        ancestor
            .file_name()
            .is_some_and(|name| name == PROJECT_DATA_DIR)
    });
    if is_in_data {
        return Err(Refusal::from(ProjectRefusal::InOtherProjectData {
            project: project.display().to_string(),
        }));
    }
    let Some(workspace) = registry.workspace_containing(data) else {
        return Ok(());
    };
    let owner = project_dir_of(&workspace.project);
    Err(Refusal::from(ProjectRefusal::InAgentWorkspace {
        project: project.display().to_string(),
        owner: owner.display().to_string(),
        workspace: workspace.directory.display().to_string(),
    }))
}

/// Refuses a project whose files git may have replaced. A pull silently overwrites ignored files if the other
/// side tracks them. git is run only if its index has changed since the last check.
fn check_tracked_files(
    registry: &MachineRegistry,
    data: &Path,
    trusted: &TrustedProject,
) -> Result<(), Refusal> {
    let project = project_dir_of(data);
    let git_index = git::index_fingerprint(&project).unwrap_or_default();
    if git_index == trusted.git_index {
        return Ok(());
    }
    // Taken before git runs: a pull that replaces files after this point changes the index once more.
    let configuration = configuration_fingerprint(data);
    let is_changed = configuration != trusted.configuration;
    let Ok(tracked) = git::list_tracked_files(&project, PROJECT_DATA_DIR) else {
        return Err(Refusal::from(ProjectRefusal::GitUnreadable {
            project: project.display().to_string(),
            project_data_dir: PROJECT_DATA_DIR.to_string(),
        }));
    };
    if let Some(refusal) = tracked_data_refusal(&project, &tracked) {
        // Trust is revoked, because the data may already be replaced: if git stops tracking it later, it is
        // still not the user's.
        let _ = registry.distrust_project(data);
        return Err(refusal);
    }
    if is_changed && git::is_index_locked(&project) {
        return Err(Refusal::from(ProjectRefusal::ChangedDuringGit {
            project: project.display().to_string(),
        }));
    }
    let tracked = tracked.iter().filter(|name| is_configuration(name));
    let tracked: Vec<&str> = tracked.map(String::as_str).collect();
    if !tracked.is_empty() && is_changed {
        return Err(Refusal::from(ProjectRefusal::TrackedAndChanged {
            project: project.display().to_string(),
            files: tracked.join(" "),
        }));
    }
    let reviewed = TrustedProject {
        configuration,
        git_index,
    };
    // If this fails, git is run again the next time.
    let _ = registry.record_project(data, &reviewed);
    Ok(())
}

/// Trusts the project of a data directory with its current files. Refuses a project whose data git tracks.
pub(crate) fn trust_project(registry: &MachineRegistry, data: &Path) -> Result<(), CliError> {
    let project = project_dir_of(data);
    let git_index = git::index_fingerprint(&project).unwrap_or_default();
    let tracked = git::list_tracked_files(&project, PROJECT_DATA_DIR).unwrap_or_default();
    if let Some(refusal) = tracked_data_refusal(&project, &tracked) {
        return Err(refusal.into());
    }
    registry.trust_project(data)?;
    let reviewed = TrustedProject {
        configuration: configuration_fingerprint(data),
        git_index,
    };
    // If this fails, git is run at the next use.
    let _ = registry.record_project(data, &reviewed);
    Ok(())
}

/// Returns the refusal for a project whose database or private files git tracks, if there are any.
fn tracked_data_refusal(project: &Path, tracked: &[String]) -> Option<Refusal> {
    let name = tracked.iter().find(|name| !may_be_tracked(name))?;
    Some(Refusal::from(ProjectRefusal::TrackedByGit {
        name: name.to_string(),
        project: project.display().to_string(),
        project_data_dir: PROJECT_DATA_DIR.to_string(),
    }))
}

/// Entries of a data directory that may be in git: settings, which are compared with the trusted ones, and
/// boards, whose files anyone may edit.
const TRACKABLE_ENTRIES: [&str; 6] = [
    ".gitignore",
    "global-whiteboard.md",
    "whiteboards",
    "whiteboard-history",
    "blackboard",
    TEAMS_DIR,
];

/// Returns whether a tracked file of a data directory may come from a repository.
fn may_be_tracked(name: &str) -> bool {
    let Some(name) = strip_data_dir(name) else {
        return false;
    };
    let mut parts = name.split('/');
    let first = parts.next().unwrap_or_default();
    let is_hidden = parts.any(|part| part.starts_with('.'));
    is_configuration_name(name) || TRACKABLE_ENTRIES.contains(&first) && !is_hidden
}

fn is_configuration(name: &str) -> bool {
    strip_data_dir(name).is_some_and(is_configuration_name)
}

fn is_configuration_name(name: &str) -> bool {
    CONFIGURATION_FILES.contains(&name) || name.split('/').next() == Some(TEAMS_DIR)
}

/// Returns the name of a tracked file relative to the data directory.
fn strip_data_dir(name: &str) -> Option<&str> {
    name.strip_prefix(PROJECT_DATA_DIR)?.strip_prefix('/')
}

/// Returns the project directory of a data directory.
pub(crate) fn project_dir_of(data: &Path) -> PathBuf {
    data.parent().unwrap_or(data).to_owned()
}

/// Resolves symlinks in the existing part of a path.
pub(crate) fn canonicalize_existing(path: &Path) -> PathBuf {
    path.canonicalize()
        .or_else(|_| {
            let parent = path.parent().ok_or(std::io::ErrorKind::NotFound)?;
            let name = path.file_name().ok_or(std::io::ErrorKind::NotFound)?;
            let parent = if parent.as_os_str().is_empty() {
                Path::new(".")
            } else {
                parent
            };
            Ok::<_, std::io::Error>(parent.canonicalize()?.join(name))
        })
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_owned())
}
