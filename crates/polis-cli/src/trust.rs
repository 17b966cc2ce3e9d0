//! Which projects polis uses: only those that this user created on this machine, or trusts.
//!
//! polis finds the project of a command by going up from the current directory, and its configuration decides where keys
//! are sent and what commands may read. An agent can write to its workspace, and a repository can hold anything, so a data
//! directory that is found there may be anyone's.

use std::path::{Path, PathBuf};

use polis_core::workspace::path::PROJECT_DATA;
use polis_core::{Code, Refusal};
use polis_workspace::registry::{
    CONFIGURATION_FILES, MachineRegistry, TEAMS, TrustedProject, configuration_fingerprint,
};

use crate::git;

/// Returns the canonical path of a data directory. Refuses one that lies in a workspace, or that this user neither created
/// nor trusts. Only the returned path may be used: a link in the given one may lead elsewhere in the next moment.
pub(crate) fn check(data: &Path) -> Result<PathBuf, Refusal> {
    let data = whole(data);
    let registry = MachineRegistry::of_user();
    check_place(&registry, &data)?;
    if let Some(known) = registry.trusted_project(&data) {
        check_tracked_files(&registry, &data, &known)?;
        return Ok(data);
    }
    let project = project_of(&data);
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

/// Refuses a data directory in a place that an agent can write to.
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

/// Refuses a project whose configuration git has replaced. A pull overwrites ignored files without a word if the other side
/// tracks them. Git is asked only when its index has changed since the last look.
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
    let tracked = git::tracked_files(&project, &tracked_names());
    let configuration = configuration_fingerprint(data);
    if tracked.iter().any(|name| name.contains("polis.db")) {
        return Err(Refusal::new(
            Code::NotTrusted,
            format!(
                "The database of the project in {} is tracked by git, so a pull can replace it.",
                project.display()
            ),
            format!(
                "run `git rm --cached {PROJECT_DATA}/polis.db`, and keep {PROJECT_DATA} in .gitignore"
            ),
        ));
    }
    if !tracked.is_empty() && configuration != known.configuration {
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
    // Should it fail, git is asked again the next time.
    let _ = registry.record_project(data, &looked_at);
    Ok(())
}

/// What of a data directory must not come from a repository without being looked at.
fn tracked_names() -> Vec<String> {
    let names = CONFIGURATION_FILES.into_iter().chain([TEAMS, "polis.db"]);
    names.map(|name| format!("{PROJECT_DATA}/{name}")).collect()
}

/// The directory that a data directory belongs to.
pub(crate) fn project_of(data: &Path) -> PathBuf {
    data.parent().unwrap_or(data).to_owned()
}

/// A path without links, as far as it is there.
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
