//! Project configuration: `.agent-workspace/polis.toml` (settings) and `rbac.yaml` (permissions). Each table of
//! `polis.toml` with many keys has its own module; `keys` parses the file.

mod keys;
pub(crate) mod models;
mod rbac;
mod sandbox;
mod serve;
pub(crate) mod society;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use polis_core::board::access::AccessRules;
use polis_core::board::decision::Quorum;
use polis_core::board::template_text::Language;
use polis_core::time::parse_duration;
use polis_core::{Code, Policy, Refusal, RoleSet, TaskType};
use polis_ops::{BoardSettings, Settings};
use polis_workspace::files::FileLimits;
use serde::Serialize;

pub(crate) use keys::{all as keys, template};
use models::ModelsConfig;
use sandbox::{SandboxConfig, parse_size};
pub(crate) use serve::ServeConfig;
use society::SocietyConfig;

/// Name of the configuration file.
pub(crate) const FILE: &str = "polis.toml";
/// Name of the permissions file.
pub(crate) const RBAC: &str = "rbac.yaml";

/// The configuration, with defaults filled in.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Config {
    /// `zh` or `en`.
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
    /// Settings of decisions.
    pub(crate) decisions: DecisionsConfig,
    /// Settings of the blackboard.
    pub(crate) blackboard: BlackboardConfig,
    /// Settings of workspaces.
    pub(crate) workspaces: WorkspacesConfig,
    /// Settings of the sandbox for commands.
    pub(crate) sandbox: SandboxConfig,
    /// Settings of servers.
    pub(crate) serve: ServeConfig,
    /// Settings of societies.
    pub(crate) society: SocietyConfig,
    /// Settings of model endpoints.
    pub(crate) models: ModelsConfig,
}

/// Settings of the task board.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TasksConfig {
    /// Task types whose completion needs approval.
    pub(crate) approval_required: Vec<String>,
    /// Lease of a claim that does not specify one; empty: none.
    pub(crate) default_lease: String,
}

/// Settings of the whiteboards.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct WhiteboardsConfig {
    /// Number of versions kept in the history.
    pub(crate) max_versions: u32,
    /// Whether every middle-layer agent may read every bottom-layer board.
    pub(crate) mid_reads_all_bottom: bool,
    /// Project name in the global board's template; empty: the directory's name.
    pub(crate) project: String,
}

/// Settings of decisions.
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

/// Settings of the blackboard.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct BlackboardConfig {
    /// Time a write waits for a lock.
    pub(crate) lock_wait: String,
    /// Number of attempts to take the lock.
    pub(crate) lock_tries: u32,
    /// Roles, agents or `*`, each with the path patterns it may write.
    pub(crate) writers: BTreeMap<String, Vec<String>>,
}

/// Settings of workspaces.
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
    pub(crate) fn load(workspace: &Path) -> Result<Self, Refusal> {
        match std::fs::read_to_string(workspace.join(FILE)) {
            Ok(text) => keys::parse(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(_) => Err(Refusal::new(
                Code::InvalidConfig,
                format!("{FILE} cannot be read."),
                "check that it is a text file in UTF-8 and that you may read it",
            )),
        }
    }

    /// Returns the maximum time to wait for a locked store.
    pub(crate) fn patience(&self) -> Duration {
        let millis = parse_duration(&self.patience).unwrap_or(30_000);
        Duration::from_millis(millis.unsigned_abs())
    }

    /// Returns the workspace quota and the read limit.
    pub(crate) fn file_limits(&self) -> FileLimits {
        let default = FileLimits::default();
        FileLimits {
            quota: parse_size(&self.workspaces.quota).ok(),
            max_read: parse_size(&self.workspaces.max_read).unwrap_or(default.max_read),
            lock_wait: default.lock_wait,
        }
    }

    /// Returns the default lease of a claim, in milliseconds.
    fn default_lease_ms(&self) -> Option<u64> {
        parse_duration(&self.tasks.default_lease)
            .ok()
            .map(i64::unsigned_abs)
    }

    /// Returns the settings of the operations, with the permissions. `project` is the directory's name.
    pub(crate) fn settings(&self, policy: Policy, project: &str) -> Settings {
        Settings {
            society: self.society.rules(),
            boards: self.board_settings(project),
            commands: self.sandbox.policies(),
            roles: RoleSet::with(self.roles.iter().cloned()),
            policy,
            registered_only: self.registered_only,
            approval_required: self
                .tasks
                .approval_required
                .iter()
                .filter_map(|t| TaskType::from_name(t))
                .collect(),
            default_lease_ms: self.default_lease_ms(),
            patience_ms: i64::try_from(self.patience().as_millis()).unwrap_or(i64::MAX),
        }
    }
}

impl Config {
    fn board_settings(&self, project: &str) -> BoardSettings {
        let named = self.whiteboards.project.as_str();
        let wait = parse_duration(&self.blackboard.lock_wait).unwrap_or(5_000);
        BoardSettings {
            language: Language::from_name(&self.language).unwrap_or(Language::En),
            project: if named.is_empty() { project } else { named }.to_owned(),
            access: AccessRules {
                mid_reads_all_bottom: self.whiteboards.mid_reads_all_bottom,
                blackboard_writers: self.blackboard.writers.clone(),
            },
            max_versions: self.whiteboards.max_versions,
            quorum: Quorum {
                signatures: self.decisions.signatures,
                milestone_signatures: self.decisions.milestone_signatures,
                appeal_signatures: self.decisions.appeal_signatures,
            },
            signers: self.decisions.signers.clone(),
            lock_wait_ms: wait.unsigned_abs(),
            lock_tries: self.blackboard.lock_tries,
        }
    }
}

/// Reads the permissions of a data directory. Without a file, every agent may work and the lead has the lead's
/// permissions.
pub(crate) fn load_policy(workspace: &Path, config: &Config) -> Result<Policy, Refusal> {
    let roles = RoleSet::with(config.roles.iter().cloned());
    match std::fs::read_to_string(workspace.join(RBAC)) {
        Ok(text) => rbac::parse(&text, &roles),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Policy::default()),
        Err(_) => Err(Refusal::new(
            Code::InvalidRbac,
            format!("{RBAC} cannot be read."),
            "check that it is a text file in UTF-8 and that you may read it",
        )),
    }
}

/// Returns the known name closest to a mistyped one, if it is close enough.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
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
