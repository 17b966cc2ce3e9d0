//! A request to the operations ([`Request`]): who calls, in which run and session, and what joins the commit.
//! Also the retry loop: load, decide, commit, and again after a conflict (optimistic concurrency).

use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use polis_core::changeset::StoreWrite;
use polis_core::event::TaskRefusedEvent;
use polis_core::{
    AgentId, Caller, Changeset, EventPayload, EventSubject, NewEvent, Refusal, RefusalCode,
    RegisteredAgent, RunId, TaskId,
};
use serde::Serialize;

use crate::app::App;
use crate::commit_hook::CommitHook;
use crate::error::OpError;
use crate::idempotency;
use crate::port::{CommitOutcome, Receipt};
use crate::refusal_tables::OperationRefusal;

/// A request: the first argument of every operation.
///
/// A surface creates one for each request of a client ([`App::request`]) and does not keep it, because the
/// caller's registry entry is loaded once. The deadline of an operation counts from the start of its retry loop,
/// not from the creation of the request: reading a body or waiting for a lock takes nothing from it.
#[derive(Debug)]
pub struct Request {
    /// The application state.
    pub app: App,
    /// The caller. Every surface determines it from the connection, never from the request's parameters.
    agent: AgentId,
    /// Registry entry of the caller; `None` until it is loaded, and again after a conflict or when it was written.
    registry_entry: Mutex<Option<Option<RegisteredAgent>>>,
    /// The run in which `root` acts.
    root_run: Option<RunId>,
    /// The session in which the caller acts.
    session_id: Option<Arc<str>>,
    /// Writes that join the operation's commit.
    commit_hook: Option<Arc<dyn CommitHook>>,
}

impl Request {
    /// Creates a request that starts now.
    pub(crate) fn new(app: App, agent: AgentId) -> Self {
        Self {
            app,
            agent,
            registry_entry: Mutex::new(None),
            root_run: None,
            session_id: None,
            commit_hook: None,
        }
    }

    /// Returns the request in this session: tasks that it claims are bound to the session.
    #[must_use]
    pub fn in_session(mut self, id: &str) -> Self {
        self.session_id = Some(id.into());
        self
    }

    /// Returns the request as one of `root` of this run, or of an outside caller that addresses this run's
    /// `root`. Members get their run from their registry entry.
    #[must_use]
    pub fn in_run(mut self, run: RunId) -> Self {
        self.root_run = Some(run);
        self
    }

    /// Returns a copy of the request that addresses `root` of this run; the commit hook is kept.
    pub(crate) fn with_root_run(&self, run: RunId) -> Self {
        let mut copy = self.copy_without_hook().in_run(run);
        copy.commit_hook.clone_from(&self.commit_hook);
        copy
    }

    /// Returns the request with the caller's registry entry, which was loaded during authentication, so that
    /// it is not loaded again.
    #[must_use]
    pub fn with_registry_entry(self, entry: Option<RegisteredAgent>) -> Self {
        *self.registry_entry.lock() = Some(entry);
        self
    }

    /// Returns a copy of the request for one operation, whose commit includes the writes of this hook.
    #[must_use]
    pub fn with_commit_hook(&self, hook: Arc<dyn CommitHook>) -> Self {
        let mut copy = self.copy_without_hook();
        copy.commit_hook = Some(hook);
        copy
    }

    /// Returns a copy of the request in which nothing joins the commit, for a second operation.
    #[must_use]
    pub fn copy_without_hook(&self) -> Self {
        Self {
            app: self.app.clone(),
            agent: self.agent.clone(),
            registry_entry: Mutex::new(self.registry_entry.lock().clone()),
            root_run: self.root_run.clone(),
            session_id: self.session_id.clone(),
            commit_hook: None,
        }
    }

    /// Returns the caller's id.
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// Returns the session in which the caller acts, if any.
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// Returns the run in which `root` acts, if one is set.
    pub fn root_run(&self) -> Option<&RunId> {
        self.root_run.as_ref()
    }

    /// Returns the caller's registry entry, if it has one. It is loaded at most once, and again only after a
    /// conflict.
    pub(crate) async fn caller_entry(&self) -> Result<Option<RegisteredAgent>, OpError> {
        if self.agent.as_str() == AgentId::USER {
            return Ok(None);
        }
        if let Some(entry) = &*self.registry_entry.lock() {
            return Ok(entry.clone());
        }
        let entry = self.app.store.agent(&self.agent).await?;
        *self.registry_entry.lock() = Some(entry.clone());
        Ok(entry)
    }

    /// Returns the caller's registry entry as far as it is loaded and current, for the caller's next request.
    pub fn loaded_registry_entry(&self) -> Option<Option<RegisteredAgent>> {
        self.registry_entry.lock().clone()
    }

    /// Returns whether the changes write the caller's registry entry: a hire and a claim do.
    fn writes_own_entry(&self, changes: &Changeset) -> bool {
        let mut writes = changes.writes.iter();
        writes.any(
            |write| matches!(write, StoreWrite::PutAgent { agent, .. } if agent.id == self.agent),
        )
    }

    /// Returns the registry entry of a name, if it has one.
    pub(crate) async fn registry_entry(
        &self,
        id: &AgentId,
    ) -> Result<Option<RegisteredAgent>, OpError> {
        if *id == self.agent {
            return self.caller_entry().await;
        }
        load_registry_entry(&self.app, id).await
    }

    /// Returns the caller with its role, kind and run. Fails with `permission_denied` if it may not act: it is
    /// retired, or is not registered and only registered agents may act.
    pub async fn resolve_caller(&self) -> Result<Caller, OpError> {
        let entry = self.caller_entry().await?;
        resolve_agent(
            &self.app,
            &self.agent,
            entry.as_ref(),
            self.root_run.as_ref(),
        )
    }

    /// Loads, decides and commits, with retries on conflict until it succeeds, is refused or reaches the
    /// deadline.
    ///
    /// `attempt` loads all data that the decision depends on and returns the changes to commit. `finish`
    /// builds the operation's response from the decision and the store's receipt. There is no backoff: each
    /// conflict means that another commit succeeded, so there is nothing to wait for. Only the deadline ends
    /// the retries.
    pub(crate) async fn retry_on_conflict<'a, T, V, F>(
        &self,
        attempt: impl Fn() -> AttemptFuture<'a, T> + Send,
        finish: F,
    ) -> Result<V, OpError>
    where
        T: Clone + Send + Sync + 'static,
        V: Serialize,
        F: Fn(T, &Receipt) -> V + Send + Sync + 'static,
    {
        let finish = Arc::new(finish);
        let until = self.app.retry_deadline();
        loop {
            let (answer, changes) = attempt().await?;
            if let Some(answer) = self.commit(changes, answer, &finish).await? {
                return Ok(answer);
            }
            self.app.check_deadline(until)?;
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
        let changes = match &self.commit_hook {
            None if changes.is_empty() => return Ok(Some(finish(answer, &Receipt::default()))),
            None => changes,
            Some(hook) => {
                let (answer_copy, finish) = (answer.clone(), Arc::clone(finish));
                let reply = move |receipt: &Receipt| {
                    idempotency::serialize_response(&finish(answer_copy.clone(), receipt))
                };
                hook.add_writes(changes, self.app.clock.now_millis(), Arc::new(reply))
            }
        };
        let hook = self.commit_hook.as_deref();
        let writes_own_entry = self.writes_own_entry(&changes);
        match self.app.store.commit(changes).await? {
            CommitOutcome::Committed(receipt) => {
                if writes_own_entry {
                    *self.registry_entry.lock() = None;
                }
                if let Some(hook) = hook {
                    hook.on_committed(&receipt);
                }
                Ok(Some(finish(answer, &receipt)))
            }
            CommitOutcome::Conflict(key) => {
                // What conflicted may be the caller's own entry.
                *self.registry_entry.lock() = None;
                match hook.and_then(|hook| hook.refusal_on_conflict(&key)) {
                    Some(refusal) => Err(refusal.into()),
                    None => Ok(None),
                }
            }
        }
    }

    /// Logs a refused attempt on a task, for the statistics, and returns the answer unchanged. The refusal is
    /// returned even if logging fails.
    pub(crate) async fn log_refusal<T>(
        &self,
        op: &str,
        task: TaskId,
        caller: &Caller,
        answer: Result<T, OpError>,
    ) -> Result<T, OpError> {
        if let Err(OpError::Refused(refusal)) = &answer
            && is_logged_refusal(refusal.code)
        {
            let data = TaskRefusedEvent {
                op: op.to_owned(),
                code: refusal.code.as_str().to_owned(),
            };
            let event = NewEvent::new(EventSubject::Task(task), EventPayload::TaskRefused(data));
            let _ = self
                .app
                .store
                .commit(Changeset::new(caller, self.app.now()).with_event(event))
                .await;
        }
        answer
    }
}

/// Returns the registry entry of a name, if it has one. The person is not in the registry.
pub(crate) async fn load_registry_entry(
    app: &App,
    id: &AgentId,
) -> Result<Option<RegisteredAgent>, OpError> {
    if id.as_str() == AgentId::USER {
        return Ok(None);
    }
    Ok(app.store.agent(id).await?)
}

/// Returns the caller that a name and its registry entry stand for. Fails if it may not act.
pub(crate) fn resolve_agent(
    app: &App,
    id: &AgentId,
    entry: Option<&RegisteredAgent>,
    root_run: Option<&RunId>,
) -> Result<Caller, OpError> {
    let run = root_run.filter(|_| id.is_root());
    if run.is_none() {
        check_registered(app, id, entry)?;
    }
    let mut caller = Caller::resolve(id.clone(), entry.map(|found| &found.agent))?;
    caller.run = caller.run.or_else(|| run.cloned());
    Ok(caller)
}

/// Fails for an unregistered name if only registered agents are allowed.
pub(crate) fn check_registered(
    app: &App,
    id: &AgentId,
    entry: Option<&RegisteredAgent>,
) -> Result<(), Refusal> {
    let is_known = entry.is_some() || id.as_str() == AgentId::USER;
    if is_known || !app.settings.registered_only {
        return Ok(());
    }
    Err(Refusal::from(OperationRefusal::OnlyRegisteredAgents {
        id: id.to_string(),
    }))
}

/// One attempt at an operation: its result and the changes to commit. Boxed, because the future of an `async`
/// closure cannot be declared `Send`, which servers need.
pub(crate) type AttemptFuture<'a, T> =
    Pin<Box<dyn Future<Output = Result<(T, Changeset), OpError>> + Send + 'a>>;

/// Returns whether a refusal is relevant for the team's statistics; a typing error is not.
fn is_logged_refusal(code: RefusalCode) -> bool {
    matches!(
        code,
        RefusalCode::VERSION_MISMATCH
            | RefusalCode::INVALID_TRANSITION
            | RefusalCode::WRONG_STATE
            | RefusalCode::ROLE_MISMATCH
            | RefusalCode::FORCE_ASSIGN_FORBIDDEN
            | RefusalCode::PERMISSION_DENIED
            | RefusalCode::APPROVAL_REQUIRED
            | RefusalCode::TASK_BLOCKED
            | RefusalCode::DEPENDENCY_CYCLE
            | RefusalCode::ALREADY_CLAIMED
            | RefusalCode::HELD_BY_OTHER_SESSION
            | RefusalCode::NOT_OWNER
    )
}
