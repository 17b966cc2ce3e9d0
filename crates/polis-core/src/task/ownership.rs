//! Task ownership: who may assign a task, and to whom.
//!
//! A new owner must not be retired, and must have the task's required role unless the assignment is forced;
//! the name of an unregistered agent counts as its role. For an update to take a task from another agent, one of three
//! is enough: the request names the expected version, the caller may reassign tasks, or the lease has expired.
//! Without the first or second, only the owner may change the status of a leased task. A claim (module `claim`)
//! takes a task from another agent only after the lease has expired.

use super::update::TaskUpdateParams;
use super::{Task, TaskRecord, TaskStatus};
use crate::agent::{Agent, AgentStatus, RegisteredAgent};
use crate::caller::Caller;
use crate::event::OwnerAssignment;
use crate::id::AgentId;
use crate::permission::{Permission, PermissionPolicy};
use crate::refusal::{Refusal, TaskRefusal};
use crate::role::{DEFAULT_ROLES, role_from_name};
use crate::timestamp::Timestamp;

/// Fails with `force_assign_forbidden` if the caller may not use `forceAssign`.
pub(super) fn check_force_assign(
    force: bool,
    policy: &PermissionPolicy,
    caller: &Caller,
) -> Result<(), Refusal> {
    if !force || policy.allows(caller, Permission::ForceAssign) {
        return Ok(());
    }
    Err(Refusal::from(TaskRefusal::ForceAssignForbidden))
}

/// Fails with `not_owner` if the caller changes the status of a task that another agent holds by a lease: a
/// worker may come back after its lease expired and another agent took over. A caller that names the current
/// version, or may reassign tasks, is allowed.
pub(super) fn check_lease_holder(
    request: &TaskUpdateParams,
    task: &Task,
    policy: &PermissionPolicy,
    caller: &Caller,
) -> Result<(), Refusal> {
    let steps = request.status.is_some_and(|to| to != task.status);
    let held_by_other = task.lease_end().is_some() && task.owner != caller.id.as_str();
    let may_change =
        request.expected_version.is_some() || policy.allows(caller, Permission::ReassignTasks);
    if steps && held_by_other && !may_change {
        return Err(not_task_holder(task, caller));
    }
    Ok(())
}

/// Fails with `not_owner` if the caller neither holds the task nor may reassign it.
pub(super) fn check_holder(
    task: &Task,
    policy: &PermissionPolicy,
    caller: &Caller,
) -> Result<(), Refusal> {
    if task.owner == caller.id.as_str() || policy.allows(caller, Permission::ReassignTasks) {
        return Ok(());
    }
    Err(not_task_holder(task, caller))
}

/// Returns the refusal for a caller that does not hold the task.
pub(super) fn not_task_holder(task: &Task, caller: &Caller) -> Refusal {
    let status = task.status.as_str().to_owned();
    let agent = caller.id.clone();
    if task.owner.is_empty() {
        TaskRefusal::HeldByNone {
            task: task.id,
            status,
            agent,
        }
    } else {
        TaskRefusal::HeldBy {
            task: task.id,
            status,
            owner: task.owner.clone(),
            agent,
        }
    }
    .into()
}

/// Changes the owner, if the request names another one, and returns the assignment. Fails with
/// `already_claimed`, `wrong_state` (a completed task), `force_assign_forbidden`, or like
/// [`check_new_owner`].
pub(super) fn assign_owner(
    request: &TaskUpdateParams,
    record: &mut TaskRecord,
    entry: Option<&RegisteredAgent>,
    policy: &PermissionPolicy,
    caller: &Caller,
    now: &Timestamp,
) -> Result<Option<OwnerAssignment>, Refusal> {
    check_force_assign(request.force_assign, policy, caller)?;
    let Some(owner) = &request.owner else {
        return Ok(None);
    };
    let task = &record.task;
    if *owner == task.owner {
        return Ok(None);
    }
    // A caller that takes another agent's task must name the version it read or have the permission to
    // reassign; a blind write would be the double claim that this system exists to prevent.
    let may_assign = task.owner.is_empty()
        || task.owner == caller.id.as_str()
        || request.expected_version.is_some()
        || policy.allows(caller, Permission::ReassignTasks)
        || task.is_stale(now.unix_millis());
    if !may_assign {
        return Err(already_claimed(task));
    }
    if task.status == TaskStatus::Completed && !request.force_assign {
        return Err(Refusal::from(TaskRefusal::CompletedKeepsOwner {
            task: task.id,
        }));
    }
    if owner.is_empty() {
        clear_owner(record);
        return Ok(None);
    }
    let id: AgentId = owner.parse()?;
    let assignment = check_new_owner(task, &id, entry, request.force_assign, caller)?;
    set_owner(record, &assignment, now);
    Ok(Some(assignment))
}

/// Returns whether an agent has the role that a task requires. An unregistered name counts as its own role.
pub fn has_required_role(required: Option<&str>, owner: &AgentId, entry: Option<&Agent>) -> bool {
    let Some(required) = required else {
        return true;
    };
    match entry {
        Some(agent) => agent.role == required,
        None => required == role_from_name(owner.as_str()) || required == owner.as_str(),
    }
}

/// Returns the assignment to a new owner. An agent that is not registered may have the name of a role. Fails
/// with `agent_not_found` if the agent is retired, and with `role_mismatch` if it does not have the required
/// role and the assignment is not forced.
pub(super) fn check_new_owner(
    task: &Task,
    owner: &AgentId,
    entry: Option<&RegisteredAgent>,
    forced: bool,
    caller: &Caller,
) -> Result<OwnerAssignment, Refusal> {
    if entry.is_some_and(|found| found.agent.status == AgentStatus::Retired) {
        return Err(Refusal::from(TaskRefusal::OwnerRetired {
            owner: owner.clone(),
        }));
    }
    let role = entry.map_or_else(
        || role_from_name(owner.as_str()),
        |found| found.agent.role.as_str(),
    );
    let agent = entry.map(|found| &found.agent);
    let matched = has_required_role(task.required_role.as_deref(), owner, agent);
    if !matched && !forced {
        let required = task.required_role.as_deref().unwrap_or_default();
        return Err(if *owner == caller.id {
            own_role_mismatch(required, role)
        } else if entry.is_none() && !owner.is_user() && !DEFAULT_ROLES.contains(&role) {
            Refusal::from(TaskRefusal::OwnerNotRegistered {
                required: required.to_owned(),
                owner: owner.clone(),
            })
        } else {
            role_mismatch(required, owner, role)
        });
    }
    Ok(OwnerAssignment {
        owner: owner.to_string(),
        owner_role: role.to_owned(),
        required_role: task.required_role.clone(),
        matched,
        forced: forced && !matched,
    })
}

/// Returns the refusal for a caller that claims a task of another role.
fn own_role_mismatch(required: &str, role: &str) -> Refusal {
    TaskRefusal::RoleMismatch {
        required: required.to_owned(),
        role: role.to_owned(),
    }
    .into()
}

/// Returns the refusal for assigning a task to an agent of another role.
fn role_mismatch(required: &str, owner: &AgentId, role: &str) -> Refusal {
    Refusal::from(TaskRefusal::OwnerRoleMismatch {
        required: required.to_string(),
        owner: owner.clone(),
        role: role.to_string(),
    })
}

/// Sets the owner to that of `assignment`.
pub(super) fn set_owner(record: &mut TaskRecord, assignment: &OwnerAssignment, now: &Timestamp) {
    clear_owner(record);
    record.task.owner.clone_from(&assignment.owner);
    record.task.claimed_at = Some(now.clone());
    record.owner_role = Some(assignment.owner_role.clone());
}

/// Clears the owner, its lease and its approval.
pub(super) fn clear_owner(record: &mut TaskRecord) {
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
    Refusal::from(TaskRefusal::AlreadyClaimed {
        task: task.id,
        owner: task.owner.to_string(),
    })
}
