//! Project configuration ([`Config`]): `.agent-workspace/polis.toml` (settings) and `rbac.yaml`
//! (permissions), converted to the settings of the operations.
//!
//! Each table of `polis.toml` with many keys has its own module; `config_keys` parses the file, and `rbac`
//! the permissions.

mod config_keys;
pub(crate) mod models_config;
mod rbac;
mod sandbox_config;
mod serve_config;
pub(crate) mod society_config;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use polis_core::board::BlackboardGlob;
use polis_core::board::access::BoardAccessRules;
use polis_core::board::decision::Quorum;
use polis_core::board::template_text::ContentLanguage;
use polis_core::number::saturating_cast;
use polis_core::timestamp::parse_duration;
use polis_core::{PermissionPolicy, Refusal, RoleSet, TaskType};
use polis_i18n::UiLanguage;
use polis_ops::{BoardSettings, InstallationSettings};
use polis_workspace::files::FileLimits;
use serde::Serialize;

use crate::refusal_tables::ProjectRefusal;

pub(crate) use config_keys::{KeyTexts, all_keys, config_template};
use models_config::ModelsConfig;
use sandbox_config::{SandboxConfig, parse_size};
pub(crate) use serve_config::ServeConfig;
use society_config::SocietyConfig;

/// Name of the configuration file.
pub(crate) const CONFIG_FILE: &str = "polis.toml";
/// Name of the permissions file.
pub(crate) const RBAC_FILE: &str = "rbac.yaml";

/// The configuration, with defaults filled in.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Config {
    /// Language of templates and roles: `zh` or `en`.
    pub(crate) language: String,
    /// URL of a PostgreSQL store; empty: the embedded store.
    pub(crate) store: String,
    /// Roles in addition to the default ones.
    pub(crate) roles: Vec<String>,
    /// Whether only registered agents may act.
    pub(crate) registered_only: bool,
    /// Maximum time to wait for a locked store.
    pub(crate) patience: String,
    /// Settings of the task board.
    pub(crate) tasks: TasksConfig,
    /// Settings of the whiteboards.
    pub(crate) whiteboards: WhiteboardsConfig,
    /// Settings of decisions on boards.
    pub(crate) decisions: DecisionsConfig,
    /// Settings of the blackboard.
    pub(crate) blackboard: BlackboardConfig,
    /// Settings of workspaces: quota and read limit.
    pub(crate) workspaces: WorkspacesConfig,
    /// Settings of the sandbox for commands.
    pub(crate) sandbox: SandboxConfig,
    /// Settings of `polis serve`.
    pub(crate) serve: ServeConfig,
    /// Settings of the society: teams, budgets, approvals.
    pub(crate) society: SocietyConfig,
    /// Settings of model endpoints.
    pub(crate) models: ModelsConfig,
}

/// Settings of the task board: `[tasks]`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TasksConfig {
    /// Task types whose completion needs approval.
    pub(crate) approval_required: Vec<String>,
    /// Lease of a claim that does not specify one; empty: none.
    pub(crate) default_lease: String,
}

/// Settings of the whiteboards: `[whiteboards]`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct WhiteboardsConfig {
    /// Number of versions kept in the history.
    pub(crate) max_versions: u32,
    /// Whether every middle-layer agent may read every bottom-layer board.
    pub(crate) mid_reads_all_bottom: bool,
    /// Project name in the global board's template; empty: the directory's name.
    pub(crate) project: String,
}

/// Settings of decisions on boards: `[decisions]`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DecisionsConfig {
    /// Number of signatures that approve a decision.
    pub(crate) signatures: u32,
    /// Number of signatures that confirm a milestone.
    pub(crate) milestone_signatures: u32,
    /// Number of signatures that approve an appealed decision.
    pub(crate) appeal_signatures: u32,
    /// Agents whose signatures count; empty: every active top-layer agent.
    pub(crate) signers: Vec<String>,
}

/// Settings of the blackboard: `[blackboard]`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct BlackboardConfig {
    /// Time that each attempt of a write waits for the lock.
    pub(crate) lock_wait: String,
    /// Number of attempts to take the lock.
    pub(crate) lock_tries: u32,
    /// Roles, agents or `*`, each with the path patterns it may write.
    pub(crate) writers: BTreeMap<String, Vec<String>>,
}

/// Settings of workspaces: `[workspaces]`.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct WorkspacesConfig {
    /// Maximum total size of the files of a workspace; empty: no limit.
    pub(crate) quota: String,
    /// Maximum part of a file that one read returns.
    pub(crate) max_read: String,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            language: "en".to_owned(),
            store: String::new(),
            roles: Vec::new(),
            registered_only: false,
            patience: "30s".to_owned(),
            tasks: TasksConfig {
                approval_required: Vec::new(),
                default_lease: String::new(),
            },
            whiteboards: WhiteboardsConfig {
                max_versions: 10,
                mid_reads_all_bottom: false,
                project: String::new(),
            },
            decisions: DecisionsConfig {
                signatures: 2,
                milestone_signatures: 3,
                appeal_signatures: 2,
                signers: Vec::new(),
            },
            blackboard: BlackboardConfig {
                lock_wait: "5s".to_owned(),
                lock_tries: 3,
                writers: BTreeMap::from([("product-manager".to_owned(), vec!["**".to_owned()])]),
            },
            workspaces: WorkspacesConfig {
                quota: String::new(),
                max_read: "10MiB".to_owned(),
            },
            sandbox: SandboxConfig::default(),
            serve: ServeConfig::default(),
            society: SocietyConfig::default(),
            models: ModelsConfig::default(),
        }
    }
}

impl Config {
    /// Reads the configuration of a data directory; the defaults if there is no file.
    pub(crate) fn load(data_dir: &Path) -> Result<Self, Refusal> {
        match std::fs::read_to_string(data_dir.join(CONFIG_FILE)) {
            Ok(text) => config_keys::parse_config(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(_) => Err(Refusal::from(ProjectRefusal::ConfigUnreadable {
                config_file: CONFIG_FILE.to_string(),
            })),
        }
    }

    /// Returns the maximum time to wait for a locked store.
    pub(crate) fn store_timeout(&self) -> Duration {
        let millis = parse_duration(&self.patience).unwrap_or(30_000);
        Duration::from_millis(millis.unsigned_abs())
    }

    /// Returns the workspace quota and the read limit.
    pub(crate) fn file_limits(&self) -> FileLimits {
        let default = FileLimits::default();
        FileLimits {
            quota_bytes: parse_size(&self.workspaces.quota).ok(),
            max_read_bytes: parse_size(&self.workspaces.max_read).unwrap_or(default.max_read_bytes),
            lock_timeout: default.lock_timeout,
        }
    }

    /// Returns the default lease of a claim, in milliseconds.
    fn default_lease_ms(&self) -> Option<u64> {
        parse_duration(&self.tasks.default_lease)
            .ok()
            .map(i64::unsigned_abs)
    }

    /// Returns the settings of the operations, with the permissions. `project` is the directory's name,
    /// and `language` that of the person.
    pub(crate) fn to_settings(
        &self,
        policy: PermissionPolicy,
        project: &str,
        language: UiLanguage,
    ) -> InstallationSettings {
        InstallationSettings {
            language,
            society: self.society.society_rules(),
            boards: self.board_settings(project),
            command_policies: self.sandbox.command_policies(),
            roles: RoleSet::with_additional(self.roles.iter().cloned()),
            policy,
            registered_only: self.registered_only,
            approval_required: self
                .tasks
                .approval_required
                .iter()
                .filter_map(|t| TaskType::from_name(t))
                .collect(),
            default_lease_ms: self.default_lease_ms(),
            retry_timeout_ms: saturating_cast::<i64>(self.store_timeout().as_millis()),
        }
    }
}

impl BlackboardConfig {
    /// Returns the writers with their patterns compiled. Invalid patterns were refused when the file was read.
    fn writer_globs(&self) -> BTreeMap<String, Vec<BlackboardGlob>> {
        let compile = |patterns: &[String]| {
            let globs = patterns.iter().map(|text| BlackboardGlob::parse(text));
            globs.filter_map(Result::ok).collect()
        };
        let writers = self.writers.iter();
        writers
            .map(|(writer, patterns)| (writer.clone(), compile(patterns)))
            .collect()
    }
}

impl Config {
    fn board_settings(&self, project: &str) -> BoardSettings {
        let named = self.whiteboards.project.as_str();
        let wait = parse_duration(&self.blackboard.lock_wait).unwrap_or(5_000);
        BoardSettings {
            language: ContentLanguage::from_name(&self.language).unwrap_or(ContentLanguage::En),
            project: if named.is_empty() { project } else { named }.to_owned(),
            access_rules: BoardAccessRules {
                mid_reads_all_bottom: self.whiteboards.mid_reads_all_bottom,
                blackboard_writers: self.blackboard.writer_globs(),
            },
            max_versions: self.whiteboards.max_versions,
            quorum: Quorum {
                signatures: self.decisions.signatures,
                milestone_signatures: self.decisions.milestone_signatures,
                appeal_signatures: self.decisions.appeal_signatures,
            },
            signers: self.decisions.signers.clone(),
            lock_wait_ms: wait.unsigned_abs(),
            lock_attempts: self.blackboard.lock_tries,
        }
    }
}

/// Returns the language that the configuration of a data directory names, also if the rest of the file is not
/// valid: a message about the mistake has a language too.
pub(crate) fn read_language(data_dir: &Path) -> Option<String> {
    let text = std::fs::read_to_string(data_dir.join(CONFIG_FILE)).ok()?;
    find_language(&text).map(str::to_owned)
}

/// Returns the value of the key `language` before the first table.
fn find_language(text: &str) -> Option<&str> {
    let lines = text.lines().map(str::trim);
    let general = lines.take_while(|line| !line.starts_with('['));
    let mut values = general.filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        let value = value.trim_start();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let value = value.get(1..)?.split(quote).next()?;
        (key.trim().trim_matches('"') == "language").then_some(value)
    });
    values.next()
}

/// Reads the permissions of a data directory. Without a file, every agent may work and the lead has the
/// lead's permissions.
pub(crate) fn load_policy(data_dir: &Path, config: &Config) -> Result<PermissionPolicy, Refusal> {
    let roles = RoleSet::with_additional(config.roles.iter().cloned());
    match std::fs::read_to_string(data_dir.join(RBAC_FILE)) {
        Ok(text) => rbac::parse_rbac(&text, &roles),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok(PermissionPolicy::default())
        }
        Err(_) => Err(Refusal::from(ProjectRefusal::RbacUnreadable {
            rbac_file: RBAC_FILE.to_string(),
        })),
    }
}

/// Returns the known name closest to a mistyped one, if it is close enough.
fn nearest_name<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| {
            (
                strsim::normalized_damerau_levenshtein(name, candidate),
                candidate,
            )
        })
        .filter(|(similarity, _)| *similarity > 0.4)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn language_is_found_in_invalid_file() {
        for (text, expected) in [
            ("language = \"zh\"\n", Some("zh")),
            (
                "# language = \"en\"\nlanguage='zh' # Chinese\nunknown = 3\n",
                Some("zh"),
            ),
            (
                "patience = \"30s\"\n\"language\" = \"zh\"\n[tasks\n",
                Some("zh"),
            ),
            ("[society]\nlanguage = \"zh\"\n", None),
            ("language = 3\n", None),
            ("language", None),
            ("", None),
        ] {
            assert_eq!(find_language(text), expected, "{text}");
        }
    }
}
