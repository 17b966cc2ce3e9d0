//! Sequential model of a task: its state as clients see it, and the effect of each request when it runs
//! alone.
//!
//! Written from the specification, not from the code of the rules, for tasks without role, type, lease or
//! dependency and for callers other than the team lead.

use polis_core::{Code, TaskStatus};

/// State of a task as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// Its version.
    pub version: u64,
    /// The owner; empty if it has none.
    pub owner: String,
    /// Its status.
    pub status: TaskStatus,
}

impl State {
    /// Returns the state of a newly created task.
    pub fn created() -> Self {
        Self {
            version: 1,
            owner: String::new(),
            status: TaskStatus::Pending,
        }
    }
}

/// A client's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The calling agent.
    pub caller: String,
    /// The expected version, if given.
    pub expected: Option<u64>,
    /// The requested action.
    pub action: Action,
}

/// The actions a client can request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Read the task.
    Get,
    /// Claim and start it.
    Claim,
    /// Release it.
    Release,
    /// Change its owner or its status.
    Update {
        /// The new owner; empty removes it.
        owner: Option<String>,
        /// The new status.
        status: Option<TaskStatus>,
    },
}

/// The response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The task after the request.
    Seen(State),
    /// Refused; nothing was changed.
    Refused(Code),
}

/// Applies a request to a task as if it ran alone. Returns the new state and the response.
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
