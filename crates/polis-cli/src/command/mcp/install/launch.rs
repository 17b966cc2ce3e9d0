//! Command line that a client starts: the path of `polis` and its flags.

use std::path::{Path, PathBuf};

use polis_core::AgentId;

use crate::error::{Failure, invalid};

/// A command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
}

impl Launch {
    /// Creates the command line of the MCP server of one agent in one project.
    ///
    /// The program is named by its absolute path: a client started from a desktop does not have the `PATH` of a shell.
    /// If `PATH` leads to the running program, the path found there is used instead of the symlink's target, so that an
    /// update behind the symlink changes nothing.
    pub(super) fn of(agent: &AgentId, tools: &[String], project: &Path) -> Result<Self, Failure> {
        let mut arguments = vec!["mcp".to_owned(), "--agent".to_owned(), agent.to_string()];
        if !tools.is_empty() {
            arguments.extend(["--tools".to_owned(), tools.join(",")]);
        }
        arguments.extend([
            "--dir".to_owned(),
            text(project, "The project's directory")?,
        ]);
        let running = std::env::current_exe()?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = on_path(&running, std::env::split_paths(&path)).unwrap_or(running);
        Ok(Self {
            program: text(&program, "The path of the program polis")?,
            arguments,
        })
    }
}

/// Returns the first `polis` on the search path, if it is the running program.
fn on_path(running: &Path, directories: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let found = directories
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join("polis"))
        .find(|file| file.is_file())?;
    (found.canonicalize().ok()? == running.canonicalize().ok()?).then_some(found)
}

/// Returns a path as text for a configuration. Fails if it is not UTF-8.
fn text(path: &Path, what: &str) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        invalid(
            format!("{what} is not UTF-8, and no configuration can hold it."),
            "move it to a path that is",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_path_counts_if_it_leads_here() {
        let place = tempfile::tempdir().unwrap();
        let directory = |name: &str| {
            let directory = place.path().join(name);
            std::fs::create_dir(&directory).unwrap();
            directory
        };
        let (here, linked, other) = (directory("here"), directory("linked"), directory("other"));
        let running = here.join("polis");
        std::fs::write(&running, "1").unwrap();
        std::fs::write(other.join("polis"), "2").unwrap();
        std::os::unix::fs::symlink(&running, linked.join("polis")).unwrap();
        let search =
            |directories: &[&PathBuf]| on_path(&running, directories.iter().map(|d| (*d).clone()));
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
