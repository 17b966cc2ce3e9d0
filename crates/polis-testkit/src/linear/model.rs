//! A task as its clients see it, and what each request does to it when it runs alone.
//!
//! Written from the documents, not from the rules' code, for tasks without role, type, lease or
//! dependency and for callers who are not the team lead.

use polis_core::{Code, TaskStatus};

/// What clients see of a task.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Its version.
    pub version: u64,
    /// Who holds it; empty when nobody does.
    pub owner: String,
    /// Where it stands.
    pub status: TaskStatus,
}

impl State {
    /// A task just created.
    pub fn created() -> Self {
        Self {
            version: 1,
            owner: String::new(),
            status: TaskStatus::Pending,
        }
    }
}

/// What a client asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Who asked.
    pub caller: String,
    /// The version it gave.
    pub expected: Option<u64>,
    /// For what.
    pub action: Action,
}

/// What can be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// To see the task.
    Get,
    /// To hold it and begin.
    Claim,
    /// To give it back.
    Release,
    /// To change its owner or its state.
    Update {
        /// The new owner; empty: nobody.
        owner: Option<String>,
        /// The new state.
        status: Option<TaskStatus>,
    },
}

/// What a client was told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The task afterwards.
    Seen(State),
    /// Nothing was changed.
    Refused(Code),
}

/// What a request does to a task when it runs alone: the task afterwards, and the answer.
pub fn apply(state: &State, request: &Request) -> (State, Answer) {
    let answer = match request.action {
        Action::Get => Ok(state.clone()),
        _ if request.expected.is_some_and(|v| v != state.version) => Err(Code::VersionMismatch),
        Action::Claim => claim(state, &request.caller),
        Action::Release => release(state, &request.caller),
        Action::Update {
            ref owner, status, ..
        } => update(state, request, owner.as_deref(), status),
    };
    match answer {
        Ok(after) => (after.clone(), Answer::Seen(after)),
        Err(code) => (state.clone(), Answer::Refused(code)),
    }
}

fn claim(state: &State, caller: &str) -> Result<State, Code> {
    let held = !state.owner.is_empty() && state.owner != caller;
    match state.status {
        TaskStatus::Completed => Err(Code::InvalidTransition),
        _ if held => Err(Code::AlreadyClaimed),
        TaskStatus::InProgress if state.owner == caller => Ok(state.clone()),
        _ => Ok(State {
            version: state.version + 1,
            owner: caller.to_owned(),
            status: TaskStatus::InProgress,
        }),
    }
}

fn release(state: &State, caller: &str) -> Result<State, Code> {
    if state.owner.is_empty() {
        return Ok(state.clone());
    }
    if state.owner != caller {
        return Err(Code::NotOwner);
    }
    if state.status == TaskStatus::Completed {
        return Err(Code::InvalidTransition);
    }
    Ok(State {
        version: state.version + 1,
        owner: String::new(),
        status: state.status,
    })
}

fn update(
    state: &State,
    request: &Request,
    owner: Option<&str>,
    status: Option<TaskStatus>,
) -> Result<State, Code> {
    let mut after = state.clone();
    after.version += 1;
    if let Some(owner) = owner.filter(|owner| *owner != state.owner) {
        let free = state.owner.is_empty() || state.owner == request.caller;
        if !free && request.expected.is_none() {
            return Err(Code::AlreadyClaimed);
        }
        if state.status == TaskStatus::Completed {
            return Err(Code::WrongState);
        }
        owner.clone_into(&mut after.owner);
    }
    if let Some(to) = status.filter(|to| *to != state.status) {
        let allowed = matches!(
            (state.status, to),
            (TaskStatus::Pending, TaskStatus::InProgress)
                | (TaskStatus::InProgress, TaskStatus::Completed)
        );
        if !allowed {
            return Err(Code::InvalidTransition);
        }
        after.status = to;
    }
    Ok(after)
}
