//! Project trust: polis uses only projects that this user created on this machine or has trusted with `polis trust`.
//!
//! polis finds the project of a command by searching upward from the current directory, and the project's configuration
//! decides where API keys are sent and what commands may read. An agent can write to its workspace, and a repository
//! can contain anything, so a data directory that is found there may come from anyone.

use std::path::{Path, PathBuf};

use polis_core::workspace::path::PROJECT_DATA;
use polis_core::{Code, Refusal};
use polis_workspace::registry::{
    CONFIGURATION_FILES, MachineRegistry, TEAMS, TrustedProject, configuration_fingerprint,
};

use crate::error::Failure;
use crate::git;

/// Returns the canonical path of a data directory. Refuses one that lies in a workspace, or that this user neither
/// created nor trusts. Callers must use only the returned path: a symlink in the given path may be changed after the
/// check.
pub(crate) fn check(data: &Path) -> Result<PathBuf, Refusal> {
    let data = whole(data);
    let registry = MachineRegistry::of_user();
    check_place(&registry, &data)?;
    if let Some(known) = registry.trusted_project(&data) {
        check_tracked_files(&registry, &data, &known)?;
        return Ok(data);
    }
    let project = project_of(&data);
    let tracked = git::tracked_files(&project, PROJECT_DATA).unwrap_or_default();
    if let Some(refusal) = tracked_data(&project, &tracked) {
        return Err(refusal);
    }
    Err(Refusal::new(
        Code::NotTrusted,
        format!(
            "The polis project in {} was not created by this user on this machine, or was moved.",
            project.display()
        ),
        format!(
            "look at its {PROJECT_DATA}/polis.toml; if it is yours, run `polis trust {}`",
            project.display()
        ),
    ))
}

/// Refuses a data directory in a location that an agent can write to.
pub(crate) fn check_place(registry: &MachineRegistry, data: &Path) -> Result<(), Refusal> {
    let project = project_of(data);
    let is_in_data = project
        .ancestors()
        .any(|above| above.file_name().is_some_and(|name| name == PROJECT_DATA));
    if is_in_data {
        return Err(Refusal::new(
            Code::NotTrusted,
            format!(
                "{} lies in the data of another polis project, where agents have their workspaces.",
                project.display()
            ),
            "use the project above it, or a directory elsewhere",
        ));
    }
    let Some(workspace) = registry.workspace_around(data) else {
        return Ok(());
    };
    let owner = project_of(&workspace.project);
    Err(Refusal::new(
        Code::NotTrusted,
        format!(
            "{} lies in the workspace of an agent of the project in {}, so an agent may have made what is there.",
            project.display(),
            owner.display()
        ),
        format!(
            "use that project (--dir {}); if no agent works there any more, run `polis trust --release {}`",
            owner.display(),
            workspace.directory.display()
        ),
    ))
}

/// Refuses a project whose files git may have replaced. A pull silently overwrites ignored files if the other side
/// tracks them. git is run only if its index has changed since the last check.
fn check_tracked_files(
    registry: &MachineRegistry,
    data: &Path,
    known: &TrustedProject,
) -> Result<(), Refusal> {
    let project = project_of(data);
    let git_index = git::index_state(&project).unwrap_or_default();
    if git_index == known.git_index {
        return Ok(());
    }
    // Taken before git runs: a pull that replaces files after this point changes the index once more.
    let configuration = configuration_fingerprint(data);
    let is_changed = configuration != known.configuration;
    let Ok(tracked) = git::tracked_files(&project, PROJECT_DATA) else {
        return Err(Refusal::new(
            Code::NotTrusted,
            format!(
                "git cannot read the repository around {}, so a pull may have replaced files of the project.",
                project.display()
            ),
            format!(
                "repair it (`git status` says what is wrong), or look at {PROJECT_DATA} and run `polis trust {}`",
                project.display()
            ),
        ));
    };
    if let Some(refusal) = tracked_data(&project, &tracked) {
        // Trust is revoked, because the data may already be replaced: if git stops tracking it later, it is still not
        // the user's.
        let _ = registry.distrust(data);
        return Err(refusal);
    }
    if is_changed && git::is_being_changed(&project) {
        return Err(Refusal::new(
            Code::NotTrusted,
            format!(
                "The configuration of the project in {} has changed while git is at work there.",
                project.display()
            ),
            "retry when git has finished; if it was interrupted, remove its index.lock",
        ));
    }
    let tracked = tracked.iter().filter(|name| is_configuration(name));
    let tracked: Vec<&str> = tracked.map(String::as_str).collect();
    if !tracked.is_empty() && is_changed {
        return Err(Refusal::new(
            Code::NotTrusted,
            format!(
                "The configuration of the project in {} is tracked by git and has changed since it was trusted.",
                project.display()
            ),
            format!(
                "look at {}; if it is as you want it, run `polis trust {}`",
                tracked.join(" "),
                project.display()
            ),
        ));
    }
    let looked_at = TrustedProject {
        configuration,
        git_index,
    };
    // If this fails, git is run again the next time.
    let _ = registry.record_project(data, &looked_at);
    Ok(())
}

/// Trusts the project of a data directory with its current files. Refuses a project whose data git tracks.
pub(crate) fn trust(registry: &MachineRegistry, data: &Path) -> Result<(), Failure> {
    let project = project_of(data);
    let git_index = git::index_state(&project).unwrap_or_default();
    let tracked = git::tracked_files(&project, PROJECT_DATA).unwrap_or_default();
    if let Some(refusal) = tracked_data(&project, &tracked) {
        return Err(refusal.into());
    }
    registry.trust(data)?;
    let looked_at = TrustedProject {
        configuration: configuration_fingerprint(data),
        git_index,
    };
    // If this fails, git is run at the next use.
    let _ = registry.record_project(data, &looked_at);
    Ok(())
}

/// Returns the refusal for a project whose database or private files git tracks, if there are any.
fn tracked_data(project: &Path, tracked: &[String]) -> Option<Refusal> {
    let name = tracked.iter().find(|name| !may_be_tracked(name))?;
    Some(Refusal::new(
        Code::NotTrusted,
        format!(
            "{name} of the project in {} is tracked by git, so a pull can replace it.",
            project.display()
        ),
        format!(
            "run `git rm -r --cached {PROJECT_DATA}` there; then, if the data is yours, `polis trust {}`, \
             otherwise delete {PROJECT_DATA}",
            project.display()
        ),
    ))
}

/// Entries of a data directory that may be in git: settings, which are compared with the trusted ones, and boards,
/// whose files anyone may edit.
const TRACKABLE: [&str; 6] = [
    ".gitignore",
    "global-whiteboard.md",
    "whiteboards",
    "whiteboard-history",
    "blackboard",
    TEAMS,
];

/// Returns whether a tracked file of a data directory may come from a repository.
fn may_be_tracked(name: &str) -> bool {
    let Some(name) = in_data(name) else {
        return false;
    };
    let mut parts = name.split('/');
    let first = parts.next().unwrap_or_default();
    let is_hidden = parts.any(|part| part.starts_with('.'));
    is_configuration_name(name) || TRACKABLE.contains(&first) && !is_hidden
}

fn is_configuration(name: &str) -> bool {
    in_data(name).is_some_and(is_configuration_name)
}

fn is_configuration_name(name: &str) -> bool {
    CONFIGURATION_FILES.contains(&name) || name.split('/').next() == Some(TEAMS)
}

/// Returns the name of a tracked file relative to the data directory.
fn in_data(name: &str) -> Option<&str> {
    name.strip_prefix(PROJECT_DATA)?.strip_prefix('/')
}

/// Returns the project directory of a data directory.
pub(crate) fn project_of(data: &Path) -> PathBuf {
    data.parent().unwrap_or(data).to_owned()
}

/// Resolves symlinks in the existing part of a path.
pub(crate) fn whole(path: &Path) -> PathBuf {
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
