//! Command line with which an MCP client starts the server of one agent: the absolute path of `polis`, and its
//! arguments.

use std::path::{Path, PathBuf};

use polis_core::AgentId;

use crate::error::CliError;
use crate::refusal_tables::{InstallPart, InstallRefusal};

/// Command line of the MCP server: program and arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServerLaunch {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
}

impl ServerLaunch {
    /// Creates the command line of the MCP server of one agent in one project.
    ///
    /// The program is named by its absolute path: a client started from a desktop does not have the `PATH` of
    /// a shell. If `PATH` leads to the running program, the path found there is used instead of the symlink's
    /// target, so that an update behind the symlink changes nothing.
    pub(super) fn for_agent(
        agent: &AgentId,
        tools: &[String],
        project: &Path,
    ) -> Result<Self, CliError> {
        let mut arguments = vec!["mcp".to_owned(), "--agent".to_owned(), agent.to_string()];
        if !tools.is_empty() {
            arguments.extend(["--tools".to_owned(), tools.join(",")]);
        }
        arguments.extend([
            "--dir".to_owned(),
            path_to_text(project, InstallPart::ProjectDirectory)?,
        ]);
        let running = std::env::current_exe()?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = find_on_path(&running, std::env::split_paths(&path)).unwrap_or(running);
        Ok(Self {
            program: path_to_text(&program, InstallPart::ProgramPath)?,
            arguments,
        })
    }
}

/// Returns the first `polis` on the search path, if it is the running program.
fn find_on_path(running: &Path, directories: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let found = directories
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join("polis"))
        .find(|file| file.is_file())?;
    (found.canonicalize().ok()? == running.canonicalize().ok()?).then_some(found)
}

/// Returns a path as text for a configuration. Fails if it is not UTF-8.
fn path_to_text(path: &Path, what: InstallPart) -> Result<String, CliError> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| CliError::from(InstallRefusal::PathNotUtf8 { what: what.into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_entry_is_used_if_it_is_running_program() {
        let root = tempfile::tempdir().unwrap();
        let directory = |name: &str| {
            let directory = root.path().join(name);
            std::fs::create_dir(&directory).unwrap();
            directory
        };
        let (here, linked, other) = (directory("here"), directory("linked"), directory("other"));
        let running = here.join("polis");
        std::fs::write(&running, "1").unwrap();
        std::fs::write(other.join("polis"), "2").unwrap();
        std::os::unix::fs::symlink(&running, linked.join("polis")).unwrap();
        let search = |directories: &[&PathBuf]| {
            find_on_path(&running, directories.iter().map(|d| (*d).clone()))
        };
        assert_eq!(search(&[&linked, &here]), Some(linked.join("polis")));
        assert_eq!(search(&[&here, &other]), Some(running.clone()));
        assert_eq!(search(&[&other, &here]), None);
        assert_eq!(search(&[]), None);
        assert_eq!(
            search(&[&PathBuf::from("relative"), &linked]),
            Some(linked.join("polis"))
        );
    }
}
