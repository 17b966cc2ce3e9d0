//! Locations of a client's configuration files, in a project or for the user. The names come from its
//! `ClientProfile`; environment variables such as `XDG_CONFIG_HOME` may move the user's files. All files that the
//! client may read are returned; the one to create comes first. Of the user's possible locations, only the first
//! that applies is used.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::client_table::ClientProfile;

/// Whose configuration is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfigScope {
    /// The project's configuration, for all its users
    Project,
    /// Your own configuration, for all projects
    User,
}

impl ConfigScope {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
        }
    }
}

/// Candidate location of a user's own configuration.
#[derive(Debug, Clone, Copy)]
pub(super) enum UserConfigPath {
    /// Below the directory that an environment variable names, if it is set.
    Variable(&'static str, &'static str),
    /// Below the home directory.
    Home(&'static str),
}

/// A file, with a display name that does not depend on this machine's paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) display_name: String,
}

/// Returns the files a client may read in a scope; the one that is created if none exists comes first.
pub(super) fn candidate_files(
    profile: &ClientProfile,
    scope: ConfigScope,
    project: &Path,
    environment: &dyn Fn(&str) -> Option<PathBuf>,
) -> Vec<ConfigFile> {
    if scope == ConfigScope::Project {
        let named = profile.project_files.iter().map(|name| ConfigFile {
            path: project.join(name),
            display_name: (*name).to_owned(),
        });
        return named.collect();
    }
    let first = profile.user_files.iter().find_map(|own| {
        let (variable, prefix, name) = match *own {
            UserConfigPath::Variable(variable, name) => (variable, format!("${variable}"), name),
            UserConfigPath::Home(name) => ("HOME", "~".to_owned(), name),
        };
        let directory = environment(variable).filter(|directory| {
            // The specifications of these variables say that a relative path must be ignored.
            let lax = !variable.starts_with("XDG_") && !variable.starts_with("GOOSE_");
            !directory.as_os_str().is_empty() && (lax || directory.is_absolute())
        })?;
        Some(ConfigFile {
            path: std::path::absolute(&directory)
                .unwrap_or(directory)
                .join(name),
            display_name: format!("{prefix}/{name}"),
        })
    });
    let Some(first) = first else {
        return Vec::new();
    };
    let others: Vec<_> = profile
        .user_file_aliases
        .iter()
        .map(|name| {
            let prefix = first
                .display_name
                .rsplit_once('/')
                .map_or("", |(parent, _)| parent);
            ConfigFile {
                path: first.path.with_file_name(name),
                display_name: format!("{prefix}/{name}"),
            }
        })
        .collect();
    std::iter::once(first).chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::super::client_table::McpClient;
    use super::*;

    fn user_files_of(client: McpClient, set: &[(&str, &str)]) -> Vec<(String, String)> {
        let environment = |name: &str| {
            let found = set.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| PathBuf::from(value))
        };
        let files = candidate_files(
            client.profile(),
            ConfigScope::User,
            Path::new("/p"),
            &environment,
        );
        files
            .into_iter()
            .map(|file| (file.path.display().to_string(), file.display_name))
            .collect()
    }

    #[test]
    fn environment_variables_relocate_user_files() {
        let home = ("HOME", "/h");
        for (client, variable, expected) in [
            (McpClient::Claude, "CLAUDE_CONFIG_DIR", "/v/.claude.json"),
            (McpClient::Codex, "CODEX_HOME", "/v/config.toml"),
            (
                McpClient::Gemini,
                "GEMINI_CLI_HOME",
                "/v/.gemini/settings.json",
            ),
            (
                McpClient::Opencode,
                "XDG_CONFIG_HOME",
                "/v/opencode/opencode.json",
            ),
            (McpClient::Goose, "GOOSE_PATH_ROOT", "/v/config/config.yaml"),
            (McpClient::Goose, "XDG_CONFIG_HOME", "/v/goose/config.yaml"),
        ] {
            assert_eq!(
                user_files_of(client, &[home, (variable, "/v")])[0].0,
                expected
            );
            let without = user_files_of(client, &[home]);
            assert!(without[0].0.starts_with("/h/"), "{without:?}");
            assert!(without[0].1.starts_with("~/"), "{without:?}");
            assert_eq!(user_files_of(client, &[home, (variable, "")]), without);
        }
        // A relative path is ignored.
        for variable in ["XDG_CONFIG_HOME", "GOOSE_PATH_ROOT"] {
            let moved = user_files_of(McpClient::Goose, &[home, (variable, "v")]);
            assert_eq!(moved[0].0, "/h/.config/goose/config.yaml");
        }
        assert!(user_files_of(McpClient::Cursor, &[]).is_empty());
    }
}
