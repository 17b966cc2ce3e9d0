//! Locations of clients' configuration files, in a project and in the user's home.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::client::Profile;

/// Whose configuration is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// The project's, for whoever works in it
    Project,
    /// The person's own, for all projects
    User,
}

impl Scope {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// Candidate location of a user's own configuration.
#[derive(Debug, Clone, Copy)]
pub(super) enum Own {
    /// Below the directory that an environment variable names, if it is set.
    Variable(&'static str, &'static str),
    /// Below the home directory.
    Home(&'static str),
}

/// A file, with a display name that does not depend on this machine's paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) path: PathBuf,
    pub(super) shown: String,
}

/// Returns the files a client may read in a scope; the one that is created if none exists comes first.
pub(super) fn files(
    profile: &Profile,
    scope: Scope,
    project: &Path,
    environment: &dyn Fn(&str) -> Option<PathBuf>,
) -> Vec<Named> {
    if scope == Scope::Project {
        let named = profile.project.iter().map(|name| Named {
            path: project.join(name),
            shown: (*name).to_owned(),
        });
        return named.collect();
    }
    let first = profile.own.iter().find_map(|own| {
        let (variable, shown, name) = match *own {
            Own::Variable(variable, name) => (variable, format!("${variable}"), name),
            Own::Home(name) => ("HOME", "~".to_owned(), name),
        };
        let directory = environment(variable).filter(|directory| {
            // The specifications of these variables say that a relative path must be ignored.
            let lax = !variable.starts_with("XDG_") && !variable.starts_with("GOOSE_");
            !directory.as_os_str().is_empty() && (lax || directory.is_absolute())
        })?;
        Some(Named {
            path: std::path::absolute(&directory)
                .unwrap_or(directory)
                .join(name),
            shown: format!("{shown}/{name}"),
        })
    });
    let Some(first) = first else {
        return Vec::new();
    };
    let others: Vec<_> = profile
        .own_too
        .iter()
        .map(|name| {
            let shown = first.shown.rsplit_once('/').map_or("", |(above, _)| above);
            Named {
                path: first.path.with_file_name(name),
                shown: format!("{shown}/{name}"),
            }
        })
        .collect();
    std::iter::once(first).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::super::client::Client;
    use super::*;

    fn shown(client: Client, set: &[(&str, &str)]) -> Vec<(String, String)> {
        let environment = |name: &str| {
            let found = set.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| PathBuf::from(value))
        };
        let files = files(client.profile(), Scope::User, Path::new("/p"), &environment);
        files
            .into_iter()
            .map(|file| (file.path.display().to_string(), file.shown))
            .collect()
    }

    #[test]
    fn the_environment_moves_a_persons_files() {
        let home = ("HOME", "/h");
        for (client, variable, there) in [
            (Client::Claude, "CLAUDE_CONFIG_DIR", "/v/.claude.json"),
            (Client::Codex, "CODEX_HOME", "/v/config.toml"),
            (
                Client::Gemini,
                "GEMINI_CLI_HOME",
                "/v/.gemini/settings.json",
            ),
            (
                Client::Opencode,
                "XDG_CONFIG_HOME",
                "/v/opencode/opencode.json",
            ),
            (Client::Goose, "GOOSE_PATH_ROOT", "/v/config/config.yaml"),
            (Client::Goose, "XDG_CONFIG_HOME", "/v/goose/config.yaml"),
        ] {
            assert_eq!(shown(client, &[home, (variable, "/v")])[0].0, there);
            let without = shown(client, &[home]);
            assert!(without[0].0.starts_with("/h/"), "{without:?}");
            assert!(without[0].1.starts_with("~/"), "{without:?}");
            assert_eq!(shown(client, &[home, (variable, "")]), without);
        }
        // A relative path is ignored.
        for variable in ["XDG_CONFIG_HOME", "GOOSE_PATH_ROOT"] {
            let moved = shown(Client::Goose, &[home, (variable, "v")]);
            assert_eq!(moved[0].0, "/h/.config/goose/config.yaml");
        }
        assert!(shown(Client::Cursor, &[]).is_empty());
    }
}
