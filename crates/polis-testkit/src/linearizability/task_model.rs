//! Sequential model of a task: its state as clients see it, and the effect of each request when it runs
//! alone.
//!
//! Written from the specification, not from the code of the rules, for tasks without role, type, lease or
//! dependency and for callers other than the team lead.

use polis_core::{RefusalCode, TaskStatus};

/// State of a task as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TaskModelState {
    /// Version: 1 for a new task, increases by one with every change.
    pub version: u64,
    /// The owner; empty if it has none.
    pub owner: String,
    /// Status: pending, in progress or completed.
    pub status: TaskStatus,
}

impl TaskModelState {
    /// Returns the state of a newly created task.
    pub fn newly_created() -> Self {
        Self {
            version: 1,
            owner: String::new(),
            status: TaskStatus::Pending,
        }
    }
}

/// A request about the task, as a client sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskModelRequest {
    /// Id of the calling agent.
    pub caller: String,
    /// The expected version, if given.
    pub expected_version: Option<u64>,
    /// The action with its arguments.
    pub action: TaskModelAction,
}

/// The actions a client can request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskModelAction {
    /// Read the task; never refused.
    Get,
    /// Claim and start it.
    Claim,
    /// Give up the ownership; the status does not change.
    Release,
    /// Change its owner or its status.
    Update {
        /// The new owner: empty removes it, `None` keeps it.
        owner: Option<String>,
        /// The new status; `None` keeps it.
        status: Option<TaskStatus>,
    },
}

/// The response to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskModelResponse {
    /// The task after the request.
    Accepted(TaskModelState),
    /// Refused; nothing was changed.
    Refused(RefusalCode),
}

/// Applies a request to a task as if it ran alone. Returns the new state and the response.
pub fn apply_request(
    state: &TaskModelState,
    request: &TaskModelRequest,
) -> (TaskModelState, TaskModelResponse) {
    let answer = match request.action {
        TaskModelAction::Get => Ok(state.clone()),
        _ if request.expected_version.is_some_and(|v| v != state.version) => {
            Err(RefusalCode::VERSION_MISMATCH)
        }
        TaskModelAction::Claim => apply_claim(state, &request.caller),
        TaskModelAction::Release => apply_release(state, &request.caller),
        TaskModelAction::Update {
            ref owner, status, ..
        } => apply_update(state, request, owner.as_deref(), status),
    };
    match answer {
        Ok(after) => (after.clone(), TaskModelResponse::Accepted(after)),
        Err(code) => (state.clone(), TaskModelResponse::Refused(code)),
    }
}

fn apply_claim(state: &TaskModelState, caller: &str) -> Result<TaskModelState, RefusalCode> {
    let is_claimed = !state.owner.is_empty() && state.owner != caller;
    match state.status {
        TaskStatus::Completed => Err(RefusalCode::INVALID_TRANSITION),
        _ if is_claimed => Err(RefusalCode::ALREADY_CLAIMED),
        TaskStatus::InProgress if state.owner == caller => Ok(state.clone()),
        _ => Ok(TaskModelState {
            version: state.version + 1,
            owner: caller.to_owned(),
            status: TaskStatus::InProgress,
        }),
    }
}

fn apply_release(state: &TaskModelState, caller: &str) -> Result<TaskModelState, RefusalCode> {
    if state.owner.is_empty() {
        return Ok(state.clone());
    }
    if state.owner != caller {
        return Err(RefusalCode::NOT_OWNER);
    }
    if state.status == TaskStatus::Completed {
        return Err(RefusalCode::INVALID_TRANSITION);
    }
    Ok(TaskModelState {
        version: state.version + 1,
        owner: String::new(),
        status: state.status,
    })
}

fn apply_update(
    state: &TaskModelState,
    request: &TaskModelRequest,
    owner: Option<&str>,
    status: Option<TaskStatus>,
) -> Result<TaskModelState, RefusalCode> {
    let mut after = state.clone();
    after.version += 1;
    if let Some(owner) = owner.filter(|owner| *owner != state.owner) {
        let free = state.owner.is_empty() || state.owner == request.caller;
        if !free && request.expected_version.is_none() {
            return Err(RefusalCode::ALREADY_CLAIMED);
        }
        if state.status == TaskStatus::Completed {
            return Err(RefusalCode::WRONG_STATE);
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
            return Err(RefusalCode::INVALID_TRANSITION);
        }
        after.status = to;
    }
    Ok(after)
}
