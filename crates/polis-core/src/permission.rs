//! Role permissions for tasks and agents (RBAC), in addition to the rules that apply to all callers.
//!
//! Without a permissions file every role may create, claim, update and comment, and only the team lead and
//! the person have the privileges listed in [`Permission::LEAD_ONLY`]. A file (read by the composition root)
//! narrows or widens that per role.

use std::collections::{BTreeMap, BTreeSet};

use crate::caller::{Caller, CallerKind};
use crate::refusal::{AgentRefusal, Refusal};
use crate::role::TEAM_LEAD;
use crate::task::TaskType;

/// A permission that a role may be granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// Create tasks.
    CreateTasks,
    /// Claim tasks of any type (`claim_task_type` allows single types).
    ClaimTasks,
    /// Change tasks it owns.
    UpdateOwnTasks,
    /// Change any task.
    UpdateAllTasks,
    /// Comment on tasks it owns.
    CommentOnOwnTasks,
    /// Comment on any task.
    CommentOnAllTasks,
    /// Take, give or release a task that another agent holds without naming its version, and end its lease.
    ReassignTasks,
    /// Change a task's required role or type.
    ChangeRequirements,
    /// Assign tasks to agents of another role.
    ForceAssign,
    /// Approve the completion of tasks.
    ApproveTasks,
    /// Delete completed tasks.
    DeleteCompletedTasks,
    /// Register and retire agents, and bind their workspaces.
    ManageAgents,
    /// Import task files.
    ImportTasks,
}

impl Permission {
    /// All permissions, with their names in the file.
    pub const ALL: [(Self, &'static str); 13] = [
        (Self::CreateTasks, "create_tasks"),
        (Self::ClaimTasks, "claim_tasks"),
        (Self::UpdateOwnTasks, "update_own_tasks"),
        (Self::UpdateAllTasks, "update_all_tasks"),
        (Self::CommentOnOwnTasks, "comment_on_own_tasks"),
        (Self::CommentOnAllTasks, "comment_on_all_tasks"),
        (Self::ReassignTasks, "reassign_tasks"),
        (Self::ChangeRequirements, "change_requirements"),
        (Self::ForceAssign, "force_assign"),
        (Self::ApproveTasks, "approve_tasks"),
        (Self::DeleteCompletedTasks, "delete_completed_tasks"),
        (Self::ManageAgents, "manage_agents"),
        (Self::ImportTasks, "import_tasks"),
    ];

    /// Permissions that a role has only if a file grants them. The person always has them, and the team lead
    /// has them unless the file lists that role.
    pub const LEAD_ONLY: [Self; 7] = [
        Self::ReassignTasks,
        Self::ChangeRequirements,
        Self::ForceAssign,
        Self::ApproveTasks,
        Self::DeleteCompletedTasks,
        Self::ManageAgents,
        Self::ImportTasks,
    ];

    /// Describes in words what it allows.
    pub fn description(self) -> &'static str {
        match self {
            Self::CreateTasks => "create tasks",
            Self::ClaimTasks => "claim tasks of any type",
            Self::UpdateOwnTasks => "change tasks it owns",
            Self::UpdateAllTasks => {
                "change any task: fields, status, dependencies, the owner of a task that has none"
            }
            Self::CommentOnOwnTasks => "comment on tasks it owns",
            Self::CommentOnAllTasks => "comment on any task",
            Self::ReassignTasks => {
                "take over, reassign or release a task that another agent owns, without giving its version; end another agent's lease"
            }
            Self::ChangeRequirements => "change a task's required role or type",
            Self::ForceAssign => "assign tasks across roles (`forceAssign`)",
            Self::ApproveTasks => "approve the completion of tasks",
            Self::DeleteCompletedTasks => "delete completed tasks",
            Self::ManageAgents => "register and retire agents, and bind their workspaces",
            Self::ImportTasks => "import task files",
        }
    }

    /// Returns the permission's name in the file.
    pub fn as_str(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(p, _)| *p == self)
            .map_or("", |(_, name)| name)
    }

    /// Returns the permission with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(p, _)| *p)
    }
}

/// Default for a role that the file does not list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PermissionMode {
    /// All permissions except [`Permission::LEAD_ONLY`].
    #[default]
    Permissive,
    /// No permissions: such a role only reads.
    Strict,
}

/// Permissions that the file grants to one role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoleGrants {
    /// Permissions without a parameter.
    pub permissions: BTreeSet<Permission>,
    /// Task types it may claim (`claim_task_type`).
    pub claim_types: BTreeSet<TaskType>,
}

/// The effective permissions: those of the file, with a default for roles that it does not list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionPolicy {
    /// Default for roles that are not listed.
    pub mode: PermissionMode,
    /// The listed roles, with exactly their permissions.
    pub roles: BTreeMap<String, RoleGrants>,
    /// The roles each task type is meant for; used to rank recommended tasks.
    pub type_roles: BTreeMap<TaskType, Vec<String>>,
}

impl Default for PermissionPolicy {
    fn default() -> Self {
        Self {
            mode: PermissionMode::Permissive,
            roles: BTreeMap::new(),
            type_roles: default_type_roles(),
        }
    }
}

/// Returns the default map from task types to roles: that of requirement 004, extended to every type that
/// has an obvious role.
fn default_type_roles() -> BTreeMap<TaskType, Vec<String>> {
    use TaskType as T;
    let map: [(T, &[&str]); 11] = [
        (T::RequirementAnalysis, &["product-manager"]),
        (T::TechResearch, &["architect"]),
        (T::ArchitectureDesign, &["architect"]),
        (T::ApiDesign, &["architect", "backend-leader"]),
        (T::UiDesign, &["product-manager", "frontend-leader"]),
        (T::BackendImplementation, &["backend-leader"]),
        (T::FrontendImplementation, &["frontend-leader"]),
        (T::ClientImplementation, &["client-leader"]),
        (T::Testing, &["test-leader"]),
        (T::Deployment, &["devops-leader"]),
        (T::CodeReview, &["architect", "team-lead"]),
    ];
    map.into_iter()
        .map(|(t, roles)| (t, roles.iter().map(|&r| r.to_owned()).collect()))
        .collect()
}

impl PermissionPolicy {
    /// Returns whether the caller has a permission.
    pub fn allows(&self, caller: &Caller, permission: Permission) -> bool {
        if caller.kind == CallerKind::Person {
            return true;
        }
        match self.roles.get(&caller.role) {
            Some(grants) => grants.permissions.contains(&permission),
            None if caller.role == TEAM_LEAD => true,
            None => {
                self.mode == PermissionMode::Permissive
                    && !Permission::LEAD_ONLY.contains(&permission)
            }
        }
    }

    /// Fails with `permission_denied` if the caller does not have the permission.
    pub fn check(&self, caller: &Caller, permission: Permission) -> Result<(), Refusal> {
        if self.allows(caller, permission) {
            Ok(())
        } else {
            Err(self.permission_denied(caller, permission.as_str()))
        }
    }

    /// Fails with `permission_denied` if the caller may not change a task owned by `owner`.
    pub fn check_update(&self, caller: &Caller, owner: &str) -> Result<(), Refusal> {
        let own = caller.id.as_str() == owner;
        if own && self.allows(caller, Permission::UpdateOwnTasks) {
            return Ok(());
        }
        let required = if own {
            Permission::UpdateOwnTasks
        } else {
            Permission::UpdateAllTasks
        };
        if self.allows(caller, Permission::UpdateAllTasks) {
            return Ok(());
        }
        Err(self.permission_denied(caller, required.as_str()))
    }

    /// Fails with `permission_denied` if the caller may not comment on a task owned by `owner`.
    pub fn check_comment(&self, caller: &Caller, owner: &str) -> Result<(), Refusal> {
        let own = caller.id.as_str() == owner;
        if own && self.allows(caller, Permission::CommentOnOwnTasks) {
            return Ok(());
        }
        let required = if own {
            Permission::CommentOnOwnTasks
        } else {
            Permission::CommentOnAllTasks
        };
        if self.allows(caller, Permission::CommentOnAllTasks) {
            return Ok(());
        }
        Err(self.permission_denied(caller, required.as_str()))
    }

    /// Returns whether the caller may claim tasks of at least one type.
    pub fn may_claim_any_type(&self, caller: &Caller) -> bool {
        let some_types = self
            .roles
            .get(&caller.role)
            .is_some_and(|g| !g.claim_types.is_empty());
        some_types || self.allows(caller, Permission::ClaimTasks)
    }

    /// Returns whether the caller may claim a task of this type.
    pub fn allows_claim(&self, caller: &Caller, task_type: Option<TaskType>) -> bool {
        self.allows(caller, Permission::ClaimTasks)
            || task_type.is_some_and(|t| {
                self.roles
                    .get(&caller.role)
                    .is_some_and(|grants| grants.claim_types.contains(&t))
            })
    }

    /// Fails with `permission_denied` if the caller may not claim a task of this type.
    pub fn check_claim(&self, caller: &Caller, task_type: Option<TaskType>) -> Result<(), Refusal> {
        if self.allows_claim(caller, task_type) {
            return Ok(());
        }
        let required = task_type.map_or_else(
            || Permission::ClaimTasks.as_str().to_owned(),
            |t| format!("claim_task_type: [{}]", t.as_str()),
        );
        Err(self.permission_denied(caller, &required))
    }

    fn permission_denied(&self, caller: &Caller, permission: &str) -> Refusal {
        let (agent, role) = (caller.id.clone(), caller.role.clone());
        let permission = permission.to_owned();
        // The hint about rbac.yaml helps only where roles have permissions of their own.
        if self.roles.is_empty() && self.mode == PermissionMode::Permissive {
            AgentRefusal::NoPermissionByDefault {
                agent,
                role,
                permission,
            }
        } else {
            AgentRefusal::NoPermission {
                agent,
                role,
                permission,
            }
        }
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str) -> Caller {
        Caller::resolve(name.parse().unwrap(), None).unwrap()
    }

    #[test]
    fn default_policy_reserves_privileges_for_team_lead() {
        let policy = PermissionPolicy::default();
        for (permission, _) in Permission::ALL {
            assert!(policy.allows(&caller("user"), permission));
            assert!(policy.allows(&caller("team-lead-3"), permission));
            let lead_only = Permission::LEAD_ONLY.contains(&permission);
            assert_eq!(
                policy.allows(&caller("backend-leader"), permission),
                !lead_only,
                "{permission:?}"
            );
        }
    }

    #[test]
    fn listed_role_has_exactly_its_grants() {
        let mut policy = PermissionPolicy::default();
        let grants = RoleGrants {
            permissions: [Permission::UpdateOwnTasks].into(),
            claim_types: [TaskType::BugFix].into(),
        };
        policy.roles.insert("backend-leader".to_owned(), grants);
        let leader = caller("backend-leader");
        assert!(policy.check_update(&leader, "backend-leader").is_ok());
        assert!(policy.check_update(&leader, "somebody").is_err());
        assert!(policy.allows_claim(&leader, Some(TaskType::BugFix)));
        assert!(!policy.allows_claim(&leader, Some(TaskType::Testing)));
        assert!(!policy.allows_claim(&leader, None));
        assert!(policy.allows(&caller("architect"), Permission::CreateTasks));
        policy.mode = PermissionMode::Strict;
        assert!(!policy.allows(&caller("architect"), Permission::CreateTasks));
        assert!(policy.allows(&caller("team-lead"), Permission::CreateTasks));
    }
}
