//! Application state of the operations: ports, settings and caches, the context of the current request, and the
//! decide-then-commit loop with its retries on conflict.

use polis_core::event::kind;
use serde::Serialize;
use std::pin::Pin;
use std::sync::Arc;

use polis_core::board::access::AccessRules;
use polis_core::board::decision::Quorum;
use polis_core::board::template_text::Language;
use polis_core::session::ProcessState;
use polis_core::society::budget::Limits;
use polis_core::society::run::HireLimits;
use polis_core::task::history::Refused;
use polis_core::task::update::Rules;
use polis_core::workspace::policy::CommandPolicies;
use polis_core::{
    AgentId, Caller, Changeset, Code, NewEvent, Policy, Refusal, Registered, RoleSet, RunId,
    Subject, TaskId, TaskType, Timestamp,
};

use crate::claim_hints::Claiming;
use crate::commit_hook::Alongside;
use crate::error::OpError;
use crate::idempotency;
use crate::no_workspaces::NoWorkspaces;
use crate::op::{OpenDecisions, TimeKeeper};
use crate::port::{Chance, Clock, Files, Outcome, PortError, Processes, Receipt, Store, Terminal};

/// Settings of an installation.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its roles.
    pub roles: RoleSet,
    /// Its permissions.
    pub policy: Policy,
    /// Whether only registered agents may act.
    pub registered_only: bool,
    /// Task types whose completion needs approval.
    pub approval_required: Vec<TaskType>,
    /// Lease of claims that do not specify one, in milliseconds.
    pub default_lease_ms: Option<u64>,
    /// How long an operation retries before it fails, in milliseconds.
    pub patience_ms: i64,
    /// Board settings.
    pub boards: BoardSettings,
    /// Command policies by role.
    pub commands: CommandPolicies,
    /// Society settings.
    pub society: SocietyRules,
}

/// Settings of an installation for the society.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocietyRules {
    /// Limits on hiring in a run.
    pub hire: HireLimits,
    /// Tools that need a person's approval for each call.
    pub approve: Vec<String>,
    /// Default budget of a run.
    pub limits: Limits,
}

/// Settings of an installation for boards.
#[derive(Debug, Clone)]
pub struct BoardSettings {
    /// Language of templates and entries.
    pub language: Language,
    /// Project name in the global board's template.
    pub project: String,
    /// Access rules in addition to the access matrix.
    pub access: AccessRules,
    /// How many versions the history keeps.
    pub max_versions: u32,
    /// Number of signatures that a decision needs.
    pub quorum: Quorum,
    /// Names whose signatures count; if empty, all active top-layer agents.
    pub signers: Vec<String>,
    /// How long a blackboard write waits for a lock, in milliseconds.
    pub lock_wait_ms: u64,
    /// How often it tries.
    pub lock_tries: u32,
}

impl Default for BoardSettings {
    fn default() -> Self {
        Self {
            language: Language::En,
            project: "polis".to_owned(),
            access: AccessRules::default(),
            max_versions: 10,
            quorum: Quorum::default(),
            signers: Vec::new(),
            lock_wait_ms: 5_000,
            lock_tries: 3,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            roles: RoleSet::default(),
            policy: Policy::default(),
            registered_only: false,
            approval_required: Vec::new(),
            default_lease_ms: None,
            patience_ms: 30_000,
            boards: BoardSettings::default(),
            commands: CommandPolicies::default(),
            society: SocietyRules::default(),
        }
    }
}

/// Application state and request context: the first argument of every operation.
#[derive(Debug, Clone)]
pub struct Polis {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Source of random tokens.
    pub chance: Arc<dyn Chance>,
    /// File access to workspaces.
    pub files: Arc<dyn Files>,
    /// Sandboxed command execution.
    pub terminal: Arc<dyn Terminal>,
    /// Identity and state of the processes that hold sessions.
    pub processes: Arc<dyn Processes>,
    /// The settings.
    pub settings: Arc<Settings>,
    /// Commit hook: writes that join the operation's commit.
    alongside: Option<Arc<dyn Alongside>>,
    /// The run in which `root` acts.
    run: Option<RunId>,
    /// Tasks that claimers of this process are about to take.
    pub(crate) claiming: Arc<Claiming>,
    /// Cache of open decisions.
    pub(crate) open_decisions: Arc<OpenDecisions>,
    /// Cache of the time spent on tasks.
    pub(crate) times: Arc<TimeKeeper>,
    /// Registry entry of the caller, if it was already loaded for this request.
    known: Option<Arc<(AgentId, Option<Registered>)>>,
    /// The session in which the caller acts.
    session: Option<Arc<str>>,
}

/// Implementation without process information: sessions end only by expiry.
#[derive(Debug)]
struct UnknownProcesses;

impl Processes for UnknownProcesses {
    fn with_identity(&self, name: &str) -> String {
        name.to_owned()
    }

    fn state_of(&self, _: &str) -> ProcessState {
        ProcessState::Unknown
    }
}

impl Polis {
    /// Creates the application state from its ports, without workspaces.
    pub fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        chance: Arc<dyn Chance>,
        settings: Settings,
    ) -> Self {
        Self {
            store,
            clock,
            chance,
            files: Arc::new(NoWorkspaces),
            terminal: Arc::new(NoWorkspaces),
            processes: Arc::new(UnknownProcesses),
            settings: Arc::new(settings),
            alongside: None,
            run: None,
            claiming: Arc::default(),
            open_decisions: Arc::default(),
            times: Arc::default(),
            known: None,
            session: None,
        }
    }

    /// Returns a copy for requests of a session: tasks claimed through it are bound to the session.
    #[must_use]
    pub fn in_session(&self, id: &str) -> Self {
        let mut ground = self.clone();
        ground.session = Some(id.into());
        ground
    }

    /// Returns the session in which the caller acts, if any.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Returns a copy for one request of a caller whose registry entry was loaded during authentication, to avoid
    /// repeated lookups.
    #[must_use]
    pub fn knowing(&self, agent: AgentId, entry: Option<Registered>) -> Self {
        let mut ground = self.clone();
        ground.known = Some(Arc::new((agent, entry)));
        ground
    }

    /// Returns a copy for one operation, whose commit includes the writes of this hook.
    #[must_use]
    pub fn alongside(&self, joined: Arc<dyn Alongside>) -> Self {
        let mut ground = self.clone();
        ground.alongside = Some(joined);
        ground
    }

    /// Returns a copy for `root` of this run, or for an outside caller that addresses this run's `root`. Members get
    /// their run from their registry entry.
    #[must_use]
    pub fn within(&self, run: RunId) -> Self {
        let mut ground = self.clone();
        ground.run = Some(run);
        ground
    }

    /// Returns the run in which `root` acts, if one is set.
    pub fn run_of_root(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    /// Adds the file and terminal ports.
    #[must_use]
    pub fn with_workspaces(mut self, files: Arc<dyn Files>, terminal: Arc<dyn Terminal>) -> Self {
        self.files = files;
        self.terminal = terminal;
        self
    }

    /// Adds the port that identifies processes.
    #[must_use]
    pub fn with_processes(mut self, processes: Arc<dyn Processes>) -> Self {
        self.processes = processes;
        self
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now_millis())
    }

    /// Returns the installation's rules.
    pub fn rules(&self) -> Rules<'_> {
        Rules {
            roles: &self.settings.roles,
            policy: &self.settings.policy,
            approval_required: &self.settings.approval_required,
        }
    }

    /// Returns the registry entry of a name, if it has one.
    pub async fn entry(&self, id: &AgentId) -> Result<Option<Registered>, OpError> {
        if id.as_str() == AgentId::USER {
            return Ok(None);
        }
        match self.known.as_deref() {
            Some((known, entry)) if known == id => Ok(entry.clone()),
            _ => Ok(self.store.agent(id).await?),
        }
    }

    /// Resolves a name to a caller.
    pub async fn caller(&self, id: &AgentId) -> Result<Caller, OpError> {
        let entry = self.entry(id).await?;
        self.resolve(id, entry.as_ref())
    }

    /// Resolves a name to a caller, given its registry entry.
    pub(crate) fn resolve(
        &self,
        id: &AgentId,
        entry: Option<&Registered>,
    ) -> Result<Caller, OpError> {
        let run = self.run.as_ref().filter(|_| id.is_root());
        if run.is_none() {
            self.may_own(id, entry)?;
        }
        let mut caller = Caller::resolve(id.clone(), entry.map(|found| &found.agent))?;
        caller.run = caller.run.or_else(|| run.cloned());
        Ok(caller)
    }

    /// Fails for an unregistered name if only registered agents are allowed.
    pub(crate) fn may_own(&self, id: &AgentId, entry: Option<&Registered>) -> Result<(), Refusal> {
        let known = entry.is_some() || id.as_str() == AgentId::USER;
        if known || !self.settings.registered_only {
            return Ok(());
        }
        Err(Refusal::new(
            Code::PermissionDenied,
            format!("\"{id}\" is not a registered agent, and only those count here."),
            "check the spelling with `polis agent list`, or have it registered",
        ))
    }

    /// Loads, decides and commits, with retries on conflict until it succeeds, is refused or reaches the deadline.
    ///
    /// `attempt` loads all data that the decision depends on and returns the changes to commit. `finish` builds the
    /// operation's response from the decision and the store's receipt. There is no backoff: each conflict means that
    /// another commit succeeded, so there is nothing to wait for. Only the deadline ends the retries.
    pub(crate) async fn settle<'a, T, V, F>(
        &self,
        attempt: impl Fn() -> Attempt<'a, T> + Send,
        finish: F,
    ) -> Result<V, OpError>
    where
        T: Clone + Send + Sync + 'static,
        V: Serialize,
        F: Fn(T, &Receipt) -> V + Send + Sync + 'static,
    {
        let finish = Arc::new(finish);
        let until = self.deadline();
        loop {
            let (answer, changes) = attempt().await?;
            if let Some(answer) = self.commit(changes, answer, &finish).await? {
                return Ok(answer);
            }
            self.may_go_on(until)?;
        }
    }

    /// Commits the changes together with the commit hook's writes. Returns `None` on a conflict.
    pub(crate) async fn commit<T, V, F>(
        &self,
        changes: Changeset,
        answer: T,
        finish: &Arc<F>,
    ) -> Result<Option<V>, OpError>
    where
        T: Clone + Send + Sync + 'static,
        V: Serialize,
        F: Fn(T, &Receipt) -> V + Send + Sync + 'static,
    {
        let changes = match &self.alongside {
            None if changes.is_empty() => return Ok(Some(finish(answer, &Receipt::default()))),
            None => changes,
            Some(joined) => {
                let (kept, finish) = (answer.clone(), Arc::clone(finish));
                let reply =
                    move |receipt: &Receipt| idempotency::kept(&finish(kept.clone(), receipt));
                joined.join(changes, self.clock.now_millis(), Arc::new(reply))
            }
        };
        let joined = self.alongside.as_deref();
        match self.store.commit(changes).await? {
            Outcome::Committed(receipt) => {
                if let Some(joined) = joined {
                    joined.committed(&receipt);
                }
                Ok(Some(finish(answer, &receipt)))
            }
            Outcome::Conflict(key) => match joined.and_then(|joined| joined.lost(&key)) {
                Some(refusal) => Err(refusal.into()),
                None => Ok(None),
            },
        }
    }

    /// Returns the deadline of an operation that starts now (milliseconds).
    pub(crate) fn deadline(&self) -> i64 {
        self.clock
            .now_millis()
            .saturating_add(self.settings.patience_ms)
    }

    /// Fails with `StoreBusy` if the deadline has passed; otherwise the operation may retry after a conflict.
    pub(crate) fn may_go_on(&self, until: i64) -> Result<(), OpError> {
        if self.clock.now_millis() < until {
            return Ok(());
        }
        Err(OpError::Failed(PortError::new(
            Code::StoreBusy,
            "Others kept changing the same records until the time was up; nothing was changed.",
            "retry",
        )))
    }

    /// Logs a refused attempt on a task, for the statistics, and returns the answer unchanged. The refusal is returned
    /// even if logging fails.
    pub(crate) async fn audited<T>(
        &self,
        op: &str,
        task: TaskId,
        caller: &Caller,
        answer: Result<T, OpError>,
    ) -> Result<T, OpError> {
        if let Err(OpError::Refused(refusal)) = &answer
            && is_audited(refusal.code)
        {
            let data = Refused {
                op: op.to_owned(),
                code: refusal.code.as_str().to_owned(),
            };
            let event = NewEvent::of(kind::TASK_REFUSED, Subject::Task(task), &data);
            let _ = self
                .store
                .commit(Changeset::by(caller, self.now()).event(event))
                .await;
        }
        answer
    }
}

/// One attempt at an operation: its result and the changes to commit. Boxed, because the future of an `async` closure
/// cannot be declared `Send`, which servers need.
pub(crate) type Attempt<'a, T> =
    Pin<Box<dyn Future<Output = Result<(T, Changeset), OpError>> + Send + 'a>>;

/// Returns whether a refusal is relevant for the team's statistics; a typing error is not.
fn is_audited(code: Code) -> bool {
    matches!(
        code,
        Code::VersionMismatch
            | Code::InvalidTransition
            | Code::WrongState
            | Code::RoleMismatch
            | Code::ForceAssignForbidden
            | Code::PermissionDenied
            | Code::ApprovalRequired
            | Code::TaskBlocked
            | Code::DependencyCycle
            | Code::AlreadyClaimed
            | Code::HeldByOtherSession
            | Code::NotOwner
    )
}
