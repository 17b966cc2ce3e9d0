//! Task ownership (004 §5.2.2): assignment, role matching and permission checks.
//!
//! A new owner must be active and have the task's required role, unless the assignment is forced. Taking a task
//! from another agent needs the current version, the permission to reassign, or an expired lease.

use super::history::Assignment;
use super::update::TaskUpdate;
use super::{Task, TaskRecord, TaskStatus};
use crate::agent::{Agent, AgentStatus, Registered};
use crate::caller::Caller;
use crate::id::AgentId;
use crate::permission::{Permission, Policy};
use crate::refusal::{Code, Refusal};
use crate::role::role_of_name;
use crate::time::Timestamp;

/// Fails with `force_assign_forbidden` if the caller may not use `forceAssign`.
pub(super) fn check_force(force: bool, policy: &Policy, caller: &Caller) -> Result<(), Refusal> {
    if !force || policy.allows(caller, Permission::ForceAssign) {
        return Ok(());
    }
    Err(Refusal::new(
        Code::ForceAssignForbidden,
        "Only team-lead can use forceAssign",
        "leave forceAssign out, or ask the team lead to assign the task",
    ))
}

/// Fails with `not_owner` if the caller changes the status of a task that another agent holds by a lease: a
/// worker may come back after its lease expired and another agent took over. A caller that names the current
/// version, or may reassign tasks, is allowed.
pub(super) fn check_tenure(
    request: &TaskUpdate,
    task: &Task,
    policy: &Policy,
    caller: &Caller,
) -> Result<(), Refusal> {
    let steps = request.status.is_some_and(|to| to != task.status);
    let held_by_other = task.lease_end().is_some() && task.owner != caller.id.as_str();
    let knows =
        request.expected_version.is_some() || policy.allows(caller, Permission::ReassignTasks);
    if steps && held_by_other && !knows {
        return Err(not_holder(task, caller));
    }
    Ok(())
}

/// Fails with `not_owner` if the caller neither holds the task nor may reassign it.
pub(super) fn check_holder(task: &Task, policy: &Policy, caller: &Caller) -> Result<(), Refusal> {
    if task.owner == caller.id.as_str() || policy.allows(caller, Permission::ReassignTasks) {
        return Ok(());
    }
    Err(not_holder(task, caller))
}

/// Returns the refusal for a caller that does not hold the task.
pub(super) fn not_holder(task: &Task, caller: &Caller) -> Refusal {
    let held = if task.owner.is_empty() {
        "nobody".to_owned()
    } else {
        format!("\"{}\"", task.owner)
    };
    Refusal::new(
        Code::NotOwner,
        format!(
            "Task #{} is {} and held by {held}, not by \"{}\".",
            task.id,
            task.status.as_str().replace('_', " "),
            caller.id
        ),
        format!(
            "claim it first (`polis task claim {}`), or ask the team lead",
            task.id
        ),
    )
}

/// Changes the owner, if requested and allowed (§5.2.2).
pub(super) fn assign(
    request: &TaskUpdate,
    record: &mut TaskRecord,
    entry: Option<&Registered>,
    policy: &Policy,
    caller: &Caller,
    now: &Timestamp,
) -> Result<Option<Assignment>, Refusal> {
    check_force(request.force_assign, policy, caller)?;
    let Some(owner) = &request.owner else {
        return Ok(None);
    };
    let task = &record.task;
    if *owner == task.owner {
        return Ok(None);
    }
    // A caller that takes another agent's task must name the version it read or have the permission to
    // reassign; a blind write would be the double claim that this system exists to prevent.
    let entitled = task.owner.is_empty()
        || task.owner == caller.id.as_str()
        || request.expected_version.is_some()
        || policy.allows(caller, Permission::ReassignTasks)
        || task.is_stale(now.millis().unwrap_or(0));
    if !entitled {
        return Err(already_claimed(task));
    }
    if task.status == TaskStatus::Completed && !request.force_assign {
        return Err(Refusal::new(
            Code::WrongState,
            format!("Task #{} is completed; its owner stays on record.", task.id),
            "create a new task for further work, or ask the team lead to force-assign it",
        ));
    }
    if owner.is_empty() {
        release(record);
        return Ok(None);
    }
    let id: AgentId = owner.parse()?;
    let assignment = check_owner(task, &id, entry, request.force_assign, caller)?;
    take(record, &assignment, now);
    Ok(Some(assignment))
}

/// Returns whether an agent has the role that a task requires. An unregistered name counts as its own role.
pub fn fits_role(required: Option<&str>, owner: &AgentId, entry: Option<&Agent>) -> bool {
    let Some(required) = required else {
        return true;
    };
    match entry {
        Some(agent) => agent.role == required,
        None => required == role_of_name(owner.as_str()) || required == owner.as_str(),
    }
}

/// Checks that a new owner is active and has the required role.
pub(super) fn check_owner(
    task: &Task,
    owner: &AgentId,
    entry: Option<&Registered>,
    forced: bool,
    caller: &Caller,
) -> Result<Assignment, Refusal> {
    if entry.is_some_and(|found| found.agent.status == AgentStatus::Retired) {
        return Err(Refusal::new(
            Code::AgentNotFound,
            format!("Agent \"{owner}\" is retired and cannot own tasks."),
            "name an active agent; `polis agent list` shows them",
        ));
    }
    let role = entry.map_or_else(
        || role_of_name(owner.as_str()),
        |found| found.agent.role.as_str(),
    );
    let agent = entry.map(|found| &found.agent);
    let matched = fits_role(task.required_role.as_deref(), owner, agent);
    if !matched && !forced {
        let required = task.required_role.as_deref().unwrap_or_default();
        return Err(match *owner == caller.id {
            true => own_role_mismatch(required, role),
            false => role_mismatch(required, owner, role),
        });
    }
    Ok(Assignment {
        owner: owner.to_string(),
        owner_role: role.to_owned(),
        required_role: task.required_role.clone(),
        matched,
        forced: forced && !matched,
    })
}

/// Returns the refusal for a caller that claims a task of another role.
fn own_role_mismatch(required: &str, role: &str) -> Refusal {
    Refusal::new(
        Code::RoleMismatch,
        format!(
            "Role mismatch. Task requires \"{required}\", but you are \"{role}\".\n\
             Use TaskList({{ roleFilter: \"{role}\" }}) to find tasks for your role."
        ),
        format!(
            "run `polis task list --role-filter {role}`; the team lead and the user may add --force-assign"
        ),
    )
}

/// Returns the refusal for assigning a task to an agent of another role.
fn role_mismatch(required: &str, owner: &AgentId, role: &str) -> Refusal {
    Refusal::new(
        Code::RoleMismatch,
        format!("Role mismatch. Task requires \"{required}\", but \"{owner}\" is \"{role}\"."),
        "name an agent of that role, which `polis agent list` shows; the team lead and the user may add --force-assign",
    )
}

/// Sets the owner to that of `assignment`.
pub(super) fn take(record: &mut TaskRecord, assignment: &Assignment, now: &Timestamp) {
    release(record);
    record.task.owner.clone_from(&assignment.owner);
    record.task.claimed_at = Some(now.clone());
    record.owner_role = Some(assignment.owner_role.clone());
}

/// Clears the owner, its lease and its approval.
pub(super) fn release(record: &mut TaskRecord) {
    record.task.owner.clear();
    record.task.lease_ms = None;
    record.task.lease_expires_at = None;
    // A completed task stays approved.
    if record.task.status != TaskStatus::Completed {
        record.task.approval = None;
    }
    record.owner_role = None;
}

/// Returns the refusal for a task that another agent holds.
pub(super) fn already_claimed(task: &Task) -> Refusal {
    Refusal::new(
        Code::AlreadyClaimed,
        format!(
            "Task #{} is already claimed by \"{}\".",
            task.id, task.owner
        ),
        "claim another one (`polis task claim` takes the best ready task), or ask its owner to release it",
    )
}
