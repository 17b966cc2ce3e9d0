//! Application state shared by all requests ([`App`]): the ports, the settings of the installation and the
//! caches. An operation gets it with its caller, as a [`Request`].

use std::sync::Arc;

use polis_core::agent_session::ProcessState;
use polis_core::board::access::BoardAccessRules;
use polis_core::board::decision::Quorum;
use polis_core::board::template_text::ContentLanguage;
use polis_core::society::budget::BudgetLimits;
use polis_core::society::run::HireLimits;
use polis_core::task::task_decision::TaskRules;
use polis_core::workspace::command_policy::CommandPolicies;
use polis_core::{AgentId, PermissionPolicy, RoleSet, TaskType, Timestamp};

use polis_i18n::UiLanguage;

use crate::cache::open_decisions_cache::OpenDecisionsCache;
use crate::cache::task_time_cache::TaskTimeCache;
use crate::claim_hints::ClaimHints;
use crate::error::OpError;
use crate::no_workspaces::NoWorkspaces;
use crate::port::{
    Clock, PortError, ProcessInspector, RandomSource, SandboxedTerminal, Store, WorkspaceFileAccess,
};
use crate::refusal_tables::OperationRefusal;
use crate::request::Request;

/// Settings of an installation.
#[derive(Debug, Clone)]
pub struct InstallationSettings {
    /// Roles that agents may have and tasks may require.
    pub roles: RoleSet,
    /// Permissions by role.
    pub policy: PermissionPolicy,
    /// Whether only registered agents may act.
    pub registered_only: bool,
    /// Task types whose completion needs approval.
    pub approval_required: Vec<TaskType>,
    /// Lease of claims that do not specify one, in milliseconds.
    pub default_lease_ms: Option<u64>,
    /// How long an operation retries before it fails, in milliseconds.
    pub retry_timeout_ms: i64,
    /// Board settings.
    pub boards: BoardSettings,
    /// Command policies by role.
    pub command_policies: CommandPolicies,
    /// Society settings.
    pub society: SocietySettings,
    /// Language of the texts that models see.
    pub language: UiLanguage,
}

/// Settings of an installation for the society.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocietySettings {
    /// Limits on hiring in a run.
    pub hire_limits: HireLimits,
    /// Tools that need a person's approval for each call.
    pub approval_tools: Vec<String>,
    /// Default budget of a run.
    pub default_budget: BudgetLimits,
}

/// Settings of an installation for boards.
#[derive(Debug, Clone)]
pub struct BoardSettings {
    /// Language of templates and entries.
    pub language: ContentLanguage,
    /// Project name in the global board's template.
    pub project: String,
    /// Access rules in addition to the access matrix.
    pub access_rules: BoardAccessRules,
    /// How many versions the history keeps.
    pub max_versions: u32,
    /// Number of signatures that a decision needs.
    pub quorum: Quorum,
    /// Names whose signatures count; if empty, all active top-layer agents.
    pub signers: Vec<String>,
    /// How long a blackboard write waits for a lock, in milliseconds.
    pub lock_wait_ms: u64,
    /// Maximum number of attempts to acquire that lock.
    pub lock_attempts: u32,
}

impl Default for BoardSettings {
    fn default() -> Self {
        Self {
            language: ContentLanguage::En,
            project: "polis".to_owned(),
            access_rules: BoardAccessRules::default(),
            max_versions: 10,
            quorum: Quorum::default(),
            signers: Vec::new(),
            lock_wait_ms: 5_000,
            lock_attempts: 3,
        }
    }
}

impl Default for InstallationSettings {
    fn default() -> Self {
        Self {
            roles: RoleSet::default(),
            policy: PermissionPolicy::default(),
            registered_only: false,
            approval_required: Vec::new(),
            default_lease_ms: None,
            retry_timeout_ms: 30_000,
            boards: BoardSettings::default(),
            command_policies: CommandPolicies::default(),
            society: SocietySettings::default(),
            language: UiLanguage::default(),
        }
    }
}

/// Application state: ports, settings and caches, the same for all requests. Cloning it is cheap, and the clones
/// share their caches.
#[derive(Debug, Clone)]
pub struct App {
    /// Store ports: the shared state.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Source of random tokens.
    pub random: Arc<dyn RandomSource>,
    /// File access to workspaces.
    pub files: Arc<dyn WorkspaceFileAccess>,
    /// Sandboxed command execution.
    pub terminal: Arc<dyn SandboxedTerminal>,
    /// Identity and liveness of the processes that hold sessions.
    pub processes: Arc<dyn ProcessInspector>,
    /// Settings of the installation.
    pub settings: Arc<InstallationSettings>,
    /// Tasks that claimers of this process are about to take.
    pub(crate) claim_hints: Arc<ClaimHints>,
    /// Cache of open decisions.
    pub(crate) open_decisions_cache: Arc<OpenDecisionsCache>,
    /// Cache of the time spent on tasks.
    pub(crate) task_time_cache: Arc<TaskTimeCache>,
}

/// Implementation without process information: sessions end only by expiry.
#[derive(Debug)]
struct UnknownProcesses;

impl ProcessInspector for UnknownProcesses {
    fn with_identity(&self, name: &str) -> String {
        name.to_owned()
    }

    fn process_state(&self, _: &str) -> ProcessState {
        ProcessState::Unknown
    }
}

impl App {
    /// Creates the application state from its ports, without workspaces.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn RandomSource>,
        settings: InstallationSettings,
    ) -> Self {
        Self {
            store,
            clock,
            random,
            files: Arc::new(NoWorkspaces),
            terminal: Arc::new(NoWorkspaces),
            processes: Arc::new(UnknownProcesses),
            settings: Arc::new(settings),
            claim_hints: Arc::default(),
            open_decisions_cache: Arc::default(),
            task_time_cache: Arc::default(),
        }
    }

    /// Adds the file and terminal ports.
    #[must_use]
    pub fn with_workspaces(
        mut self,
        files: Arc<dyn WorkspaceFileAccess>,
        terminal: Arc<dyn SandboxedTerminal>,
    ) -> Self {
        self.files = files;
        self.terminal = terminal;
        self
    }

    /// Adds the port that identifies processes.
    #[must_use]
    pub fn with_processes(mut self, processes: Arc<dyn ProcessInspector>) -> Self {
        self.processes = processes;
        self
    }

    /// Returns a request of an agent (or of the person, `user`) that starts now.
    pub fn request(&self, agent: &AgentId) -> Request {
        Request::new(self.clone(), agent.clone())
    }

    /// Returns a request of the person, who owns the installation, that starts now.
    pub fn person_request(&self) -> Request {
        self.request(&AgentId::user())
    }

    /// Returns until when an operation that starts now retries after conflicts (milliseconds).
    pub(crate) fn retry_deadline(&self) -> i64 {
        let now = self.clock.now_millis();
        now.saturating_add(self.settings.retry_timeout_ms)
    }

    /// Fails with `StoreBusy` if the deadline has passed; otherwise an operation may try again.
    pub(crate) fn check_deadline(&self, deadline: i64) -> Result<(), OpError> {
        if self.clock.now_millis() < deadline {
            return Ok(());
        }
        Err(OpError::Failed(PortError::from(
            OperationRefusal::TooManyConflicts,
        )))
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now_millis())
    }

    /// Returns the installation's rules for tasks.
    pub fn task_rules(&self) -> TaskRules<'_> {
        TaskRules {
            roles: &self.settings.roles,
            policy: &self.settings.policy,
            approval_required: &self.settings.approval_required,
        }
    }
}
