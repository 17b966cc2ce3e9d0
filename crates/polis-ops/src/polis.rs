//! The ground itself: a store, a clock and the settings, and how an operation commits.

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

/// What an installation has set.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Its roles.
    pub roles: RoleSet,
    /// Its permissions.
    pub policy: Policy,
    /// Whether a name that is not registered may act.
    pub registered_only: bool,
    /// Types whose completion needs approval.
    pub approval_required: Vec<TaskType>,
    /// The lease of claims that do not name one, in milliseconds.
    pub default_lease_ms: Option<u64>,
    /// How long an operation tries before it gives up, in milliseconds.
    pub patience_ms: i64,
    /// What is set about boards.
    pub boards: BoardSettings,
    /// What commands may do.
    pub commands: CommandPolicies,
    /// What is set about the society.
    pub society: SocietyRules,
}

/// What an installation has set about the society.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocietyRules {
    /// How many may be hired for a run.
    pub hire: HireLimits,
    /// Tools that a person has to allow call by call.
    pub approve: Vec<String>,
    /// The budget of a run that names none.
    pub limits: Limits,
}

/// What an installation has set about boards.
#[derive(Debug, Clone)]
pub struct BoardSettings {
    /// The language of templates and entries.
    pub language: Language,
    /// What the global board's template names.
    pub project: String,
    /// Who may do what, beyond the matrix.
    pub access: AccessRules,
    /// How many versions history keeps.
    pub max_versions: u32,
    /// How many signatures a decision needs.
    pub quorum: Quorum,
    /// Whose signatures count; every active top-layer agent's if there are none.
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

/// The ground the operations stand on.
#[derive(Debug, Clone)]
pub struct Polis {
    /// Where state is.
    pub store: Arc<dyn Store>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What nobody can guess.
    pub chance: Arc<dyn Chance>,
    /// The files of workspaces.
    pub files: Arc<dyn Files>,
    /// Where commands run.
    pub terminal: Arc<dyn Terminal>,
    /// Which processes hold sessions.
    pub processes: Arc<dyn Processes>,
    /// What is set.
    pub settings: Arc<Settings>,
    /// What is committed together with the operation.
    alongside: Option<Arc<dyn Alongside>>,
    /// The run in which `root` acts.
    run: Option<RunId>,
    /// What claimers of this process are about to take.
    pub(crate) claiming: Arc<Claiming>,
    /// The open decisions that were found last.
    pub(crate) open_decisions: Arc<OpenDecisions>,
    /// How the time of tasks was spent, as it was found last.
    pub(crate) times: Arc<TimeKeeper>,
    /// Whose entry of the registry was looked up for this request already.
    known: Option<Arc<(AgentId, Option<Registered>)>>,
    /// The session in which the caller acts.
    session: Option<Arc<str>>,
}

/// Processes of which nothing is known: sessions end by their time alone.
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
    /// A ground with its adapters, but without workspaces.
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

    /// The same ground for requests of a session: what it claims is bound to it.
    #[must_use]
    pub fn in_session(&self, id: &str) -> Self {
        let mut ground = self.clone();
        ground.session = Some(id.into());
        ground
    }

    /// The session in which the caller acts, if it acts in one.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// The same ground for one request of a caller whose entry was looked up when it was admitted, so that
    /// it is not looked up again and again.
    #[must_use]
    pub fn knowing(&self, agent: AgentId, entry: Option<Registered>) -> Self {
        let mut ground = self.clone();
        ground.known = Some(Arc::new((agent, entry)));
        ground
    }

    /// The same ground for one operation, whose commit takes this along.
    #[must_use]
    pub fn alongside(&self, joined: Arc<dyn Alongside>) -> Self {
        let mut ground = self.clone();
        ground.alongside = Some(joined);
        ground
    }

    /// The same ground for `root` of this run, or for somebody outside who means this run's `root`. Members have
    /// their run by their entry in the registry.
    #[must_use]
    pub fn within(&self, run: RunId) -> Self {
        let mut ground = self.clone();
        ground.run = Some(run);
        ground
    }

    /// The run in which `root` acts, if one is set.
    pub fn run_of_root(&self) -> Option<&RunId> {
        self.run.as_ref()
    }

    /// The same ground with files and a terminal.
    #[must_use]
    pub fn with_workspaces(mut self, files: Arc<dyn Files>, terminal: Arc<dyn Terminal>) -> Self {
        self.files = files;
        self.terminal = terminal;
        self
    }

    /// The same ground in a process that others can tell from its identity.
    #[must_use]
    pub fn with_processes(mut self, processes: Arc<dyn Processes>) -> Self {
        self.processes = processes;
        self
    }

    /// The moment.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.clock.now_millis())
    }

    /// The installation's rules.
    pub fn rules(&self) -> Rules<'_> {
        Rules {
            roles: &self.settings.roles,
            policy: &self.settings.policy,
            approval_required: &self.settings.approval_required,
        }
    }

    /// The registry's entry of a name, if it has one.
    pub async fn entry(&self, id: &AgentId) -> Result<Option<Registered>, OpError> {
        if id.as_str() == AgentId::USER {
            return Ok(None);
        }
        match self.known.as_deref() {
            Some((known, entry)) if known == id => Ok(entry.clone()),
            _ => Ok(self.store.agent(id).await?),
        }
    }

    /// Who a name is.
    pub async fn caller(&self, id: &AgentId) -> Result<Caller, OpError> {
        let entry = self.entry(id).await?;
        self.resolve(id, entry.as_ref())
    }

    /// Who a name is, given its entry.
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

    /// Refuses a name that is not registered, where only registered ones count.
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

    /// Loads, decides and commits, again and again until it is done or refused.
    ///
    /// `attempt` loads everything the decision rests on and answers with what to commit; `finish` makes
    /// the operation's answer of it and of what the store adds. Each conflict is somebody else's success,
    /// so there is nothing to wait for before the next attempt; only the deadline ends them.
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

    /// Commits what was decided, with what goes alongside; `None` on a conflict.
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

    /// When an operation that begins now gives up (milliseconds).
    pub(crate) fn deadline(&self) -> i64 {
        self.clock
            .now_millis()
            .saturating_add(self.settings.patience_ms)
    }

    /// Whether an operation may decide again after a conflict.
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

    /// Writes a refused attempt on a task into the log, for the success figures, and passes the
    /// answer on. The refusal stands even if the log cannot be written.
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

/// One attempt at an operation: what to answer, and what to commit. Boxed, because the future of an
/// `async` closure cannot be promised to be `Send`, and servers need that.
pub(crate) type Attempt<'a, T> =
    Pin<Box<dyn Future<Output = Result<(T, Changeset), OpError>> + Send + 'a>>;

/// Refusals that say something about how the team works together; a typing mistake does not.
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
